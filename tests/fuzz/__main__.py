"""Run all fuzzers in turn for some minutes with new seeds, or one of them with a given seed.

    make fuzz MINUTES=30
    python -m fuzz conllu --seed 123 --count 1        # a fault again: src, tests and benchmarks on PYTHONPATH

Counts are printed every minute. At the end of a run of all fuzzers, they go to benchmarks/results/fuzz.json. Exits with
1 if there was a fault.
"""

import argparse
import logging
import resource
import secrets
import subprocess
import sys
import time
from collections import Counter

from fuzz import conllu, decoder, kills, models, requests, texts
from fuzz.cases import Counts, Fault
from results import ROOT, save

FUZZERS = {"conllu": conllu, "texts": texts, "decoder": decoder, "requests": requests, "models": models, "kills": kills}
_TURN = 10.0
"""Seconds of a turn; the kills have three at once, because they run each command to its end first."""

_MEMORY = 6 << 30
"""Bytes of address space that the fuzzers and the commands they start may have."""


def show(counts: dict[str, Counts], seconds: float) -> None:
    print(f"after {seconds / 60:.1f} minutes")
    for name, each in counts.items():
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(each.items()) if kind != "cases")
        print(f"  {name:9}{each['cases']:>10,}  {kinds}", flush=True)


def run_all(minutes: float) -> int:
    """Run the fuzzers in turn; return how many faults there were."""
    counts: dict[str, Counts] = {name: Counter() for name in FUZZERS}
    spent: Counter[str] = Counter()
    faults: list[str] = []
    begin, told = time.monotonic(), 0.0
    while time.monotonic() - begin < 60 * minutes:
        # The one that had the least time is next.
        name = min(FUZZERS, key=lambda each: spent[each])
        seed, start = secrets.randbelow(10**12), time.monotonic()
        print(f"{name} --seed {seed}", flush=True)  # for a turn that ends the whole process
        try:
            counts[name].update(FUZZERS[name].run(seed, seconds=_TURN * (3 if name == "kills" else 1)))
        except Fault as fault:
            again = f"PYTHONPATH=src:tests:benchmarks python -m fuzz {name} --seed {fault.seed} --count 1"
            print(f"FAULT {fault}\n  again: {again}", flush=True)
            counts[name].update(fault.counts)
            faults.append(f"{name} {fault.seed}")
        spent[name] += int(1000 * (time.monotonic() - start)) + 1
        if time.monotonic() - begin >= told + 60:
            told = time.monotonic() - begin
            show(counts, told)
    seconds = time.monotonic() - begin
    show(counts, seconds)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    figures = {
        "command": f"make fuzz MINUTES={minutes:g}",
        "commit": commit.stdout.strip(),
        "seconds": round(seconds),
        "counts": {name: dict(sorted(each.items())) for name, each in counts.items()},
        "faults": faults,
    }
    save("fuzz", figures)
    return len(faults)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m fuzz")
    arguments.add_argument("fuzzer", nargs="?", choices=FUZZERS, help="run this one only")
    arguments.add_argument("--minutes", type=float, default=30.0, help="for a run of all")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=1000)
    given = arguments.parse_args()
    resource.setrlimit(
        resource.RLIMIT_AS, (_MEMORY, _MEMORY)
    )  # too much memory is a fault with a seed, not a dead machine
    logging.disable(logging.WARNING)  # files that are cut off are reported, and many are here
    if given.fuzzer is None:
        sys.exit(1 if run_all(given.minutes) else 0)
    show({given.fuzzer: FUZZERS[given.fuzzer].run(given.seed, count=given.count)}, 0)


if __name__ == "__main__":
    main()
