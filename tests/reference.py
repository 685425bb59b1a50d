"""The dynamic program in its plainest form, over any semiring: what `viterbi`, `marginals` and `tree_scores` compute.

One pass over the lattice, tag by tag, answers every question; the semiring decides which. `BEST` keeps the best
sequence (Viterbi), `LOG` gives the log partition function, `COUNT` the number of legal sequences; `tree_total` does the
same over the sequences of one tree. It is slow, O(N²) semiring operations with no bound on the depth: the tests and the
benchmark compare the fast code with it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hexatagger.tags.hexatag import DEPTH_CHANGE, Hexatag
from hexatagger.tree import check_projective, dependents_of, subtree

T = TypeVar("T")

LEAF_TAGS, INTERNAL_TAGS = tuple(Hexatag)[:2], tuple(Hexatag)[2:]

Path = tuple[float, tuple[Hexatag, ...]]
"""A score and its tags."""


@dataclass(frozen=True, slots=True)
class Semiring(Generic[T]):
    """A semiring: `plus` over alternatives, `times` along a sequence; `weigh` makes a value of one scored tag."""

    zero: T
    one: T
    plus: Callable[[T, T], T]
    times: Callable[[T, T], T]
    weigh: Callable[[Hexatag, float], T]


def total(leaf: Sequence[Sequence[float]], internal: Sequence[Sequence[float]], semiring: Semiring[T]) -> T:
    """Return the semiring sum over all legal sequences; `leaf` is (words, 2), `internal` (words − 1, 4)."""
    states: dict[int, T] = {0: semiring.one}
    length = max(0, 2 * len(leaf) - 1)
    for position in range(length):
        scores = internal[position // 2] if position % 2 else leaf[position // 2]
        reached: dict[int, T] = {}
        for depth, value in states.items():
            for tag, score in zip(INTERNAL_TAGS if position % 2 else LEAF_TAGS, scores, strict=True):
                after = depth + DEPTH_CHANGE[tag]
                if after < 1 or math.isinf(score):
                    continue
                step = semiring.times(value, semiring.weigh(tag, score))
                reached[after] = semiring.plus(reached[after], step) if after in reached else step
        states = reached
    return states.get(1 if length else 0, semiring.zero)


def best(leaf: Sequence[Sequence[float]], internal: Sequence[Sequence[float]]) -> list[Hexatag]:
    """Return the best legal sequence; ties go to the first in lexicographic order of the tags."""
    return list(total(leaf, internal, BEST)[1])


def tree_total(heads: Iterable[int], weigh: Callable[[int, Hexatag], T], semiring: Semiring[T]) -> T:
    """Return the semiring sum over the sequences of a projective tree; `weigh` gets a 0-based place and its tag."""
    heads = check_projective(heads)
    size = len(heads)
    subtrees = [subtree(word, dependents_of(heads)) for word in range(1, size + 1)]
    rows: list[tuple[list[int], list[int]]] = [([], []) for _ in range(size)]  # places of nodes by side, nearest first
    for word in range(size, 0, -1):
        if (head := heads[word - 1]) > word:
            rows[head - 1][0].append(2 * max(subtrees[word - 1]) - 1)
    for word, head in enumerate(heads, 1):
        if 0 < head < word:
            rows[head - 1][1].append(2 * min(subtrees[word - 1]) - 3)
    result = semiring.one
    for word, (left, right) in enumerate(rows, 1):
        whole = int(0 < heads[word - 1] < word)
        result = semiring.times(result, _grid(2 * word - 2, left, right, whole, weigh, semiring))
    return result


def _grid(
    place: int,
    left: Sequence[int],
    right: Sequence[int],
    whole: int,
    weigh: Callable[[int, Hexatag], T],
    semiring: Semiring[T],
) -> T:
    """Return the sum over the interleavings of one word; `whole` is the child side of its whole subtree."""
    # Keys: dependents attached on each side, and the side of the last (2: none). The last node has no tag yet.
    states: dict[tuple[int, int, int], T] = {(0, 0, 2): semiring.one}

    def close(state: tuple[int, int, int], side: int) -> T:
        taken_left, taken_right, last = state
        if last == 2:
            return semiring.times(states[state], weigh(place, Hexatag(side)))
        node = right[taken_right - 1] if last else left[taken_left - 1]
        return semiring.times(states[state], weigh(node, Hexatag(2 + 2 * side + 1 - last)))

    for steps in range(len(left) + len(right)):
        for taken_left in range(max(0, steps - len(right)), min(steps, len(left)) + 1):
            taken_right = steps - taken_left
            for last in (0, 1, 2):
                state = taken_left, taken_right, last
                if state not in states:
                    continue
                for after in ((taken_left + 1, taken_right, 0), (taken_left, taken_right + 1, 1)):
                    if after[0] <= len(left) and after[1] <= len(right):
                        value = close(state, 1 - after[2])
                        states[after] = semiring.plus(states[after], value) if after in states else value
    ends = [close(state, whole) for state in states if state[:2] == (len(left), len(right))]
    return ends[0] if len(ends) == 1 else semiring.plus(*ends)


def _better(one: Path, other: Path) -> Path:
    return min(one, other, key=_rank)


def _rank(path: Path) -> tuple[float, tuple[Hexatag, ...]]:
    return -path[0], path[1]


def _log_add(one: float, other: float) -> float:
    high, low = max(one, other), min(one, other)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


BEST: Semiring[Path] = Semiring(
    zero=(-math.inf, ()),
    one=(0.0, ()),
    plus=_better,
    times=lambda one, other: (one[0] + other[0], one[1] + other[1]),
    weigh=lambda tag, score: (score, (tag,)),
)

LOG: Semiring[float] = Semiring(
    zero=-math.inf,
    one=0.0,
    plus=_log_add,
    times=lambda one, other: one + other,
    weigh=lambda tag, score: score,
)

COUNT: Semiring[int] = Semiring(
    zero=0,
    one=1,
    plus=lambda one, other: one + other,
    times=lambda one, other: one * other,
    weigh=lambda tag, score: 1,
)
