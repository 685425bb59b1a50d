"""Raw text → Sentences with character offsets, by tagging characters.

A small convolutional network gives every character four scores: does a token end here, does a sentence end here, is the
token that ends here a multiword token, does one of its words end here. The rest is rules that hold for any text: spaces
separate tokens (unless the treebank has tokens with spaces inside), an empty line ends a sentence, accents and joined
emoji stay with the character before them, and invisible characters never form a token.

A score depends on `margin` characters on either side and on nothing else, so the result does not depend on how the text
is cut into chunks, windows and batches.

    segmenter = Segmenter.load("models/en")
    for sentence in segmenter.segment(text): ...
    for sentence in segmenter.stream(open("large.txt", newline="")): ...       # any chunks, constant memory

A segmenter is two files, `segmenter.onnx` and `segmenter.json`. `train.segmenter` writes them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.text import LINES, PARAGRAPHS, Source, Token, cut, lay_out, words_of
from hexatagger.model.folder import SEGMENTER, SEGMENTER_NETWORK, check_links
from hexatagger.model.onnx import open_session, run_session
from hexatagger.model.threads import Threads
from hexatagger.model.values import build, checked
from hexatagger.segment.alphabet import (
    INVISIBLE_RUN,
    NEWLINE,
    REACH,
    Alphabet,
    Floats,
    Ids,
    SegmenterSettings,
    TextPart,
    mark_breaks,
)
from hexatagger.segment.multiword import Rewrites, expand
from hexatagger.sentence import Sentence

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORMAT = 2
"""Version of the file format. A greater number means that a newer hexatagger wrote the files."""

END, SENTENCE, MULTIWORD, SPLIT = range(4)
"""Index of each of the four scores of a character."""
_RADIUS = 10_000  # greatest number of characters on either side
_WINDOW = 1024  # characters per window
_WINDOWS = 2  # windows per call of the network; more are no faster, and could not be spread over threads
_BATCH = 1 << 14  # characters of short paragraphs that are scored together


class Segmenter:
    """Splits text into sentences, tokens and words. Safe to use from several threads."""

    def __init__(
        self,
        session: "InferenceSession",
        settings: SegmenterSettings,
        rewrites: Rewrites,
        *,
        source: str = SEGMENTER_NETWORK,
        threads: Threads | None = None,
    ) -> None:
        self.session, self.settings, self.rewrites, self._source = session, settings, rewrites, source
        self.alphabet = Alphabet(settings)
        self._threads = threads or Threads()

    @classmethod
    def load(
        cls, folder: str | Path, *, threads: int | Threads | None = None, providers: Sequence[str] | None = None
    ) -> Self:
        """Load the segmenter of a model folder; `threads` and `providers` as for `hexatagger.load`.

        A parser shares its Threads with its segmenter.
        """
        check_links(Path(folder))
        description, network = Path(folder) / SEGMENTER, Path(folder) / SEGMENTER_NETWORK
        try:
            text, model = description.read_bytes(), network.read_bytes()
        except OSError as error:
            message = f"cannot be read: {error.strerror}: the model was trained without a segmenter"
            raise FormatError(message, source=str(error.filename)) from None
        settings, rewrites = from_json(text, source=str(description))
        shared = threads if isinstance(threads, Threads) else Threads(threads)
        session = open_session(model, threads=shared.count, providers=providers, source=str(network))
        return cls(session, settings, rewrites, source=str(network), threads=shared)

    def segment(self, text: str, *, lines: bool = False) -> list[Sentence]:
        """Split a text. With `lines`, every line is one sentence."""
        return list(self.stream([text], lines=lines))

    def stream(self, chunks: Iterable[str], *, lines: bool = False, offset: int = 0) -> Iterator[Sentence]:
        """Split a text that arrives in chunks of any size; `offset` is the number of characters before the first."""
        return lay_out(self._tokens(chunks, lines), offset)

    def _tokens(self, chunks: Iterable[str], lines: bool) -> Iterator[tuple[str, list[list[Token]], bool]]:
        """Yield parts of the text, each with the tokens of its sentences and whether it starts a paragraph."""
        held: TextPart | None = None
        opens = True
        for part, ends in self._scored(cut(chunks, LINES if lines else PARAGRAPHS)):
            whole = _join(held, part) if held else part
            sentences = self._sentences(whole, ends, lines)
            done = len(whole.text) if ends else sentences[-1][-1].end if sentences else 0
            if done:
                yield whole.text[:done], sentences, opens and not lines
            opens = ends or (opens and not done)
            held = None if ends else _after(whole, done)

    def _scored(self, parts: Iterable[tuple[str, bool]]) -> Iterator[tuple[TextPart, bool]]:
        """Read and score the parts of a text in batches; yield each with whether its paragraph ends there."""
        left, rest = np.zeros(self.settings.margin, np.int32), ""
        batch: list[TextPart] = []
        size, begins = 0, True
        for text, ends in parts:
            batch.append(_trimmed(self.alphabet.read(rest + text), begins, ends))
            rest, begins = "", ends
            size += len(text) + self.settings.radius
            if size >= _BATCH or not ends:
                left, rest = self._score_batch(batch, left, ends)
                yield from ((part, ends or part is not batch[-1]) for part in batch)
                batch, size = [], 0
        if batch:
            self._score_batch(batch, left, True)
            yield from ((part, True) for part in batch)

    def _score_batch(self, batch: list[TextPart], left: Ids, ends: bool) -> tuple[Ids, str]:
        """Score paragraphs. `left` is the context before the first one; `ends` says whether the last one ends here.

        If it goes on, its last characters need context that has not arrived. They are removed from it and returned,
        together with their left context.
        """
        # The paragraphs are joined with `radius` ids OUTSIDE between them, so that none sees another.
        radius, margin = self.settings.radius, self.settings.margin
        outside, last = np.zeros(radius, np.int32), batch[-1]
        between = [ids for part in batch for ids in (part.ids, outside)][:-1]
        right = np.zeros(margin, np.int32)
        row = np.concatenate([left, *between, right])
        scores, place = self.score(row), 0
        left, rest = right, ""
        if not ends:
            kept = max(0, len(last.ids) - margin)
            done = int(last.places[kept]) if kept < len(last.places) else len(last.text)
            stop = len(row) - margin - len(last.ids) + kept
            left, rest = row[stop - margin : stop], last.text[done:]
            last.text, last.ids, last.places = last.text[:done], last.ids[:kept], last.places[:kept]
        for part in batch:
            part.scores = scores[place : place + len(part.ids)]
            place += len(part.ids) + radius
        return left, rest

    def score(self, row: Ids) -> Floats:
        """Score all ids except `margin` of them at either end: (ids,) → (ids − 2 · margin, 4)."""
        size = len(row) - 2 * self.settings.margin
        if size <= 0:
            return np.zeros((0, 4), np.float32)
        if self.settings.breaks:
            row = mark_breaks(row)[REACH : len(row) - REACH]
        margin = 2 * self.settings.radius
        if size <= _WINDOW:
            scores: Floats = self._run(row[None])[0]
            return scores
        count = -(-size // _WINDOW)
        row = np.concatenate([row, np.zeros(count * _WINDOW - size, np.int32)])
        windows = np.lib.stride_tricks.sliding_window_view(row, _WINDOW + margin)[::_WINDOW]
        parts = [windows[first : first + _WINDOWS] for first in range(0, count, _WINDOWS)]
        return np.concatenate(self._threads.map(self._run, parts)).reshape(-1, 4)[:size]

    def _run(self, windows: Ids) -> Floats:
        """Run the network: (windows, length) → (windows, length − 2 · radius, 4)."""
        [found] = run_session(self.session, ["scores"], {"ids": np.ascontiguousarray(windows)}, source=self._source)
        scores = cast("Floats", found)
        radius = self.settings.radius
        return scores[:, radius : scores.shape[1] - radius]

    def _sentences(self, part: TextPart, whole: bool, lines: bool) -> list[list[Token]]:
        """Return the tokens of every sentence of a paragraph; if it goes on, only of the finished sentences."""
        visible = np.flatnonzero(part.ids > NEWLINE)
        if not len(visible):
            return []
        text, places, scores = part.text, part.places[visible], part.scores[visible]
        end, touching = scores[:, END] > 0, visible[1:] - visible[:-1] == 1
        if not self.settings.spaces:
            end[:-1] |= ~touching
        if not text.isascii():  # ASCII has nothing that belongs to the character before
            end[:-1] &= ~(touching & self.alphabet.joined(part)[visible[1:]])
        sentence = end & (scores[:, SENTENCE] > self.settings.threshold)
        if lines:
            sentence[:] = False
        end[-1] |= whole
        sentence[-1] = whole
        ends = np.flatnonzero(end)
        begins = np.zeros_like(ends)
        begins[1:] = ends[:-1] + 1
        starts, stops = places[begins].tolist(), (places[ends] + 1).tolist()
        if INVISIBLE_RUN.search(text):
            stops = [match.end() if (match := INVISIBLE_RUN.match(text, stop)) else stop for stop in stops]
        tokens = list(map(Token, starts, stops))
        for number in np.flatnonzero(scores[ends, MULTIWORD] > 0).tolist():
            start, stop, _ = tokens[number]
            inside = slice(begins[number], ends[number])
            splits = places[inside][scores[inside, SPLIT] > 0] + 1 - start
            tokens[number] = Token(start, stop, self._words(text[start:stop], splits.tolist()))
        closes = [0, *(np.flatnonzero(sentence[ends]) + 1).tolist()]
        return [tokens[first:last] for first, last in pairwise(closes)]

    def _words(self, surface: str, splits: list[int]) -> tuple[str, ...]:
        """Return the words of a multiword token, or () if no rule splits it."""
        form = " ".join(surface.split())
        words = expand(form, self.rewrites, splits if form == surface and self.settings.splits else ())
        return words if len(words) > 1 else ()


def read_plain(
    chunks: Iterable[str], source: Source, segmenter: Callable[[], Segmenter], *, offset: int = 0
) -> Iterator[Sentence]:
    """Read running text, one sentence per line, or words; `segmenter` is called unless words are given."""
    if source == "words":
        return words_of(chunks, offset=offset)
    return segmenter().stream(chunks, lines=source == "lines", offset=offset)


def _trimmed(part: TextPart, begins: bool, ends: bool) -> TextPart:
    """Drop the white space around a paragraph."""
    white = part.ids <= NEWLINE
    kept = slice(int(begins and white[:1].any()), len(white) - int(ends and white[-1:].any()))
    return replace(part, ids=part.ids[kept], places=part.places[kept])


def _join(first: TextPart, second: TextPart) -> TextPart:
    """Join two scored parts of a text."""
    return TextPart(
        first.text + second.text,
        np.concatenate([first.ids, second.ids]),
        np.concatenate([first.places, second.places + len(first.text)]),
        np.concatenate([first.scores, second.scores]),
    )


def _after(part: TextPart, done: int) -> TextPart:
    """Return the rest of a part, from character `done` on."""
    first = int(np.searchsorted(part.places, done))
    return TextPart(part.text[done:], part.ids[first:], part.places[first:] - done, part.scores[first:])


def to_json(settings: SegmenterSettings, rewrites: Rewrites, scores: dict[str, float] | None = None) -> str:
    """Return the content of segmenter.json. `scores` are the scores on dev, for the reader's information."""
    values = {"format": FORMAT, "scores": scores or {}, "settings": asdict(settings), "rewrites": rewrites.to_dict()}
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str | bytes, *, source: str) -> tuple[SegmenterSettings, Rewrites]:
    """Read the content of segmenter.json."""
    try:
        values = json.loads(text)
        if (version := values["format"]) > FORMAT:
            message = f"format {version} is newer than this hexatagger knows ({FORMAT}): install a newer hexatagger"
            raise FormatError(message, source=source)
        settings = build(SegmenterSettings, values["settings"], "settings")
        if not 0 <= settings.radius <= _RADIUS:
            raise ConfigError(f"settings.radius {settings.radius} is not between 0 and {_RADIUS}")
        return settings, Rewrites.from_dict(checked(values["rewrites"], dict[str, dict[str, str]], "rewrites"))
    except FormatError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise FormatError(f"is not a valid segmenter description: {error}", source=source) from None
