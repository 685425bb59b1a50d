"""The log partition function over legal sequences, and the exact marginal probability of every tag.

A network scores tags one by one, but only legal sequences are trees. Scores are renormalised over legal sequences: the
probability of a sequence is exp(sum of its scores) / Z. This is forward-backward in the log semiring, O(N · depth) per
sentence: one table for the sentences, one for the reversed sentences.

The result is exact up to rounding; scores so large that rounding would show are refused. Up to 64 words the table has
all levels of depth. For longer sentences the row "deeper" bounds the mass beyond the levels, which are doubled until
the bound is below a share of 1e-12.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.lattice import (
    Ints,
    Moves,
    Scores,
    check_scores,
    fill,
    highest_scores,
    longest_first,
    moves,
    refuse_impossible,
    refuse_imprecise,
    size_batches,
    total,
)

_ALL_LEVELS = 32
"""Initial number of depth levels: sentences that cannot go deeper need no second table."""
_CELLS = 400_000
"""Maximum size of a table; the batch is split accordingly."""
_LOST = 1e-12
"""Maximum share of the mass beyond the depth levels of the table."""


@dataclass(frozen=True, slots=True)
class Marginals:
    """The distribution over legal sequences; probabilities beyond the end of a sentence are 0."""

    log_partition: Scores
    """Log of the sum of exp(score) over all legal sequences (log Z): (batch,); 0 for an empty sentence."""
    leaf: Scores
    """Probability of every leaf tag: (batch, words, 2)."""
    internal: Scores
    """Probability of every internal tag: (batch, words − 1, 4)."""


def marginals(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike) -> Marginals:
    """Return the log partition function and the marginal probability of every tag; scores as for `best`. O(N · depth).

    >>> found = marginals(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])
    >>> round(float(np.exp(found.log_partition[0])), 9)  # three words have 8 legal sequences
    8.0
    >>> found.leaf[0].round(9).tolist()  # the first word is always l, the last always r
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    leaf_scores, internal_scores, sizes = check_scores(leaf, internal, lengths)
    totals = np.zeros(len(sizes))
    leaf_shares, internal_shares = np.zeros_like(leaf_scores), np.zeros_like(internal_scores)
    for numbers, leaves, nodes, steps, value in log_tables(leaf_scores, internal_scores, sizes):
        words = len(value)
        totals[numbers] = total(steps, value)
        shares = _tag_probabilities(leaves, nodes, steps.sizes, _move_probabilities(steps, value, totals[numbers]))
        leaf_shares[numbers, :words], internal_shares[numbers, : words - 1] = shares
    return Marginals(totals, leaf_shares, internal_shares)


def log_partition(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike) -> Scores:
    """Return the log partition function alone: (batch,). Scores as for `best`; O(N · depth).

    >>> np.exp(log_partition(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])).round(9).tolist()
    [8.0]
    """
    leaf_scores, internal_scores, sizes = check_scores(leaf, internal, lengths)
    found = np.zeros(len(sizes))
    for numbers, _, _, steps, value in log_tables(leaf_scores, internal_scores, sizes):
        found[numbers] = total(steps, value)
    return found


def log_tables(leaf: Scores, internal: Scores, sizes: Ints) -> Iterator[tuple[Ints, Scores, Scores, Moves, Scores]]:
    """Yield parts of a batch: indices, leaf and internal scores, moves, and a table with all but 1e-12 of the mass."""
    order = longest_first(sizes)
    short = sizes[order] // 2 <= _ALL_LEVELS
    for numbers in (*order[~short][:, None], *size_batches(order[short], sizes, cells=_CELLS, power=2, least=64)):
        longest = int(sizes[numbers[0]])
        leaves, nodes = leaf[numbers, :longest], internal[numbers, : longest - 1]
        steps = moves(leaves, nodes, sizes[numbers], np.logaddexp)
        deepest = longest // 2
        levels = max(1, min(deepest, _ALL_LEVELS))
        while True:
            value = fill(steps, np.logaddexp, levels, deeper=False)
            found = total(steps, value)
            bound = found if levels >= deepest else total(steps, fill(steps, np.logaddexp, levels))
            refuse_impossible(bound, numbers)
            if levels >= deepest or (found > bound - _LOST).all():
                break
            levels = min(2 * levels, deepest)
        refuse_imprecise(highest_scores(leaves, nodes), found, sizes[numbers], numbers)
        yield numbers, leaves, nodes, steps, value


def _move_probabilities(steps: Moves, value: Scores, totals: Scores) -> tuple[Scores, Scores, Scores]:
    """Return the probabilities of going up, staying and going down: each (words − 1, batch), 0 for last words."""
    words, _, batch = value.shape
    up, stay, down = (np.zeros((max(0, words - 1), batch)) for _ in range(3))
    if words == 1:
        return up, stay, down
    up[0] = steps.sizes > 1
    # The prefix before word w is the suffix from word size − w on of the reversed sentence.
    places = np.arange(1, words - 1)[:, None]
    before = fill(steps.reversed(), np.logaddexp, value.shape[1] - 3, deeper=False)
    before = before[np.maximum(steps.sizes - places, 1), 1:-2, np.arange(batch)].transpose(0, 2, 1)
    inside = (places < steps.sizes - 1)[:, None]
    after = np.where(inside, value[2:], -np.inf)
    before = np.where(inside, before, -np.inf) - totals
    up[1:] = np.exp(before + after[:, 2:-1] + steps.up[1:, None]).sum(1)
    stay[1:] = np.exp(before + after[:, 1:-2] + steps.stay[1:, None]).sum(1)
    down[1:] = np.exp(before + after[:, :-3] + steps.down[1:, None]).sum(1)
    return up, stay, down


def _tag_probabilities(
    leaf: Scores, internal: Scores, sizes: Ints, shares: tuple[Scores, ...]
) -> tuple[Scores, Scores]:
    """Distribute the probabilities of moves over the tags that make them."""
    up, stay, down = (share.T for share in shares)
    stay_left, l_left, r_left = conditionals(leaf, internal)
    by_l, by_r = stay * stay_left, stay * (1 - stay_left)  # `l R·` and `r L·`
    leaves = np.zeros_like(leaf)
    leaves[:, :-1] = np.stack([up + by_l, down + by_r], axis=-1)
    leaves[np.arange(len(leaf)), sizes - 1, (sizes > 1).astype(np.intp)] = 1
    l_child, r_child = up + by_r, down + by_l
    nodes = [l_child * l_left, l_child * (1 - l_left), r_child * r_left, r_child * (1 - r_left)]
    return leaves, np.stack(nodes, axis=-1)


def conditionals(leaf: Scores, internal: Scores) -> tuple[Scores, Scores, Scores]:
    """Return p(`l` | stay), p(head left | `L·`) and p(head left | `R·`), each (batch, words − 1)."""
    l_child, r_child = (np.logaddexp(internal[:, :, side], internal[:, :, side + 1]) for side in (0, 2))
    return (
        _share(leaf[:, :-1, 0] + r_child, leaf[:, :-1, 1] + l_child),
        _share(internal[:, :, 0], internal[:, :, 1]),
        _share(internal[:, :, 2], internal[:, :, 3]),
    )


def _share(one: Scores, other: Scores) -> Scores:
    """Return exp(one) / (exp(one) + exp(other)); 1 where both are −inf, where the value does not matter."""
    whole = np.logaddexp(one, other)
    nothing = np.isneginf(whole)
    share: Scores = np.exp(np.where(nothing, 0.0, one) - np.where(nothing, 0.0, whole))
    return share
