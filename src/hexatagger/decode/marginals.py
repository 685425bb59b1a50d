"""How sure: the mass of all legal sequences (log Z) and the exact posterior of every tag.

A network scores tags one by one, but only legal sequences are trees. Here the scores are renormalised over these: the
probability of a sequence is exp(sum of its scores) / Z. The table is that of `best`, filled with `logaddexp` instead of
`maximum`, once for the sentences as they are and once for the sentences read from their end.

Exact up to rounding at any length: up to 64 words the table has all levels of depth there are; for longer sentences the
row "deeper" bounds the mass that lies beyond the levels, and they are doubled until this is less than 1e-12 of all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.lattice import greatest_depth
from hexatagger.decode.table import Ints, Moves, Scores, alike, by_size, checked, fill, moves, refuse_impossible, total

_ALL_LEVELS = 32
"""Sentences that cannot go deeper get all levels at once; the others begin with as many."""
_CELLS = 400_000
"""How large a table may get; sentences are taken in parts accordingly."""
_LOST = 1e-12
"""The share of the mass that may lie deeper than the table goes."""


@dataclass(frozen=True, slots=True)
class Posteriors:
    """The distribution over legal sequences; behind the end of a sentence all probabilities are 0."""

    log_z: Scores
    """Log of the sum of exp(score) over all legal sequences: (batch,); 0 for an empty sentence."""
    leaf: Scores
    """Probability of every leaf tag: (batch, words, 2)."""
    internal: Scores
    """Probability of every internal tag: (batch, words − 1, 4)."""


def posteriors(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike) -> Posteriors:
    """Return log Z and the probability of every tag; scores as for `best`.

    >>> found = posteriors(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])
    >>> round(float(np.exp(found.log_z[0])), 9)  # the legal sequences of three words
    8.0
    >>> found.leaf[0].round(9).tolist()  # the first word is always l, the last always r
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    totals = np.zeros(len(sizes))
    leaf_shares, internal_shares = np.zeros_like(leaf_scores), np.zeros_like(internal_scores)
    for numbers, steps, value in mass(leaf_scores, internal_scores, sizes):
        words = len(value)
        totals[numbers] = total(steps, value)
        leaves, nodes = leaf_scores[numbers, :words], internal_scores[numbers, : words - 1]
        shares = _move_shares(steps, value, totals[numbers])
        leaf_shares[numbers, :words], internal_shares[numbers, : words - 1] = _tag_shares(leaves, nodes, steps, shares)
    return Posteriors(totals, leaf_shares, internal_shares)


def log_z(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike) -> Scores:
    """Return log Z alone, as `posteriors` does: (batch,).

    >>> np.exp(log_z(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])).round(9).tolist()
    [8.0]
    """
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    found = np.zeros(len(sizes))
    for numbers, steps, value in mass(leaf_scores, internal_scores, sizes):
        found[numbers] = total(steps, value)
    return found


def mass(leaf: Scores, internal: Scores, sizes: Ints) -> Iterator[tuple[Ints, Moves, Scores]]:
    """Yield parts of a batch: numbers of sentences, their moves, and a table with all but 1e-12 of the mass."""
    order = by_size(sizes)
    short = greatest_depth(sizes[order]) <= _ALL_LEVELS
    for numbers in (*order[~short][:, None], *alike(order[short], sizes, cells=_CELLS, power=2, least=64)):
        longest = int(sizes[numbers[0]])
        steps = moves(leaf[numbers, :longest], internal[numbers, : longest - 1], sizes[numbers], np.logaddexp)
        levels = max(1, min(int(greatest_depth(longest)), _ALL_LEVELS))
        while True:
            value = fill(steps, np.logaddexp, levels, deeper=False)
            if levels >= greatest_depth(longest):
                refuse_impossible(total(steps, value), numbers)
                break
            bound = total(steps, fill(steps, np.logaddexp, levels))
            refuse_impossible(bound, numbers)
            if (total(steps, value) > bound - _LOST).all():
                break
            levels = min(2 * levels, int(greatest_depth(longest)))
        yield numbers, steps, value


def _move_shares(steps: Moves, value: Scores, totals: Scores) -> tuple[Scores, Scores, Scores]:
    """Return the probabilities that words go up, stay and go down: each (words − 1, batch), the last words' 0."""
    words, _, batch = value.shape
    up, stay, down = (np.zeros((max(0, words - 1), batch)) for _ in range(3))
    if words == 1:
        return up, stay, down
    up[0] = steps.sizes > 1
    # What lies before word w is, in the sentence read from its end, what lies from word size − w on.
    places = np.arange(1, words - 1)[:, None]
    before = fill(steps.turned(), np.logaddexp, value.shape[1] - 3, deeper=False)
    before = before[np.maximum(steps.sizes - places, 1), 1:-2, np.arange(batch)].transpose(0, 2, 1)
    inside = (places < steps.sizes - 1)[:, None]
    after = np.where(inside, value[2:], -np.inf)
    before = np.where(inside, before, -np.inf) - totals
    for share, scores, ahead in (
        (up, steps.up, after[:, 2:-1]),
        (stay, steps.stay, after[:, 1:-2]),
        (down, steps.down, after[:, :-3]),
    ):
        share[1:] = np.exp(before + ahead + scores[1:, None]).sum(1)
    return up, stay, down


def _tag_shares(leaf: Scores, internal: Scores, steps: Moves, shares: tuple[Scores, ...]) -> tuple[Scores, Scores]:
    """Divide the probabilities of moves among the tags that make them."""
    up, stay, down = (share.T for share in shares)
    stay_left, l_left, r_left = divisions(leaf, internal)
    by_l, by_r = stay * stay_left, stay * (1 - stay_left)  # `l R·` and `r L·`
    leaves = np.zeros_like(leaf)
    leaves[:, :-1] = np.stack([up + by_l, down + by_r], axis=-1)
    rows, sizes = np.arange(len(leaf)), steps.sizes
    leaves[rows, sizes - 1, (sizes > 1).astype(np.intp)] = 1
    l_child, r_child = up + by_r, down + by_l
    return leaves, np.stack(
        [l_child * l_left, l_child * (1 - l_left), r_child * r_left, r_child * (1 - r_left)], axis=-1
    )


def divisions(leaf: Scores, internal: Scores) -> tuple[Scores, Scores, Scores]:
    """Return how choices divide: p(`l` | stay), p(head left | `L·`), p(head left | `R·`), each (batch, words − 1)."""
    l_child, r_child = (np.logaddexp(internal[:, :, side], internal[:, :, side + 1]) for side in (0, 2))
    return (
        _part(leaf[:, :-1, 0] + r_child, leaf[:, :-1, 1] + l_child),
        _part(internal[:, :, 0], internal[:, :, 1]),
        _part(internal[:, :, 2], internal[:, :, 3]),
    )


def _part(one: Scores, other: Scores) -> Scores:
    """Return exp(one) / (exp(one) + exp(other)); 1 where both are −inf, as nothing is divided there."""
    whole = np.logaddexp(one, other)
    nothing = np.isneginf(whole)
    share: Scores = np.exp(np.where(nothing, 0.0, one) - np.where(nothing, 0.0, whole))
    return share
