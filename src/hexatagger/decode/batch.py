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

from hexatagger.decode.lattice import greatest_depth
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import DEPTH_CHANGE, Hexatag, check_tags

Scores = NDArray[np.float64]
Tags = NDArray[np.int8]
Ints = NDArray[np.intp]

LEVELS = 12
"""Levels of depth to begin with: on the treebanks of UD, 6 to 9 are needed."""


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
    leaf_scores, internal_scores, sizes = _checked(leaf, internal, lengths)
    tags = np.zeros((len(sizes), max(0, 2 * leaf_scores.shape[1] - 1)), np.int8)
    todo = np.argsort(-sizes, kind="stable")  # longest first: the sentences at work on a word are then a slice
    todo = todo[sizes[todo] > 0]
    while todo.size:
        longest = int(sizes[todo[0]])
        found, totals, deeper = _search(
            leaf_scores[todo, :longest], internal_scores[todo, : longest - 1], sizes[todo], levels
        )
        if np.isneginf(totals).any():
            number = int(todo[np.isneginf(totals)].min()) + 1
            raise DecodeError(
                f"sentence {number} of the batch has no legal sequence: too much of it is forbidden (-inf)"
            )
        tags[todo, : 2 * longest - 1] = found
        todo = todo[deeper]
        levels *= 2
    return [row[: max(0, 2 * size - 1)] for row, size in zip(tags, sizes.tolist(), strict=True)]


def _checked(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike) -> tuple[Scores, Scores, Ints]:
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
    checked = []
    for name, scores, ends in (("leaf", leaf_scores, sizes), ("internal", internal_scores[:, : words - 1], sizes - 1)):
        inside = places[None, : scores.shape[1]] < ends[:, None, None]
        if ((scores != scores) | (scores == np.inf))[np.broadcast_to(inside, scores.shape)].any():
            raise DecodeError(f"{name} scores contain NaN or +inf: a score is a finite number or -inf (forbidden)")
        checked.append(scores if inside.all() else np.where(inside, scores, 0.0))
    return checked[0], checked[1], sizes


def _search(leaf: Scores, internal: Scores, sizes: Ints, levels: int) -> tuple[Tags, Scores, NDArray[np.bool_]]:
    """Find the best paths of sentences sorted by falling size: tags, sums, and which went deeper than `levels`."""
    words = leaf.shape[1]
    # Transposed to (words, batch), as the program goes word by word; of both head sides the better one.
    left, right = np.ascontiguousarray(leaf[:, :, 0].T), np.ascontiguousarray(leaf[:, :, 1].T)
    l_child = np.maximum(internal[:, :, 0], internal[:, :, 1]).T
    r_child = np.maximum(internal[:, :, 2], internal[:, :, 3]).T
    up, down = left[:-1] + l_child, right[:-1] + r_child
    stay_left, stay_right = left[:-1] + r_child, right[:-1] + l_child
    stay = np.maximum(stay_left, stay_right)

    reach = np.searchsorted(-sizes, -np.arange(1, words + 1), side="right")  # how many sentences have this word
    value, moves = _fill(up, stay, down, right, reach, int((greatest_depth(sizes) > levels).sum()), levels)
    totals = left[0] + (np.where(sizes > 1, l_child[0] + value[1], 0.0) if words > 1 else 0.0)
    followed, deeper = _follow(moves, reach, levels)

    # Moves to tags. The last word of a sentence is `r`, the only word `l`; behind the end anything may stand.
    tags = np.empty((len(sizes), 2 * words - 1), np.int8)
    stays = followed == _STAY
    is_r = (followed == _DOWN) | (stays & (stay_left < stay_right))
    r_node = (followed == _DOWN) | (stays & ~is_r)
    tags[:, :-1:2] = is_r.T
    head_right = internal[:, :, 1::2] > internal[:, :, ::2]  # (batch, words − 1, L or R child)
    tags[:, 1::2] = np.where(r_node.T, Hexatag.R_HEAD_L + head_right[:, :, 1], Hexatag.L_HEAD_L + head_right[:, :, 0])
    tags[np.arange(len(sizes)), 2 * sizes - 2] = sizes > 1
    return tags, totals, deeper


_UP, _STAY, _DOWN = 0, 1, 2


def _fill(
    up: Scores, stay: Scores, down: Scores, right: Scores, reach: Ints, deep: int, levels: int
) -> tuple[Scores, Tags]:
    """Fill the table from the last word to the second: best sums from the second word on, best moves of every word.

    Everything is (words, batch); of the first `deep` sentences, paths deeper than `levels` are followed roughly.
    """
    words, batch = right.shape
    anything = np.maximum(np.maximum(up, down), stay)
    value = np.full((levels + 2, batch), -np.inf)  # row = depth; 0 is illegal, the last row is "deeper"
    moves = np.zeros((words, levels + 2, batch), np.int8)
    going = 0  # sentences that have more words after this one
    for word in range(words - 1, 0, -1):
        if going:
            now = value[:, :going]
            by_up = now[2:] + up[word, :going]
            by_stay = now[1:-1] + stay[word, :going]
            by_down = now[:-2] + down[word, :going]
            either = np.maximum(by_up, by_stay)
            best_of_all = np.maximum(either, by_down)
            np.add(by_up < best_of_all, either < best_of_all, out=moves[word, 1:-1, :going], dtype=np.int8)
            if deep:
                value[-1, :deep] = np.maximum(
                    value[-1, :deep] + anything[word, :deep], value[-2, :deep] + down[word, :deep]
                )
            now[1:-1] = best_of_all
        value[1, going : reach[word]] = right[word, going : reach[word]]  # their last word, at depth 1
        going = int(reach[word])
    return value, moves


def _follow(moves: Tags, reach: Ints, levels: int) -> tuple[Tags, NDArray[np.bool_]]:
    """Read the moves from the first word on: (words − 1, batch), and which sentences went deeper than `levels`."""
    words, _, batch = moves.shape
    followed = np.zeros((max(0, words - 1), batch), np.int8)  # the first word goes up
    depth, deepest = np.ones(batch, np.intp), np.ones(batch, np.intp)
    columns = np.arange(batch)
    for word in range(1, words - 1):
        going = int(reach[word + 1])
        here = depth[:going]
        move = moves[word, here, columns[:going]]
        followed[word, :going] = move
        here += 1 - move
        np.minimum(here, levels + 1, out=here)
        np.maximum(deepest[:going], here, out=deepest[:going])
    return followed, deepest > levels


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
