"""How wide a text is, in cells of a terminal and in pixels of a drawing, and what of it can be shown at all.

A terminal gives one cell to most characters, two to wide ones (Chinese, emoji), none to combining marks; there is no
way to ask it, so this follows what most terminals do. Pixels are estimated by classes of characters, on the generous
side: there is no font here to measure.
"""

import unicodedata
from collections.abc import Iterable, Iterator

JOINER, EMOJI_STYLE, LEFT_TO_RIGHT = "\u200d", "\ufe0f", "\u200e"

_INVISIBLE = {0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF, *range(0x202A, 0x202F), *range(0x2060, 0x2070)}
_DROP = dict.fromkeys(_INVISIBLE | set(range(0xFFF9, 0xFFFC)))
"""Characters without a picture; the marks and overrides of direction are among them, which could move the rest."""

_CONTROL = {**{code: 0x2400 + code for code in range(0x20)}, 0x7F: 0x2421}


def printable(text: str) -> str:
    r"""Make a text harmless to show: control characters get a picture, marks of direction go, nothing is invisible.

    >>> printable("a\x1b[31m"), printable("\u200b"), printable("\u202eabc"), printable("\u0301")
    ('a␛[31m', 'U+200B', 'abc', '◌́')
    """
    shown = text.translate(_DROP).translate(_CONTROL)
    if not shown.strip(JOINER + EMOJI_STYLE):
        return " ".join(f"U+{ord(character):04X}" for character in text)
    shown = "".join("\ufffd" if _forbidden(character) else character for character in shown)
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown


def _forbidden(character: str) -> bool:
    """Say whether a character has no place in a line of text or in XML."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or ord(character) & 0xFFFE == 0xFFFE


def clusters(text: str) -> Iterator[tuple[str, int]]:
    r"""Yield what takes a place of its own in a terminal, with the cells it takes: a letter with its marks, an emoji.

    >>> [(len(cluster), cells) for cluster, cells in clusters("e\u0301你👩\u200d🔬!")]
    [(2, 1), (1, 2), (3, 2), (1, 1)]
    """
    current, cells = "", 0
    for character in text:
        if current and _joins(current, character):
            current += character
            if character == EMOJI_STYLE or _is_flag_letter(character):
                cells = 2
            continue
        if current:
            yield current, cells
        current, cells = character, _cells(character)
    if current:
        yield current, cells


def _joins(current: str, character: str) -> bool:
    """Say whether a character belongs to the cluster before it."""
    if _cells(character) == 0 or 0x1F3FB <= ord(character) <= 0x1F3FF:
        return True
    if _is_flag_letter(character):
        return len(current) == 1 and _is_flag_letter(current)
    return current[-1] == JOINER and unicodedata.category(character) == "So"


def _is_flag_letter(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _cells(character: str) -> int:
    """Return the cells of a character on its own."""
    if character < "\u0300":
        return 1
    code = ord(character)
    # Visible though of category Cf: the number signs of Arabic. Zero though letters: vowels and finals of Hangul.
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return int(0x0600 <= code <= 0x0605 or code in (0x06DD, 0x08E2, 0x110BD))
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cells(text: str) -> int:
    r"""Return how many cells of a terminal a text takes.

    >>> cells("papers"), cells("论文"), cells("e\u0301"), cells("👍🏽"), cells("🇳🇴"), cells("❤\ufe0f")
    (6, 4, 1, 2, 2, 2)
    """
    return len(text) if text.isascii() else sum(width for _, width in clusters(text))


def shorten(text: str, limit: int) -> str:
    """Cut a text that takes more than `limit` cells, with a sign that it was cut.

    >>> shorten("fascinating", 6), shorten("论文论文", 6), shorten("paper", 6)
    ('fasci…', '论文…', 'paper')
    """
    if cells(text) <= limit:
        return text
    kept, used = "", 1
    for cluster, width in clusters(text):
        if used + width > limit:
            break
        kept, used = kept + cluster, used + width
    return kept + "…"


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


_NARROW, _WIDE = set("iljItfr.,:;'!|()[]/ "), set("mwMW@%—…ABCDEFGHKNOPQRSUVXYZ")


def pixels(text: str, size: float) -> float:
    """Estimate how many pixels a text takes in a sans-serif font of this size.

    >>> round(pixels("papers", 16)), round(pixels("论文", 16)), round(pixels("il", 16))
    (54, 34, 13)
    """
    total = 0.0
    for cluster, width in clusters(text):
        if cluster in _NARROW:
            total += 0.4
        elif cluster in _WIDE:
            total += 0.85 if cluster in "mwMW@%—…" else 0.74
        elif cluster < "\u0900":
            total += 0.6
        elif width == 2:
            total += 1.05 if cluster < "\U00010000" or cluster[0] >= "\U00020000" else 1.4  # the latter: emoji
        else:
            total += 0.85
    return total * size


def runs_right_to_left(texts: Iterable[str]) -> bool:
    """Say whether most letters are of a script that is written from right to left.

    >>> runs_right_to_left(["كىتاب", "A"]), runs_right_to_left(["2", "."])
    (True, False)
    """
    kinds = [unicodedata.bidirectional(character) for text in texts for character in text]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")


def is_right_to_left(text: str) -> bool:
    """Say whether a text has any character that is written from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
