"""Raw text → Sentences with character offsets, by tagging characters.

A small convolutional network gives every character four scores: does a token end here, does a sentence end here, is the
token that ends here several words, does one of its words end here. Everything else is rules that hold for any text:
spaces separate tokens (unless the treebank has tokens with spaces inside), an empty line ends a sentence, accents and
joined emoji stay with what they follow, characters that nobody sees belong to no token of their own.

The network sees a paragraph with every run of spaces as one, and characters that training did not have as their Unicode
category. A score depends on `radius` characters on either side and nothing else, so the result is the same however a
text is cut into chunks, windows and batches.

    segmenter = Segmenter.load("models/en")
    for sentence in segmenter.segment(text): ...
    for sentence in segmenter.stream(open("large.txt", newline="")): ...       # any chunks, constant memory

A model is two files, `segmenter.onnx` and `segmenter.json`; `nn.segmenter` makes them.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.text import INVISIBLE, LINE_END, LINES, PARAGRAPHS, Token, cut, lay_out
from hexatagger.model.folder import SEGMENTER, SEGMENTER_NETWORK, check_links
from hexatagger.model.onnx import open_session
from hexatagger.model.values import build, checked
from hexatagger.segment.multiword import Rewrites, expand
from hexatagger.sentence import Sentence

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORMAT = 1
"""Version of the files' format; greater ones were written by a newer hexatagger."""

END, SENTENCE, MULTIWORD, SPLIT = range(4)
"""What the four scores of a character say."""
OUTSIDE, SPACE, NEWLINE = range(3)
"""The first ids; then come the categories, then the characters."""
_UNKNOWN, _UNSEEN = -1, -2  # not looked up yet; left out of what the network reads
_RADIUS = 10_000  # greatest number of characters on either side
_WINDOW = 1024  # characters scored at once …
_WINDOWS = 16  # … and so many times in a batch
_BATCH = 1 << 14  # characters of short paragraphs that are scored together

_INVISIBLE = re.compile(rf"[{INVISIBLE}]+")
_LINE_END = re.compile(LINE_END)
_TYPED = str.maketrans("‘’‚‛“”„‟‐‑‒–—―…", "''''\"\"\"\"------.")
"""What a typewriter would have put, for characters that training did not have."""

Ids = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the network was made for: part of segmenter.json."""

    characters: str
    """The characters it knows, in the order of their ids."""
    categories: tuple[str, ...]
    """Unicode categories that training had, the commonest first: what becomes of other characters."""
    radius: int
    """How many characters on either side a score depends on."""
    spaces: bool = False
    """Whether tokens may have spaces inside."""
    splits: bool = True
    """Whether most multiword tokens are just their words put together: else splits by the network are not used."""
    threshold: float = 0.0
    """The score above which a sentence ends."""


@dataclass(slots=True)
class Piece:
    """A part of a text as the network reads it."""

    text: str
    ids: Ids
    """Ids of what is read: runs of spaces are one, invisible characters left out."""
    places: NDArray[np.int64]
    """Where in the text it stands, the first of a run."""
    scores: Floats
    """(ids, 4); empty before scoring."""


class Alphabet:
    """Characters → ids; looks every character up once."""

    def __init__(self, settings: Settings) -> None:
        first = NEWLINE + 1
        self.categories = {name: first + number for number, name in enumerate(settings.categories)}
        first += len(self.categories)
        self.characters = {character: first + number for number, character in enumerate(settings.characters)}
        self.size = first + len(self.characters)
        self._ids = np.full(0x110000, _UNKNOWN, np.int32)
        self._joined = np.zeros(0x110000, np.bool_)

    def read(self, text: str) -> Piece:
        r"""Turn text into ids.

        >>> alphabet = Alphabet(Settings(characters="ab", categories=("Ll",), radius=1))
        >>> piece = alphabet.read("ab \r\n\u200bz")
        >>> piece.ids.tolist(), piece.places.tolist()
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
        return Piece(text, ids, places, np.zeros((0, 4), np.float32))

    def joined(self, piece: Piece) -> NDArray[np.bool_]:
        """Say of what is read whether it belongs to the character before it: (ids,)."""
        joined = self._joined[_codes(piece.text)][piece.places]
        if "\u200d" in piece.text:
            joined |= np.array([piece.text[place - 1 : place] == "\u200d" for place in piece.places.tolist()], np.bool_)
        return joined

    def _look_up(self, code: int) -> None:
        """Find the id of a character: its own, that of its like, or that of its category."""
        character = chr(code)
        category = unicodedata.category(character)
        # subtle: the id comes last, as another thread takes it for a sign that all is done
        self._joined[code] = category.startswith("M") or 0x1F3FB <= code <= 0x1F3FF  # accents, colours of skin
        if character.isspace():
            self._ids[code] = NEWLINE if _LINE_END.match(character) else SPACE
        elif _INVISIBLE.match(character):
            self._ids[code] = _UNSEEN
        else:
            like = (character, character.translate(_TYPED), unicodedata.normalize("NFKC", character))
            known = (self.characters[each] for each in like if each in self.characters)
            self._ids[code] = next(known, self._category(category))

    def _category(self, category: str) -> int:
        """Return the id of a category, or of its nearest that training had."""
        kin = [name for name in self.categories if name[0] == category[0]]
        names = [category, *kin, *self.categories]
        return next((self.categories[name] for name in names if name in self.categories), OUTSIDE)


def _codes(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))


class Segmenter:
    """Cuts text into sentences, tokens and words. Safe to use from several threads."""

    def __init__(self, session: "InferenceSession", settings: Settings, rewrites: Rewrites) -> None:
        self.session, self.settings, self.rewrites = session, settings, rewrites
        self.alphabet = Alphabet(settings)

    @classmethod
    def load(cls, folder: str | Path, *, threads: int | None = None, providers: Sequence[str] | None = None) -> Self:
        """Load the segmenter of a model folder; `threads` and `providers` as for `hexatagger.load`."""
        check_links(Path(folder))
        description, network = Path(folder) / SEGMENTER, Path(folder) / SEGMENTER_NETWORK
        try:
            text, model = description.read_bytes(), network.read_bytes()
        except OSError as error:
            message = f"cannot be read: {error.strerror}: the model was trained without a segmenter"
            raise FormatError(message, source=str(error.filename)) from None
        settings, rewrites = from_json(text, source=str(description))
        session = open_session(model, threads=threads, providers=providers, source=str(network))
        return cls(session, settings, rewrites)

    def segment(self, text: str, *, lines: bool = False) -> list[Sentence]:
        """Cut a text; with `lines`, every line is a sentence."""
        return list(self.stream([text], lines=lines))

    def stream(self, chunks: Iterable[str], *, lines: bool = False, offset: int = 0) -> Iterator[Sentence]:
        """Cut a text that comes in chunks, which may end anywhere; `offset` characters of it stand before the first."""
        return lay_out(self._tokens(chunks, lines), offset)

    def _tokens(self, chunks: Iterable[str], lines: bool) -> Iterator[tuple[str, list[list[Token]], bool]]:
        """Yield parts of the text with the tokens of the sentences in them, and whether they open a paragraph."""
        held: Piece | None = None
        opens = True
        for piece, ends in self._scored(cut(chunks, LINES if lines else PARAGRAPHS)):
            whole = _join(held, piece) if held else piece
            sentences = self._sentences(whole, ends, lines)
            done = len(whole.text) if ends else sentences[-1][-1].end if sentences else 0
            if done:
                yield whole.text[:done], sentences, opens and not lines
            opens = ends or (opens and not done)
            held = None if ends else _after(whole, done)

    def _scored(self, parts: Iterable[tuple[str, bool]]) -> Iterator[tuple[Piece, bool]]:
        """Read and score the parts of a text, several at once; of each it is said whether its paragraph ends there."""
        left, rest = np.zeros(self.settings.radius, np.int32), ""
        batch: list[Piece] = []
        size, begins = 0, True
        for text, ends in parts:
            batch.append(_trimmed(self.alphabet.read(rest + text), begins, ends))
            rest, begins = "", ends
            size += len(text) + self.settings.radius
            if size >= _BATCH or not ends:
                left, rest = self._score_batch(batch, left, ends)
                yield from ((piece, ends or piece is not batch[-1]) for piece in batch)
                batch, size = [], 0
        if batch:
            self._score_batch(batch, left, True)
            yield from ((piece, True) for piece in batch)

    def _score_batch(self, batch: list[Piece], left: Ids, ends: bool) -> tuple[Ids, str]:
        """Score paragraphs of which the first began with `left`, and the last ends here or goes on.

        What cannot be scored without what follows is taken from the last; it is returned with what precedes it.
        """
        # The paragraphs stand end to end with `radius` times nothing between them: none sees another.
        radius = self.settings.radius
        outside, last = np.zeros(radius, np.int32), batch[-1]
        row = np.concatenate([left, *(ids for piece in batch for ids in (piece.ids, outside))])
        row, left, rest = row if ends else row[: len(row) - radius], outside, ""
        scores, place = self.score(row), 0
        if not ends:
            kept = max(0, len(last.ids) - radius)
            done = int(last.places[kept]) if kept < len(last.places) else len(last.text)
            left = row[len(row) - len(last.ids) + kept - radius :][:radius]
            rest = last.text[done:]
            last.text, last.ids, last.places = last.text[:done], last.ids[:kept], last.places[:kept]
        for piece in batch:
            piece.scores = scores[place : place + len(piece.ids)]
            place += len(piece.ids) + radius
        return left, rest

    def score(self, row: Ids) -> Floats:
        """Score all ids but `radius` at either end: (ids,) → (ids − 2 · radius, 4)."""
        margin = 2 * self.settings.radius
        size = len(row) - margin
        if size <= 0:
            return np.zeros((0, 4), np.float32)
        if size <= _WINDOW:
            scores: Floats = self._run(row[None])[0]
            return scores
        count = -(-size // _WINDOW)
        row = np.concatenate([row, np.zeros(count * _WINDOW - size, np.int32)])
        windows = np.lib.stride_tricks.sliding_window_view(row, _WINDOW + margin)[::_WINDOW]
        runs = [self._run(windows[first : first + _WINDOWS]) for first in range(0, count, _WINDOWS)]
        return np.concatenate(runs).reshape(-1, 4)[:size]

    def _run(self, windows: Ids) -> Floats:
        """Run the network: (windows, length) → (windows, length − 2 · radius, 4)."""
        found = self.session.run(["scores"], {"ids": np.ascontiguousarray(windows)})
        scores = cast("Floats", found[0])
        radius = self.settings.radius
        return scores[:, radius : scores.shape[1] - radius]

    def _sentences(self, piece: Piece, whole: bool, lines: bool) -> list[list[Token]]:
        """Find the tokens of the sentences of a paragraph; of one that goes on, only those of finished sentences."""
        visible = np.flatnonzero(piece.ids > NEWLINE)
        if not len(visible):
            return []
        text, places, scores = piece.text, piece.places[visible], piece.scores[visible]
        touching = np.append(np.diff(visible) == 1, False)
        end = scores[:, END] > 0
        if not self.settings.spaces:
            end |= ~touching
        end[:-1] &= ~(touching[:-1] & self.alphabet.joined(piece)[visible[1:]])
        sentence = end & (scores[:, SENTENCE] > self.settings.threshold)
        if lines:
            sentence[:] = False
        end[-1] |= whole
        sentence[-1] = whole
        ends = np.flatnonzero(end)
        begins = np.append(0, ends + 1)[: len(ends)]
        starts, stops = places[begins].tolist(), (places[ends] + 1).tolist()
        if _INVISIBLE.search(text):
            stops = [match.end() if (match := _INVISIBLE.match(text, stop)) else stop for stop in stops]
        closes, several = sentence[ends].tolist(), (scores[ends, MULTIWORD] > 0).tolist()
        found: list[list[Token]] = []
        tokens: list[Token] = []
        for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            words: tuple[str, ...] = ()
            if several[number]:
                inside = slice(begins[number], ends[number])
                splits = places[inside][scores[inside, SPLIT] > 0] + 1 - start
                words = self._words(text[start:stop], splits.tolist())
            tokens.append(Token(start, stop, words))
            if closes[number]:
                found.append(tokens)
                tokens = []
        return found

    def _words(self, surface: str, splits: list[int]) -> tuple[str, ...]:
        """Return the words of a multiword token, () if it is none after all."""
        form = " ".join(surface.split())
        words = expand(form, self.rewrites, splits if form == surface and self.settings.splits else ())
        return words if len(words) > 1 else ()


def _trimmed(piece: Piece, begins: bool, ends: bool) -> Piece:
    """Leave out the spaces around a paragraph."""
    white = piece.ids <= NEWLINE
    kept = slice(int(begins and white[:1].any()), len(white) - int(ends and white[-1:].any()))
    return replace(piece, ids=piece.ids[kept], places=piece.places[kept])


def _join(first: Piece, second: Piece) -> Piece:
    """Put two scored parts of a text together."""
    return Piece(
        first.text + second.text,
        np.concatenate([first.ids, second.ids]),
        np.concatenate([first.places, second.places + len(first.text)]),
        np.concatenate([first.scores, second.scores]),
    )


def _after(piece: Piece, done: int) -> Piece:
    """Return what stands from a place on."""
    first = int(np.searchsorted(piece.places, done))
    return Piece(piece.text[done:], piece.ids[first:], piece.places[first:] - done, piece.scores[first:])


def to_json(settings: Settings, rewrites: Rewrites, scores: dict[str, float] | None = None) -> str:
    """Return the text of segmenter.json; `scores` are those on dev, for people to read."""
    values = {"format": FORMAT, "scores": scores or {}, "settings": asdict(settings), "rewrites": rewrites.to_dict()}
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str | bytes, *, source: str) -> tuple[Settings, Rewrites]:
    """Read the text of segmenter.json."""
    try:
        values = json.loads(text)
        if (version := values["format"]) > FORMAT:
            message = f"format {version} is newer than this hexatagger knows ({FORMAT}): install a newer one"
            raise FormatError(message, source=source)
        settings = build(Settings, values["settings"], "settings")
        if not 0 <= settings.radius <= _RADIUS:
            raise ConfigError(f"settings.radius {settings.radius} is not between 0 and {_RADIUS}")
        return settings, Rewrites.from_dict(checked(values["rewrites"], dict[str, dict[str, str]], "rewrites"))
    except FormatError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise FormatError(f"is not the description of a segmenter: {error}", source=source) from None
