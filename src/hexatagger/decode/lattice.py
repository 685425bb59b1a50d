"""The lattice of legal tag sequences: states, moves, and one table over (word, depth) for a batch of sentences.

A state is the stack depth. Each tag changes it by `DEPTH_CHANGE`; it is 0 before the first tag, at least 1 after every
tag, and 1 at the end. These conditions are necessary and sufficient for legality, so dynamic programming over the depth
is exact.

Tags come in pairs, a leaf tag and the internal tag after it, so a word makes one of three moves between the depths
after internal tags: `l L·` goes up, `l R·` and `r L·` stay, `r R·` goes down. The first word always goes up. The last
word has only a leaf tag, `r`, and a one-word sentence is `l`.

`fill` computes, for every word and every depth before it, the sum over all legal continuations to the end of the
sentence. The semiring decides what a sum is: `np.maximum` gives Viterbi scores, `np.logaddexp` log partition functions.
The table of the reversed sentences (`Moves.reversed`) gives the prefix sums. Filling takes O(N · depth) per sentence.

The number of depth levels is a parameter, since real sentences need few. The last row, "deeper", allows every move, so
it is an upper bound on what deeper sequences could contribute. Every caller uses this bound to stay exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.errors import DecodeError

Scores = NDArray[np.float64]
Tags = NDArray[np.int8]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

LEVELS = 12
"""Initial number of depth levels; UD treebanks need 6 to 9."""
HIGHEST = 1e300
"""Highest score, so that sums do not overflow; scores below −1e300, the masks of some programs, count as −inf."""
_PRECISION = 1e-6
"""How far rounding may change a probability."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Scores of the moves of every word, all (words, batch); sentences are sorted by length, longest first."""

    sizes: Ints
    up: Scores
    stay: Scores
    down: Scores
    last: Scores
    """Score of the leaf tag of the last word, which ends the sentence at depth 1; not read for other words."""
    first: Scores
    """Score of the first word's only move, up to depth 1: (batch,); 0 for one-word sentences, which have none."""
    only: Scores
    """Score of the leaf tag `l` of the first word, for one-word sentences: (batch,)."""

    @property
    def reach(self) -> Ints:
        """The number of sentences that have each word."""
        return np.searchsorted(-self.sizes, -np.arange(1, len(self.last) + 1), side="right").astype(np.intp)

    def reversed(self) -> "Moves":
        """Return the moves of the sentences read from right to left: up and down change places."""
        words = len(self.last)
        places = np.maximum(self.sizes - 1 - np.arange(words)[:, None], 0)
        inner = places[: max(0, words - 1)]
        columns = np.arange(len(self.sizes))

        def turn(scores: Scores) -> Scores:
            return scores[np.minimum(inner, max(0, words - 2)), columns] if words > 1 else scores

        last = np.zeros_like(self.last)
        last[self.sizes - 1, columns] = self.first
        first = self.last[self.sizes - 1, columns]
        return Moves(self.sizes, turn(self.down), turn(self.stay), turn(self.up), last, first, self.only)


def moves(leaf: Scores, internal: Scores, sizes: Ints, plus: np.ufunc) -> Moves:
    """Reduce tag scores to move scores: `plus` over the tags that make the same move."""
    # Transposed to (words, batch), as the program goes word by word.
    left, right = np.ascontiguousarray(leaf[:, :, 0].T), np.ascontiguousarray(leaf[:, :, 1].T)
    l_child = plus(internal[:, :, 0], internal[:, :, 1]).T
    r_child = plus(internal[:, :, 2], internal[:, :, 3]).T
    up, down = left[:-1] + l_child, right[:-1] + r_child
    stay = plus(left[:-1] + r_child, right[:-1] + l_child)
    first = np.where(sizes > 1, up[0], 0.0) if len(up) else np.zeros(len(sizes))
    return Moves(sizes, up, stay, down, right, first, left[0])


def fill(steps: Moves, plus: np.ufunc, levels: int, *, deeper: bool = True) -> Scores:
    """Return the suffix sums (words, levels + 3, batch); the second axis is the depth before the word.

    Depth 0 is illegal. Row `levels` + 1 is "deeper" (−inf unless `deeper`); the row after it is always −inf. Entries of
    the first word (use `total` instead) and of words beyond the end of a sentence are undefined.
    """
    words, batch = steps.last.shape
    up, stay, down, last, reach = steps.up, steps.stay, steps.down, steps.last, steps.reach.tolist()
    deep = int((steps.sizes // 2 > levels).sum()) if deeper else 0  # what goes up must come down
    anything = plus(plus(up, down), stay) if deep else stay
    value = np.empty((words, levels + 3, batch))  # not initialised: entries that no sentence reaches are never touched
    value[:, 0] = value[:, -2:] = -np.inf
    going = 0  # sentences that continue after this word
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
        if reached > going:  # sentences whose last word this is, at depth 1
            here[2:, going:reached] = -np.inf
            here[1, going:reached] = last[word, going:reached]
        going = reached
    return value


def total(steps: Moves, value: Scores) -> Scores:
    """Return the sums over whole sentences: (batch,)."""
    if len(value) == 1:
        return steps.only
    # subtle: undefined entries must not even be added to, as they may be values that make numpy warn
    more = steps.sizes > 1
    return np.where(more, steps.first, steps.only) + np.where(more, value[1, 1], 0.0)


def longest_first(sizes: Ints) -> Ints:
    """Return the indices of the non-empty sentences, longest first: the sentences that have word w are then a slice."""
    order = np.argsort(-sizes, kind="stable")
    return order[sizes[order] > 0].astype(np.intp)


def size_batches(
    order: Ints, sizes: Ints, *, cells: int, power: int, least: int = 1, near: float = 0.75
) -> Iterator[Ints]:
    """Split sentences, longest first, into batches of similar length, as every sentence pays for the longest.

    A sentence counts as size ** `power` cells. A batch has at most `cells` cells, and no sentence shorter than `near`
    times the longest, unless the batch would have fewer than `least` sentences.
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
        raise DecodeError(f"sentence {number} of the batch has no legal sequence: too many tags are forbidden (-inf)")


def refuse_imprecise(highest: Scores, totals: Scores, sizes: Ints, numbers: Ints) -> None:
    """Raise DecodeError if rounding could change probabilities by more than `_PRECISION`.

    `highest` are the highest scores of the places of each sentence (batch, places), and `totals` log partition
    functions. On every path that matters, no partial sum is larger than the sum of the highest scores plus the gap
    between these and the total. Scores that no such path has, as of masks, do not count.
    """
    largest = np.abs(highest).sum(1) + np.abs(totals - highest.sum(1))
    if (wrong := np.spacing(largest) * sizes > _PRECISION).any():
        row = int(wrong.argmax())
        raise DecodeError(
            f"the scores of sentence {int(numbers[row]) + 1} of the batch are too large for probabilities: they add up "
            f"to {largest[row]:.1e}, where rounding hides differences between trees. Subtract the highest score of "
            "every place (log-softmax), or divide them by a temperature"
        )


def highest_scores(leaf: Scores, internal: Scores) -> Scores:
    """Return the highest score of every place: (batch, places)."""
    # subtle: maxima of slices, as those along a short axis are many times slower
    nodes = np.maximum(np.maximum(internal[..., 0], internal[..., 1]), np.maximum(internal[..., 2], internal[..., 3]))
    return np.concatenate([np.maximum(leaf[..., 0], leaf[..., 1]), nodes], axis=1)


def check_scores(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike) -> tuple[Scores, Scores, Ints]:
    """Check shapes and values, and return arrays with 0 beyond the end of each sentence."""
    leaf_scores, internal_scores = np.asarray(leaf, np.float64), np.asarray(internal, np.float64)
    sizes = np.asarray(lengths, np.intp)
    if leaf_scores.ndim < 3 and leaf_scores.size == 0:
        leaf_scores = np.zeros((sizes.size, 0, 2))
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
        if (~(scores <= HIGHEST))[np.broadcast_to(inside, scores.shape)].any():
            raise DecodeError(
                f"{name} scores contain NaN, +inf or a number above {HIGHEST:.0e}: a score is a finite number or -inf "
                "(forbidden)"
            )
        low = scores < -HIGHEST
        scores = np.where(low, -np.inf, scores) if low.any() else scores
        found.append(scores if inside.all() else np.where(inside, scores, 0.0))
    return found[0], found[1], sizes
