"""Ray itself: reaching a cluster, a pool of actors, and errors that come back from it."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexatagger.errors import ConfigError, HexataggerError, needs

if TYPE_CHECKING:
    from ray.data import ActorPoolStrategy

Actors = int | tuple[int, int] | None
"""How many workers: so many, from so many to so many, or as many as the cluster has cores."""

_STORE = 256 << 20  # bytes of shared memory of a cluster of our own: nothing large goes through it


@contextmanager
def connected(address: str | None = None) -> Iterator[None]:
    """Use a cluster: the one in use already, or that at `address` or RAY_ADDRESS, or one of our own on this machine.

    What was started here is stopped at the end, and says nothing meanwhile. No statistics are sent to anybody.
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
    # Ray's own code warns of every pool of actors, on standard error, and of being told to be silent as well.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        with _silence():
            ray.init(address=place, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigError(f"the cluster at '{place}' cannot be reached: {str(error).splitlines()[0]}") from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _silence() -> Iterator[None]:
    """Drop what the process writes to standard error, libraries that are not Python included."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def pool(actors: Actors, tasks: int | None = None) -> "ActorPoolStrategy":
    """Return a pool of actors that grows with the cluster; for a known number of tasks it begins with all cores.

    Without one, something else is to be done too, as reading what is to be parsed. Then it begins with the least:
    actors on all cores would wait for that for ever.
    """
    import ray
    from ray.data import ActorPoolStrategy

    if isinstance(actors, int):
        return ActorPoolStrategy(size=actors if tasks is None else min(actors, tasks))
    least, greatest = actors or (1, None)
    first = least
    if tasks is not None:
        cores = int(ray.cluster_resources().get("CPU", 1))
        first = max(least, min(tasks, cores, greatest or cores))
    return ActorPoolStrategy(min_size=least, max_size=greatest, initial_size=first)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Let what is wrong in a worker come out as it was raised there, not as an error of Ray."""
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
