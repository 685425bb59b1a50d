"""Scores of sequences, and of trees: the log-sum over all sequences that stand for the same tree.

A word takes its left dependents nearest first and its right dependents nearest first, but the two can be interleaved in
any way: C(l + r, l) ways for l and r dependents, each a different binary head tree with different tags. The tag of a
node depends only on what is attached next (a left dependent makes the node a right child, a right dependent a left
child). So the interleavings of a word are the paths through an l × r grid, and words are independent of each other: the
sum over exponentially many sequences takes O(Σ l·r), at most O(N²), usually O(N).
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.lattice import Bools, Ints, Scores, check_scores
from hexatagger.tags.hexatag import Hexatag, check_tags
from hexatagger.tree import check_projective, dependents_of


def sequence_scores(tags: Iterable[ArrayLike], leaf: ArrayLike, internal: ArrayLike) -> Scores:
    """Return the score of one legal sequence per sentence: (batch,). Minus `log_partition`, a log-probability. O(N).

    >>> sequence_scores([[0, 3, 1]], np.ones((1, 2, 2)), [[[0, 5, 0, 0]]]).tolist()
    [7.0]
    """
    rows = [np.asarray(sequence, np.intp) for sequence in tags]
    for sequence in rows:
        check_tags(sequence)
    leaf_scores, internal_scores, _ = check_scores(leaf, internal, [(len(sequence) + 1) // 2 for sequence in rows])
    return sequence_scores_unchecked(rows, leaf_scores, internal_scores, np.arange(len(rows)))


def sequence_scores_unchecked(
    tags: Sequence[NDArray[np.integer]], leaf: Scores, internal: Scores, owners: Ints
) -> Scores:
    """Return the scores of sequences known to be legal; `owners` are the indices of their sentences."""
    sizes = np.array([len(sequence) for sequence in tags], np.intp)
    row = np.repeat(np.arange(len(sizes)), sizes)
    owner = owners[row]
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    flat = np.concatenate([np.empty(0, np.intp), *tags]).astype(np.intp)
    is_leaf = place % 2 == 0
    scores = np.empty(len(flat))
    scores[is_leaf] = leaf[owner[is_leaf], place[is_leaf] // 2, flat[is_leaf]]
    scores[~is_leaf] = internal[owner[~is_leaf], place[~is_leaf] // 2, flat[~is_leaf] - Hexatag.L_HEAD_L]
    return np.bincount(row, scores, len(sizes)).astype(np.float64)


def best_of_tree(heads: Sequence[int], leaf: Scores, internal: Scores) -> tuple[float, list[Hexatag]]:
    """Return the best sequence of a projective tree and its score; `leaf` is (words, 2), `internal` (words − 1, 4).

    O(N²), usually O(N).

    >>> score, tags = best_of_tree([2, 0, 2], np.zeros((3, 2)), np.array([[0.0, 0, 0, 0], [1, 0, 0, 0]]))
    >>> score, " ".join(map(str, tags))
    (1.0, 'l Lr r Ll r')
    """
    begin, end = _ends(np.array([head - 1 if head else word for word, head in enumerate(heads)], np.intp))
    score, tags = 0.0, [Hexatag.LEAF_L] * max(0, 2 * len(heads) - 1)
    for word, dependents in enumerate(dependents_of(heads)[1:]):
        # Gaps of the nodes that join the dependents, nearest first.
        lefts = [int(end[other - 1]) for other in reversed(dependents) if other <= word]
        rights = [int(begin[other - 1]) - 1 for other in dependents if other > word]
        # A state: i left and j right dependents attached, and the side of the node so far as a child (1: right).
        values = {(0, 0, side): float(leaf[word, side]) for side in (0, 1)}
        before: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        for i, j, side in itertools.product(range(len(lefts) + 1), range(len(rights) + 1), (0, 1)):
            ways = []
            if i:
                ways.append((values[i - 1, j, 1] + internal[lefts[i - 1], 2 * side + 1], (i - 1, j, 1)))
            if j:
                ways.append((values[i, j - 1, 0] + internal[rights[j - 1], 2 * side], (i, j - 1, 0)))
            if ways:
                values[i, j, side], before[i, j, side] = max(ways)
        state = len(lefts), len(rights), int(0 < heads[word] <= word)
        score += float(values[state])
        while state in before:
            i, j, side = state
            state = before[state]
            head_right = state[0] < i
            tags[2 * (lefts[i - 1] if head_right else rights[j - 1]) + 1] = Hexatag(2 + 2 * side + head_right)
        tags[2 * word] = Hexatag(state[2])
    return score, tags


def tree_scores(trees: Sequence[Iterable[int]], leaf: ArrayLike, internal: ArrayLike) -> Scores:
    """Return for one projective tree per sentence the log of the sum of exp(score) over its sequences: (batch,).

    Minus `log_partition`, these are log-probabilities of trees. O(N²) per sentence, usually O(N).

    >>> tree_scores([[2, 0, 2]], np.zeros((1, 3, 2)), np.zeros((1, 2, 4))).tolist() == [np.log(2)]
    True
    """
    arrays = [np.array(check_projective(heads), np.intp) for heads in trees]
    leaf_scores, internal_scores, _ = check_scores(leaf, internal, [len(heads) for heads in arrays])
    return tree_scores_unchecked(arrays, leaf_scores, internal_scores, np.arange(len(arrays)))


def tree_scores_unchecked(trees: Sequence[Ints], leaf: Scores, internal: Scores, owners: Ints) -> Scores:
    """Return the scores of trees known to be projective; `owners` are the indices of their sentences."""
    sizes = np.array([len(heads) for heads in trees], np.intp)
    # All words of the batch in one row; heads are places in it.
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    number = np.repeat(np.arange(len(sizes)), sizes)
    sentence = owners[number]
    local = np.concatenate([np.empty(0, np.intp), *trees]) - 1  # −1: the root
    words = np.arange(len(local))
    head = np.where(local < 0, words, local + starts)  # the root is its own head
    is_left, is_right, joined = head > words, head < words, head != words
    begin, end = _ends(head)
    leaves = leaf[sentence, words - starts]  # (words, 2)
    # The node that joins a word to its head, by child side; 0 for the root, which has none.
    gap = np.where(is_left, end, begin - 1) - starts
    nodes = np.zeros((len(words), 2))
    nodes[joined] = internal[sentence[joined], gap[joined]].reshape(-1, 2, 2)[
        np.arange(int(joined.sum())), :, is_left[joined].astype(np.intp)
    ]
    count_left = np.bincount(head[is_left], minlength=len(words))
    count_right = np.bincount(head[is_right], minlength=len(words))
    both = (count_left > 0) & (count_right > 0)
    whole = is_right.astype(np.intp)

    # Words with dependents on one side have one interleaving: the leaf and all nodes but the outermost face the next
    # dependent, and the outermost is a child like the whole subtree.
    outermost = np.zeros(len(words), np.bool_)
    first, last = _outermost(head)
    outermost[first[first != words]] = outermost[last[last != words]] = True
    sums = np.where(count_left > 0, leaves[:, 1], np.where(count_right > 0, leaves[:, 0], leaves[words, whole]))
    sums[both] = 0.0
    simple = joined & ~both[head]
    side = np.where(outermost, whole[head], is_left.astype(np.intp))
    sums += np.bincount(head[simple], nodes[words, side][simple], len(words))
    if both.any():
        sums[both] = _grids(leaves[both], nodes, whole[both], head, both, count_left[both], count_right[both])
    return np.bincount(number, sums, len(sizes)).astype(np.float64)


def _grids(leaves: Scores, nodes: Scores, whole: Ints, head: Ints, both: Bools, lefts: Ints, rights: Ints) -> Scores:
    """Return the log-sums of the words with dependents on both sides, at once along the diagonals of their grids."""
    number, words = np.cumsum(both) - 1, np.arange(len(head))
    rows = len(leaves)
    most_left, most_right = int(lefts.max()), int(rights.max())
    # Node scores by child side, word, and number of dependents attached on that side (nearest first).
    left = np.full((2, rows, most_left + 1), -np.inf)
    # The right ones lie backwards from `origin`, so that a diagonal is a slice; the rest is −inf.
    origin = most_left + most_right
    right = np.full((2, rows, origin + most_left), -np.inf)
    for table, members, order in ((left, head > words, -1), (right, head < words, 1)):
        chosen = np.flatnonzero(members & both[head])[::order]
        chosen = chosen[np.argsort(head[chosen], kind="stable")]
        owner = number[head[chosen]]
        rank = np.arange(len(chosen)) - np.searchsorted(owner, owner) + 1
        table[:, owner, rank if order < 0 else origin - rank] = nodes[chosen].T
    by_left = np.full((rows, most_left + 1), -np.inf)  # by left dependents attached; the last attached was left
    by_right = by_left.copy()
    by_left[:, 1], by_right[:, 0] = leaves[:, 1], leaves[:, 0]
    found = np.empty(rows)
    every = np.arange(rows)
    for taken in range(1, most_left + most_right + 1):
        ahead = right[:, :, origin - taken : origin - taken + most_left + 1]
        closed = np.logaddexp(by_left + left, by_right + ahead)  # (child side, word, left dependents)
        done = lefts + rights == taken
        found[done] = closed[whole[done], every[done], lefts[done]]
        by_left[:, 1:], by_left[:, 0] = closed[1, :, :-1], -np.inf
        by_right = closed[0]
    return found


def _outermost(head: Ints) -> tuple[Ints, Ints]:
    """Return the first left and the last right dependent of every word, or the word itself if it has none."""
    words = np.arange(len(head))
    first, last = words.copy(), words.copy()
    lefts, rights = words[head > words][::-1], words[head < words]
    first[head[lefts]], last[head[rights]] = lefts, rights  # the last assignment wins
    return first, last


def _ends(head: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last word of every subtree."""
    begin, end = _outermost(head)
    while True:  # pointer doubling
        further = begin[begin], end[end]
        if np.array_equal(further[0], begin) and np.array_equal(further[1], end):
            return begin, end
        begin, end = further
