"""The k best trees by dynamic programming over spans and their heads: slow, but bounded whatever the scores.

An item is a node of the binary head tree: its span, its child side and the word that heads it. Of every item the k best
different trees are kept, each with the score of its best sequence. This is exact: if k trees of a part are better than the
one at hand, each of them in its place gives a better whole. Growth: O(N⁴ · k log k) steps in plain Python, some
milliseconds for ten words and minutes for a hundred; `kbest` comes here only where listing sequences does not end.
"""

import heapq
from collections.abc import Iterable

from hexatagger.decode.table import Scores

Tree = tuple[int, ...]
"""Heads of the words of a span; that of its own head is 0."""
Listed = list[tuple[float, Tree]]
"""Trees, best first."""


def best_trees(leaf: Scores, internal: Scores, k: int) -> list[Tree]:
    """Return the heads of the k best trees by the score of their best sequence: `leaf` (words, 2), `internal` (words − 1, 4).

    >>> import numpy as np
    >>> best_trees(np.zeros((2, 2)), np.array([[1, 2, 9, 9]]), 3)
    [(2, 0), (0, 1)]
    """
    size = len(leaf)
    leaves, nodes = leaf.tolist(), internal.tolist()
    items: dict[tuple[int, int, int], dict[int, Listed]] = {}  # by begin, end, child side; then by head
    merged: dict[tuple[int, int, int], list[tuple[float, Tree, int]]] = {}  # the best over all heads, with the head
    for length in range(1, size + 1):
        for begin in range(size - length + 1):
            end = begin + length - 1
            for side in (0, 1):
                if length == 1:
                    by_head: dict[int, Listed] = {begin: [(leaves[begin][side], (0,))]}
                else:
                    by_head = {
                        head: _best(_joined(head, begin, end, nodes, side, items, merged, k), k)
                        for head in range(begin, end + 1)
                    }
                items[begin, end, side] = by_head
                merged[begin, end, side] = heapq.nsmallest(
                    k,
                    ((score, tree, head) for head, trees in by_head.items() for score, tree in trees),
                    key=lambda entry: (-entry[0], entry[1]),
                )
    return [tree for score, tree, _ in merged[0, size - 1, 0] if score > -float("inf")] if size else [()]


def _joined(
    head: int,
    begin: int,
    end: int,
    nodes: list[list[float]],
    side: int,
    items: dict[tuple[int, int, int], dict[int, Listed]],
    merged: dict[tuple[int, int, int], list[tuple[float, Tree, int]]],
    k: int,
) -> Iterable[tuple[float, Tree]]:
    """Yield the trees of a span with a given head, joined from two parts in every way that may be among the k best."""
    for gap in range(begin, end):
        left = head <= gap
        score = nodes[gap][2 * side + (not left)]
        own = items[begin, gap, 0][head] if left else items[gap + 1, end, 1][head]
        other = merged[gap + 1, end, 1] if left else merged[begin, gap, 0]
        offset = gap + 1 if left else begin
        for rank, (own_score, own_tree) in enumerate(own, 1):
            for other_score, other_tree, dependent in other[: k // rank]:
                place = dependent - offset
                hung = (*other_tree[:place], head + 1, *other_tree[place + 1 :])
                yield score + own_score + other_score, own_tree + hung if left else hung + own_tree


def _best(trees: Iterable[tuple[float, Tree]], k: int) -> Listed:
    """Keep the k best different trees, each with its best score."""
    scores: dict[Tree, float] = {}
    for score, tree in trees:
        if score > scores.get(tree, -float("inf")):
            scores[tree] = score
    found = heapq.nsmallest(k, scores.items(), key=lambda entry: (-entry[1], entry[0]))
    return [(score, tree) for tree, score in found]
