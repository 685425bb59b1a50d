"""Threads that call a network at the same time, and the number of cores that they may use.

A session of ONNX Runtime uses one thread per call (see `onnx`). It releases Python's lock and may be called by several
threads at once, so the batches of one parse are spread over threads. This is nearly linear in the number of cores,
while threads inside a call wait for each other at every operator.

The results do not depend on the number of threads: every item is computed by itself, and results keep their order.
"""

import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from hexatagger.errors import ConfigError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads:
    """`count` threads, the caller's own among them, that work through items; by default as many as cores are allowed.

    The other threads are started when they are first needed. A caller does its own items and is only helped by them:
    any number of threads may call at once, and no call waits for another. A forked process has helpers of its own.

    >>> Threads(2).map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = allowed_cores() if count is None else count
        if self.count < 1:
            raise ConfigError(f"threads {count} is too small: at least 1")
        # subtle: no lock, which a fork could copy while it is held; if two threads meet here, one pool is dropped
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results of a function for all items, in order."""
        return self.start(function, items).results()

    def start(self, function: Callable[[Item], Result], items: Sequence[Item]) -> "Work[Item, Result]":
        """Let the other threads begin with items, and return at once; the caller joins them in `Work.results`."""
        work = Work(function, items)
        # subtle: no thread can be started when the interpreter ends or the system has no more; the caller does it alone
        with suppress(RuntimeError):
            for _ in range(min(self.count, len(items)) - 1):
                work.helpers.append(self._helpers().submit(work.run))
        return work

    def _helpers(self) -> ThreadPoolExecutor:
        """Return the pool of the other threads, a new one in each process."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(self.count - 1, thread_name_prefix="hexatagger")
        return self._pool[1]


class Work(Generic[Item, Result]):
    """Items on which several threads work."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function, self._items = function, items
        self._places = itertools.count()  # subtle: taking the next number is atomic
        self._done: dict[int, Result] = {}
        self._failed: dict[int, Exception] = {}
        self._stopped = False
        self.helpers: list[Future[None]] = []
        """The threads that were asked to run this, besides the caller."""

    def run(self) -> None:
        """Do items until none is left, or one has failed."""
        while not self._stopped and (place := next(self._places)) < len(self._items):
            try:
                self._done[place] = self._function(self._items[place])
            except Exception as error:
                self._failed[place], self._stopped = error, True

    def results(self) -> list[Result]:
        """Work on the items until all are done, and return the results in order.

        If items failed, the error is that of the first one, as if they had been done one after the other.
        """
        try:
            self.run()
            for helper in self.helpers:
                if not helper.cancel():
                    helper.result()
        finally:
            self.cancel()
        if self._failed:
            raise self._failed[min(self._failed)]
        return [self._done[place] for place in range(len(self._items))]

    def cancel(self) -> None:
        """Begin no further item."""
        self._stopped = True
        for helper in self.helpers:
            helper.cancel()


def allowed_cores(processes: int = 1) -> int:
    """Return the number of cores that each of several processes like this one may use, at least 1.

    These are the cores that it may run on, or fewer if a container limits its time: with the time of 1.5 cores, 2.
    """
    known = getattr(os, "process_cpu_count", os.cpu_count)()  # Python 3.13 looks at the affinity, and at its own option
    if hasattr(os, "sched_getaffinity"):
        known = min(known or 1, len(os.sched_getaffinity(0)))
    return max(1, min([known or 1, *map(math.ceil, _quotas(Path("/")))]) // processes)


def _quotas(root: Path) -> Iterator[float]:
    """Yield the limits that control groups of Linux, version 2 or 1, set on this process, in cores."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # another system
        return
    for group in groups:
        _, kinds, path = group.split(":", 2)
        if kinds and "cpu" not in kinds.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if kinds else "")
        inside = Path(path.lstrip("/"))
        # subtle: inside a container the path can be that of the host, while only the top folder is there
        for place in (top / inside, *(top / parent for parent in inside.parents)):
            with suppress(OSError, ValueError):
                if kinds:
                    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
                    quota, period = (int((place / name).read_text()) for name in names)
                else:
                    quota, period = map(int, (place / "cpu.max").read_text().split())  # "max" is no number: no limit
                if quota > 0 < period:
                    yield quota / period
