"""The width of text: in terminal cells, as `rich` counts them, and in pixels of a proportional font.

Pixels are estimated from classes of characters, on the generous side, because no font is at hand to measure.
"""

from collections.abc import Iterator

from rich.cells import cell_len as cells
from rich.cells import chop_cells, split_graphemes

__all__ = ["cells", "graphemes", "pixels", "shorten", "wrap"]


def graphemes(text: str) -> Iterator[tuple[str, int]]:
    r"""Yield the units that occupy terminal cells, each with its number of cells.

    >>> [(len(unit), width) for unit, width in graphemes("e\u0301你👩\u200d🔬!")]
    [(2, 1), (1, 2), (3, 2), (1, 1)]
    """
    return ((text[start:end], width) for start, end, width in split_graphemes(text)[0])


def shorten(text: str, limit: int) -> str:
    """Cut a text to at most `limit` cells and end it with an ellipsis if anything was cut.

    >>> shorten("fascinating", 6), shorten("论文论文", 6), shorten("paper", 6)
    ('fasci…', '论文…', 'paper')
    """
    if cells(text) <= limit:
        return text
    return (chop_cells(text, limit - 1)[0] if limit > 1 else "") + "…"


def wrap(text: str, limit: int) -> list[str]:
    """Break a text at spaces into lines of at most `limit` cells.

    >>> wrap("She reads fascinating papers", 11)
    ['She reads', 'fascinating', 'papers']
    """
    lines: list[str] = []
    for word in text.split(" "):
        piece = shorten(word, limit)
        if lines and cells(lines[-1]) + 1 + cells(piece) <= limit:
            lines[-1] += " " + piece
        else:
            lines.append(piece)
    return lines


_WIDTHS = {
    **dict.fromkeys("iljItfr.,:;'!|()[]/ ", 0.4),
    **dict.fromkeys("ABCDEFGHKNOPQRSUVXYZ", 0.74),
    **dict.fromkeys("mwMW@%—…", 0.85),
}


def pixels(text: str, size: float) -> float:
    """Estimate the width of a text in pixels, in a sans-serif font of this size.

    >>> round(pixels("papers", 16)), round(pixels("论文", 16)), round(pixels("il", 16))
    (54, 34, 13)
    """
    total = 0.0
    for unit, width in graphemes(text):
        if unit in _WIDTHS:
            total += _WIDTHS[unit]
        elif unit < "\u0900":
            total += 0.6
        elif width == 2:
            total += 1.05 if unit < "\U00010000" or unit[0] >= "\U00020000" else 1.4  # the latter: emoji
        else:
            total += 0.85
    return total * size
