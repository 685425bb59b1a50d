"""Threads that share the items of a call, and the number of cores that a process may use."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hexatagger.errors import ConfigError
from hexatagger.model import threads as module
from hexatagger.model.threads import Threads, allowed_cores


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("size", [0, 1, 2, 100])
def test_results_keep_their_order(count: int, size: int) -> None:
    def square(number: int) -> int:
        time.sleep((number % 3) * 1e-4)
        return number * number

    assert Threads(count).map(square, range(size)) == [number * number for number in range(size)]


def test_all_threads_work_at_once() -> None:
    together = threading.Barrier(3)
    Threads(3).map(lambda _: together.wait(10), range(3))  # would time out with fewer threads


def test_one_item_or_one_thread_stays_with_the_caller() -> None:
    here = threading.get_ident()
    assert set(Threads(1).map(lambda _: threading.get_ident(), range(5))) == {here}
    assert Threads(4).map(lambda _: threading.get_ident(), range(1)) == [here]


def test_the_error_is_that_of_the_first_item_that_failed() -> None:
    begun, together = list[int](), threading.Barrier(2)

    def fail(number: int) -> None:
        begun.append(number)
        together.wait(10)
        time.sleep(0.05 * (number == 0))  # the second item fails before the first
        raise ValueError(f"item {number}")

    with pytest.raises(ValueError, match="item 0"):
        Threads(2).map(fail, range(100))
    assert sorted(begun) == [0, 1]  # nothing was begun after an error


def test_a_caller_that_is_interrupted_does_not_wait() -> None:
    release, main = threading.Event(), threading.get_ident()

    def stop(_: int) -> None:
        if threading.get_ident() == main:
            raise KeyboardInterrupt
        release.wait(10)

    shared = Threads(2)
    work = shared.start(stop, range(50))
    with pytest.raises(KeyboardInterrupt):
        work.results()
    release.set()
    assert shared.map(abs, [-1, -2]) == [1, 2]


def test_calls_do_not_wait_for_each_other() -> None:
    """Every caller gets on although all helpers are taken, even one that calls from inside an item."""
    shared, release = Threads(2), threading.Event()
    busy = shared.start(lambda _: release.wait(10), range(2))
    assert shared.map(abs, [-1, -2, -3]) == [1, 2, 3]
    release.set()
    assert busy.results() == [True, True]
    assert shared.map(lambda number: sum(shared.map(abs, range(number))), range(20)) == [
        sum(range(number)) for number in range(20)
    ]
    with ThreadPoolExecutor(8) as users:
        found = list(users.map(lambda start: shared.map(abs, range(start, start + 50)), range(40)))
    assert found == [list(range(start, start + 50)) for start in range(40)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = """
import os, threading
from hexatagger.model.threads import Threads
shared, together = Threads(2), threading.Barrier(2)
shared.map(lambda _: together.wait(10), range(2))
child = os.fork()
if not child:
    together = threading.Barrier(2)
    shared.map(lambda _: together.wait(10), range(2))
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_at_the_end_of_the_interpreter_the_caller_works_alone() -> None:
    code = """
import atexit
from hexatagger.model.threads import Threads
shared = Threads(2)
atexit.register(lambda: print(shared.map(abs, [-1, -2, -3])))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout == "[1, 2, 3]\n"


@pytest.mark.parametrize("count", [0, -1])
def test_no_threads(count: int) -> None:
    with pytest.raises(ConfigError, match=f"threads {count} is too small: at least 1"):
        Threads(count)


def test_all_allowed_cores_by_default() -> None:
    assert Threads().count == allowed_cores() >= 1
    assert allowed_cores(processes=1000) == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity is a thing of Linux")
def test_cores_that_the_process_may_run_on() -> None:
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
    code += "from hexatagger.model.threads import allowed_cores; print(allowed_cores())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),  # a container with the time of one and a half cores
        ("0::/\n", {"cpu.max": "20000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 64),
        ("0::/\n", {}, 64),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3),  # the limit is further up
        ("0::/host/path\n", {"cpu.max": "400000 100000\n"}, 4),
        (
            "4:memory:/x\n1:cpu,cpuacct:/\n",
            {"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            3,
        ),
        ("1:cpu:/docker/1f\n", {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "50000\n"}, 2),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "broken\n", "cpu/cpu.cfs_period_us": "0\n"}, 64),
        (None, {}, 64),
    ],
)
def test_cores_that_a_container_allows(
    groups: str | None, files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if groups is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, content in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    real: Callable[[Path], object] = module._quotas
    monkeypatch.setattr(module, "_quotas", lambda _: real(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 64, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert allowed_cores() == cores
