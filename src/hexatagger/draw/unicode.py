"""Which characters can be shown, and in which direction they run."""

import unicodedata
from collections.abc import Iterable

LEFT_TO_RIGHT = "\u200e"
_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"

_INVISIBLE = {0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF, *range(0x202A, 0x202F), *range(0x2060, 0x2070)}
_DROP = dict.fromkeys(_INVISIBLE | set(range(0xFFF9, 0xFFFC)))
"""Characters without a glyph, among them the direction marks and overrides that could move other text."""

_CONTROL = {**{code: 0x2400 + code for code in range(0x20)}, 0x7F: 0x2421}


def printable(text: str) -> str:
    r"""Make text safe to show: replace control characters, drop direction marks, make invisible text visible.

    >>> printable("a\x1b[31m"), printable("\u200b"), printable("\u202eabc"), printable("\u0301")
    ('a␛[31m', 'U+200B', 'abc', '◌́')
    """
    shown = text.translate(_DROP).translate(_CONTROL)
    if not shown.strip(_JOINER + _EMOJI_STYLE):
        return " ".join(f"U+{ord(character):04X}" for character in text)
    shown = "".join("\ufffd" if _forbidden(character) else character for character in shown)
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown


def _forbidden(character: str) -> bool:
    """Return whether a character is not allowed in a line of text or in XML."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or ord(character) & 0xFFFE == 0xFFFE


def runs_right_to_left(texts: Iterable[str]) -> bool:
    """Return whether most letters belong to a right-to-left script.

    >>> runs_right_to_left(["كىتاب", "A"]), runs_right_to_left(["2", "."])
    (True, False)
    """
    kinds = [unicodedata.bidirectional(character) for text in texts for character in text]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")


def has_right_to_left(text: str) -> bool:
    """Return whether any character is written from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
