"""Run all fuzzers side by side for some minutes with new seeds, or one of them with a given seed.

    make fuzz MINUTES=30
    python -m fuzz conllu --seed 123 --count 1        # a fault again: src, tests and benchmarks on PYTHONPATH

Each fuzzer is a process of its own. Every minute, counts are printed and written to benchmarks/results/fuzz.json. Exits
with 1 if there was a fault.
"""

import argparse
import logging
import multiprocessing
import queue
import resource
import secrets
import sys
import time
from collections import Counter
from typing import Any

from fuzz import conllu, decoder, kills, models, requests, texts
from fuzz.cases import Counts, Fault
from results import save

MEASURES = ("src/hexatagger",)
FUZZERS = {"conllu": conllu, "texts": texts, "decoder": decoder, "requests": requests, "models": models, "kills": kills}
_ENOUGH = {
    "conllu": ("cases", 1_000_000),
    "texts": ("cases", 100_000),
    "decoder": ("cases", 10_000),
    "requests": ("requests", 100_000),
    "models": ("cases", 10_000),
    "kills": ("killed", 100),
}
"""What a long run counts up to: a fuzzer that got there leaves the machine to the others."""
_TURN = 20.0
"""Seconds of a turn, after which counts are told; that of the kills is longer, because each command runs to its end."""
_KILLS_TURN = 900.0

_MEMORY = 6 << 30
"""Bytes of address space that a fuzzer and each of the commands it starts may have."""


def show(counts: dict[str, Counts], seconds: float) -> None:
    print(f"after {seconds / 60:.1f} minutes")
    for name, each in counts.items():
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(each.items()) if kind != "cases")
        print(f"  {name:9}{each['cases']:>10,}  {kinds}", flush=True)


def prepare() -> None:
    """Limit the memory of this process: too much of it is a fault with a seed, not a dead machine. Silence warnings."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    logging.disable(logging.WARNING)  # files that are cut off are reported, and many are here


def take_turns(name: str, minutes: float, told: "multiprocessing.Queue[tuple[str, int, Any, str]]") -> None:
    """Run one fuzzer with new seeds for some minutes, or until it has done enough; tell counts and faults."""
    prepare()
    end, done = time.monotonic() + 60 * minutes, Counter[str]()
    kind, enough = _ENOUGH[name]
    while (left := end - time.monotonic()) > 0 and done[kind] < enough:
        seed, fault = secrets.randbelow(10**12), ""
        told.put((name, seed, {}, ""))  # for a turn that ends the whole process
        try:
            counts = FUZZERS[name].run(seed, seconds=min(left, _KILLS_TURN if name == "kills" else _TURN))
        except Fault as error:
            counts, seed, fault = error.counts, error.seed, str(error)
        done.update(counts)
        told.put((name, seed, dict(counts), fault))


def run_all(minutes: float) -> int:
    """Run the fuzzers side by side; return how many faults there were."""
    counts: dict[str, Counts] = {name: Counter() for name in FUZZERS}
    seeds, faults = dict.fromkeys(FUZZERS, 0), list[str]()

    def note(name: str, seed: int, fault: str, count: int = 1000) -> None:
        again = f"PYTHONPATH=src:tests:benchmarks python -m fuzz {name} --seed {seed} --count {count}"
        print(f"FAULT {fault}\n  again: {again}", flush=True)
        faults.append(f"{name} {seed}")

    context = multiprocessing.get_context("fork")
    told = context.Queue()
    running = {name: context.Process(target=take_turns, args=(name, minutes, told)) for name in FUZZERS}
    for process in running.values():
        process.start()
    begin, shown = time.monotonic(), 0.0
    while True:
        ended = not any(process.is_alive() for process in running.values())
        try:
            name, seed, found, fault = told.get(timeout=1)
        except queue.Empty:
            if ended:
                break
        else:
            seeds[name] = seed
            counts[name].update(found)
            if fault:
                note(name, seed, fault, count=1)
        if time.monotonic() - begin >= shown + 60:
            shown = time.monotonic() - begin
            show(counts, shown)
            record(minutes, shown, counts, faults)
    for name, process in running.items():
        if process.exitcode:
            note(name, seeds[name], f"{name}: its process ended with {process.exitcode} in a turn from this seed on")
    seconds = time.monotonic() - begin
    show(counts, seconds)
    record(minutes, seconds, counts, faults)
    return len(faults)


def record(minutes: float, seconds: float, counts: dict[str, Counts], faults: list[str]) -> None:
    """Write the counts so far."""
    figures = {
        "command": f"make fuzz MINUTES={minutes:g}",
        "seconds": round(seconds),
        "counts": {name: dict(sorted(each.items())) for name, each in counts.items()},
        "faults": faults,
    }
    save("fuzz", figures)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m fuzz")
    arguments.add_argument("fuzzer", nargs="?", choices=FUZZERS, help="run this one only")
    arguments.add_argument("--minutes", type=float, default=30.0, help="at most, for a run of all")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=1000)
    given = arguments.parse_args()
    if given.fuzzer is None:
        sys.exit(1 if run_all(given.minutes) else 0)
    prepare()
    show({given.fuzzer: FUZZERS[given.fuzzer].run(given.seed, count=given.count)}, 0)


if __name__ == "__main__":
    main()
