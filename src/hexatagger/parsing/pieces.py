"""Words → the inputs of the encoder: subword ids with the span of every word, or n-gram ids, and word shapes.

Words are cut one by one: a word with a space inside stays one word, and a word that maps to no piece at all (a soft
hyphen, a zero-width space) becomes the unknown piece. An emoji that the encoder does not know is read as an emoticon,
which treebanks have, so that it becomes a symbol and not a punctuation mark. A sentence with more pieces than the
encoder reads at once becomes several overlapping windows; every word is kept from the window in which it is furthest
from an edge.
"""

import itertools
import json
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import ConfigError, FormatError
from hexatagger.model.config import ModelConfig, PieceConfig

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Numbers = NDArray[np.int64]

SHAPES = 12  # how many word shapes there are; 0 stands for no word
_CACHE = 200_000  # words that are remembered: a bound on memory
_GRAM_STEP = 16  # the number of n-grams per word is padded to a multiple of this
_EMOTICON = ":)"  # what an unknown emoji is read as
_EMOJI = ("So", "Sk", "Cf", "Mn", "Me")  # categories of picture, skin, joiner, variation selector, frame
_LONGEST = 30  # characters of a word that are used, half of them from each end


@dataclass(frozen=True, slots=True)
class Window:
    """What the encoder reads at once: a sentence, or a part of one that is too long."""

    pieces: Numbers
    """Ids of the pieces, special ones included: (pieces,). For "characters": (words, n-grams), padded with 0."""
    spans: Numbers
    """First and last piece of every word: (words, 2)."""
    shapes: Numbers
    """Shape of each piece's word, 0 for special pieces: (pieces,). For "characters": (words,)."""
    start: int = 0
    """Index in the sentence of the window's first word."""
    keep: tuple[int, int] = (0, 0)
    """The words of the sentence that are kept from this window: first, and one past the last."""
    known: Numbers | None = None
    """Number of every word among those with a given vector, from 1, or 0: (words,). None if the model has none."""

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def kept(self) -> slice:
        """The kept words, counted from the window's first word."""
        return slice(self.keep[0] - self.start, self.keep[1] - self.start)


def stack_windows(
    windows: Sequence[Window], *, pad: int = 0, pos: Sequence[Numbers] | None = None
) -> dict[str, Numbers]:
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
    if pos is not None:
        arrays["pos"] = np.zeros((size, words), np.int64)
    if windows[0].known is not None:
        arrays["known"] = np.zeros((size, words), np.int64)
    for row, window in enumerate(windows):
        arrays["pieces"][row][tuple(slice(end) for end in window.pieces.shape)] = window.pieces
        arrays["mask"][row, : len(window.pieces)] = 1
        arrays["spans"][row, : len(window)] = window.spans
        arrays["shapes"][row, : len(window.shapes)] = window.shapes
        if pos is not None:
            arrays["pos"][row, : len(window)] = pos[row][window.start : window.start + len(window)]
        if window.known is not None:
            arrays["known"][row, : len(window)] = window.known
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
        if len(self._known) > _CACHE:
            self._known = {}
        known = self._known  # subtle: never emptied, only replaced, so that no thread loses what it looks up below
        new = list({word for word in words if word not in known})
        if new:
            singles = [[_check(word)] for word in new]
            with _tokenizing():
                cut = self._tokenizer.encode_batch(singles, is_pretokenized=True, add_special_tokens=False)
            # subtle: a word that is too long for a window keeps its first and last pieces
            half = self._room // 4
            for word, encoding in zip(new, cut, strict=True):
                ids = encoding.ids or [self.config.unknown]
                if set(ids) == {self.config.unknown} and is_emoji(word):
                    ids = list(self.ids([_EMOTICON])[0])
                known[word] = tuple(ids if len(ids) <= 2 * half else ids[:half] + ids[-half:])
        return [known[word] for word in words]

    def windows(self, words: Sequence[str]) -> list[Window]:
        """Return the windows of a sentence: one, several if it is too long, none if it is empty."""
        before, after = self.config.before, self.config.after
        by_word, made = self.ids(words), []
        lengths = [len(ids) for ids in by_word]
        for (start, stop), keep in spread(lengths, self._room):
            counts = np.array(lengths[start:stop], np.int64)
            last = len(before) + np.cumsum(counts) - 1
            ids = np.array([*before, *itertools.chain(*by_word[start:stop]), *after], np.int64)
            shapes = np.zeros_like(ids)
            shapes[len(before) : len(ids) - len(after)] = np.repeat([shape(word) for word in words[start:stop]], counts)
            made.append(Window(ids, np.stack([last - counts + 1, last], axis=1), shapes, start, keep))
        return made


def is_emoji(word: str) -> bool:
    """Return whether a word is made of pictures alone.

    >>> [is_emoji(word) for word in ("😀", "👍🏽", "❤️", "🇫🇷", "x", "…", "")]
    [True, True, True, True, False, False, False]
    """
    categories = {unicodedata.category(each) for each in word}
    return _EMOJI[0] in categories and categories.issubset(_EMOJI)


class Grams:
    """Cuts words into hashed n-grams of characters, for the encoder "characters".

    >>> grams = Grams(1000)
    >>> grams.windows(["a", "cat"])[0].pieces.shape  # <a> has 6 n-grams, <cat> 15, with the whole word 16
    (2, 16)
    """

    def __init__(
        self, buckets: int, limit: int = 2000, longest: int = 6, words: Iterable[str] = (), *, hashes: int = 1
    ) -> None:
        self.buckets, self.limit, self.longest, self.hashes = buckets, limit, longest, hashes
        self._known = {word: number for number, word in enumerate(words, 1)}

    def ids(self, word: str) -> Numbers:
        """Return the n-gram ids of a lower-cased word, `hashes` per n-gram, the whole word first."""
        return _gram_ids(word.lower(), self.buckets, self.longest, self.hashes)

    def windows(self, words: Sequence[str]) -> list[Window]:
        """Return the windows of a sentence; n-grams are padded, so that sentences of one length can share a batch."""
        made = []
        for (start, stop), keep in spread([1] * len(words), self.limit):
            inside = [self.ids(word) for word in words[start:stop]]
            table = np.zeros((len(inside), -(-max(map(len, inside)) // _GRAM_STEP) * _GRAM_STEP), np.int64)
            for row, ids in zip(table, inside, strict=True):
                row[: len(ids)] = ids
            places = np.arange(len(inside))
            shapes = np.array([shape(word) for word in words[start:stop]], np.int64)
            known = np.array([self.known(word) for word in words[start:stop]], np.int64) if self._known else None
            made.append(Window(table, np.stack([places, places], axis=1), shapes, start, keep, known))
        return made

    def known(self, word: str) -> int:
        """Return the number of a word among those with a given vector, in lower case if need be; 0: it has none."""
        return self._known.get(word) or self._known.get(word.lower(), 0)


@lru_cache(maxsize=_CACHE)
def _gram_ids(text: str, buckets: int, longest: int, hashes: int) -> Numbers:
    _check(text)
    if len(text) > _LONGEST:
        text = text[: _LONGEST // 2] + "…" + text[-_LONGEST // 2 :]
    text = f"\x02{text}\x03"
    grams = [f"={text}", *(text[i : i + n] for n in range(1, longest + 1) for i in range(len(text) - n + 1))]
    # subtle: crc32, because Python's own hash of a string differs from run to run
    codes = np.array([zlib.crc32(gram.encode()) for gram in grams], np.int64)
    return np.stack([1 + codes // (buckets - 1) ** number % (buckets - 1) for number in range(hashes)], 1).ravel()


def _check(word: str) -> str:
    """Return a word, unless it is not Unicode text."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise FormatError(f"the word {word[:80]!r} has half of a surrogate pair: it is not Unicode text") from None
    return word


def make_cutter(
    config: ModelConfig, tokenizer: str | None, pieces: PieceConfig | None, words: Iterable[str] = ()
) -> Pieces | Grams:
    """Return the cutter of a model: Pieces by its tokenizer, or Grams for the encoder "characters".

    `words` are those with a given vector.
    """
    if tokenizer is not None and pieces is not None:
        return Pieces(tokenizer, pieces)
    return Grams(config.char_buckets, config.char_window, config.char_grams, words, hashes=config.char_hashes)


def spread(lengths: Sequence[int], room: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Cover words, given their numbers of pieces, with overlapping windows of at most `room` pieces.

    Each window is a range of words, followed by the range of words that are kept from it.

    >>> spread([1, 1, 1], 8)
    [((0, 3), (0, 3))]
    >>> spread([1] * 12, 8)
    [((0, 8), (0, 6)), ((4, 12), (6, 12))]
    """
    total, start = len(lengths), 0
    if sum(lengths) <= room:  # nearly every sentence, so this is worth a shortcut
        return [((0, total), (0, total))] if total else []
    ends = np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))])
    spans: list[tuple[int, int]] = []
    while start < total:
        stop = int(np.searchsorted(ends, ends[start] + room, side="right")) - 1
        spans.append((start, stop))
        if stop == total:
            break
        # The next window begins in the middle of this one, or earlier if it is then the last one and full.
        half, full = np.searchsorted(ends, [ends[start] + room // 2, ends[total] - room])
        start = max(start + 1, min(int(half), int(full)))
    cuts = [0, *((left[1] + right[0]) // 2 for left, right in itertools.pairwise(spans)), total]
    return list(zip(spans, itertools.pairwise(cuts), strict=False))


@lru_cache(maxsize=_CACHE)
def shape(word: str) -> int:
    """Return the shape of a word, 1 to 11: how it is capitalised and whether it has digits.

    >>> [shape(word) for word in ("cat", "Cat", "CAT", "iPhone", "I", "...", "b2", "1984")]
    [1, 2, 3, 4, 5, 6, 7, 11]
    """
    digit = any(map(str.isdigit, word))
    upper = [character.isupper() for character in word if character.isalpha()]
    if not upper:
        return 11 if digit else 6
    if not any(upper):
        number = 1
    elif all(upper):
        number = 3 if digit or len(upper) > 1 else 5
    else:
        number = 2 if upper[0] and not any(upper[1:]) else 4
    return number + 6 * digit


def read_config(tokenizer_json: str, *, limit: int, pad: int | None = None, unknown: str | None = None) -> PieceConfig:
    """Read from a `word_tokenizer` which special pieces go where; `pad` and `unknown` are used if it does not say.

    The special pieces are those that its post-processor adds, so every family of encoders is treated alike.
    """
    tokenizer = _tokenizer(tokenizer_json)
    with _tokenizing():
        encoding = tokenizer.encode(["a"], is_pretokenized=True, add_special_tokens=True)
    inside = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
    if not inside:
        raise FormatError("cuts the word 'a' into no piece at all", source="tokenizer.json")
    model = json.loads(tokenizer_json)["model"]

    def first(*names: str | None) -> int | None:
        ids = (tokenizer.token_to_id(name) for name in names if name)
        return next((number for number in ids if number is not None), None)

    if pad is None:
        pad = first("[PAD]", "<pad>") or 0
    found = model.get("unk_id")
    if found is None:
        found = first(model.get("unk_token"), unknown, "[UNK]", "<unk>")
    before, after = encoding.ids[: inside[0]], encoding.ids[inside[-1] + 1 :]
    return PieceConfig(tuple(before), tuple(after), int(pad if found is None else found), int(pad), limit)


def word_tokenizer(tokenizer_json: str) -> str:
    """Change a tokenizer so that it cuts a single word as inside a text, where a space precedes it; idempotent.

    Truncation and padding, which many files ask for, would lose words.
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
    from tokenizers import Tokenizer

    with _tokenizing():
        tokenizer = Tokenizer.from_str(tokenizer_json)
        tokenizer.no_padding()  # subtle: a file could ask for padding of any length, and so for any amount of memory
        tokenizer.no_truncation()
        return tokenizer


@contextmanager
def _tokenizing() -> Iterator[None]:
    """Turn the errors of a tokenizer, some of which appear only with certain words, into a FormatError."""
    try:
        yield
    except Exception as error:  # tokenizers raises bare Exception
        raise FormatError(f"is not a tokenizer: {error}", source="tokenizer.json") from None
