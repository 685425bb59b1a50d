"""What a treebank offers for changing its text: numbers, abbreviations, markers of list items, kinds of characters.

`collect` reads it off the labelled characters, with the labels that the treebank gives such things. Nothing here is
written for one language. A treebank that cuts the dot off its abbreviations offers none.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexatagger.segment.alphabet import NEWLINE, SPACE, Ids
from hexatagger.segment.segmenter import END, MULTIWORD, SENTENCE
from hexatagger.train.segmenter.data import CharacterLabels, Part, Tagged, Treebank, blank

Flags = NDArray[np.bool_]

_MARKERS = ("1.", "1)", "(1)", "-", "*", "•", "–")  # of list items; 1 stands for the number of the item
_DRAWN = ("0123456789", "-–—")  # digits and dashes
_QUOTES = "\"'"  # in Unicode, punctuation like the full stop
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_NAMES = ("example", "mail", "news")  # for treebanks without such letters
_SPACED = 0.9  # share of a punctuation mark that has a space before it, from which on the treebank is taken to put one
_EVIDENCE = 5  # different abbreviations, or places of a mark, from which on the treebank is taken to write so


@dataclass(frozen=True, slots=True)
class Material:
    """A treebank and what it has to offer."""

    treebank: Treebank
    sentences: list[Tagged]
    upper: Ids  # for each id the id of its upper case
    lower: Ids
    digit: Flags  # for each id whether it is a digit
    letter: Flags
    point: Flags  # or punctuation other than brackets, dashes and quotation marks
    spaced: Flags  # or such punctuation with a space before it nearly everywhere
    digits: Ids  # the ids of 0 to 9
    dashes: Ids
    numbers: list[Part]  # one of every shape: 9, 9.9, 9/9, …
    markers: list[Part]  # of list items
    abbreviations: list[Ids]
    forms: frozenset[tuple[int, ...]]  # all tokens, in lower case
    names: list[str]  # tokens that may be a part of an address


def collect(treebank: Treebank) -> Material:
    """Return what a treebank has to offer."""
    alphabet = treebank.alphabet
    known = alphabet.characters
    digit, letter, point = (np.zeros(alphabet.size, np.bool_) for _ in range(3))
    for character, number in known.items():
        digit[number], letter[number] = character.isdecimal(), character.isalpha()
        point[number] = unicodedata.category(character) == "Po" and character not in _QUOTES
    upper, lower = (_mapped(known, alphabet.size, change) for change in (str.upper, str.lower))
    digits, dashes = (np.array([known[each] for each in some if each in known], np.int32) for some in _DRAWN)
    sentences = [sentence for paragraph in treebank.paragraphs for sentence in paragraph]
    forms, abbreviations = _abbreviations(sentences, lower, letter, known.get("."))
    characters = {number: character for character, number in known.items()}
    names = ("".join(characters.get(number, " ") for number in form) for form in sorted(forms))
    return Material(
        treebank,
        sentences,
        upper=upper,
        lower=lower,
        digit=digit,
        letter=letter,
        point=point,
        spaced=_spaced(sentences, point),
        digits=digits,
        dashes=dashes,
        numbers=_numbers(sentences, digit, letter),
        markers=[_marker(treebank, sentences, marker, digits) for marker in _MARKERS],
        abbreviations=abbreviations,
        forms=forms,
        names=[name for name in names if 2 < len(name) < 10 and set(name) <= _LETTERS] or list(_NAMES),
    )


def _spaced(sentences: Sequence[Tagged], point: Flags) -> Flags:
    """Say of every id whether it is punctuation that the treebank writes with a space before it."""
    with_space, all_of_them = (np.zeros(len(point), np.int64) for _ in range(2))
    for sentence in sentences:
        for start, stop in tokens(sentence):
            if start and stop - start == 1 and point[sentence.ids[start]]:
                all_of_them[sentence.ids[start]] += 1
                with_space[sentence.ids[start]] += sentence.ids[start - 1] == SPACE
    return (all_of_them >= _EVIDENCE) & (with_space >= _SPACED * all_of_them)


def tokens(sentence: Tagged) -> list[tuple[int, int]]:
    """Return where the tokens of a sentence start and stop."""
    stops = (np.flatnonzero(sentence.labels[:, END] == 1) + 1).tolist()
    white = (sentence.ids <= NEWLINE).tolist()
    starts = [0, *(stop + white[stop] for stop in stops[:-1])]
    return list(zip(starts, stops, strict=True))


def number_places(sentence: Tagged, digit: Flags, letter: Flags) -> list[tuple[int, int]]:
    """Return where the numbers of a sentence start and stop: from the first to the last digit between two spaces.

    There are no letters in them, and they start and stop where tokens do.
    """
    digits = digit[sentence.ids]
    if not digits.any():
        return []
    white, ends = sentence.ids <= NEWLINE, sentence.labels[:, END]
    found = list[tuple[int, int]]()
    for run in np.split(np.arange(len(digits)), np.flatnonzero(white)):
        inside = run[digits[run]]
        if not len(inside):
            continue
        start, stop = int(inside[0]), int(inside[-1]) + 1
        before = start - 1 - int(white[start - 1])
        starts = start == 0 or ends[before] == 1
        if starts and ends[stop - 1] == 1 and not letter[sentence.ids[start:stop]].any():
            found.append((start, stop))
    return found


def one_token(ids: Ids) -> Part:
    """Label ids as one token, with one word, that does not end a sentence."""
    labels = blank(len(ids))[1]
    labels[:, END] = 0
    labels[-1, END] = 1
    return ids.astype(np.int32), _plain(labels)


def _plain(labels: CharacterLabels) -> CharacterLabels:
    """Say of all tokens that they are one word and do not end a sentence."""
    ends = labels[:, END] == 1
    labels[ends, SENTENCE] = labels[ends, MULTIWORD] = 0
    return labels


def _numbers(sentences: Sequence[Tagged], digit: Flags, letter: Flags) -> list[Part]:
    """Return a number of every shape, with the token ends that are most frequent for this shape."""
    shapes: dict[bytes, Counter[bytes]] = defaultdict(Counter)
    for sentence in sentences:
        for start, stop in number_places(sentence, digit, letter):
            ids = sentence.ids[start:stop].copy()
            ids[digit[ids]] = ids[0]
            shapes[ids.tobytes()][sentence.labels[start:stop, END].tobytes()] += 1
    merged: dict[bytes, tuple[bytes, Counter[bytes]]] = {}
    for shape, counts in sorted(shapes.items()):
        ids = np.frombuffer(shape, np.int32)
        key = np.where(digit[ids], -1, ids).tobytes()
        merged.setdefault(key, (shape, Counter()))[1].update(counts)
    return [(np.frombuffer(shape, np.int32), _most_frequent(counts)) for shape, counts in merged.values()]


def _marker(treebank: Treebank, sentences: Sequence[Tagged], marker: str, digits: Ids) -> Part:
    """Return a marker of list items, labelled as at the start of sentences; if unseen, only its end is labelled."""
    ids = treebank.alphabet.read(marker).ids
    size, seen = len(ids), Counter[bytes]()
    fixed = np.array([not character.isdecimal() for character in marker])
    for sentence in sentences:
        first = sentence.ids[:size]
        if len(sentence.ids) <= size or sentence.ids[size] != SPACE:
            continue
        if (first == ids)[fixed].all() and np.isin(first[~fixed], digits).all():
            seen[sentence.labels[:size, END].tobytes()] += 1
    labels = _most_frequent(seen) if seen else blank(size)[1]
    labels[-1, END] = 1
    return ids, _plain(labels)


def _abbreviations(
    sentences: Sequence[Tagged], lower: Ids, letter: Flags, dot: int | None
) -> tuple[frozenset[tuple[int, ...]], list[Ids]]:
    """Return all tokens in lower case, and the abbreviations: tokens with a final dot inside sentences.

    There are none if the treebank cuts more dots off inside sentences than it leaves.
    """
    forms, found, cut = set[tuple[int, ...]](), set[tuple[int, ...]](), 0
    left = 0
    for sentence in sentences:
        places = tokens(sentence)
        for start, stop in places:
            ids = sentence.ids[start:stop]
            forms.add(tuple(lower[ids].tolist()))
            if ids[-1] != dot or (start, stop) == places[-1]:
                continue
            if len(ids) == 1:
                cut += start > 0 and bool(letter[sentence.ids[start - 1]])
            elif letter[ids[0]] and letter[ids[-2]]:
                found.add(tuple(ids.tolist()))
                left += 1
    enough = len(found) >= _EVIDENCE and left > cut
    return frozenset(forms), [np.array(each, np.int32) for each in sorted(found)] if enough else []


def _most_frequent(counts: Counter[bytes]) -> CharacterLabels:
    """Return labels with the most frequent token ends; ties go to the first in order."""
    ends = np.frombuffer(min(counts, key=lambda each: (-counts[each], each)), np.int8)
    labels = blank(len(ends))[1]
    labels[:, END] = ends
    return _plain(labels)


def _mapped(characters: dict[str, int], size: int, change: Callable[[str], str]) -> Ids:
    """Return for each id the id of its changed character, or itself if that is not known."""
    mapped = np.arange(size, dtype=np.int32)
    for character, number in characters.items():
        mapped[number] = characters.get(change(character), number)
    return mapped
