"""A chart over the nodes of binary head trees and their head words: an Eisner-like span program in any semiring.

The lattice of tags does not know heads. This chart does, so it can forbid arcs and nodes, and add arc scores to tag
scores. An entry is the semiring sum over all ways to build a node: `BEST` (max-plus) gives the best sequence, `LOG` the
log partition function. The outside pass, `arc_sums`, gives for every arc the sum over all sequences that have it.

O(N⁴) time in O(N) numpy calls, O(N³) memory, one sentence at a time: only for what the lattice cannot do.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hexatagger.decode.chart.problem import Problem
from hexatagger.decode.lattice import Bools, Scores, Tags
from hexatagger.decode.span_views import walk
from hexatagger.tags.hexatag import Hexatag

_LOWEST = float(np.finfo(np.float64).min)


@dataclass(frozen=True, slots=True)
class Semiring:
    """The addition of a semiring over scores: of two arrays, and along an axis of one."""

    plus: np.ufunc
    along: Callable[[Scores, int], Scores]


def _log_sum(values: Scores, axis: int) -> Scores:
    highest = np.maximum(values.max(axis, keepdims=True), _LOWEST)
    with np.errstate(divide="ignore"):  # log 0 is −inf
        sums: Scores = np.log(np.exp(values - highest).sum(axis, keepdims=True)) + highest
    return sums.squeeze(axis)


BEST = Semiring(np.maximum, lambda values, axis: values.max(axis))
LOG = Semiring(np.logaddexp, _log_sum)


class Chart:
    """Inside scores: `node` by child side, begin, end and head; `hung` for complete nodes attached to an outside word.

    An outside word on the right takes a node as its left child, one on the left as its right child, so `hung` needs no
    child side. If the root word has other leaf scores than a dependent, `node` has two more entries in its first axis:
    nodes headed by the root word, up to the top. Only these start from `root_leaf`, and they are never attached.
    Words are numbered from 0 here. Filling the chart takes O(N⁴) time and O(N³) memory.
    """

    def __init__(self, problem: Problem, semiring: Semiring) -> None:
        words = len(problem.leaf)
        self.words, self.semiring = words, semiring
        self.roots = problem.arcs[0, 1:]  # (word,)
        self.links = np.ascontiguousarray(problem.arcs[1:, 1:])  # (head, word)
        self.internal = problem.internal
        gaps = self.internal.reshape(-1, 2, 2)  # gap, child side, head side
        self.gaps = [np.ascontiguousarray(gaps[:, :, side].T) for side in (0, 1)]
        leaves = problem.leaf.T if problem.root_leaf is None else np.concatenate([problem.leaf.T, problem.root_leaf.T])
        self.top = len(leaves) - 2  # the entry of the top node, a left child
        self.node = np.full((len(leaves), words, words, words), -np.inf)  # child side, begin, end, head
        self.hung = np.full((1, words, words, words), -np.inf)  # begin, end, head outside
        every = np.arange(words)
        self.node[:, every, every, every] = leaves
        for size in range(words):
            if size:
                self._join(size)
            self._hang(size, problem)

    @property
    def total(self) -> float:
        """The semiring sum over all sequences."""
        return float(self.semiring.along(self.node[self.top, 0, -1] + self.roots, 0))

    def _join(self, size: int) -> None:
        """Build the nodes of `size` + 1 words from two parts each."""
        node = np.full((len(self.node), self.words - size, size + 1), -np.inf)
        for side in (0, 1):
            hung, gaps = _part(self.hung, 1 - side, size, side), self._gaps(side, size)
            for kind in range(0, len(node), 2):
                found = self.semiring.along(_part(self.node[kind + side :], side, size, side) + hung + gaps, 2)
                own = _headed_in(node[kind : kind + 2], side)
                self.semiring.plus(own, found, out=own)
        _nodes(self.node, size)[...] = node

    def _hang(self, size: int, problem: Problem) -> None:
        """Attach the nodes of `size` + 1 words to outside words; forbid nodes that break a span constraint."""
        node, behind = _nodes(self.node, size), _behind(self.words, size)
        begin = np.arange(self.words - size)[:, None]
        free = behind | (np.arange(self.words) < begin)
        if problem.bounds:
            low, high = (np.diagonal(bound, size)[:, None] for bound in problem.bounds)
            heads = begin + np.arange(size + 1)
            node[:, (heads < low) | (heads > high)] = -np.inf
            free &= low < 0
        sums = self.semiring.along(self._links(size) + np.where(behind.T[..., None], *node[:2]), 2)
        _hung(self.hung, size)[0] = np.where(free, sums.T, -np.inf)

    def arc_sums(self) -> Scores:
        """Return for every arc the sum over all sequences that have it: (head, word), −inf if there are none. O(N⁴)."""
        found = np.full((self.words + 1, self.words + 1), -np.inf)
        by_root, by_word = found[0, 1:], found[1:, 1:]
        by_root[:] = self.node[self.top, 0, -1] + self.roots
        # Outside scores of nodes, and of nodes that are attached.
        above, beside = np.full_like(self.node, -np.inf), np.full_like(self.hung, -np.inf)
        above[self.top, 0, -1] = self.roots
        for size in range(self.words - 1, -1, -1):
            node, own = _nodes(self.node, size), _nodes(above, size)
            outside = np.where(np.isneginf(_hung(self.hung, size)), -np.inf, _hung(beside, size))[0]
            ways = self._links(size) + outside.T[..., None]  # head, begin, word
            behind = _behind(self.words, size).T[..., None]
            for side in (0, 1):
                sums = self.semiring.along(np.where(behind == (side == 0), ways, -np.inf), 0)
                self.semiring.plus(own[side], sums, out=own[side])
            arcs = np.full((self.words, self.words - size, self.words), -np.inf)  # head, begin, word
            walk(arcs, (0, 0), ((1, 1), (0, 1)), ways.shape[1:])[...] = ways + np.where(behind, *node[:2])
            self.semiring.plus(by_word, self.semiring.along(arcs, 1), out=by_word)
            own[np.isneginf(node)] = -np.inf  # forbidden nodes pass nothing on
            for side in (0, 1) if size else ():
                other, gaps = _part(self.hung, 1 - side, size, side), self._gaps(side, size)
                for kind in range(0, len(node), 2):
                    sums = self.semiring.along(_headed_in(own[kind : kind + 2], side)[:, :, None] + gaps, 0)
                    kept = _part(self.node[kind + side :], side, size, side)
                    for table, place, rest in ((above[kind + side :], side, other), (beside, 1 - side, kept)):
                        part = _part(table, place, size, side)
                        self.semiring.plus(part, sums + rest, out=part)
        return found

    def _links(self, size: int) -> Scores:
        """View the arc scores from any head to the words of the spans of `size` + 1 words: (head, begin, word)."""
        return walk(self.links, (0,), ((1,), (1,)), (self.words - size, size + 1))

    def _gaps(self, side: int, size: int) -> Scores:
        """View the scores of splits with the head on one side: (child side, begin, split, 1)."""
        return walk(self.gaps[side], (0,), ((1,), (1,)), (self.words - size, size))[..., None]

    def trace(self) -> Tags | None:
        """Return the best sequence, or None if there is none; only for `BEST`. O(N²)."""
        tops = self.node[self.top, 0, -1] + self.roots
        if np.isneginf(tops.max()):
            return None
        tags = np.zeros(2 * self.words - 1, np.int8)
        agenda = [(self.top, 0, 0, self.words - 1, int(tops.argmax()))]
        while agenda:
            kind, side, begin, end, head = agenda.pop()
            if begin == end:
                tags[2 * begin] = side
                continue
            gaps = self.internal[begin:end, 2 * side : 2 * side + 2]
            left = self.node[kind, begin, begin:end, head] + self.hung[0, begin + 1 : end + 1, end, head] + gaps[:, 0]
            right = (
                self.node[kind + 1, begin + 1 : end + 1, end, head] + self.hung[0, begin, begin:end, head] + gaps[:, 1]
            )
            head_right = bool(right.max() > left.max())
            gap = begin + int((right if head_right else left).argmax())
            tags[2 * gap + 1] = Hexatag.L_HEAD_L + 2 * side + head_right
            parts = [(0, begin, gap), (1, gap + 1, end)]
            other_side, first, last = parts[not head_right]
            hanging = self.links[head, first : last + 1] + self.node[other_side, first, last, first : last + 1]
            agenda.append((0, other_side, first, last, first + int(hanging.argmax())))
            agenda.append((kind, *parts[head_right], head))
        return tags


def _behind(words: int, size: int) -> Bools:
    """Return which words lie to the right of the spans of `size` + 1 words: (begin, word)."""
    return np.arange(words) > np.arange(size, words)[:, None]


def _nodes(table: Scores, size: int) -> Scores:
    """View the spans of `size` + 1 words with their inside words: (child side, begin, word relative to begin)."""
    return walk(table, (0, size, 0), ((1, 1, 1), (0, 0, 1)), (table.shape[1] - size, size + 1))


def _hung(table: Scores, size: int) -> Scores:
    """View the spans of `size` + 1 words with all words: (1, begin, word)."""
    return walk(table, (0, size, 0), ((1, 1, 0), (0, 0, 1)), (table.shape[1] - size, table.shape[1]))


def _part(table: Scores, part: int, size: int, side: int) -> Scores:
    """View the left (0) or right (1) parts of these spans with the words that can head the span from one side.

    The view of the table's first entry is (begin, split, word): for the left side all words of the span but the last,
    for the right side all but the first.
    """
    start, step = ((1, size, side), (1, 0, 0)) if part else ((0, 0, side), (0, 1, 0))
    shape = (table.shape[1] - size, size, size)
    view: Scores = walk(table[:1], start, ((1, 1, 1), step, (0, 0, 1)), shape)[0]
    return view


def _headed_in(nodes: Scores, side: int) -> Scores:
    """View only the words that can head the nodes from one side."""
    return nodes[..., 1:] if side else nodes[..., :-1]
