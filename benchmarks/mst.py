"""Exact decoders of arc scores for the biaffine baseline: the best projective tree and the best tree, with one root.

Eisner (1996) for projective trees, O(N³); Chu and Liu (1965), Edmonds (1967) and Tarjan (1977) for all trees, O(N²).
Scores are (sentences, words + 1, words + 1): row = dependent, column = head, 0 = root; row 0 and what lies beyond the
length of a sentence are ignored. Both are exact for trees with one root: every tree has an arc from the root, so with a
penalty on these arcs larger than all differences the best has one.

The baseline must not lose for want of care. So if the best head of every word gives a tree already, that is the answer
and nothing is searched; and Eisner's chart is filled for several sentences at once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from hexatagger.tree import is_projective

Scores = NDArray[np.floating]
Ints = NDArray[np.int64]
_CHART = 2**16  # cells of the charts that are filled at once, so that they stay in the cache of a core
_FEWEST = 8  # sentences, however long


def best_trees(scores: Scores, lengths: Sequence[int]) -> list[list[int]]:
    """Return the heads of the best tree of every sentence, projective or not."""
    return _searched(scores, lengths, lambda heads: True, lambda squares, sizes: [_edmonds(squares[0])], 1)


def best_projective_trees(scores: Scores, lengths: Sequence[int]) -> list[list[int]]:
    """Return the heads of the best projective tree of every sentence."""
    together = max(_FEWEST, _CHART // scores.shape[1] ** 2)
    return _searched(scores, lengths, is_projective, _eisner, together)


def best_tree(scores: Scores) -> list[int]:
    """Return the heads of the best tree of one sentence, whose scores are (words + 1, words + 1)."""
    return best_trees(scores[None], [len(scores) - 1])[0]


def best_projective(scores: Scores) -> list[int]:
    """Return the heads of the best projective tree of one sentence, whose scores are (words + 1, words + 1)."""
    return best_projective_trees(scores[None], [len(scores) - 1])[0]


def greedy_heads(scores: Scores, lengths: Sequence[int]) -> tuple[list[list[int]], list[bool]]:
    """Return the best head of every word, and for which sentences these are a tree with one root."""
    sizes, places = np.asarray(lengths)[:, None], np.arange(scores.shape[1])
    allowed = np.where((places <= sizes)[:, None] & (places != places[:, None]), scores, -np.inf)
    heads = np.where((places > 0) & (places <= sizes), allowed.argmax(2), 0)
    above = heads
    for _ in range(scores.shape[1].bit_length()):  # pointer doubling: without a cycle every word ends at the root
        above = np.take_along_axis(above, above, 1)
    roots = ((heads == 0) & (places > 0) & (places <= sizes)).sum(1)
    trees = (roots == 1) & ~above.any(1)
    return [row[1 : size + 1] for row, size in zip(heads.tolist(), lengths, strict=True)], trees.tolist()


def _searched(
    scores: Scores,
    lengths: Sequence[int],
    is_allowed: Callable[[list[int]], bool],
    search: Callable[[Scores, list[int]], list[list[int]]],
    together: int,
) -> list[list[int]]:
    """Take the best head of every word where that is an allowed tree; search the others, `together` at a time."""
    found, trees = greedy_heads(scores, lengths)
    left = [row for row, tree in enumerate(trees) if lengths[row] and not (tree and is_allowed(found[row]))]
    left.sort(key=lambda row: lengths[row])
    for start in range(0, len(left), together):
        part = left[start : start + together]
        sizes = [lengths[row] for row in part]
        squares = one_root(scores[part, : sizes[-1] + 1, : sizes[-1] + 1], sizes)
        for row, heads in zip(part, search(squares, sizes), strict=True):
            found[row] = heads[1 : lengths[row] + 1]
    return found


def one_root(scores: Scores, lengths: Sequence[int]) -> NDArray[np.float64]:
    """Return scores with the penalty on arcs from the root, and −inf for everything that is no arc of the sentence."""
    sizes, places = np.asarray(lengths)[:, None, None], np.arange(scores.shape[1])
    arcs = (places[:, None] > 0) & (places[:, None] <= sizes) & (places <= sizes) & (places[:, None] != places)
    made = np.where(arcs, scores, -np.inf).astype(np.float64)
    highest, lowest = made.max((1, 2)), np.where(arcs, scores, np.inf).min((1, 2))
    made[:, :, 0] -= ((highest - lowest + 1.0) * (sizes[:, 0, 0] + 1))[:, None]
    return made


def _edmonds(scores: Scores) -> list[int]:
    """Return the best head of every node; that of node 0 is undefined.

    From every node a path is grown along best heads. A cycle on it is contracted to a new node, whose row has for every
    head what the best arc into the cycle gains over the arc that it replaces. O(N²): every node is contracted once.
    """
    size = len(scores)
    gains = np.concatenate([scores, np.empty((size, size))])  # (nodes and cycles, heads)
    enters = np.arange(2 * size)[:, None].repeat(size, 1)  # the word that such an arc enters
    held = [np.array([node]) for node in range(size)]  # the words of every node
    above = list(range(2 * size))  # the cycle that a node was contracted to
    top = np.arange(size)  # the outermost cycle of every word
    chosen = [0] * (2 * size)
    done = [True] + [False] * (2 * size - 1)
    for start in range(1, size):
        path: list[int] = []
        node = int(top[start])
        while not done[node]:
            if node in path:
                members = path[path.index(node) :]
                del path[path.index(node) :]
                node = len(held)
                block = gains[members] - gains[members, [chosen[each] for each in members]][:, None]
                best = block.argmax(0)
                gains[node], enters[node] = block.max(0), enters[np.array(members)[best], np.arange(size)]
                held.append(np.concatenate([held[each] for each in members]))
                gains[node, held[node]] = -np.inf
                top[held[node]] = node
                for each in members:
                    above[each] = node
            path.append(node)
            chosen[node] = int(gains[node].argmax())
            node = int(top[chosen[node]])
        for node in path:
            done[node] = True
    for cycle in range(len(held) - 1, size - 1, -1):  # the outermost first: its arc replaces one of a member
        node = int(enters[cycle, chosen[cycle]])
        while above[node] != cycle:
            node = above[node]
        chosen[node] = chosen[cycle]
    return chosen[:size]


class _Chart:
    """Scores of the spans i..j of several sentences, in rows and in columns, so that both read along the memory."""

    def __init__(self, sentences: int, size: int, start: float) -> None:
        self.size = size
        self.by_first, self.by_last = np.full((2, sentences, size, size), -np.inf)
        for each in (self.by_first, self.by_last):
            each[:, np.arange(size), np.arange(size)] = start

    def starting(self, width: int, skip: int) -> Scores:
        """Return a view of the spans i..i + skip + k, for k < width: (sentences, size − width, width)."""
        return self._band(self.by_first[:, 0, skip:], width)

    def ending(self, width: int, skip: int) -> Scores:
        """Return a view of the spans i + skip + k..i + width, for k < width: (sentences, size − width, width)."""
        return self._band(self.by_last[:, width, skip:], width)

    def _band(self, first: Scores, width: int) -> Scores:
        step = self.by_first.itemsize
        shape = (len(first), self.size - width, width)
        return as_strided(first, shape, (self.by_first.strides[0], step * (self.size + 1), step), writeable=False)

    def set(self, width: int, values: Scores) -> None:
        """Set the scores of all spans of a width: (sentences, size − width)."""
        diagonal(self.by_first, width)[:] = values
        diagonal(self.by_last, -width)[:] = values


def diagonal(squares: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a view of the cells (i, i + width) of squares, or of (i − width, i) if it is negative."""
    size = squares.shape[1]
    first = width if width >= 0 else -width * size
    return squares.reshape(len(squares), -1)[:, first :: size + 1][:, : size - abs(width)]


def _eisner(scores: Scores, lengths: list[int]) -> list[list[int]]:
    """Return the heads of every sentence; that of node 0 is undefined."""
    count, size, _ = scores.shape
    # Complete spans have their head at the right or at the left; open ones have an arc between their ends.
    right, left = _Chart(count, size, 0.0), _Chart(count, size, 0.0)
    open_right, open_left = _Chart(count, size, -np.inf), _Chart(count, size, -np.inf)
    open_cut, right_cut, left_cut = np.zeros((3, count, size, size), np.int16 if size < 2**15 else np.int64)
    for width in range(1, size):
        i = np.arange(size - width)
        best, cut = _best(left.starting(width, 0), right.ending(width, 1))
        diagonal(open_cut, width)[:] = i + cut
        open_right.set(width, best + diagonal(scores, width))
        open_left.set(width, best + diagonal(scores, -width))
        best, cut = _best(right.starting(width, 0), open_right.ending(width, 0))
        right.set(width, best)
        diagonal(right_cut, width)[:] = i + cut
        best, cut = _best(open_left.starting(width, 1), left.ending(width, 1))
        left.set(width, best)
        diagonal(left_cut, width)[:] = i + cut + 1
    return [_follow(open_cut[row], right_cut[row], left_cut[row], length) for row, length in enumerate(lengths)]


def _best(first: Scores, second: Scores) -> tuple[Scores, Ints]:
    """Return the highest sum of two parts of a span, and where they meet: (sentences, spans) each."""
    sums = first + second
    cut = sums.argmax(2)
    return np.take_along_axis(sums, cut[:, :, None], 2)[:, :, 0], cut


def _follow(open_cut: Ints, right_cut: Ints, left_cut: Ints, length: int) -> list[int]:
    """Read the heads of a sentence off its chart."""
    heads = [0] * (length + 1)
    todo = [(left_cut, 0, length)]
    while todo:
        kind, first, last = todo.pop()
        if first == last:
            continue
        if kind is left_cut:  # the head is `first`: an open span, then a complete one
            cut = int(kind[first, last])
            heads[cut] = first
            below = int(open_cut[first, cut])
            todo += [(left_cut, first, below), (right_cut, below + 1, cut), (left_cut, cut, last)]
        else:
            cut = int(kind[first, last])
            heads[cut] = last
            below = int(open_cut[cut, last])
            todo += [(right_cut, first, cut), (left_cut, cut, below), (right_cut, below + 1, last)]
    return heads
