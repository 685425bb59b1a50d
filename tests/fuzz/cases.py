"""What the fuzzers share: seeded cases, counts, and faults that name the seed that shows them."""

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeVar

T = TypeVar("T")

Counts = Counter[str]
"""What was tried, by kind; `cases` counts the cases."""


class Fault(AssertionError):  # noqa: N818
    """A promise that a case broke; `seed` alone makes the case again, `counts` is what was tried before."""

    def __init__(self, fuzzer: str, seed: int, error: BaseException, counts: Counts) -> None:
        super().__init__(f"{fuzzer}, seed {seed}: {type(error).__name__}: {str(error)[:2000]}")
        self.seed, self.counts = seed, counts


def run_cases(
    fuzzer: str,
    case: Callable[[random.Random], Iterable[str]],
    seed: int,
    *,
    count: int | None = None,
    seconds: float | None = None,
) -> Counts:
    """Run the cases of the seeds `seed`, `seed + 1`, … : `count` of them, or as many as fit into `seconds`.

    A case returns what is to be counted. Any exception from it is a Fault.
    """
    counts, end = Counts(), time.monotonic() + (seconds or 0)
    for number in itertools.count() if count is None else range(count):
        if count is None and number and time.monotonic() >= end:
            break
        try:
            counts.update(case(random.Random(seed + number)))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # subtle: a panic of a Rust library is not an Exception
            raise Fault(fuzzer, seed + number, error, counts) from error
        counts["cases"] += 1
    return counts


def check(holds: object, what: object) -> None:
    """Raise AssertionError unless something holds, with `what` as the message."""
    if not holds:
        raise AssertionError(what)


ODD_VALUES: list[Any] = [None, True, False, 0, 1, -1, 2, 3, 10**9, 10**30, 0.5, 1e308, "", "x", "_", "root", "é\u2028"]
ODD_VALUES += [[], [None], [[]], ["x"], [1, 2], {}, {"a": 1}, {"1": 0}, "1", "\x00", "a" * 300]


def mutate_bytes(chance: random.Random, data: bytes, times: int) -> bytes:
    """Change single bytes, or remove, repeat or move short runs of them."""
    changed = bytearray(data)
    for _ in range(times):
        place, length = chance.randrange(len(changed) + 1), chance.randrange(1, 12)
        part = changed[place : place + length]
        match chance.randrange(5):
            case 0:
                changed[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[place : place + length]
            case 2:
                changed[place:place] = part
            case 3:
                other = chance.randrange(len(changed) + 1)
                changed[other:other] = part
            case _:
                changed[place : place + 1] = chance.choice(
                    [b"\t", b"\n", b"\r", b"0", b"-", b'"', b"{", b"\\", b"\xff"]
                )
    return bytes(changed)


def mutate_json(chance: random.Random, values: T, odd: list[Any] | None = None) -> T:
    """Change one place of a JSON value: another value, a removed, added, repeated or renamed item."""
    changed = {"": deepcopy(values)}
    inner: Any = changed
    key: Any = ""
    while isinstance(inner[key], dict | list) and inner[key] and chance.random() < 0.8:
        inner = inner[key]
        key = chance.choice(list(inner)) if isinstance(inner, dict) else chance.randrange(len(inner))
    value = deepcopy(chance.choice(odd or ODD_VALUES))
    if inner is changed or chance.random() < 0.5:
        inner[key] = value
    elif isinstance(inner, list):
        inner[key:key] = [deepcopy(inner[key])] if chance.random() < 0.5 else [value]
        if chance.random() < 0.5:
            del inner[key : key + 2]
    elif chance.random() < 0.5:
        del inner[key]
    else:
        inner[chance.choice(["x", "model", "k", "relations", key + "s"])] = value
    return changed[""]


def mutate_document(chance: random.Random, values: Any, odd: list[Any] | None = None) -> bytes:
    """Write mutated JSON, now and then with mutated bytes."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        values = mutate_json(chance, values, odd)
    data = json.dumps(values, ensure_ascii=chance.random() < 0.5).encode()
    return mutate_bytes(chance, data, chance.randrange(1, 4)) if chance.random() < 0.2 else data
