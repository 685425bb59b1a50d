"""The best legal sequence of every sentence of a batch, and the heads it stands for, in numpy: what runs.

Scores are reduced to three numbers a word (best way up, best way to stay, best way down), and a table over (word,
depth) is filled from the last word to the first for all sentences at once; then the choices are read forwards. Of
equal sequences the first in dictionary order of the tags wins, as in `reference`.

The table has few levels of depth, as real sentences need few. It stays exact by one more row, "deeper than that", in
which everything is allowed: if the best path keeps out of this row, nothing deeper can beat it; if not, the sentence is
done again with twice as many levels. So the answer never depends on the number of levels, only the time does.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.table import (
    LEVELS,
    Ints,
    Moves,
    Scores,
    Tags,
    by_size,
    checked,
    fill,
    moves,
    refuse_impossible,
    total,
)
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import DEPTH_CHANGE, Hexatag, check_tags


def best(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, *, levels: int = LEVELS) -> list[Tags]:
    """Return for each sentence the legal sequence of 2N−1 tags with the highest sum of scores.

    `leaf` is (batch, words, 2), `internal` (batch, words − 1, 4), the last axes in the order of `Hexatag`; `lengths`
    says how many words each sentence has, what lies behind is not looked at. A score of −inf forbids a tag. `levels`
    changes the speed, never the answer.

    >>> [tags] = best(np.zeros((1, 2, 2)), [[[0, 1, 0, 0]]], [2])
    >>> tags.tolist()
    [0, 3, 1]
    """
    if levels < 1:
        raise DecodeError(f"levels is {levels}: at least 1 is needed")
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    tags = np.zeros((len(sizes), max(0, 2 * leaf_scores.shape[1] - 1)), np.int8)
    todo = by_size(sizes)
    while todo.size:
        longest = int(sizes[todo[0]])
        leaves, inner = leaf_scores[:, :longest].take(todo, 0), internal_scores[:, : longest - 1].take(todo, 0)
        found, totals, deeper = _search(leaves, inner, sizes[todo], levels)
        refuse_impossible(totals, todo)
        tags[todo, : 2 * longest - 1] = found
        todo = todo[deeper]
        levels *= 2
    return [row[: max(0, 2 * size - 1)] for row, size in zip(tags, sizes.tolist(), strict=True)]


def _search(leaf: Scores, internal: Scores, sizes: Ints, levels: int) -> tuple[Tags, Scores, NDArray[np.bool_]]:
    """Find the best paths of sentences sorted by falling size: tags, sums, and which went deeper than `levels`."""
    words = leaf.shape[1]
    steps = moves(leaf, internal, sizes, np.maximum)
    value = fill(steps, np.maximum, levels)
    followed, deeper = _follow(steps, value, levels)

    # Moves to tags. The last word of a sentence is `r`, the only word `l`; behind the end anything may stand.
    tags = np.empty((len(sizes), 2 * words - 1), np.int8)
    better = np.maximum(internal[:, :, ::2], internal[:, :, 1::2])  # (batch, words − 1, L or R child)
    head_right = internal[:, :, 1::2] > internal[:, :, ::2]
    stays = followed.T == _STAY
    is_r = followed.T == _DOWN
    is_r |= stays & (leaf[:, :-1, 0] + better[:, :, 1] < leaf[:, :-1, 1] + better[:, :, 0])
    r_node = (followed.T == _DOWN) | (stays & ~is_r)
    tags[:, :-1:2] = is_r
    tags[:, 1::2] = np.where(r_node, Hexatag.R_HEAD_L + head_right[:, :, 1], Hexatag.L_HEAD_L + head_right[:, :, 0])
    tags[np.arange(len(sizes)), 2 * sizes - 2] = sizes > 1
    return tags, total(steps, value), deeper


_UP, _STAY, _DOWN = 0, 1, 2


def _follow(steps: Moves, value: Scores, levels: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Read the best moves from the first word on: (words − 1, batch), and which sentences went deeper than `levels`."""
    words, rows, batch = value.shape
    followed = np.zeros((max(0, words - 1), batch), np.intp)  # the first word goes up
    place = np.arange(batch) + batch  # in a row of the table laid flat; the depth is 1
    deepest = place.copy()
    to_next = np.array([batch, 0, -batch])
    three = np.stack([steps.up, steps.stay, steps.down], axis=1)
    reach = steps.reach.tolist()
    flat = value.reshape(words, rows * batch)
    for word in range(1, words - 1):
        going = reach[word + 1]
        here = place[:going]
        sums = flat[word + 1].take(here + to_next[:, None])
        sums += three[word, :, :going]
        move = sums.argmax(0, out=followed[word, :going])  # of equals the first: up before stay before down
        here += to_next.take(move)
        np.minimum(here, (levels + 2) * batch - 1, out=here)
        np.maximum(deepest[:going], here, out=deepest[:going])
    return followed, deepest >= (levels + 1) * batch


def heads(tags: Sequence[Tags]) -> list[NDArray[np.intp]]:
    """Return the heads that legal tag sequences stand for: `hexatagger.tags.to_heads` for a whole batch.

    No stack is run. In the order of the tags, the parent of a leaf `r` is the node before it, that of a node `R·` is
    the last node before it at the depth it returns to, and the left child of a node is the last `l` or `L·` at the
    depth it takes its item from. With the children known, the head word of every node is found by following head
    children.

    >>> [found.tolist() for found in heads([np.array([0, 3, 1, 2, 0, 5, 1])])]
    [[2, 0, 4, 2]]
    """
    flat = np.concatenate([np.empty(0, np.int8), *tags])
    sizes = np.array([len(sequence) for sequence in tags], np.intp)
    ends = np.cumsum(sizes)
    places = np.arange(len(flat))
    # Every sentence ends at depth 1, so one running sum over the whole batch gives the depth in each.
    sentence = np.repeat(np.cumsum(sizes > 0) - 1, sizes)
    depth = np.cumsum(np.take(DEPTH_CHANGE, flat, mode="clip"), dtype=np.int64) - sentence
    if len(flat) and not _all_legal(flat, depth, sizes, ends):
        for sequence in tags:
            check_tags(sequence.tolist())

    node = flat >= Hexatag.L_HEAD_L
    begins_item = (flat == Hexatag.LEAF_L) | (flat == Hexatag.L_HEAD_L) | (flat == Hexatag.L_HEAD_R)
    # Sorted by depth, the last place of a kind at the same depth is the last of that kind in the sorted order.
    by_depth = np.argsort(depth.astype(np.int16 if len(flat) < 2**15 else np.int64), kind="stable")
    ranks = np.arange(len(flat))
    item_root, node_before = np.empty_like(places), np.empty_like(places)
    item_root[by_depth] = by_depth[np.maximum.accumulate(np.where(begins_item[by_depth], ranks, 0))]
    last_node = by_depth[np.maximum.accumulate(np.where(node[by_depth], ranks, 0))]
    node_before[by_depth[1:]] = last_node[:-1]

    nodes = places[node]
    left, right = places.copy(), places.copy()
    left[nodes] = item_root[nodes - 1]
    leaf_r, node_r = places[flat == Hexatag.LEAF_R], places[flat >= Hexatag.R_HEAD_L]
    right[leaf_r - 1] = leaf_r
    right[node_before[node_r]] = node_r

    head_left = (flat == Hexatag.L_HEAD_L) | (flat == Hexatag.R_HEAD_L)
    head_word = np.where(head_left, left, right)  # a leaf is its own
    while True:  # every round doubles the steps taken
        further = head_word[head_word]
        if np.array_equal(further, head_word):
            break
        head_word = further
    dependents = head_word[np.where(head_left, right, left)[nodes]]
    found = np.zeros(len(flat), np.intp)
    found[dependents] = (head_word[nodes] - np.repeat(ends - sizes, sizes)[nodes]) // 2 + 1
    return [found[end - size : end : 2] for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]


def _all_legal(flat: Tags, depth: NDArray[np.int64], sizes: Ints, ends: Ints) -> bool:
    """Say whether all sequences of a batch are legal, whose depths are right if they are."""
    taken = sizes > 0
    if (sizes[taken] % 2 == 0).any() or flat.min() < 0 or flat.max() > Hexatag.R_HEAD_R:
        return False
    odd = (np.arange(len(flat)) - np.repeat(ends - sizes, sizes)) % 2 == 1
    return bool(depth.min() >= 1 and (depth[ends[taken] - 1] == 1).all() and ((flat >= Hexatag.L_HEAD_L) == odd).all())
