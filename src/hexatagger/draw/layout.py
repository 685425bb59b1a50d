"""Horizontal coordinates of words and arcs: one layout, in cells for the terminal and in pixels for SVG.

Each word has a block. An arc goes up from a leg on one word, along its level, and down to a leg on another. A word has
at most three legs: arcs to its left leave from the first, the arc from its head arrives at the second, arcs to its
right leave from the third. So no two lines cross in a projective tree. Words move apart until every label fits between
the legs of its arc; labels on the same level therefore never overlap.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from hexatagger.draw.figure import Arc, Figure
from hexatagger.draw.width import cells, pixels


@dataclass(frozen=True, slots=True)
class Metrics:
    """Text widths and distances in one unit, cells or pixels."""

    form: Callable[[str], float]
    small: Callable[[str], float]
    """For UPOS and multiword tokens."""
    tag: Callable[[str], float]
    label: Callable[[str], float]
    gap: float
    """Between words."""
    leg: float
    """Between the legs of a word."""
    pad: float
    """Between a label and the legs of its arc."""
    line: float
    """The width of a leg itself: 1 cell, 0 pixels."""
    whole: bool
    """Whether coordinates are integers."""

    def half(self, length: float) -> float:
        """Return half of a length, rounded down if coordinates are integers."""
        return length // 2 if self.whole else length / 2


CELLS = Metrics(form=cells, small=cells, tag=cells, label=cells, gap=2, leg=2, pad=1, line=1, whole=True)
FORM, SMALL, LABEL, TAG = 17, 11, 12.5, 13  # font sizes in pixels; tags are monospaced
PIXELS = Metrics(
    form=lambda text: pixels(text, FORM),
    small=lambda text: pixels(text, SMALL) + 2,
    tag=lambda text: 0.65 * TAG * cells(text),
    label=lambda text: pixels(text, LABEL) + 6,
    gap=16,
    leg=8,
    pad=12,
    line=0,
    whole=False,
)


@dataclass(frozen=True, slots=True)
class Placed:
    """An arc with the coordinates of its legs (equal for a root) and of the start and end of its label."""

    arc: Arc
    head: float
    dependent: float
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The starts and widths of the words' blocks, and the arcs in the order of their levels."""

    begins: list[float]
    widths: list[float]
    arcs: list[Placed]
    width: float
    middles: list[float]
    """The coordinate of every in-order place: even places are words, odd ones lie between two."""

    def block(self, first: int, last: int) -> tuple[float, float]:
        """Return the start and the end of a multiword token."""
        begins, widths = self.begins[first - 1 : last], self.widths[first - 1 : last]
        return min(begins), max(map(sum, zip(begins, widths, strict=True)))


def arrange(figure: Figure, metrics: Metrics) -> Layout:
    """Compute the coordinates of every word and arc."""
    size = len(figure.forms)
    sides: list[set[int]] = [set() for _ in range(size)]  # the legs of each word: -1, 0 and 1
    for arc in figure.arcs:
        sides[arc.dependent - 1].add(0)
        if arc.head:
            sides[arc.head - 1].add(_side(arc))
    leaf_tags = figure.tags[::2] or [""] * size
    widths = [
        max(metrics.form(form), metrics.small(upos), metrics.tag(tag), (len(legs) - 1) * metrics.leg + metrics.line)
        for form, upos, tag, legs in zip(figure.forms, figure.upos, leaf_tags, sides, strict=True)
    ]
    for bracket in figure.brackets:
        if bracket.first == bracket.last:
            need = metrics.small(bracket.form) + 2 * metrics.pad + 2 * metrics.line
            widths[bracket.first - 1] = max(widths[bracket.first - 1], need)
    offsets: list[dict[int, float]] = []  # of the legs, which are centred on the block
    for legs, width in zip(sides, widths, strict=True):
        first = metrics.half(width - (len(legs) - 1) * metrics.leg - metrics.line)
        offsets.append({side: first + number * metrics.leg for number, side in enumerate(sorted(legs))})

    begins = _begins(figure, metrics, widths, offsets)
    over = [  # the label of a root may begin left of the first word
        metrics.half(metrics.label(arc.label) - metrics.line)
        - begins[arc.dependent - 1]
        - offsets[arc.dependent - 1][0]
        for arc in figure.arcs
        if not arc.head
    ]
    shift = max([0.0, *over])
    begins = [begin + shift for begin in begins]
    ends: list[tuple[Arc, float, float]] = []
    for arc in sorted(figure.arcs, key=lambda arc: (arc.level, arc.left)):
        down = begins[arc.dependent - 1] + offsets[arc.dependent - 1][0]
        up = begins[arc.head - 1] + offsets[arc.head - 1][_side(arc)] if arc.head else down
        ends.append((arc, up, down))
    by_place = sorted((leg, arc.level) for arc, *both in ends for leg in both)
    arcs = [_with_label(*item, by_place, metrics) for item in ends]
    edges = [edge for begin, width in zip(begins, widths, strict=True) for edge in (begin, begin + width)]
    middles = [begin + metrics.half(end - begin - metrics.line) for begin, end in pairwise(edges)]
    layout = Layout(begins, widths, arcs, max([0.0, *edges, *(placed.end for placed in arcs)]), middles)
    return _mirrored(layout, metrics.line) if figure.right_to_left else layout


def _mirrored(layout: Layout, line: float) -> Layout:
    """Return a layout as right-to-left text is seen: with the first word at the right."""
    width, far = layout.width, layout.width - line
    return Layout(
        [width - begin - own for begin, own in zip(layout.begins, layout.widths, strict=True)],
        layout.widths,
        [
            Placed(item.arc, far - item.head, far - item.dependent, width - item.end, width - item.begin)
            for item in layout.arcs
        ],
        width,
        [far - middle for middle in layout.middles],
    )


def _side(arc: Arc) -> int:
    """Return the leg of the head from which an arc leaves."""
    return -1 if arc.dependent < arc.head else 1


def _begins(figure: Figure, metrics: Metrics, widths: list[float], offsets: list[dict[int, float]]) -> list[float]:
    """Place the words from left to right, each as far left as its neighbours and arcs allow."""
    size = len(widths)
    ending: list[list[Arc]] = [[] for _ in range(size)]
    highest: list[dict[int, int]] = [{} for _ in range(size)]  # the highest level of each leg of each word
    for arc in figure.arcs:
        if arc.head:
            ending[arc.right - 1].append(arc)
            highest[arc.head - 1][_side(arc)] = max(arc.level, highest[arc.head - 1].get(_side(arc), 0))
        highest[arc.dependent - 1][0] = arc.level

    def inner(word: int, arc: Arc, turn: int) -> float:
        """Return this arc's leg on a word, or the innermost leg under the arc that rises above it (a crossing)."""
        own = 0 if arc.dependent == word else _side(arc)
        higher = [side for side, level in highest[word - 1].items() if level > arc.level and side * turn > own * turn]
        return offsets[word - 1][max([own, *higher], key=lambda side: side * turn)]

    brackets = {bracket.last: bracket for bracket in figure.brackets}
    roots = {arc.dependent: arc for arc in figure.arcs if not arc.head}
    root_end = -math.inf
    begins: list[float] = []
    for number in range(size):
        begin = 0.0
        if number:
            between = metrics.tag(figure.tags[2 * number - 1]) + 2 * metrics.pad if figure.tags else 0
            between = max(between, 3 * metrics.line if figure.nodes else 0)
            begin = begins[-1] + widths[number - 1] + max(metrics.gap, between)
        for arc in ending[number]:
            need = metrics.line + metrics.label(arc.label) + 2 * metrics.pad
            begin = max(begin, begins[arc.left - 1] + inner(arc.left, arc, 1) + need - inner(arc.right, arc, -1))
        if (bracket := brackets.get(number + 1)) and bracket.first <= number:
            need = metrics.small(bracket.form) + 2 * metrics.pad + 2 * metrics.line
            begin = max(begin, begins[bracket.first - 1] + need - widths[number])
        if root := roots.get(number + 1):
            leg, length = offsets[number][0], metrics.label(root.label)
            begin = max(begin, math.ceil(root_end + metrics.gap + length / 2 - leg)) if root_end > 0 else begin
            root_end = begin + leg + length / 2
        begins.append(begin)
    return begins


def _with_label(arc: Arc, head: float, dependent: float, legs: list[tuple[float, int]], metrics: Metrics) -> Placed:
    """Place the label at the middle of its arc, or as near as the legs of crossing arcs allow."""
    length = metrics.label(arc.label)
    if not arc.head:
        begin = dependent - metrics.half(length - metrics.line)
        return Placed(arc, head, dependent, begin, begin + length)
    left, right = sorted((head, dependent))
    middle = left + metrics.line + metrics.half(right - left - metrics.line - length)
    between = legs[bisect_right(legs, (left, math.inf)) : bisect_left(legs, (right, 0))]
    stops = [left, *(leg for leg, level in between if level > arc.level), right]
    gaps = [(low + metrics.line + metrics.pad, high - metrics.pad - length) for low, high in pairwise(stops)]
    spots = [min(max(middle, first), last) for first, last in gaps if first <= last]
    begin = min(spots, key=lambda spot: abs(spot - middle), default=middle)
    return Placed(arc, head, dependent, begin, begin + length)
