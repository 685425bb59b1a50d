"""What else: the k best trees of every sentence, all different, with their probabilities.

A tree may have many sequences (see `trees`). Trees are ranked by the score of their best sequence, so that the first is the
tree of `best`; their probability is that of all their sequences together. (The two orders may differ: a tree of many middling
sequences can be more probable than that of the best one.)

Sequences are listed from the best on, lazily, in rounds over the whole batch. The table of `best` says what the best
sequence is that leaves a listed one at a given word with a given pair of tags; the best of all these is the next one, and it
is left in turn only behind the word where it left. Each sequence comes once, a round costs O(N) a sentence. It ends with the
k-th tree that is not yet there. Where a tree has so many sequences that this takes too long, `chart` gives the answer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.batch import best, heads
from hexatagger.decode.chart import best_trees
from hexatagger.decode.marginals import mass
from hexatagger.decode.table import LEVELS, Ints, Scores, Tags, by_size, checked, fill, moves, total
from hexatagger.decode.trees import best_of_tree, sequence_scores_unchecked, tree_scores_unchecked
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag

_CELLS = 3_000_000
"""How many ways to leave listed sequences are kept of a sentence before the chart takes over."""
_CHANGE = np.array([1, 1, 0, 0, 0, 0, -1, -1])
"""What the eight pairs of a leaf tag and an internal tag do to the depth, in dictionary order."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One of the k best trees."""

    heads: Ints
    tags: Tags
    """The best sequence of the tree."""
    score: float
    """The sum of its scores, by which trees are ranked."""
    log_probability: float
    """That of the tree: all its sequences together."""


def kbest(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, k: int) -> list[list[Ranked]]:
    """Return for each sentence its k best different trees, best first, or all there are; scores as for `best`.

    >>> [trees] = kbest(np.zeros((1, 2, 2)), np.log([[[3, 1, 9, 9]]]), [2], 5)
    >>> [(tree.heads.tolist(), round(np.exp(tree.log_probability), 9)) for tree in trees]
    [([0, 1], 0.75), ([2, 0], 0.25)]
    """
    if k < 1:
        raise DecodeError(f"k is {k}: at least 1 is needed")
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    log_z = np.zeros(len(sizes))
    for numbers, steps, value in mass(leaf_scores, internal_scores, sizes):
        log_z[numbers] = total(steps, value)
    listed: list[list[tuple[Ints, Tags]]] = [[] for _ in sizes]
    for number in np.flatnonzero(sizes == 0).tolist():
        listed[number].append((np.empty(0, np.intp), np.empty(0, np.int8)))
    todo, levels = by_size(sizes), LEVELS
    while todo.size:
        longest = int(sizes[todo[0]])
        found, deeper = _list(leaf_scores[todo, :longest], internal_scores[todo, : longest - 1], sizes[todo], k, levels)
        for number, trees in zip(todo.tolist(), found, strict=True):
            listed[number] = trees
        todo = todo[deeper]
        levels *= 2
    return _ranked(listed, leaf_scores, internal_scores, log_z)


def _ranked(
    listed: list[list[tuple[Ints, Tags]]], leaf: Scores, internal: Scores, log_z: Scores
) -> list[list[Ranked]]:
    """Add scores and probabilities."""
    rows = np.repeat(np.arange(len(listed)), [len(trees) for trees in listed])
    flat = [tree for trees in listed for tree in trees]
    scores = sequence_scores_unchecked([tags for _, tags in flat], leaf[rows], internal[rows])
    sums = tree_scores_unchecked([found for found, _ in flat], leaf[rows], internal[rows]) - log_z[rows]
    ranked: list[list[Ranked]] = [[] for _ in listed]
    for row, (found, tags), score, log_probability in zip(
        rows.tolist(), flat, scores.tolist(), sums.tolist(), strict=True
    ):
        ranked[row].append(Ranked(found, tags, score, min(0.0, log_probability)))
    for trees in ranked:
        # The first is that of `best`; of the others rounding may have changed the order.
        trees[1:] = sorted(trees[1:], key=lambda tree: -tree.score)
    return ranked


def _list(
    leaf: Scores, internal: Scores, sizes: Ints, k: int, levels: int
) -> tuple[list[list[tuple[Ints, Tags]]], NDArray[np.bool_]]:
    """List trees of sentences sorted by falling size, and say which need a table of more levels."""
    batch, words = leaf.shape[:2]
    lattice = _Lattice(leaf, internal, sizes, levels)
    found: list[list[tuple[Ints, Tags]]] = [[] for _ in range(batch)]
    seen: list[set[bytes]] = [set() for _ in range(batch)]
    deeper = np.zeros(batch, np.bool_)
    active = np.arange(batch)  # the sentences still at work; everything below goes with it
    first = np.zeros((batch, 2 * words - 1), np.int8)
    for row, tags in enumerate(best(leaf, internal, sizes)):
        first[row, : len(tags)] = tags
    path = np.where(np.arange(words - 1) < sizes[:, None] - 1, first[:, :-1:2] * 4 + first[:, 1::2] - 2, 0)
    left_at = np.full(batch, -1)
    # By sentence and listed sequence: its pairs of tags, the sums when it is left, and the best of these.
    paths = np.empty((batch, 0, words - 1), path.dtype)
    ways, tops = np.empty((batch, 0, 8 * (words - 1))), np.empty((batch, 0))
    while True:
        ahead, too_deep = lattice.leave(active, path, left_at)
        deeper[active[too_deep]] = True
        going = ~too_deep
        trees = heads([tags for tags in lattice.tags(active, path)])
        for place, (row, tree) in enumerate(zip(active.tolist(), trees, strict=True)):
            key = tree.tobytes()
            if going[place] and key not in seen[row]:
                seen[row].add(key)
                found[row].append((tree, lattice.tags(active[[place]], path[[place]])[0]))
                going[place] = len(found[row]) < k
        if not going.any():
            return found, deeper
        if words == 1:
            return found, deeper
        paths = np.concatenate([paths[going], path[going, None]], axis=1)
        ways = np.concatenate([ways[going], ahead[going, None]], axis=1)
        tops = np.concatenate([tops[going], ahead[going, None].max(-1)], axis=1)
        active = active[going]
        # The best way to leave any of the listed sequences.
        rows = np.arange(len(active))
        which = tops.argmax(1)
        there = tops[rows, which] > -np.inf
        if ways.shape[1] * ways.shape[2] > _CELLS:
            for row in active[there].tolist():
                found[row] = _by_chart(leaf[row, : sizes[row]], internal[row, : sizes[row] - 1], k, found[row][0])
                deeper[row] = False
            there[:] = False
        if not there.all():  # nothing is left of the others
            active, paths, ways, tops, which = active[there], paths[there], ways[there], tops[there], which[there]
            rows = np.arange(len(active))
        if not len(active):
            return found, deeper
        way = ways[rows, which].argmax(1)
        ways[rows, which, way] = -np.inf
        tops[rows, which] = ways[rows, which].max(1)
        left_at = way // 8
        path = lattice.follow(active, paths[rows, which], left_at, way % 8)


class _Lattice:
    """The table of a batch, and what is asked of it about some of the sentences."""

    def __init__(self, leaf: Scores, internal: Scores, sizes: Ints, levels: int) -> None:
        batch, words = leaf.shape[:2]
        self.sizes, self.levels = sizes, levels
        self.value = fill(moves(leaf, internal, sizes, np.maximum), np.maximum, levels).transpose(2, 0, 1)
        # Scores of the pairs of tags; behind the end of a sentence the first pair, at no cost, and nothing else.
        self.pairs = (leaf[:, :-1, :, None] + internal[:, :, None, :]).reshape(batch, words - 1, 8)
        self.inside = np.arange(words - 1) < sizes[:, None] - 1
        self.value = np.where((np.arange(words) < sizes[:, None])[..., None], self.value, -np.inf)

    def depths(self, rows: Ints, path: NDArray[np.int8]) -> Ints:
        """Return the depth before every word but the last."""
        change = np.where(self.inside[rows], _CHANGE[path], 0)
        return np.cumsum(change, axis=1) - change  # type: ignore[no-any-return]

    def leave(self, rows: Ints, path: NDArray[np.int8], left_at: Ints) -> tuple[Scores, NDArray[np.bool_]]:
        """Return the best sums of sequences that leave the paths behind `left_at`, and which paths are too deep."""
        count, inner = path.shape
        if not inner:
            return np.empty((count, 0)), np.zeros(count, np.bool_)
        depth = self.depths(rows, path)
        too_deep = depth.max(1) > self.levels
        depth = np.minimum(depth, self.levels + 1)
        places = np.arange(inner)
        chosen = np.where(self.inside[rows], self.pairs[rows[:, None], places, path], 0.0)
        before = np.cumsum(chosen, axis=1) - chosen
        # subtle: depth 0 − 1 is the last row of the table, which is −inf like depth 0
        after = self.value[rows[:, None, None], places[:, None] + 1, depth[..., None] + _CHANGE]
        sums = before[..., None] + self.pairs[rows] + after
        sums[~self.inside[rows] | (places <= left_at[:, None])] = -np.inf
        sums[np.arange(count)[:, None], places, path] = -np.inf
        return sums.reshape(count, -1), too_deep

    def follow(self, rows: Ints, path: NDArray[np.int8], left_at: Ints, pair: Ints) -> NDArray[np.int8]:
        """Return the best paths that go along the given ones, and at word `left_at` leave with a pair."""
        path = path.copy()
        every = np.arange(len(rows))
        path[every, left_at] = pair
        start = int(left_at.min()) + 1
        depth = (self.depths(rows, path)[every, start - 1] + _CHANGE[path[:, start - 1]]).astype(np.intp)
        for word in range(start, path.shape[1]):
            depth = np.minimum(depth, self.levels + 1)
            after = self.value[rows[:, None], word + 1, depth[:, None] + _CHANGE]
            choice = (self.pairs[rows, word] + after).argmax(1)
            choice = np.where(word > left_at, choice, path[:, word])
            path[:, word] = np.where(self.inside[rows, word], choice, 0)
            depth = depth + _CHANGE[path[:, word]]
        return path

    def tags(self, rows: Ints, path: NDArray[np.int8]) -> list[Tags]:
        """Return the tags of paths."""
        count, inner = path.shape
        tags = np.zeros((count, 2 * inner + 1), np.int8)
        tags[:, :-1:2], tags[:, 1::2] = path // 4, path % 4 + Hexatag.L_HEAD_L
        sizes = self.sizes[rows]
        tags[np.arange(count), 2 * sizes - 2] = sizes > 1
        return [row[: 2 * size - 1] for row, size in zip(tags, sizes.tolist(), strict=True)]


def _by_chart(leaf: Scores, internal: Scores, k: int, first: tuple[Ints, Tags]) -> list[tuple[Ints, Tags]]:
    """Return the trees of the chart, the first of them that of `best`."""
    trees = [np.array(found, np.intp) for found in best_trees(leaf, internal, k + 1)]
    others = [tree for tree in trees if not np.array_equal(tree, first[0])][: k - 1]
    return [first, *((tree, np.array(best_of_tree(tree.tolist(), leaf, internal)[1], np.int8)) for tree in others)]
