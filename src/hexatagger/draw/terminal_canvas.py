"""A sheet of terminal cells: lines that join by themselves, texts of any width, colours."""

from hexatagger.draw.width import LEFT_TO_RIGHT, clusters, is_right_to_left

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8

_BOX = dict(zip(range(16), " │││─╯╮┤─╰╭├─┴┬┼", strict=True))
"""The character whose lines leave in the given directions; a line that ends is drawn through its cell."""

_DASHED = {UP: "┆", DOWN: "┆", UP | DOWN: "┆", LEFT: "┄", RIGHT: "┄", LEFT | RIGHT: "┄"}

STYLES = {
    "word": "1",
    "upos": "2",
    "label": "36",
    "line": "2",
    "crossing": "33",
    "tag": "35",
    "node": "32",
    "note": "2",
}
"""Codes of the colours and weights of ANSI terminals."""


class Canvas:
    """Cells by row and column, both from 0; it is as large as what was put on it.

    `bridges` says that a dashed line goes behind a solid one that it crosses, so that `┼` always means a joint.

    >>> canvas = Canvas()
    >>> canvas.across(0, 0, 4)
    >>> canvas.down(2, 0, 1)
    >>> canvas.put(1, 0, "论 文")
    >>> canvas.render()
    ['──┬──', '论 文']
    """

    def __init__(self, *, bridges: bool = False) -> None:
        self._bridges = bridges
        self._solid: dict[tuple[int, int], int] = {}
        self._dashed: dict[tuple[int, int], int] = {}
        self._text: dict[tuple[int, int], tuple[str, str]] = {}  # character and style; "" right of a wide one

    def across(self, row: int, begin: int, end: int, *, dashed: bool = False) -> None:
        """Draw a line from one column to another."""
        begin, end = min(begin, end), max(begin, end)
        for column in range(begin, end + 1):
            self._add(row, column, LEFT * (column > begin) | RIGHT * (column < end), dashed)

    def down(self, column: int, begin: int, end: int, *, dashed: bool = False) -> None:
        """Draw a line from one row to another."""
        begin, end = min(begin, end), max(begin, end)
        for row in range(begin, end + 1):
            self._add(row, column, UP * (row > begin) | DOWN * (row < end), dashed)

    def _add(self, row: int, column: int, directions: int, dashed: bool) -> None:
        lines = self._dashed if dashed else self._solid
        lines[row, column] = lines.get((row, column), 0) | directions

    def put(self, row: int, column: int, text: str, style: str = "") -> None:
        """Write a text over whatever is there."""
        parts = list(clusters(text))
        if is_right_to_left(text):
            # subtle: terminals that reorder right-to-left text must not move words: a mark on either side fences it in
            parts[0] = (LEFT_TO_RIGHT + parts[0][0], parts[0][1])
            parts[-1] = (parts[-1][0] + LEFT_TO_RIGHT, parts[-1][1])
        for part, width in parts:
            self._text[row, column] = (part, style)
            for further in range(1, width):
                self._text[row, column + further] = ("", style)
            column += width

    def render(self, *, color: bool = False) -> list[str]:
        """Return the rows as strings, without spaces at their ends."""
        lines: dict[int, dict[int, tuple[str, str]]] = {}
        for row, column in self._solid | self._dashed:
            lines.setdefault(row, {})[column] = self._line(row, column)
        for (row, column), cell in self._text.items():
            lines.setdefault(row, {})[column] = cell
        return [_join(lines.get(row, {}), color) for row in range(max(lines, default=-1) + 1)]

    def _line(self, row: int, column: int) -> tuple[str, str]:
        solid, dashed = self._solid.get((row, column), 0), self._dashed.get((row, column), 0)
        if not solid:
            return _DASHED.get(dashed, _BOX[dashed]), "crossing"
        behind = self._bridges and {solid, dashed} == {UP | DOWN, LEFT | RIGHT}
        return _BOX[solid if behind else solid | dashed], "line"


def _join(cells: dict[int, tuple[str, str]], color: bool) -> str:
    """Return one row; with `color`, each run of one style is between its codes."""
    runs: list[tuple[str, str]] = []
    for column in range(max(cells, default=-1) + 1):
        text, style = cells.get(column, (" ", ""))
        style = style if text.strip() or not text else ""
        if runs and (runs[-1][1] == style or not text):
            runs[-1] = (runs[-1][0] + text, runs[-1][1])
        else:
            runs.append((text, style))
    if not color:
        return "".join(text for text, _ in runs).rstrip(" ")
    row = "".join(f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style in STYLES else text for text, style in runs)
    return row.rstrip(" ")
