"""ServerOptions: where the service listens, which models it has, and how much work it accepts."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hexatagger.errors import ConfigError, HexataggerError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ORIGIN = re.compile(r"https?://[^/\s]+|\*")


def installed_models() -> dict[str, str]:
    """Return all installed models for `ServerOptions.models`, `en` first; those that cannot be read are left out."""
    from hexatagger.formats.files import LOG
    from hexatagger.model.folder import read_folder
    from hexatagger.model.registry import EMBEDDED, installed

    found: dict[str, str] = {}
    for name, model in sorted(installed().items(), key=lambda item: item[0] != EMBEDDED):
        try:
            read_folder(model.folder)
        except HexataggerError as error:
            LOG.warning("model '%s' is left out: %s", name, error)
        else:
            if _NAME.fullmatch(name):
                found[name] = str(model.folder)
    return found


def _service_limit() -> int:
    from hexatagger.decode.limits import SERVICE  # imports numpy, which options alone do not need

    return SERVICE


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The options of `hexatagger serve`.

    >>> ServerOptions(models={"en": "en"}).max_words
    5000
    >>> ServerOptions(timeout=0)
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConfigError: timeout 0 is too small: it must be positive
    """

    models: Mapping[str, str] = field(default_factory=lambda: {"en": "en"})
    """Model name → folder, or the name of an installed model. The first one is the default; the others are loaded when
    a request first asks for them."""
    host: str = "127.0.0.1"
    """The address to listen on. The default is loopback: only this machine can connect."""
    port: int = 8000
    """The port to listen on; 0 picks a free one."""
    workers: int = 1
    """Number of processes. Each has its own models and its own queues."""
    threads: int | None = None
    """Threads per process that parse together. The default is the cores it may use, shared by the processes."""
    hosts: tuple[str, ...] = ()
    """Host names that requests may name; all others are refused. The default is the names of this machine on loopback,
    and any name elsewhere."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may call the service, such as `https://example.org`. None by default."""
    max_body: int = 1_000_000
    """Bytes per request."""
    max_words: int = 5_000
    """Words per request."""
    max_exact: int = field(default_factory=_service_limit)
    """Words per sentence, for probabilities, k-best trees and constraints."""
    max_k: int = 20
    """Trees per sentence."""
    max_work: float = 5.0
    """Estimated seconds per request for charts: constraints, and probabilities and k-best trees of models with
    pointers."""
    max_queue: int = 256
    """Requests that may wait for a model. Further requests are refused with 429."""
    timeout: float = 30.0
    """Seconds per request."""
    window: float = 0.002
    """Seconds that a request waits for others to share its parser call."""
    batch: int = 64
    """Requests per parser call."""

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in vars(self).items() if isinstance(value, int | float)}
        for name, value in numbers.items():
            if not math.isfinite(value):
                raise ConfigError(f"{name} {value} is not a finite number")
            if value < 0 or (value == 0 and name not in ("window", "port")):
                raise ConfigError(f"{name} {value} is too small: it must be positive")
        if self.port > 65535:
            raise ConfigError(f"port {self.port} is not a port: use 1 to 65535, or 0 for a free one")
        if not self.models:
            raise ConfigError("no model is given: name one with --model NAME=DIR")
        for name in self.models:
            if not _NAME.fullmatch(name):
                raise ConfigError(f"model name '{name}' may only contain letters, digits, '.', '_' and '-'")
        for origin in self.cors:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(f"origin '{origin}' is not like https://example.org: no path, no slash at the end")

    def allows(self, host: str) -> bool:
        """Say whether a request may name this host, given as `name`, `name:port` or `[address]:port`.

        A page from elsewhere whose name was made to point to this machine (DNS rebinding) still sends its own name.

        >>> [ServerOptions().allows(host) for host in ("localhost:8000", "[::1]:8000", "evil.example", "")]
        [True, True, False, False]
        """
        allowed = self.hosts or (_LOOPBACK if self.host in _LOOPBACK or self.host.startswith("127.") else ())
        found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]]*))(?::[0-9]*)?", host)
        name = (found[1] or found[2]).lower().rstrip(".") if found else ""
        return not allowed or name == self.host.lower() or name in (each.lower() for each in allowed)

    @property
    def default_model(self) -> str:
        """The name of the model that is used when a request names none."""
        return next(iter(self.models))
