"""Treebank → windows of characters with their labels, for the segmenter.

The text is the raw text of the CoNLL 2018 shared task: the sentences of a paragraph follow each other as SpaceAfter and
SpacesAfter say, paragraphs and documents are separate. Every epoch changes it a little, towards text as people write:
one sentence per line, lines wrapped at some width, curly quotation marks, long paragraphs cut, rare characters replaced
by their category.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hexatagger.formats.text import PARAGRAPHS, VISIBLE, surfaces
from hexatagger.segment.alphabet import NEWLINE, OUTSIDE, SPACE, Alphabet, Ids, SegmenterSettings
from hexatagger.segment.multiword import split_places
from hexatagger.segment.segmenter import END, MULTIWORD, SENTENCE, SPLIT
from hexatagger.sentence import Multiword, Sentence

IGNORE = -1  # a label that is not in the loss
CharacterLabels = NDArray[np.int8]

_RARE = 2  # characters that occur fewer times are not learnt
_SPACED = 0.0001  # if more tokens than this share have a space inside, tokens may have spaces
_ON_LINES, _WRAPPED, _CURLY = 0.15, 0.1, 0.1  # shares of paragraphs that are changed
_LONG = 20  # longer paragraphs are cut, in sentences
_CURLED = {"'": "’", '"': "”"}


@dataclass(slots=True)
class Tagged:
    """An encoded sentence."""

    ids: Ids  # what the network reads: (ids,)
    labels: CharacterLabels  # what it should predict: (ids, 4)
    space: int  # the id of the space after it, OUTSIDE if there is none


@dataclass(slots=True)
class Treebank:
    """The training data of a segmenter: the alphabet, and paragraphs of sentences."""

    settings: SegmenterSettings
    alphabet: Alphabet
    paragraphs: list[list[Tagged]]
    category: Ids  # for each id the id of its category, OUTSIDE if it has none
    drop: NDArray[np.float64]  # for each id the probability that it is replaced by its category
    curly: Ids  # for each id the id of its curly form
    multiwords: list[tuple[str, list[str]]] = field(default_factory=list)  # all multiword tokens with their words


def usable(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Leave out sentences with tokens that cannot be found in text because they begin with an invisible character."""
    return [sentence for sentence in sentences if all(VISIBLE.match(token.form) for token in sentence.tokens)]


def read_treebank(sentences: Sequence[Sentence], *, radius: int) -> Treebank:
    """Turn sentences into training data."""
    forms = [token.form for sentence in sentences for token in sentence.tokens]
    counts = Counter(character for form in forms for character in form if VISIBLE.match(character))
    categories = Counter[str]()
    for character, count in counts.items():
        categories[unicodedata.category(character)] += count
    known = sorted(character for character, count in counts.items() if count >= _RARE)
    known += [curly for straight, curly in _CURLED.items() if straight in counts and curly not in known]
    names = tuple(name for name, _ in categories.most_common())
    spaces = sum(" " in form for form in forms) > _SPACED * len(forms)
    settings = SegmenterSettings(characters="".join(known), categories=names, radius=radius, spaces=spaces)
    alphabet = Alphabet(settings)
    category, drop = np.zeros(alphabet.size, np.int32), np.zeros(alphabet.size)
    curly = np.arange(alphabet.size, dtype=np.int32)
    for character, number in alphabet.characters.items():
        category[number] = alphabet.categories.get(unicodedata.category(character), OUTSIDE)
        drop[number] = min(0.5, 0.005 + 0.5 / max(1, counts[character])) * (category[number] != OUTSIDE)
        curly[number] = alphabet.characters[_CURLED.get(character, character)]
    for number in alphabet.categories.values():
        category[number] = number
    treebank = Treebank(settings, alphabet, [], category, drop, curly)
    _fill(treebank, sentences)
    together = sum(split_places(token, words) is not None for token, words in treebank.multiwords)
    treebank.settings = replace(settings, splits=2 * together > len(treebank.multiwords))
    return treebank


def _fill(treebank: Treebank, sentences: Sequence[Sentence]) -> None:
    """Label the characters of all sentences."""
    words = (sentence.words[token.first - 1 : token.last] if isinstance(token, Multiword) else []
             for sentence in sentences for token in sentence.tokens)  # fmt: skip
    paragraph: list[Tagged] = []
    text, marks = "", list[tuple[int, int, int]]()
    for surface, gap, token, last in surfaces(sentences):
        if token is None:
            continue
        parts = [word.form for word in next(words)]
        start = len(text)
        end = start + max(place for place, character in enumerate(surface) if VISIBLE.match(character))
        marks += [(end, END, 1), (end, SENTENCE, last), (end, MULTIWORD, len(parts) > 1)]
        if len(parts) > 1:
            treebank.multiwords.append((token.form, parts))
            if (places := split_places(surface, parts)) is not None:
                marks += [(place, SPLIT, 0) for place in range(start, end)]
                marks += [(start + place - 1, SPLIT, 1) for place in places]
        text += surface + ("" if last else gap)
        if last:
            space = treebank.alphabet.read(gap).ids
            paragraph.append(_tagged(treebank.alphabet, text, marks, int(space[0]) if len(space) else OUTSIDE))
            text, marks = "", []
            if PARAGRAPHS.search(gap):
                treebank.paragraphs.append(paragraph)
                paragraph = []
    if paragraph:
        treebank.paragraphs.append(paragraph)


def _tagged(alphabet: Alphabet, text: str, marks: list[tuple[int, int, int]], space: int) -> Tagged:
    """Encode a sentence and its marks (place, what, label)."""
    labels = np.full((len(text), 4), IGNORE, np.int8)
    labels[:, END] = 0
    for place, what, label in marks:
        labels[place, what] = label
    piece = alphabet.read(text)
    labels = labels[piece.places]
    labels[piece.ids <= NEWLINE] = IGNORE
    return Tagged(piece.ids, labels, space)


def windows(treebank: Treebank, *, size: int, random: np.random.Generator) -> tuple[Ids, CharacterLabels]:
    """Return the changed text in random windows: ids (windows, size + 2 · radius), labels (windows, size, 4)."""
    radius = treebank.settings.radius
    # the first window begins at a random place, so that every pass cuts windows elsewhere
    rows = [_blank(radius + int(random.integers(size)))]
    for number in random.permutation(len(treebank.paragraphs)).tolist():
        for part in _cut(treebank.paragraphs[number], random):
            rows += [_changed(part, treebank, random), _blank(radius)]
    length = sum(len(ids) for ids, _ in rows)
    rows.append(_blank(radius + -(length - radius) % size + radius))
    row, labels = (np.concatenate(each) for each in zip(*rows, strict=True))
    dropped = random.random(len(row)) < treebank.drop[row]
    row[dropped] = treebank.category[row[dropped]]
    views = np.lib.stride_tricks.sliding_window_view(row, size + 2 * radius)[::size]
    return views, labels[radius : radius + len(views) * size].reshape(len(views), size, 4)


def _blank(size: int) -> tuple[Ids, CharacterLabels]:
    """Return ids outside of any text, with labels that are not in the loss."""
    return np.full(size, OUTSIDE, np.int32), np.full((size, 4), IGNORE, np.int8)


def _cut(paragraph: list[Tagged], random: np.random.Generator) -> Iterator[list[Tagged]]:
    """Cut a long paragraph at random."""
    start = 0
    while start < len(paragraph):
        length = int(random.integers(1, _LONG)) if len(paragraph) > _LONG else len(paragraph)
        yield paragraph[start : start + length]
        start += length


def _changed(paragraph: list[Tagged], treebank: Treebank, random: np.random.Generator) -> tuple[Ids, CharacterLabels]:
    """Concatenate the sentences of a paragraph, perhaps with other line ends and quotation marks."""
    on_lines, wrapped, curly = random.random(3) < (_ON_LINES, _WRAPPED, _CURLY)
    parts: list[tuple[Ids, CharacterLabels]] = []
    for number, sentence in enumerate(paragraph):
        parts.append((sentence.ids, sentence.labels))
        if sentence.space != OUTSIDE and number + 1 < len(paragraph):
            parts.append((np.array([NEWLINE if on_lines else sentence.space], np.int32), _blank(1)[1]))
    row, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    if wrapped:
        width = int(random.integers(40, 90))
        spaces = np.flatnonzero(row == SPACE)
        lines = spaces // width
        row[spaces[:-1][lines[1:] > lines[:-1]]] = NEWLINE  # the last space within each multiple of `width`
    return treebank.curly[row] if curly else row, labels
