"""Heads of tag sequences, for a whole batch in numpy."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.lattice import Ints, Tags
from hexatagger.tags.hexatag import DEPTH_CHANGE, Hexatag, check_tags


def heads(tags: Iterable[ArrayLike]) -> list[Ints]:
    """Return the heads of legal tag sequences: `hexatagger.tags.to_heads` for a batch, O(N log N) in all.

    No stack is simulated. In tag order, the parent of a leaf `r` is the node before it. The parent of a node `R·` is
    the last node before it at the depth it returns to. The left child of a node is the last `l` or `L·` at the depth
    where the node takes its item. Given the children, pointer doubling along head children finds every node's head.

    >>> [found.tolist() for found in heads([np.array([0, 3, 1, 2, 0, 5, 1])])]
    [[2, 0, 4, 2]]
    """
    rows = [np.asarray(sequence) for sequence in tags]
    flat = np.concatenate([np.empty(0, np.int8), *(row for row in rows if len(row))])
    sizes = np.array([len(sequence) for sequence in rows], np.intp)
    ends = np.cumsum(sizes)
    places = np.arange(len(flat))
    # Every sentence ends at depth 1, so one cumulative sum over the batch gives the depth within each sentence.
    sentence = np.repeat(np.cumsum(sizes > 0) - 1, sizes)
    depth = np.cumsum(np.take(DEPTH_CHANGE, flat, mode="clip"), dtype=np.int64) - sentence
    if len(flat) and not _all_legal(flat, depth, sizes, ends):
        for sequence in rows:
            check_tags(sequence)

    node = flat >= Hexatag.L_HEAD_L
    begins_item = (flat == Hexatag.LEAF_L) | (flat == Hexatag.L_HEAD_L) | (flat == Hexatag.L_HEAD_R)
    # In the order of a stable sort by depth, the last place of a kind at the same depth is the last one before it.
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
    head_word = np.where(head_left, left, right)  # a leaf is its own head
    while True:  # pointer doubling
        further = head_word[head_word]
        if np.array_equal(further, head_word):
            break
        head_word = further
    dependents = head_word[np.where(head_left, right, left)[nodes]]
    found = np.zeros(len(flat), np.intp)
    found[dependents] = (head_word[nodes] - np.repeat(ends - sizes, sizes)[nodes]) // 2 + 1
    return [found[end - size : end : 2] for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]


def _all_legal(flat: Tags, depth: NDArray[np.int64], sizes: Ints, ends: Ints) -> bool:
    """Return whether all sequences of a batch are legal; the depths are right if they are."""
    taken = sizes > 0
    if (sizes[taken] % 2 == 0).any() or flat.min() < 0 or flat.max() > Hexatag.R_HEAD_R:
        return False
    odd = (np.arange(len(flat)) - np.repeat(ends - sizes, sizes)) % 2 == 1
    return bool(depth.min() >= 1 and (depth[ends[taken] - 1] == 1).all() and ((flat >= Hexatag.L_HEAD_L) == odd).all())
