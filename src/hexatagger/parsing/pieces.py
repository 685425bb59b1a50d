"""Words → the inputs of the encoder: subword ids with the span of every word, or n-gram ids, and word shapes.

Training and running share this module, so both see the same input. Only pretrained encoders need the `tokenizers`
library.

Words are cut one by one and never joined: a word with a space inside stays one word, and a word that maps to no piece
at all (a soft hyphen, a zero-width space) becomes the unknown piece. A sentence with more pieces than the encoder reads
at once becomes several overlapping windows; every word is kept from the window in which it is furthest from an edge.
"""

import itertools
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import ConfigError, FormatError
from hexatagger.model.config import ModelConfig, PieceConfig

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Ints = NDArray[np.int64]

SHAPES = 12
"""How many word shapes there are; 0 stands for no word."""
_CACHE = 200_000  # words that are remembered: a bound on memory
_GRAMS = (1, 6)  # lengths of the n-grams of "characters", word boundaries included
_GRAM_STEP = 16  # the number of n-grams per word is padded to a multiple of this
_LONGEST = 30  # characters of a word that are used, half of them from each end


@dataclass(frozen=True, slots=True)
class Window:
    """What the encoder reads at once: a sentence, or a part of one that is too long."""

    pieces: Ints
    """Ids of the pieces, special ones included: (pieces,). For "characters": (words, n-grams), padded with 0."""
    spans: Ints
    """First and last piece of every word: (words, 2)."""
    shapes: Ints
    """Shape of each piece's word, 0 for special pieces: (pieces,). For "characters": (words,)."""
    start: int = 0
    """Index in the sentence of the window's first word."""
    keep: tuple[int, int] = (0, 0)
    """The words of the sentence that are kept from this window: first, and one past the last."""

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def kept(self) -> slice:
        """The kept words, counted from the window's first word."""
        return slice(self.keep[0] - self.start, self.keep[1] - self.start)


def stack_windows(windows: Sequence[Window], *, pad: int = 0, pos: Sequence[Ints] | None = None) -> dict[str, Ints]:
    """Lay windows side by side as the inputs of the network; see `Network.forward` for the shapes.

    `pad` is the piece that fills short windows. `pos` has the ids of the input column for the sentence of each window.
    """
    size, words = len(windows), max(map(len, windows))
    widest = np.max([window.pieces.shape for window in windows], axis=0)
    arrays = {
        "pieces": np.full((size, *widest), pad, np.int64),
        "mask": np.zeros((size, widest[0]), np.int64),
        "spans": np.zeros((size, words, 2), np.int64),
        "lengths": np.array([len(window) for window in windows], np.int64),
        "shapes": np.zeros((size, widest[0]), np.int64),
    }
    for row, window in enumerate(windows):
        arrays["pieces"][row][tuple(slice(end) for end in window.pieces.shape)] = window.pieces
        arrays["mask"][row, : len(window.pieces)] = 1
        arrays["spans"][row, : len(window)] = window.spans
        arrays["shapes"][row, : len(window.shapes)] = window.shapes
    if pos is not None:
        arrays["pos"] = np.zeros((size, words), np.int64)
        for row, (window, ids) in enumerate(zip(windows, pos, strict=True)):
            arrays["pos"][row, : len(window)] = ids[window.start : window.start + len(window)]
    return arrays


class Pieces:
    """Cuts words into the pieces of a pretrained encoder, with its tokenizer as changed by `word_tokenizer`.

    >>> from tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "read": 1, "##s": 2}, unk_token="[UNK]"))
    >>> pieces = Pieces(tokenizer.to_str(), PieceConfig((), (), unknown=0, pad=0, limit=512))
    >>> pieces.windows(["reads", "read"])[0].spans.tolist()
    [[0, 1], [2, 2]]
    """

    def __init__(self, tokenizer_json: str, config: PieceConfig) -> None:
        self.config = config
        self._tokenizer = _tokenizer(tokenizer_json)
        self._known: dict[str, tuple[int, ...]] = {}
        self._room = config.limit - len(config.before) - len(config.after)
        if self._room < 8:
            raise ConfigError(f"an encoder that reads only {config.limit} pieces at once is too short: it needs 10")

    def ids(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the pieces of every word: one at least."""
        known = self._known
        new = list({word for word in words if word not in known})
        fresh: dict[str, tuple[int, ...]] = {}
        if new:
            found = self._tokenizer.encode_batch(
                [[word] for word in new], is_pretokenized=True, add_special_tokens=False
            )
            # subtle: a word that is too long for a window keeps its first and last pieces
            half = self._room // 4
            for word, encoding in zip(new, found, strict=True):
                ids = encoding.ids or [self.config.unknown]
                fresh[word] = tuple(ids if len(ids) <= 2 * half else ids[:half] + ids[-half:])
            if len(known) > _CACHE:
                known = self._known = {}
            known.update(fresh)
        # subtle: another thread may have emptied the cache since
        return [fresh.get(word) or known.get(word) or self.ids([word])[0] for word in words]

    def windows(self, words: Sequence[str]) -> list[Window]:
        """Return the windows of a sentence: one, several if it is too long, none if it is empty."""
        by_word = self.ids(words)
        lengths = [len(ids) for ids in by_word]
        return [self._window(words, by_word, span, keep) for span, keep in spread(lengths, self._room)]

    def _window(
        self, words: Sequence[str], by_word: list[tuple[int, ...]], span: tuple[int, int], keep: tuple[int, int]
    ) -> Window:
        before, after = self.config.before, self.config.after
        inside = by_word[span[0] : span[1]]
        counts = np.array([len(ids) for ids in inside], np.int64)
        last = len(before) + np.cumsum(counts) - 1
        ids = [*before, *(each for piece in inside for each in piece), *after]
        shapes = np.zeros(len(ids), np.int64)
        shapes[len(before) : len(ids) - len(after)] = np.repeat(
            [shape(word) for word in words[span[0] : span[1]]], counts
        )
        spans = np.stack([last - counts + 1, last], axis=1)
        return Window(np.array(ids, np.int64), spans, shapes, span[0], keep)


class Grams:
    """Cuts words into hashed n-grams of characters, for the encoder "characters".

    >>> grams = Grams(1000)
    >>> grams.windows(["a", "cat"])[0].pieces.shape  # <a> has 6 n-grams, <cat> 15, with the whole word 16
    (2, 16)
    """

    def __init__(self, buckets: int, limit: int = 2000) -> None:
        self.buckets, self.limit = buckets, limit
        self._known: dict[str, Ints] = {}

    def ids(self, word: str) -> Ints:
        """Return the n-gram ids of a lower-cased word, the whole word first; its shape has the capitals."""
        found = self._known.get(word)
        if found is None:
            text = word.lower()
            if len(text) > _LONGEST:
                text = text[: _LONGEST // 2] + "…" + text[-_LONGEST // 2 :]
            text = f"\x02{text}\x03"
            shortest, longest = _GRAMS
            grams = [f"={text}"]
            grams += [text[i : i + n] for n in range(shortest, longest + 1) for i in range(len(text) - n + 1)]
            # subtle: crc32, because Python's own hash of a string differs from run to run
            found = np.array([1 + zlib.crc32(gram.encode()) % (self.buckets - 1) for gram in grams], np.int64)
            if len(self._known) > _CACHE:
                self._known = {}
            self._known[word] = found
        return found

    def windows(self, words: Sequence[str]) -> list[Window]:
        """Return the windows of a sentence.

        The number of n-grams is padded to a multiple, so that sentences of one length can share a batch.
        """
        by_word = [self.ids(word) for word in words]
        made = []
        for span, keep in spread([1] * len(words), self.limit):
            inside = by_word[span[0] : span[1]]
            table = np.zeros((len(inside), -(-max(map(len, inside)) // _GRAM_STEP) * _GRAM_STEP), np.int64)
            for row, ids in zip(table, inside, strict=True):
                row[: len(ids)] = ids
            places = np.arange(len(inside))
            shapes = np.array([shape(word) for word in words[span[0] : span[1]]], np.int64)
            made.append(Window(table, np.stack([places, places], axis=1), shapes, span[0], keep))
        return made


def make_cutter(config: ModelConfig, tokenizer: str | None, pieces: PieceConfig | None) -> Pieces | Grams:
    """Return the cutter of a model: Pieces by its tokenizer, or Grams for the encoder "characters"."""
    if tokenizer is not None and pieces is not None:
        return Pieces(tokenizer, pieces)
    return Grams(config.char_buckets, config.char_window)


def spread(lengths: Sequence[int], room: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Cover words, given their numbers of pieces, with overlapping windows of at most `room` pieces.

    Each window is a range of words, followed by the range of words that are kept from it.

    >>> spread([1, 1, 1], 8)
    [((0, 3), (0, 3))]
    >>> spread([1] * 12, 8)
    [((0, 8), (0, 6)), ((4, 12), (6, 12))]
    """
    total = len(lengths)
    ends = np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))])
    spans: list[tuple[int, int]] = []
    start = 0
    while start < total:
        stop = int(np.searchsorted(ends, ends[start] + room, side="right")) - 1
        spans.append((start, stop))
        if stop == total:
            break
        # The next window begins in the middle of this one, or earlier if it is then the last one and full.
        half, full = np.searchsorted(ends, [ends[start] + room // 2, ends[total] - room])
        start = max(start + 1, min(int(half), int(full)))
    cuts = [0, *((left[1] + right[0]) // 2 for left, right in itertools.pairwise(spans)), total]
    return [(span, (cuts[number], cuts[number + 1])) for number, span in enumerate(spans)]


@lru_cache(maxsize=_CACHE)
def shape(word: str) -> int:
    """Return the shape of a word, 1 to 11: how it is capitalised and whether it has digits.

    >>> [shape(word) for word in ("cat", "Cat", "CAT", "iPhone", "I", "...", "b2", "1984")]
    [1, 2, 3, 4, 5, 6, 7, 11]
    """
    digit = any(map(str.isdigit, word))
    letters = [character for character in word if character.isalpha()]
    if not letters:
        return 11 if digit else 6
    upper = [character.isupper() for character in letters]
    if not any(upper):
        number = 1
    elif all(upper):
        number = 3 if len(letters) > 1 else 5
    else:
        number = 2 if upper[0] and not any(upper[1:]) else 4
    return {1: 7, 2: 8, 3: 9, 4: 10, 5: 9}[number] if digit else number


def read_config(tokenizer_json: str, *, limit: int, pad: int | None = None, unknown: str | None = None) -> PieceConfig:
    """Read from a `word_tokenizer` which special pieces go where; `pad` and `unknown` are used if it does not say.

    The special pieces are those that its post-processor adds, so every family of encoders is treated alike.
    """
    tokenizer = _tokenizer(tokenizer_json)
    encoding = tokenizer.encode(["a"], is_pretokenized=True, add_special_tokens=True)
    inside = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
    if not inside:
        raise FormatError("cuts the word 'a' into no piece at all", source="tokenizer.json")
    model = json.loads(tokenizer_json)["model"]
    names = [model.get("unk_token"), unknown, "[UNK]", "<unk>"]
    number = model.get("unk_id")
    if number is None:
        found = (tokenizer.token_to_id(name) for name in names if name)
        number = next((each for each in found if each is not None), None)
    if pad is None:
        found = (tokenizer.token_to_id(name) for name in ("[PAD]", "<pad>"))
        pad = next((each for each in found if each is not None), 0)
    return PieceConfig(
        before=tuple(encoding.ids[: inside[0]]),
        after=tuple(encoding.ids[inside[-1] + 1 :]),
        unknown=int(pad if number is None else number),
        pad=int(pad),
        limit=limit,
    )


def word_tokenizer(tokenizer_json: str) -> str:
    """Change a tokenizer so that it cuts a single word as it would inside a text; idempotent.

    A byte-level or SentencePiece tokenizer marks the space before a word, which a single word does not have. Many files
    also ask for truncation and padding, which would lose words.
    """
    values = json.loads(tokenizer_json)
    values["truncation"] = values["padding"] = None
    todo = [values.get("pre_tokenizer")]
    while todo:
        step = todo.pop() or {}
        if step.get("type") == "ByteLevel":
            step["add_prefix_space"] = True
        elif step.get("type") == "Metaspace":
            step["prepend_scheme"] = "always"
            step.pop("add_prefix_space", None)  # its older name
        todo += step.get("pretokenizers", [])
    return json.dumps(values, ensure_ascii=False)


def _tokenizer(tokenizer_json: str) -> "Tokenizer":
    """Build a tokenizer from its JSON."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(tokenizer_json)
        tokenizer.no_padding()  # subtle: a file could ask for padding of any length, and so for any amount of memory
        tokenizer.no_truncation()
        return tokenizer
    except Exception as error:  # tokenizers raises bare Exception
        raise FormatError(f"is not a tokenizer: {error}", source="tokenizer.json") from None
