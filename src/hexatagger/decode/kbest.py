"""What else: the k best trees of every sentence, all different, with their probabilities.

A tree may have many sequences (see `trees`). Trees are ranked by the score of their best sequence, so that the first is
the tree of `best`; their probability is that of all their sequences together. (The two orders may differ: a tree of
many middling sequences can be more probable than that of the best one.)

Sequences are listed from the best on, lazily, in rounds over the whole batch. The table of `best` says what the best
sequence is that leaves a listed one at a given word with a given pair of tags; the best of all these is the next one,
and it is left in turn only behind the word where it left. Each sequence comes once, a round costs O(N) a sentence. It
ends with the k-th tree that was not yet there.

A tree may have so many sequences that this does not end. Then trees themselves are listed (see `search`): 2 · k charts
of O(N⁴), whatever the scores.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.chart.constraints import Constraints, allowed_arcs, arc_scores
from hexatagger.decode.chart.search import ranked_trees
from hexatagger.decode.marginals import log_z
from hexatagger.decode.table import LEVELS, Ints, Scores, Tags, alike, by_size, checked, fill, moves
from hexatagger.decode.tree_scores import sequence_scores_unchecked, tree_scores_unchecked
from hexatagger.decode.viterbi import best, heads
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag

_CELLS = 20_000
"""How many words are worked on at once."""
_Trees = list[tuple[Ints, Tags]]
_ROUNDS = 2000
"""How many sequences of a sentence are listed before trees are listed instead."""
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


def candidates(
    leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, rounds: int
) -> list[list[tuple[Ints, Tags, float]]]:
    """Return the different trees among the best sequences of each sentence, best first: heads, tags, score.

    As many sequences are listed as there are `rounds`, whatever their trees are: O(N) each.

    >>> [trees] = candidates(np.zeros((1, 2, 2)), np.log([[[3, 1, 9, 9]]]), [2], 5)
    >>> [(heads.tolist(), f"{np.exp(score):.2f}") for heads, _, score in trees]
    [([0, 1], '3.00'), ([2, 0], '1.00')]
    """
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    listed, _ = _listed(leaf_scores, internal_scores, sizes, rounds, rounds)
    rows = np.repeat(np.arange(len(listed)), [len(trees) for trees in listed])
    tags = [sequence for trees in listed for _, sequence in trees]
    scores = iter(sequence_scores_unchecked(tags, leaf_scores, internal_scores, rows).tolist())
    return [[(found, sequence, next(scores)) for found, sequence in trees] for trees in listed]


def kbest(
    leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, k: int, *, totals: Scores | None = None
) -> list[list[Ranked]]:
    """Return for each sentence its k best different trees, best first, or all there are; scores as for `best`.

    `totals` are what `log_z` returns, if that is known already.

    >>> [trees] = kbest(np.zeros((1, 2, 2)), np.log([[[3, 1, 9, 9]]]), [2], 5)
    >>> [(tree.heads.tolist(), f"{np.exp(tree.log_probability):.2f}") for tree in trees]
    [([0, 1], '0.75'), ([2, 0], '0.25')]
    """
    if k < 1:
        raise DecodeError(f"k is {k}: at least 1 is needed")
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    if totals is None:
        totals = log_z(leaf_scores, internal_scores, sizes)
    listed, unfinished = _listed(leaf_scores, internal_scores, sizes, k, _ROUNDS)
    for number in unfinished:
        size = int(sizes[number])
        leaves, nodes = leaf_scores[number, :size], internal_scores[number, : size - 1]
        arcs = arc_scores(allowed_arcs(Constraints(), size))
        found = ranked_trees(leaves, nodes, arcs, first=listed[number][0][1])
        listed[number] = [(heads([tags])[0], tags) for _, tags in itertools.islice(found, k)]
    return _ranked(listed, leaf_scores, internal_scores, totals)


def _listed(leaf: Scores, internal: Scores, sizes: Ints, k: int, rounds: int) -> tuple[list[_Trees], list[int]]:
    """List k trees of every sentence, or those among so many sequences; and say for which there may be more."""
    listed: list[_Trees] = [[] for _ in sizes]
    unfinished: list[int] = []
    for number in np.flatnonzero(sizes == 0).tolist():
        listed[number].append((np.empty(0, np.intp), np.empty(0, np.int8)))
    todo, levels = by_size(sizes), LEVELS
    while todo.size:
        again = [np.empty(0, np.intp)]
        for part in alike(todo, sizes, cells=_CELLS, power=1, least=32):
            longest = int(sizes[part[0]])
            leaves, nodes = leaf[part, :longest], internal[part, : longest - 1]
            found, deeper, left = _list(leaves, nodes, sizes[part], k, levels, rounds)
            unfinished += part[left].tolist()
            for number, trees in zip(part.tolist(), found, strict=True):
                listed[number] = trees
            again.append(part[deeper])
        todo, levels = np.concatenate(again), 2 * levels
    return listed, unfinished


def _ranked(listed: list[_Trees], leaf: Scores, internal: Scores, totals: Scores) -> list[list[Ranked]]:
    """Add scores and probabilities."""
    rows = np.repeat(np.arange(len(listed)), [len(trees) for trees in listed])
    flat = [tree for trees in listed for tree in trees]
    scores = sequence_scores_unchecked([tags for _, tags in flat], leaf, internal, rows)
    sums = tree_scores_unchecked([found for found, _ in flat], leaf, internal, rows) - totals[rows]
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
    leaf: Scores, internal: Scores, sizes: Ints, k: int, levels: int, rounds: int
) -> tuple[list[_Trees], NDArray[np.bool_], Ints]:
    """List trees of sentences sorted by falling size, say which need a table of more levels and which more rounds."""
    batch, words = leaf.shape[:2]
    lattice = _Lattice(leaf, internal, sizes, levels)
    found: list[_Trees] = [[] for _ in range(batch)]
    none = np.empty(0, np.intp)
    seen: list[set[bytes]] = [set() for _ in range(batch)]
    deeper = np.zeros(batch, np.bool_)
    active = np.arange(batch)  # the sentences still at work; everything below goes with it
    first = np.zeros((batch, 2 * words - 1), np.int8)
    for row, sequence in enumerate(best(leaf, internal, sizes)):
        first[row, : len(sequence)] = sequence
    path = np.where(np.arange(words - 1) < sizes[:, None] - 1, first[:, :-1:2] * 4 + first[:, 1::2] - 2, 0)
    left_at = np.full(batch, -1)
    # By sentence and listed sequence: its pairs of tags, the sums when it is left, and the best of these.
    paths = np.empty((batch, 8, words - 1), np.int8)
    ways, tops = np.empty((batch, 8, 8 * (words - 1))), np.full((batch, 8), -np.inf)
    for number in range(rounds):
        ahead, too_deep = lattice.leave(active, path, left_at)
        deeper[active[too_deep]] = True
        going = ~too_deep
        sequences = lattice.tags(active, path)
        for place, (row, tree) in enumerate(zip(active.tolist(), heads(sequences), strict=True)):
            key = tree.tobytes()
            if going[place] and key not in seen[row]:
                seen[row].add(key)
                found[row].append((tree, sequences[place]))
                going[place] = len(found[row]) < k
        if words == 1:
            return found, deeper, none
        if number == paths.shape[1]:  # twice the room
            paths, ways = (np.concatenate([array, np.empty_like(array)], axis=1) for array in (paths, ways))
            tops = np.concatenate([tops, np.full_like(tops, -np.inf)], axis=1)
        paths[:, number], ways[:, number], tops[:, number] = path, ahead, ahead.max(1)
        # The best way to leave any of the listed sequences; there may be none left.
        going &= tops.max(1) > -np.inf
        if not going.any():
            return found, deeper, none
        if not going.all():
            active, paths, ways, tops = active[going], paths[going], ways[going], tops[going]
        rows, which = np.arange(len(active)), tops.argmax(1)
        way = ways[rows, which].argmax(1)
        ways[rows, which, way] = -np.inf
        tops[rows, which] = ways[rows, which].max(1)
        left_at = way // 8
        path = lattice.follow(active, paths[rows, which], left_at, way % 8)
    return found, deeper, active


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
        return np.cumsum(change, axis=1) - change

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
