"""Ray itself: connecting to a cluster, what its workers load, a pool of them, and the errors that come back."""

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexatagger.errors import ConfigError, HexataggerError, needs
from hexatagger.formats.text import Source
from hexatagger.model.registry import find_elsewhere
from hexatagger.parsing.load import load
from hexatagger.parsing.options import ParseOptions, Precision

if TYPE_CHECKING:
    from ray.data import ActorPoolStrategy

_SECONDS = 10.0  # for connecting to a cluster
_STORE = 256 << 20  # bytes of shared memory of our own cluster: nothing large goes through it


@contextmanager
def connected(address: str | None = None) -> Iterator[None]:
    """Use a cluster: the one connected already, the one at `address` or RAY_ADDRESS, or our own on this machine.

    Our own is silent, and is stopped at the end. No usage statistics are sent.
    """
    with needs("ray"):
        import ray
        import ray.data
    if ray.is_initialized():
        yield
        return
    place = address or os.environ.get("RAY_ADDRESS") or "local"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own: dict[str, Any] = {"include_dashboard": False, "object_store_memory": _STORE} if place == "local" else {}
    # Ray warns about every pool of actors on standard error, and about being told not to.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    _check_reachable(place)
    try:
        with _silence():
            ray.init(address=place, log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:  # Ray raises bare Exception if a busy machine does not start it within 30 seconds
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        problem = "Ray cannot be started here" if own else f"the cluster at '{place}' cannot be reached"
        raise ConfigError(f"{problem}: {reason}") from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(place: str) -> None:
    """Raise ConfigError if nobody listens at HOST:PORT: Ray itself would try for many minutes."""
    host, _, port = place.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"the cluster at '{place}' cannot be reached: {reason}") from None


@contextmanager
def _silence() -> Iterator[None]:
    """Drop everything the process writes to standard error, C++ libraries included."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def find_checked(model: str | Path, source: Source, precision: Precision, options: ParseOptions) -> str:
    """Return what every worker can load a model by; errors in model or options appear here, and once."""
    name = find_elsewhere(model)
    parser = load(name, precision=precision, threads=1)
    if source in ("text", "lines"):
        _ = parser.segmenter
    parser.parse_sentences([], **options)
    return name


def pool(actors: int | None, tasks: int | None = None) -> "ActorPoolStrategy":
    """Return a pool of actors: this many, or as many as the cluster has cores, now and later.

    For a known number of tasks it starts on all cores. Otherwise other operators, such as reading, need cores too. Then
    it starts with one actor, because actors on all cores would wait for ever.
    """
    import ray
    from ray.data import ActorPoolStrategy

    if actors is not None:
        return ActorPoolStrategy(size=min(actors, tasks or actors))
    cores = int(ray.cluster_resources().get("CPU", 1)) if tasks else 1
    return ActorPoolStrategy(min_size=1, initial_size=max(1, min(cores, tasks or 1)))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise an error of a worker as it was raised there, not wrapped by Ray."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, HexataggerError):
            cause = getattr(cause, "cause", None) or cause.__cause__
        if isinstance(cause, HexataggerError) and not isinstance(cause, RayError):
            raise cause from None
        lines = str(error).strip().splitlines()
        raise HexataggerError(f"Ray gave up: {lines[-1] if lines else type(error).__name__}") from error
