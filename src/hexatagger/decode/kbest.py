"""The k best different trees of every sentence of a batch, with their probabilities.

Several sequences can stand for the same tree (see `tree_scores`). Trees are ranked by the score of their best sequence,
so the first is the tree of `best`. The probability of a tree is that of all its sequences together. The two orders can
differ: a tree with many mediocre sequences can be more probable than the tree of the best sequence.

Sequences are enumerated best first, lazily, in rounds over the whole batch. The Viterbi table gives the best sequence
that deviates from a listed one at a given word with a given pair of tags. The best deviation is the next sequence, and
it is itself varied only after the word where it deviated, so every sequence comes once. A round costs O(N) per
sentence. The enumeration ends with the k-th distinct tree. If a tree has too many sequences, trees are enumerated
instead (see `chart.kbest`). Sentences that are too long for a chart get the trees that were found.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.chart.kbest import ranked_trees
from hexatagger.decode.chart.problem import unconstrained
from hexatagger.decode.heads import heads
from hexatagger.decode.lattice import (
    LEVELS,
    Bools,
    Ints,
    Scores,
    Tags,
    check_scores,
    fill,
    longest_first,
    moves,
    size_batches,
)
from hexatagger.decode.limits import CHART
from hexatagger.decode.marginals import log_partition
from hexatagger.decode.tree_scores import sequence_scores_unchecked, tree_scores_unchecked
from hexatagger.decode.viterbi import best
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag

_CELLS = 20_000
"""Maximum number of words processed at once."""
_ROUNDS = 2000
"""Maximum number of sequences enumerated per sentence; then trees are enumerated instead."""
_CHANGE = np.array([1, 1, 0, 0, 0, 0, -1, -1])
"""Depth change of the eight pairs of a leaf tag and an internal tag, in lexicographic order."""
_Trees = list[tuple[Ints, Tags]]
"""Heads and best sequence of each tree."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedTree:
    """One of the k best trees."""

    heads: Ints
    tags: Tags
    """The best sequence of the tree."""
    score: float
    """The score of this sequence, by which trees are ranked."""
    log_probability: float
    """Log-probability of the tree: of all its sequences together."""


def candidates(
    leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, rounds: int
) -> list[list[tuple[Ints, Tags, float]]]:
    """Return the distinct trees among the `rounds` best sequences of each sentence, best first: heads, tags, score.

    These are the trees to rerank with the head scores of pointers, an extension of ours. Each sequence costs O(N).

    >>> [trees] = candidates(np.zeros((1, 2, 2)), np.log([[[3, 1, 9, 9]]]), [2], 5)
    >>> [(heads.tolist(), f"{np.exp(score):.2f}") for heads, _, score in trees]
    [([0, 1], '3.00'), ([2, 0], '1.00')]
    """
    leaf_scores, internal_scores, sizes = check_scores(leaf, internal, lengths)
    listed, _ = _enumerate(leaf_scores, internal_scores, sizes, rounds, rounds)
    tags = [sequence for trees in listed for _, sequence in trees]
    scores = iter(sequence_scores_unchecked(tags, leaf_scores, internal_scores, _owners(listed)).tolist())
    return [[(found, sequence, next(scores)) for found, sequence in trees] for trees in listed]


def kbest(
    leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, k: int, *, log_partitions: Scores | None = None
) -> list[list[RankedTree]]:
    """Return the k best distinct trees of each sentence, best first, or all if there are fewer; scores as for `best`.

    `log_partitions` is the result of `log_partition`, if it is known already. O(N) per enumerated sequence, usually
    few more than k; in the worst case 2k charts of O(N⁴), or fewer than k trees for sentences too long for a chart.

    >>> [trees] = kbest(np.zeros((1, 2, 2)), np.log([[[3, 1, 9, 9]]]), [2], 5)
    >>> [(tree.heads.tolist(), f"{np.exp(tree.log_probability):.2f}") for tree in trees]
    [([0, 1], '0.75'), ([2, 0], '0.25')]
    """
    if k < 1:
        raise DecodeError(f"k is {k}: at least 1 is needed")
    leaf_scores, internal_scores, sizes = check_scores(leaf, internal, lengths)
    if log_partitions is None:
        log_partitions = log_partition(leaf_scores, internal_scores, sizes)
    listed, unfinished = _enumerate(leaf_scores, internal_scores, sizes, k, _ROUNDS)
    for number in unfinished:
        if (size := int(sizes[number])) <= CHART:
            problem = unconstrained(leaf_scores[number, :size], internal_scores[number, : size - 1])
            found = itertools.islice(ranked_trees(problem, first=listed[number][0][1]), k)
            listed[number] = [(heads([tags])[0], tags) for _, tags in found]
    owners, flat = _owners(listed), [tree for trees in listed for tree in trees]
    scores = sequence_scores_unchecked([tags for _, tags in flat], leaf_scores, internal_scores, owners)
    shares = tree_scores_unchecked([found for found, _ in flat], leaf_scores, internal_scores, owners)
    numbers = zip(scores.tolist(), np.minimum(shares - log_partitions[owners], 0.0).tolist(), strict=True)
    ranked = [[RankedTree(*tree, *next(numbers)) for tree in trees] for trees in listed]
    # The first is the tree of `best`. Rounding may have changed the order of the others.
    return [trees[:1] + sorted(trees[1:], key=lambda tree: -tree.score) for trees in ranked]


def _owners(listed: list[_Trees]) -> Ints:
    """Return the index of the sentence of each tree."""
    return np.repeat(np.arange(len(listed)), [len(trees) for trees in listed])


def _enumerate(leaf: Scores, internal: Scores, sizes: Ints, k: int, rounds: int) -> tuple[list[_Trees], list[int]]:
    """Return up to k trees of every sentence from at most `rounds` sequences, and the sentences that may have more."""
    listed: list[_Trees] = [[] for _ in sizes]
    unfinished: list[int] = []
    for number in np.flatnonzero(sizes == 0).tolist():
        listed[number].append((np.empty(0, np.intp), np.empty(0, np.int8)))
    todo, levels = longest_first(sizes), LEVELS
    while todo.size:
        again = [np.empty(0, np.intp)]
        for part in size_batches(todo, sizes, cells=_CELLS, power=1, least=32):
            longest = int(sizes[part[0]])
            leaves, nodes = leaf[part, :longest], internal[part, : longest - 1]
            found, deeper, left = _enumerate_batch(leaves, nodes, sizes[part], k, levels, rounds)
            unfinished += part[left].tolist()
            for number, trees in zip(part.tolist(), found, strict=True):
                listed[number] = trees
            again.append(part[deeper])
        todo, levels = np.concatenate(again), 2 * levels
    return listed, unfinished


def _enumerate_batch(
    leaf: Scores, internal: Scores, sizes: Ints, k: int, levels: int, rounds: int
) -> tuple[list[_Trees], Bools, Ints]:
    """Enumerate trees of sentences sorted longest first; also which need more depth levels, and which more rounds."""
    batch, words = leaf.shape[:2]
    lattice = _Lattice(leaf, internal, sizes, levels)
    found: list[_Trees] = [[] for _ in range(batch)]
    seen: list[set[bytes]] = [set() for _ in range(batch)]
    waiting: list[tuple[int, Tags]] = []  # sequences whose trees are not listed yet

    def list_waiting() -> None:
        for (row, sequence), tree in zip(waiting, heads([tags for _, tags in waiting]), strict=True):
            if (key := tree.tobytes()) not in seen[row]:
                seen[row].add(key)
                found[row].append((tree, sequence))
        waiting.clear()

    deeper, left = np.zeros(batch, np.bool_), np.empty(0, np.intp)
    active = np.arange(batch)  # sentences not yet finished; the arrays below are parallel to it
    first = np.zeros((batch, 2 * words - 1), np.int8)
    for row, sequence in enumerate(best(leaf, internal, sizes)):
        first[row, : len(sequence)] = sequence
    path = np.where(np.arange(words - 1) < sizes[:, None] - 1, first[:, :-1:2] * 4 + first[:, 1::2] - 2, 0)
    left_at = np.full(batch, -1)
    # By sentence and listed sequence: its tag pairs, the scores of its deviations, and the best of these.
    paths = np.empty((batch, 8, words - 1), np.int8)
    deviations, tops = np.empty((batch, 8, 8 * (words - 1))), np.full((batch, 8), -np.inf)
    for number in range(rounds):
        ahead, too_deep = lattice.deviations(active, path, left_at)
        deeper[active[too_deep]] = True
        going = ~too_deep
        listed = zip(active.tolist(), lattice.tags(active, path), going.tolist(), strict=True)
        waiting += [(row, sequence) for row, sequence, kept in listed if kept]
        if rounds > k:  # or else all trees are found at once, at the end
            list_waiting()
            going &= [len(found[row]) < k for row in active.tolist()]
        if words == 1:
            break
        if number == paths.shape[1]:  # double the capacity
            paths, deviations = (np.concatenate([array, np.empty_like(array)], axis=1) for array in (paths, deviations))
            tops = np.concatenate([tops, np.full_like(tops, -np.inf)], axis=1)
        paths[:, number], deviations[:, number], tops[:, number] = path, ahead, ahead.max(1)
        # The best deviation from any listed sequence; there may be none left.
        going &= tops.max(1) > -np.inf
        if not going.any():
            break
        if not going.all():
            active, paths, deviations, tops = active[going], paths[going], deviations[going], tops[going]
        rows, which = np.arange(len(active)), tops.argmax(1)
        chosen = deviations[rows, which].argmax(1)
        deviations[rows, which, chosen] = -np.inf
        tops[rows, which] = deviations[rows, which].max(1)
        left_at = chosen // 8
        path = lattice.follow(active, paths[rows, which], left_at, chosen % 8)
    else:
        left = active
    list_waiting()
    return found, deeper, left


class _Lattice:
    """The Viterbi table of a batch; `rows` below are the indices of the sentences asked about."""

    def __init__(self, leaf: Scores, internal: Scores, sizes: Ints, levels: int) -> None:
        batch, words = leaf.shape[:2]
        self.sizes, self.levels = sizes, levels
        self.value = fill(moves(leaf, internal, sizes, np.maximum), np.maximum, levels).transpose(2, 0, 1)
        # Scores of tag pairs. Beyond the end of a sentence only the first pair is allowed, at no cost.
        self.pairs = (leaf[:, :-1, :, None] + internal[:, :, None, :]).reshape(batch, words - 1, 8)
        self.inside = np.arange(words - 1) < sizes[:, None] - 1
        self.value = np.where((np.arange(words) < sizes[:, None])[..., None], self.value, -np.inf)

    def depths(self, rows: Ints, path: Tags) -> Ints:
        """Return the depth before every word but the last."""
        change = np.where(self.inside[rows], _CHANGE[path], 0)
        return np.cumsum(change, axis=1) - change

    def deviations(self, rows: Ints, path: Tags, left_at: Ints) -> tuple[Scores, Bools]:
        """Return the best scores of deviations from the paths after `left_at`, and which paths are too deep."""
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

    def follow(self, rows: Ints, path: Tags, left_at: Ints, pair: Ints) -> Tags:
        """Return the best paths that follow the given ones up to word `left_at` and take a given pair there."""
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

    def tags(self, rows: Ints, path: Tags) -> list[Tags]:
        """Return the tags of paths."""
        count, inner = path.shape
        tags = np.zeros((count, 2 * inner + 1), np.int8)
        tags[:, :-1:2], tags[:, 1::2] = path // 4, path % 4 + Hexatag.L_HEAD_L
        sizes = self.sizes[rows]
        tags[np.arange(count), 2 * sizes - 2] = sizes > 1
        return [row[: 2 * size - 1] for row, size in zip(tags, sizes.tolist(), strict=True)]
