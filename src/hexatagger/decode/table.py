"""One table over (word, depth), filled for a batch of sentences at once: every answer is read off this table.

A word makes one of three moves between depths (see `lattice`): up, stay, down. The table holds, for every word and
every depth before it, the sum over all legal ways to the end of the sentence; what "sum" means is the caller's choice:
`np.maximum` for the best sequence, `np.logaddexp` for the mass of all. The same table filled for the sentence read from
its end says what lies before a word (`turned`).

The table has a number of levels, as real sentences need few. Its last row, "deeper than that", allows everything, and
so bounds from above what deeper sequences could add: each reader says how it stays exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.lattice import greatest_depth
from hexatagger.errors import DecodeError

Scores = NDArray[np.float64]
Tags = NDArray[np.int8]
Ints = NDArray[np.intp]

LEVELS = 12
"""Levels of depth to begin with: on the treebanks of UD, 6 to 9 are needed."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Scores of the moves of every word; all (words, batch), the sentences in falling order of size."""

    sizes: Ints
    up: Scores
    stay: Scores
    down: Scores
    last: Scores
    """Score of the last word, which closes the sentence at depth 1; of the others not looked at."""
    first: Scores
    """Score of the first word's only move, up to depth 1: (batch,); 0 for a word alone, which has none."""
    left: Scores
    """Score of the first word's leaf tag if it is alone: (batch,)."""

    @property
    def reach(self) -> Ints:
        """How many sentences have each word."""
        return np.searchsorted(-self.sizes, -np.arange(1, len(self.last) + 1), side="right").astype(np.intp)

    def turned(self) -> "Moves":
        """Return the moves of the sentences read from their end: up is down, and the other way round."""
        words = len(self.last)
        places = np.maximum(self.sizes - 1 - np.arange(words)[:, None], 0)
        inner = places[: max(0, words - 1)]
        columns = np.arange(len(self.sizes))

        def turn(scores: Scores) -> Scores:
            return scores[np.minimum(inner, max(0, words - 2)), columns] if words > 1 else scores

        last = np.zeros_like(self.last)
        last[self.sizes - 1, columns] = self.first
        return Moves(
            self.sizes,
            turn(self.down),
            turn(self.stay),
            turn(self.up),
            last,
            self.last[self.sizes - 1, columns],
            self.left,
        )


def moves(leaf: Scores, internal: Scores, sizes: Ints, plus: np.ufunc) -> Moves:
    """Reduce scores to those of moves: `plus` over the tags that make the same move."""
    # Transposed to (words, batch), as the program goes word by word.
    left, right = np.ascontiguousarray(leaf[:, :, 0].T), np.ascontiguousarray(leaf[:, :, 1].T)
    l_child = plus(internal[:, :, 0], internal[:, :, 1]).T
    r_child = plus(internal[:, :, 2], internal[:, :, 3]).T
    up, down = left[:-1] + l_child, right[:-1] + r_child
    stay = plus(left[:-1] + r_child, right[:-1] + l_child)
    first = np.where(sizes > 1, up[0], 0.0) if len(up) else np.zeros(len(sizes))
    return Moves(sizes, up, stay, down, right, first, left[0])


def fill(steps: Moves, plus: np.ufunc, levels: int, *, deeper: bool = True) -> Scores:
    """Return the sums from every word to the end: (words, levels + 3, batch), the second axis the depth before it.

    Depth 0 is illegal, depth `levels` + 1 the row "deeper" (−inf unless `deeper`), the row behind it is always −inf.
    What stands for the first word (its sum is `total`) and behind the end of a sentence means nothing.
    """
    words, batch = steps.last.shape
    up, stay, down, last, reach = steps.up, steps.stay, steps.down, steps.last, steps.reach.tolist()
    deep = int((greatest_depth(steps.sizes) > levels).sum()) if deeper else 0
    anything = plus(plus(up, down), stay) if deep else stay
    value = np.empty((words, levels + 3, batch))  # not filled at once: what no sentence reaches is never touched
    value[:, 0] = value[:, -2:] = -np.inf
    going = 0  # sentences that have more words after this one
    for word in range(words - 1, 0, -1):
        here = value[word]
        if going:
            after = value[word + 1, :, :going]
            sums = np.add(after[2:-1], up[word, :going], out=here[1:-2, :going])
            plus(sums, after[1:-2] + stay[word, :going], out=sums)
            plus(sums, after[:-3] + down[word, :going], out=sums)
            if rough := min(deep, going):
                beyond = after[-2, :rough] + anything[word, :rough]
                plus(beyond, after[-3, :rough] + down[word, :rough], out=here[-2, :rough])
        reached = reach[word]
        if reached > going:  # their last word, at depth 1
            here[2:, going:reached] = -np.inf
            here[1, going:reached] = last[word, going:reached]
        going = reached
    return value


def total(steps: Moves, value: Scores) -> Scores:
    """Return the sum over whole sentences: (batch,)."""
    if len(value) == 1:
        return steps.left
    # subtle: what is never filled is not even added to, as anything may be there, a number that makes numpy warn too
    more = steps.sizes > 1
    return np.where(more, steps.first, steps.left) + np.where(more, value[1, 1], 0.0)


def by_size(sizes: Ints) -> Ints:
    """Return the numbers of the sentences that have words, longest first: those that have a word are then a slice."""
    order = np.argsort(-sizes, kind="stable")
    return order[sizes[order] > 0].astype(np.intp)


def alike(order: Ints, sizes: Ints, *, cells: int, power: int, least: int = 1, near: float = 0.75) -> Iterator[Ints]:
    """Cut sentences in falling order of size into parts of like sizes, as short ones pay for the longest.

    A part has at least so many sentences, but no more than `cells` cells, if a sentence has its size to this power.
    No sentence is shorter than the longest by more than the factor `near`, unless there would be too few.
    """
    start = 0
    while start < len(order):
        longest = int(sizes[order[start]])
        stop = int(np.searchsorted(-sizes[order], -near * longest, side="right"))
        stop = min(max(stop, start + least), start + max(1, cells // longest**power), len(order))
        yield order[start:stop]
        start = stop


def refuse_impossible(totals: Scores, numbers: Ints) -> None:
    """Raise DecodeError if a sentence has no legal sequence."""
    if np.isneginf(totals).any():
        number = int(numbers[np.isneginf(totals)].min()) + 1
        raise DecodeError(f"sentence {number} of the batch has no legal sequence: too much of it is forbidden (-inf)")


def checked(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike) -> tuple[Scores, Scores, Ints]:
    """Check shapes and values; what lies behind the end of a sentence becomes 0."""
    leaf_scores, internal_scores = np.asarray(leaf, np.float64), np.asarray(internal, np.float64)
    sizes = np.asarray(lengths, np.intp)
    batch, words = leaf_scores.shape[:2] if leaf_scores.ndim == 3 else (-1, -1)
    if leaf_scores.shape != (batch, words, 2) or sizes.shape != (batch,):
        raise DecodeError(f"leaf {leaf_scores.shape} and lengths {sizes.shape} must be (batch, words, 2) and (batch,)")
    if words <= 1 and internal_scores.size == 0:
        internal_scores = np.zeros((batch, 0, 4))
    if internal_scores.ndim != 3 or internal_scores.shape[::2] != (batch, 4) or internal_scores.shape[1] < words - 1:
        raise DecodeError(f"internal {internal_scores.shape} must be (batch, words - 1, 4) = ({batch}, {words - 1}, 4)")
    if batch and not 0 <= sizes.min() <= sizes.max() <= words:
        raise DecodeError(f"lengths {sizes.min()} to {sizes.max()} do not fit scores of {words} words")
    places = np.arange(words)[:, None]
    found = []
    inner = max(0, words - 1)
    for name, scores, ends in (("leaf", leaf_scores, sizes), ("internal", internal_scores[:, :inner], sizes - 1)):
        inside = places[None, : scores.shape[1]] < ends[:, None, None]
        if ((scores != scores) | (scores == np.inf))[np.broadcast_to(inside, scores.shape)].any():
            raise DecodeError(f"{name} scores contain NaN or +inf: a score is a finite number or -inf (forbidden)")
        found.append(scores if inside.all() else np.where(inside, scores, 0.0))
    return found[0], found[1], sizes
