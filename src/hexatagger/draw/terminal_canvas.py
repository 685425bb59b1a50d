"""A grid of terminal cells with box-drawing lines that join by themselves, text of any width, and colours.

Each row stores one byte per cell: the directions in which solid lines leave the cell (low four bits) and dashed lines
(high four bits). Lines are added and rendered a row at a time, so the work grows with the size of the drawing only.
"""

import codecs
import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from hexatagger.draw.unicode import LEFT_TO_RIGHT, has_right_to_left
from hexatagger.draw.width import graphemes

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8

_BOX = " │││─╯╮┤─╰╭├─┴┬┼"
"""The character whose lines leave in the given directions; a line that ends is drawn through its cell."""

_DASHED = {UP: "┆", DOWN: "┆", UP | DOWN: "┆", LEFT: "┄", RIGHT: "┄", LEFT | RIGHT: "┄"}

STYLES = {
    "word": "1",
    "upos": "2",
    "label": "36",
    "line": "2",
    "crossing": "33",
    "unsure": "31",
    "tag": "35",
    "node": "32",
}
"""ANSI codes of colours and weights."""

_LINE_STYLES = ("", "line", "crossing")


def _box(cell: int, bridges: bool) -> str:
    """Return the character of a cell."""
    dashed, solid = divmod(cell, 16)
    if not solid:
        return _DASHED.get(dashed, _BOX[dashed])
    behind = bridges and {solid, dashed} == {UP | DOWN, LEFT | RIGHT}
    return _BOX[solid if behind else solid | dashed]


_CHARACTERS = {bridges: "".join(_box(cell, bridges) for cell in range(256)) for bridges in (False, True)}
_STYLE_NUMBERS = bytes(1 if cell % 16 else 2 if cell else 0 for cell in range(256))
_ADDED = [bytes(cell | bits for cell in range(256)) for bits in range(256)]
_RUN = re.compile(rb"(.)\1*", re.DOTALL)


class Canvas:
    """Cells by row and column, both from 0; it is as large as its content.

    With `bridges`, a dashed line passes behind a solid one that it crosses, so `┼` always means a joint.

    >>> canvas = Canvas()
    >>> canvas.across(0, 0, 4)
    >>> canvas.down(2, 0, 1)
    >>> canvas.put(1, 0, "论 文")
    >>> canvas.render()
    ['──┬──', '论 文']
    """

    def __init__(self, *, bridges: bool = False) -> None:
        self._characters = _CHARACTERS[bridges]
        self._lines: list[bytearray] = []  # all of the same length, which may be more than is used
        self._room = 0
        self._text: dict[int, dict[int, tuple[str, str]]] = {}  # text and style; "" right of a wide character

    def across(self, row: int, begin: int, end: int, *, dashed: bool = False) -> None:
        """Draw a line from one column to another."""
        begin, end, shift = min(begin, end), max(begin, end), 4 * dashed
        self._reserve(row, end)
        if begin < end:
            line = self._lines[row]
            line[begin] |= RIGHT << shift
            line[begin + 1 : end] = line[begin + 1 : end].translate(_ADDED[(LEFT | RIGHT) << shift])
            line[end] |= LEFT << shift

    def down(self, column: int, begin: int, end: int, *, dashed: bool = False) -> None:
        """Draw a line from one row to another."""
        begin, end, shift = min(begin, end), max(begin, end), 4 * dashed
        self._reserve(end, column)
        if begin < end:
            self._lines[begin][column] |= DOWN << shift
            bits = (UP | DOWN) << shift
            for row in range(begin + 1, end):
                self._lines[row][column] |= bits
            self._lines[end][column] |= UP << shift

    def _reserve(self, row: int, column: int) -> None:
        """Make the grid large enough for a cell."""
        if column >= self._room:
            self._room = 2 * column + 1
            for line in self._lines:
                line.extend(bytes(self._room - len(line)))
        self._lines += [bytearray(self._room) for _ in range(row + 1 - len(self._lines))]

    def put(self, row: int, column: int, text: str, style: str = "") -> None:
        """Write text over whatever is there."""
        parts = list(graphemes(text))
        if has_right_to_left(text):
            # subtle: terminals that reorder right-to-left text must not move words: a mark on either side fences it in
            parts[0] = (LEFT_TO_RIGHT + parts[0][0], parts[0][1])
            parts[-1] = (parts[-1][0] + LEFT_TO_RIGHT, parts[-1][1])
        cells = self._text.setdefault(row, {}) if parts else {}
        for part, width in parts:
            cells.update(dict.fromkeys(range(column, column + width), ("", style)))
            cells[column] = (part, style)
            column += width

    def render(self, *, color: bool = False) -> list[str]:
        """Return the rows as strings, without trailing spaces."""
        size = max(len(self._lines), max(self._text, default=-1) + 1)
        return [self._render_row(row, color).rstrip(" ") for row in range(size)]

    def _render_row(self, row: int, color: bool) -> str:
        line, text = self._lines[row] if row < len(self._lines) else b"", self._text.get(row, {})
        line = line.rstrip(b"\0").ljust(max(text, default=-1) + 1, b"\0")
        drawn = codecs.charmap_decode(line, "strict", self._characters)[0]
        styles, place = line.translate(_STYLE_NUMBERS), 0
        pieces: list[tuple[str, str]] = []  # text and style
        for column in [*sorted(text), len(line)]:
            if color:
                runs = _RUN.finditer(styles, place, column)
                pieces += [(drawn[slice(*run.span())], _LINE_STYLES[styles[run.start()]]) for run in runs]
            else:
                pieces.append((drawn[place:column], ""))
            pieces.append(text.get(column, ("", "")))
            place = column + 1
        return _colored(pieces) if color else "".join([piece for piece, _ in pieces])


def _colored(pieces: Iterable[tuple[str, str]]) -> str:
    """Join pieces; each longest run of one style is between its codes."""
    styled = [(text, style if text.strip() else "") for text, style in pieces if text]
    runs = [(style, "".join(text for text, _ in run)) for style, run in groupby(styled, key=itemgetter(1))]
    return "".join(f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style in STYLES else text for style, text in runs)
