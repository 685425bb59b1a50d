"""The dynamic program in its plainest form, over any semiring: the specification of `viterbi` and `marginals`.

One pass over the lattice, tag by tag, answers every question; the semiring decides which. `BEST` keeps the best
sequence (Viterbi), `LOG` gives the log partition function, `COUNT` the number of legal sequences. It is slow, O(N²)
semiring operations with no bound on the depth: the tests and the benchmark compare the fast code with it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hexatagger.decode.lattice import choices, next_depth
from hexatagger.tags.hexatag import Hexatag

T = TypeVar("T")

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
    """Return the semiring sum over all legal sequences; `leaf` is (words, 2), `internal` (words − 1, 4).

    >>> zeros = [[0.0, 0.0]] * 3, [[0.0] * 4] * 2
    >>> total(*zeros, COUNT)  # Catalan(2) · 2²
    8
    """
    states: dict[int, T] = {0: semiring.one}
    length = max(0, 2 * len(leaf) - 1)
    for position in range(length):
        scores = internal[position // 2] if position % 2 else leaf[position // 2]
        reached: dict[int, T] = {}
        for depth, value in states.items():
            for tag, score in zip(choices(position), scores, strict=True):
                after = next_depth(depth, tag)
                if after is None or math.isinf(score):
                    continue
                step = semiring.times(value, semiring.weigh(tag, score))
                reached[after] = semiring.plus(reached[after], step) if after in reached else step
        states = reached
    return states.get(1 if length else 0, semiring.zero)


def best(leaf: Sequence[Sequence[float]], internal: Sequence[Sequence[float]]) -> list[Hexatag]:
    """Return the best legal sequence; ties go to the first in lexicographic order of the tags.

    >>> [str(tag) for tag in best([[0, 0], [0, 0]], [[0, 1, 0, 0]])]
    ['l', 'Lr', 'r']
    """
    return list(total(leaf, internal, BEST)[1])


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
