"""Options: where the service listens, which models it has, and how much it takes on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hexatagger.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ORIGIN = re.compile(r"https?://[^/\s]+|\*")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `hexatagger serve` can be told.

    >>> Options(models={"en": "en"}).max_words
    5000
    >>> Options(timeout=0)
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConfigError: timeout 0 is too small: it must be positive
    """

    models: Mapping[str, str] = field(default_factory=lambda: {"en": "en"})
    """Name → folder, or `en`; the first is what a request without a name gets."""
    host: str = "127.0.0.1"
    """The address to listen on: loopback unless told."""
    port: int = 8000
    """The port; 0 takes a free one."""
    workers: int = 1
    """Processes, each with its own models and its own queue."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may use the service, like `https://example.org`; none unless told."""
    max_body: int = 1_000_000
    """Bytes of a request."""
    max_words: int = 5_000
    """Words of a request."""
    max_exact: int = 120
    """Words of a sentence that is asked for probabilities, further trees or constraints, which take much longer."""
    max_k: int = 20
    """Trees of a sentence."""
    max_queue: int = 256
    """Requests that wait; more are turned away with 429."""
    timeout: float = 30.0
    """Seconds that a request may take."""
    window: float = 0.002
    """Seconds that a request waits for others to share its call of the parser."""
    batch: int = 64
    """Requests that share one call."""

    def __post_init__(self) -> None:
        for name in ("workers", "max_body", "max_words", "max_exact", "max_k", "max_queue", "timeout", "batch"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} {getattr(self, name)} is too small: it must be positive")
        if self.window < 0:
            raise ConfigError(f"window {self.window} is too small: 0 means not to wait")
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port {self.port} is not a port: 1 to 65535, or 0 for a free one")
        if not self.models:
            raise ConfigError("no model is given: name one with --model NAME=DIR")
        for name in self.models:
            if not _NAME.fullmatch(name):
                raise ConfigError(f"model name '{name}' is not made of letters, digits, '.', '_' and '-'")
        for origin in self.cors:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(f"origin '{origin}' is not like https://example.org: no path, no slash at the end")

    @property
    def default_model(self) -> str:
        """The name of the model that is used where none is named."""
        return next(iter(self.models))
