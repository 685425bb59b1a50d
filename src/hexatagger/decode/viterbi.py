"""Viterbi decoding: the best legal tag sequence of every sentence of a batch, in numpy. The base system uses this.

Scores are reduced to three numbers per word (the best way up, to stay, down). A table over (word, depth) is filled from
the last word to the first for all sentences at once, and the best moves are read off forwards. Ties go to the sequence
that comes first in lexicographic order of the tags, as in `reference`.

The table has few depth levels and one more row, "deeper", in which every move is allowed. If the best path stays out of
this row, no deeper sequence can beat it. Otherwise the sentence is decoded again with twice as many levels. So the
number of levels affects the time, never the answer: O(N · depth) per sentence, linear for real sentences.
"""

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.lattice import (
    LEVELS,
    Bools,
    Ints,
    Moves,
    Scores,
    Tags,
    check_scores,
    fill,
    longest_first,
    moves,
    refuse_impossible,
    total,
)
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag


def best(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, *, levels: int = LEVELS) -> list[Tags]:
    """Return for each sentence the legal sequence of 2N−1 tags with the highest sum of scores, in O(N · depth).

    `leaf` is (batch, words, 2) and `internal` (batch, words − 1, 4), with the last axes in the order of `Hexatag`.
    `lengths` gives the number of words of each sentence; scores beyond it are ignored. A score of −inf forbids a tag.
    `levels` is the initial number of depth levels: it affects the time, never the answer.

    >>> [tags] = best(np.zeros((1, 2, 2)), [[[0, 1, 0, 0]]], [2])
    >>> tags.tolist()
    [0, 3, 1]
    """
    if levels < 1:
        raise DecodeError(f"levels is {levels}: at least 1 is needed")
    leaf_scores, internal_scores, sizes = check_scores(leaf, internal, lengths)
    tags = np.zeros((len(sizes), max(0, 2 * leaf_scores.shape[1] - 1)), np.int8)
    todo = longest_first(sizes)
    while todo.size:
        longest = int(sizes[todo[0]])
        leaves, inner = leaf_scores[:, :longest].take(todo, 0), internal_scores[:, : longest - 1].take(todo, 0)
        found, totals, deeper = _search(leaves, inner, sizes[todo], levels)
        refuse_impossible(totals, todo)
        tags[todo, : 2 * longest - 1] = found
        todo = todo[deeper]
        levels *= 2
    return [row[: max(0, 2 * size - 1)] for row, size in zip(tags, sizes.tolist(), strict=True)]


def _search(leaf: Scores, internal: Scores, sizes: Ints, levels: int) -> tuple[Tags, Scores, Bools]:
    """Decode sentences sorted longest first: tags, scores, and which sentences went deeper than `levels`."""
    words = leaf.shape[1]
    steps = moves(leaf, internal, sizes, np.maximum)
    value = fill(steps, np.maximum, levels)
    followed, deeper = _follow(steps, value, levels)

    # Moves to tags. The last word of a sentence is `r`, an only word `l`; tags beyond the end are undefined.
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


def _follow(steps: Moves, value: Scores, levels: int) -> tuple[Ints, Bools]:
    """Read off the best moves from the first word on: (words − 1, batch), and which sentences are too deep."""
    words, rows, batch = value.shape
    followed = np.zeros((max(0, words - 1), batch), np.intp)  # the first word goes up
    place = np.arange(batch) + batch  # index into a flattened row of the table, at depth 1
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
        move = sums.argmax(0, out=followed[word, :going])  # ties: up before stay before down
        here += to_next.take(move)
        np.minimum(here, (levels + 2) * batch - 1, out=here)
        np.maximum(deepest[:going], here, out=deepest[:going])
    return followed, deepest >= (levels + 1) * batch
