"""Treebank → paragraphs of sentences: the ids of their characters, and a label for each.

The sentences of a paragraph follow each other as SpaceAfter and SpacesAfter say; paragraphs and documents are separate.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hexatagger.formats.text import PARAGRAPHS, VISIBLE, surfaces
from hexatagger.segment.alphabet import NEWLINE, OUTSIDE, Alphabet, Ids, SegmenterSettings
from hexatagger.segment.multiword import split_places
from hexatagger.segment.segmenter import END, MULTIWORD, SENTENCE, SPLIT
from hexatagger.sentence import Multiword, Sentence

IGNORE = -1  # a label that is not in the loss
CharacterLabels = NDArray[np.int8]
Part = tuple[Ids, CharacterLabels]
"""A part of the text: what the network reads, and what it should predict."""

_RARE = 2  # characters that occur fewer times are not learnt
_SPACED = 0.0001  # if more tokens than this share have a space inside, tokens may have spaces
_OPENING, _CLOSING = {"'": "‘", '"': "“"}, {"'": "’", '"': "”"}  # curly quotation marks
_SYMBOLS = "So"  # the category of emoji: known even if the treebank has none


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
    opening: Ids  # for each id the id of its curly form before a word
    closing: Ids  # and after one
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
    curly = [(straight, form) for forms in (_OPENING, _CLOSING) for straight, form in forms.items()]
    known += [form for straight, form in curly if straight in counts and form not in known]
    names = tuple(name for name, _ in categories.most_common())
    names += () if _SYMBOLS in names else (_SYMBOLS,)
    spaces = sum(" " in form for form in forms) > _SPACED * len(forms)
    settings = SegmenterSettings(characters="".join(known), categories=names, radius=radius, spaces=spaces, breaks=True)
    alphabet = Alphabet(settings)
    category, drop = np.zeros(alphabet.size, np.int32), np.zeros(alphabet.size)
    opening, closing = (np.arange(alphabet.size, dtype=np.int32) for _ in range(2))
    for character, number in alphabet.characters.items():
        category[number] = alphabet.categories.get(unicodedata.category(character), OUTSIDE)
        drop[number] = min(0.5, 0.005 + 0.5 / max(1, counts[character])) * (category[number] != OUTSIDE)
        opening[number] = alphabet.characters[_OPENING.get(character, character)]
        closing[number] = alphabet.characters[_CLOSING.get(character, character)]
    for number in alphabet.categories.values():
        category[number] = number
    treebank = Treebank(settings, alphabet, [], category, drop, opening, closing)
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


def blank(size: int) -> Part:
    """Return ids outside of any text, with labels that are not in the loss."""
    return np.full(size, OUTSIDE, np.int32), np.full((size, 4), IGNORE, np.int8)
