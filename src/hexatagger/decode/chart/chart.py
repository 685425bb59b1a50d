"""A chart over the nodes of binary head trees with the words that head them: every arc is seen when it is made.

The lattice does not know heads; this chart does, and so can leave out the arcs and nodes that are not allowed, and add
what arcs say for themselves to what tags say. What it holds is the sum over all ways to make a node, and what "sum"
means is the caller's choice, as for the table of the lattice: `BEST` for the best sequence, `MASS` for the mass of all.
From long spans to short ones, `arcs` then says for every arc what all sequences with this arc come to: the best of
them, or their mass.

O(N⁴) time in O(N) numpy calls, O(N³) memory: for one sentence, and where the lattice does not do.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from hexatagger.decode.chart.constraints import Bools
from hexatagger.decode.span_views import walk
from hexatagger.decode.table import Scores, Tags
from hexatagger.tags.hexatag import Hexatag

_LOWEST = float(np.finfo(np.float64).min)


@dataclass(frozen=True, slots=True)
class Sum:
    """What a sum is: of two arrays, and along an axis of one."""

    plus: np.ufunc
    along: Callable[[Scores, int], Scores]


def _log_sum(values: Scores, axis: int) -> Scores:
    highest = np.maximum(values.max(axis, keepdims=True), _LOWEST)
    with np.errstate(divide="ignore"):  # the log of nothing is −inf
        sums: Scores = np.log(np.exp(values - highest).sum(axis, keepdims=True)) + highest
    return sums.squeeze(axis)


BEST = Sum(np.maximum, lambda values, axis: values.max(axis))
MASS = Sum(np.logaddexp, _log_sum)


class Chart:
    """Sums of nodes by begin, end and head, for both child sides; and of nodes hung under a word outside.

    A word behind a node takes it as its left child, one before it as its right child: its child side is clear then.
    Words are counted from 0 here. `arcs` are what arcs add, as `arc_scores` makes it; spans are those of constraints.
    """

    def __init__(
        self, leaf: Scores, internal: Scores, arcs: Scores, spans: Collection[tuple[int, int]], kind: Sum
    ) -> None:
        words = len(leaf)
        self.words, self.kind = words, kind
        self.roots = arcs[0, 1:]  # (word,)
        self.links = np.ascontiguousarray(arcs[1:, 1:])  # (head, word)
        self.internal = internal
        gaps = internal.reshape(-1, 2, 2)  # gap, child side, head side
        self.gaps = [np.ascontiguousarray(gaps[:, :, side].T) for side in (0, 1)]
        self.node = np.full((2, words, words, words), -np.inf)  # child side, begin, end, head
        self.hung = np.full((1, words, words, words), -np.inf)  # begin, end, the word it depends on
        every = np.arange(words)
        self.node[:, every, every, every] = leaf.T
        for size in range(words):
            if size:
                self._join(size)
            self._hang(size, spans)

    @property
    def total(self) -> float:
        """The sum over all sequences."""
        return float(self.kind.along(self.node[0, 0, -1] + self.roots, 0))

    def _join(self, size: int) -> None:
        """Make the nodes over `size` + 1 words of two parts each."""
        node = np.full((2, self.words - size, size + 1), -np.inf)
        for side in (0, 1):
            sums = _part(self.node[side:], side, size, side) + _part(self.hung, 1 - side, size, side)
            found = self.kind.along(sums + self._gaps(side, size), 2)
            own = _headed_in(node, side)
            self.kind.plus(own, found, out=own)
        _nodes(self.node, size)[...] = node

    def _hang(self, size: int, spans: Collection[tuple[int, int]]) -> None:
        """Hang the nodes over `size` + 1 words under words outside; forbid what breaks a span."""
        node, behind = _nodes(self.node, size), _behind(self.words, size)
        begin = np.arange(self.words - size)[:, None]
        end = begin + size
        free = behind | (np.arange(self.words) < begin)
        for first, last in spans:
            a, b = first - 1, last - 1
            crossed = ((a < begin) & (begin <= b) & (b < end)) | ((begin < a) & (a <= end) & (end < b))
            heads = begin + np.arange(size + 1)
            node[:, crossed & ((heads < a) | (heads > b))] = -np.inf
            free &= ~crossed
        sums = self.kind.along(self._links(size) + np.where(behind.T[..., None], *node), 2)
        _hung(self.hung, size)[0] = np.where(free, sums.T, -np.inf)

    def arcs(self) -> Scores:
        """Return for every arc the sum over the sequences that have it: (head, word), −inf where there are none."""
        found = np.full((self.words + 1, self.words + 1), -np.inf)
        by_root, by_word = found[0, 1:], found[1:, 1:]
        by_root[:] = self.node[0, 0, -1] + self.roots
        # What lies outside of a node, and of a node that is hung.
        above, beside = np.full_like(self.node, -np.inf), np.full_like(self.hung, -np.inf)
        above[0, 0, -1] = self.roots
        for size in range(self.words - 1, -1, -1):
            node, own = _nodes(self.node, size), _nodes(above, size)
            outside = np.where(np.isneginf(_hung(self.hung, size)), -np.inf, _hung(beside, size))[0]
            ways = self._links(size) + outside.T[..., None]  # head, begin, word
            behind = _behind(self.words, size).T[..., None]
            for side in (0, 1):
                sums = self.kind.along(np.where(behind == (side == 0), ways, -np.inf), 0)
                self.kind.plus(own[side], sums, out=own[side])
            arcs = np.full((self.words, self.words - size, self.words), -np.inf)  # head, begin, word
            walk(arcs, (0, 0), ((1, 1), (0, 1)), ways.shape[1:])[...] = ways + np.where(behind, *node)
            self.kind.plus(by_word, self.kind.along(arcs, 1), out=by_word)
            own[np.isneginf(node)] = -np.inf  # what is forbidden has no parts
            for side in (0, 1) if size else ():
                sums = self.kind.along(_headed_in(own, side)[:, :, None] + self._gaps(side, size), 0)
                kept, other = _part(self.node[side:], side, size, side), _part(self.hung, 1 - side, size, side)
                for table, place, rest in ((above[side:], side, other), (beside, 1 - side, kept)):
                    part = _part(table, place, size, side)
                    self.kind.plus(part, sums + rest, out=part)
        return found

    def _links(self, size: int) -> Scores:
        """View what arcs add from any head to the words of the spans over `size` + 1 words: (head, begin, word)."""
        return walk(self.links, (0,), ((1,), (1,)), (self.words - size, size + 1))

    def _gaps(self, side: int, size: int) -> Scores:
        """View the scores of splits with the head on one side: (child side, begin, split, 1)."""
        return walk(self.gaps[side], (0,), ((1,), (1,)), (self.words - size, size))[..., None]

    def trace(self) -> Tags | None:
        """Return the best sequence, None if there is none; for `BEST`."""
        tops = self.node[0, 0, -1] + self.roots
        if np.isneginf(tops.max()):
            return None
        tags = np.zeros(2 * self.words - 1, np.int8)
        todo = [(0, 0, self.words - 1, int(tops.argmax()))]
        while todo:
            side, begin, end, head = todo.pop()
            if begin == end:
                tags[2 * begin] = side
                continue
            gaps = self.internal[begin:end, 2 * side : 2 * side + 2]
            left = self.node[0, begin, begin:end, head] + self.hung[0, begin + 1 : end + 1, end, head] + gaps[:, 0]
            right = self.node[1, begin + 1 : end + 1, end, head] + self.hung[0, begin, begin:end, head] + gaps[:, 1]
            head_right = bool(right.max() > left.max())
            gap = begin + int((right if head_right else left).argmax())
            tags[2 * gap + 1] = Hexatag.L_HEAD_L + 2 * side + head_right
            parts = [(0, begin, gap), (1, gap + 1, end)]
            other_side, first, last = parts[not head_right]
            hanging = self.links[head, first : last + 1] + self.node[other_side, first, last, first : last + 1]
            todo.append((other_side, first, last, first + int(hanging.argmax())))
            todo.append((*parts[head_right], head))
        return tags


def _behind(words: int, size: int) -> Bools:
    """Say which words lie behind the spans over `size` + 1 words: (begin, word)."""
    return np.arange(words) > np.arange(size, words)[:, None]


def _nodes(table: Scores, size: int) -> Scores:
    """View the spans over `size` + 1 words with the words inside: (child side, begin, word from the begin on)."""
    return walk(table, (0, size, 0), ((1, 1, 1), (0, 0, 1)), (table.shape[1] - size, size + 1))


def _hung(table: Scores, size: int) -> Scores:
    """View the spans over `size` + 1 words with all words: (1, begin, word)."""
    return walk(table, (0, size, 0), ((1, 1, 0), (0, 0, 1)), (table.shape[1] - size, table.shape[1]))


def _part(table: Scores, part: int, size: int, side: int) -> Scores:
    """View the left parts (0) or right parts (1) of these spans, with the words that head a span on this side.

    The result, from the first entry of the table, is (begin, split, word): on the left side all words of the span but
    the last, on the right side all but the first.
    """
    start, step = ((1, size, side), (1, 0, 0)) if part else ((0, 0, side), (0, 1, 0))
    shape = (table.shape[1] - size, size, size)
    view: Scores = walk(table[:1], start, ((1, 1, 1), step, (0, 0, 1)), shape)[0]
    return view


def _headed_in(nodes: Scores, side: int) -> Scores:
    """View of nodes with their words those that head a span on this side."""
    return nodes[..., 1:] if side else nodes[..., :-1]
