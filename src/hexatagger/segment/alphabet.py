"""Characters → ids: what the segmenter's network reads.

Every run of white space is one id. A character that training did not have is read as a similar one that it had ("’" as
"'"), or else as its Unicode category. Invisible characters are left out.
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexatagger.formats.text import INVISIBLE, LINE_END

OUTSIDE, SPACE, NEWLINE = range(3)
"""The first ids; the categories follow, then the characters."""
BREAK = 3
"""The next id, if the settings say `breaks`: a line end that is not due to wrapping. Only the network reads it."""
REACH = 100
"""How many characters on either side of a line end `mark_breaks` looks at."""
_NARROW = 40  # characters: no text is wrapped into narrower lines
_UNKNOWN, _UNSEEN = -1, -2  # not looked up yet; left out of what the network reads

INVISIBLE_RUN = re.compile(rf"[{INVISIBLE}]+")
_LINE_END = re.compile(LINE_END)
_TYPED = str.maketrans("‘’‚‛“”„‟‐‑‒–—―…", "''''\"\"\"\"------.")
"""The typewriter's version of characters that training may not have had."""

Ids = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class SegmenterSettings:
    """What the network was trained for; stored in segmenter.json."""

    characters: str
    """The characters the network knows, in the order of their ids."""
    categories: tuple[str, ...]
    """Unicode categories seen in training, most frequent first: they stand for all other characters."""
    radius: int
    """How many characters on either side a score depends on."""
    spaces: bool = False
    """Whether tokens may have spaces inside."""
    splits: bool = True
    """Whether most multiword tokens are simply their words joined. If not, the network's splits are not used."""
    threshold: float = 0.0
    """The score above which a sentence ends."""
    breaks: bool = False
    """Whether line ends that are not due to wrapping have an id of their own."""

    @property
    def margin(self) -> int:
        """How many characters on either side must be known to score one."""
        return self.radius + REACH * self.breaks


@dataclass(slots=True)
class TextPart:
    """A part of a text as the network reads it."""

    text: str
    ids: Ids
    """Ids of the characters: one for a run of white space, none for invisible characters."""
    places: NDArray[np.int64]
    """Where each id is in the text; for a run of white space, its first character."""
    scores: Floats
    """Shape (ids, 4); empty before scoring."""


class Alphabet:
    """Maps characters to ids and remembers the id of every character it has met."""

    def __init__(self, settings: SegmenterSettings) -> None:
        first = NEWLINE + 1 + settings.breaks
        self.categories = {name: first + number for number, name in enumerate(settings.categories)}
        first += len(self.categories)
        self.characters = {character: first + number for number, character in enumerate(settings.characters)}
        self.size = first + len(self.characters)
        self._ids = np.full(0x110000, _UNKNOWN, np.int32)
        self._joined = np.zeros(0x110000, np.bool_)

    def read(self, text: str) -> TextPart:
        r"""Turn text into ids.

        >>> alphabet = Alphabet(SegmenterSettings(characters="ab", categories=("Ll",), radius=1))
        >>> part = alphabet.read("ab \r\n\u200bz")
        >>> part.ids.tolist(), part.places.tolist()
        ([4, 5, 2, 3], [0, 1, 2, 6])
        """
        codes = _codes(text)
        ids = self._ids[codes]
        if (unknown := ids == _UNKNOWN).any():
            for code in set(codes[unknown].tolist()):
                self._look_up(code)
            ids = self._ids[codes]
        places = np.flatnonzero(ids != _UNSEEN)
        ids = ids[places]
        white = ids <= NEWLINE
        starts = np.flatnonzero(~(white & np.append(False, white)[:-1]))
        if len(starts) < len(ids):
            ids = np.maximum.reduceat(ids, starts)  # a run with a line end in it is a line end
            places = places[starts]
        return TextPart(text, ids, places, np.zeros((0, 4), np.float32))

    def joined(self, part: TextPart) -> NDArray[np.bool_]:
        """Say of every id whether its character belongs to the one before: shape (ids,)."""
        joined = self._joined[_codes(part.text)][part.places]
        if "\u200d" in part.text:
            joined |= np.array([part.text[place - 1 : place] == "\u200d" for place in part.places.tolist()], np.bool_)
        return joined

    def _look_up(self, code: int) -> None:
        """Find the id of a character: its own, that of a similar one, or that of its category."""
        character = chr(code)
        category = unicodedata.category(character)
        # subtle: the id is set last, because another thread takes it as a sign that the look-up is complete
        self._joined[code] = category.startswith("M") or 0x1F3FB <= code <= 0x1F3FF  # accents, skin tones
        if character.isspace():
            self._ids[code] = NEWLINE if _LINE_END.match(character) else SPACE
        elif INVISIBLE_RUN.match(character):
            self._ids[code] = _UNSEEN
        else:
            like = (character, character.translate(_TYPED), unicodedata.normalize("NFKC", character))
            known = (self.characters[each] for each in like if each in self.characters)
            near = sorted(self.categories, key=lambda name: (name != category, name[0] != category[0]))
            self._ids[code] = next(known, self.categories[near[0]] if near else OUTSIDE)


def mark_breaks(row: Ids) -> Ids:
    """Replace the line ends that are not due to wrapping by BREAK: the next word would have fitted into the line.

    A line is as wide as the next one at least. OUTSIDE ends a line too. Lines longer than REACH are not told apart.

    >>> row = [9] * 30 + [NEWLINE] + [9] * 5 + [SPACE] + [9] * 50 + [NEWLINE] + [9] * 3
    >>> mark_breaks(np.array(row, np.int32))[[30, 87]].tolist() == [BREAK, NEWLINE]
    True
    """
    lines = np.flatnonzero(row == NEWLINE)
    if not len(lines):
        return row
    white = np.append(np.flatnonzero(row <= NEWLINE), len(row))
    stops = white[np.append(row[white[:-1]] != SPACE, True)]
    place = np.searchsorted(stops, lines)
    line = lines - np.append(-1, stops)[place] - 1
    following = stops[place + 1] - lines - 1
    word = white[np.searchsorted(white, lines) + 1] - lines - 1
    marked = row.copy()
    marked[lines[line + 1 + word <= np.maximum(np.minimum(following, REACH), _NARROW)]] = BREAK
    return marked


def _codes(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
