"""Change the training text of the segmenter towards text as people write it.

A treebank has one layout, few numbers and few abbreviations. So every pass over it changes some paragraphs and
sentences, each with a certain probability (`Changes`):

- layout: lines wrapped at some width (the raw text of UD is wrapped at 80 characters), one sentence per line, numbered
  and bulleted lists, sentences of different documents side by side;
- sentences: other digits, other numbers, known and invented abbreviations, web and mail addresses in place of a word,
  no final punctuation (headings), emoji at the end, punctuation without the space that the treebank puts before it;
- characters: upper or lower case throughout, curly quotation marks, other dashes.

What is put in is labelled as the treebank labels such things (`material`): "1/2" is one token or three, whichever is
more frequent there. A label that the treebank does not tell is left out of the loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from hexatagger.errors import ConfigError
from hexatagger.segment.alphabet import NEWLINE, OUTSIDE, SPACE, Ids
from hexatagger.segment.segmenter import END, MULTIWORD, SENTENCE
from hexatagger.train.segmenter.data import IGNORE, Part, Tagged, blank
from hexatagger.train.segmenter.material import Material, number_places, one_token, tokens

T = TypeVar("T")

_WIDTH = 80  # of lines in the raw text of UD
_WIDTHS = (40, 100)  # of other lines
_SHORTENED = 5  # letters that a word has at least if it is made an abbreviation
_EMOJI = "😀👍🎉☺"  # all are read as their category
_FRONT, _DOMAINS = ("http://", "https://", "www.", "http://www."), ("com", "org", "net", "info", "co.uk", "de", "fr")
_BACK = ("", "/", ".html", "/index.php?id=1", ".html?x=1&y=2", "#top")


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The probability of every change."""

    # of a paragraph; the first three exclude each other
    wrapped: float = 0.45  # lines wrapped
    lines: float = 0.15  # one sentence per line
    lists: float = 0.15  # a part of it is a list
    mixed: float = 0.1  # its sentences replaced by others, from anywhere
    upper: float = 0.02
    lower: float = 0.05
    quotes: float = 0.1
    dashes: float = 0.1
    # of a sentence
    digits: float = 0.3  # other digits in all numbers
    numbers: float = 0.2  # a number replaced by one of another shape
    abbreviations: float = 0.12  # a word replaced by an abbreviation
    addresses: float = 0.03  # a word replaced by a web or mail address
    headings: float = 0.05  # no final punctuation, and a line break
    emoji: float = 0.02
    attached: float = 0.5  # no space before punctuation, where the treebank has one

    def __post_init__(self) -> None:
        for each in fields(self):
            if not 0 <= (value := getattr(self, each.name)) <= 1:
                raise ConfigError(f"segmenter.changes.{each.name} {value} is not between 0 and 1")
        if self.wrapped + self.lines + self.lists > 1:
            raise ConfigError("segmenter.changes: wrapped + lines + lists is greater than 1")


def change(paragraph: Sequence[Tagged], material: Material, changes: Changes, random: np.random.Generator) -> Part:
    """Return a paragraph, perhaps changed."""
    if random.random() < changes.mixed:
        paragraph = [_draw(material.sentences, random) for _ in paragraph]
        # Without its neighbours, nothing but a line break shows where a sentence without a full stop ends.
        paragraph = [each if material.point[each.ids[-1]] else _on_its_line(each) for each in paragraph]
    sentences = [_change_sentence(sentence, material, changes, random) for sentence in paragraph]
    layout, shares = random.random(), np.cumsum([changes.wrapped, changes.lines, changes.lists])
    if shares[0] <= layout < shares[1]:
        sentences = [_on_its_line(sentence) for sentence in sentences]
    elif shares[1] <= layout < shares[2]:
        sentences = _listed(sentences, material, random)
    parts: list[Part] = []
    for sentence in sentences:
        parts += [(sentence.ids, sentence.labels), _gap(sentence.space)]
    row, labels = _join(*parts[:-1])
    if layout < shares[0]:
        width = _WIDTH if random.random() < 0.5 else int(random.integers(*_WIDTHS))
        wrap(row, width, least=width if random.random() < 0.8 else width // 2, random=random)
    return _change_characters(row, material, changes, random), labels


def wrap(row: Ids, width: int, *, least: int, random: np.random.Generator) -> None:
    """Wrap a text in place: a line gets as many words as fit into a width between `least` and `width` characters."""
    spaces = np.flatnonzero(row == SPACE)
    bounds = [0, *(np.flatnonzero(row == NEWLINE) + 1).tolist(), len(row) + 1]
    for begin, end in pairwise(bounds):
        start = begin
        while end - 1 - start > width:
            line = int(random.integers(least, width + 1))
            place = int(np.searchsorted(spaces, start + line, side="right")) - 1
            if place < 0 or spaces[place] < start:  # a word is longer than the line
                place += 1
            if place == len(spaces) or spaces[place] >= end:
                break
            row[spaces[place]] = NEWLINE
            start = int(spaces[place]) + 1


def _change_sentence(sentence: Tagged, material: Material, changes: Changes, random: np.random.Generator) -> Tagged:
    """Change the words of a sentence."""
    numbers, digits, abbreviations, addresses, headings, emoji = random.random(6).tolist()
    if numbers < changes.numbers:
        sentence = _other_number(sentence, material, random)
    if digits < changes.digits:
        sentence = replace(sentence, ids=_other_digits(sentence.ids, material, random))
    if abbreviations < changes.abbreviations:
        sentence = _abbreviated(sentence, material, random)
    if addresses < changes.addresses:
        sentence = _with_address(sentence, material, random)
    if headings < changes.headings:
        sentence = _on_its_line(_without_point(sentence, material))
    if emoji < changes.emoji:
        sentence = _with_emoji(sentence, material, random)
    if material.spaced.any() and random.random() < changes.attached:
        sentence = _attached(sentence, material)
    return sentence


def _other_digits(ids: Ids, material: Material, random: np.random.Generator) -> Ids:
    """Replace the digits 0 to 9 by others."""
    places = np.flatnonzero(np.isin(ids, material.digits))
    changed = ids.copy()
    if len(places):
        changed[places] = random.choice(material.digits, len(places))
    return changed


def _other_number(sentence: Tagged, material: Material, random: np.random.Generator) -> Tagged:
    """Replace a number by one of another shape; all shapes are equally probable: 250 → 1/2."""
    places = number_places(sentence, material.digit, material.letter)
    if not places:
        return sentence
    ids, labels = _draw(material.numbers, random)
    return _put(sentence, *_draw(places, random), (_other_digits(ids, material, random), labels))


def _abbreviated(sentence: Tagged, material: Material, random: np.random.Generator) -> Tagged:
    """Replace a word by an abbreviation: a known one, or its first letters. A number or a capital may follow.

    The last word is shortened too, so that a short unknown word with a dot is not always an abbreviation.
    """
    if not material.abbreviations:
        return sentence
    size, ids = len(sentence.ids), sentence.ids
    words = [each for each in _words(sentence, material) if each[1] - each[0] >= _SHORTENED and each[1] < size]
    places = [each for each in words if ids[each[1]] == SPACE]
    final = [each for each in words if each[1] == size - 1 and material.point[ids[-1]]]
    ends = bool(final) and random.random() < 0.25
    if not (ends or places):
        return sentence
    start, stop = final[0] if ends else _draw(places, random)
    new = _draw(material.abbreviations, random)
    if ends or random.random() < 0.6:
        short = ids[start : start + int(random.integers(2, _SHORTENED + 1))]
        if tuple(material.lower[short].tolist()) in material.forms:  # a word: its dot may well end a sentence
            return sentence
        new = short if ends else np.append(short, new[-1])
    following, after = random.random(), start + len(new) + 1
    part = one_token(new)
    if not ends and following < 0.35 and len(material.digits):
        figure = random.choice(material.digits, int(random.integers(1, 4)))
        part = _join(part, _gap(SPACE), one_token(figure))
    sentence = _put(sentence, start, stop, part)
    if not ends and following > 0.8:
        ids = sentence.ids.copy()
        ids[after] = material.upper[ids[after]]
        sentence = replace(sentence, ids=ids)
    return sentence


def _with_address(sentence: Tagged, material: Material, random: np.random.Generator) -> Tagged:
    """Replace a word by a web or mail address, unless it has characters that the treebank does not have."""
    places = _words(sentence, material)
    if not places:
        return sentence
    first, second, *path = (_draw(material.names, random) for _ in range(int(random.integers(2, 5))))
    domain = f"{first}.{_draw(_DOMAINS, random)}"
    if random.random() < 0.3:
        address = f"{'.'.join([second, *path])}@{domain}"
    else:
        address = "/".join([_draw(_FRONT, random) + domain, *path])
        address += _draw(_BACK, random) if path else ""
    place, alphabet = _draw(places, random), material.treebank.alphabet
    known = alphabet.characters.keys() >= set(address)
    return _put(sentence, *place, one_token(alphabet.read(address).ids)) if known else sentence


def _with_emoji(sentence: Tagged, material: Material, random: np.random.Generator) -> Tagged:
    """Put emoji at the end of a sentence. Whether several in a row are one token is not said."""
    text = _draw(_EMOJI, random) * _draw((1, 1, 1, 2, 3), random)
    ids, labels = one_token(material.treebank.alphabet.read(text).ids)
    labels[:-1, END] = IGNORE
    labels[-1, SENTENCE] = 1
    before = sentence.labels.copy()
    before[-1, SENTENCE] = 0
    gap = _gap(SPACE if random.random() < 0.7 else OUTSIDE)
    return Tagged(*_join((sentence.ids, before), gap, (ids, labels)), sentence.space)


def _attached(sentence: Tagged, material: Material) -> Tagged:
    """Remove the space before every punctuation mark that the treebank writes with a space before it."""
    ids = sentence.ids
    marks = [start for start, stop in tokens(sentence) if stop - start == 1 and material.spaced[ids[start]]]
    kept = np.ones(len(ids), np.bool_)
    kept[[start - 1 for start in marks if start and ids[start - 1] == SPACE]] = False
    return Tagged(ids[kept], sentence.labels[kept], sentence.space)


def _without_point(sentence: Tagged, material: Material) -> Tagged:
    """Remove the final punctuation of a sentence, if it is a token of one character that touches the one before."""
    ends = np.flatnonzero(sentence.labels[:, END] == 1)
    if len(ends) < 2 or ends[-1] != ends[-2] + 1 or not material.point[sentence.ids[-1]]:
        return sentence
    labels = sentence.labels[:-1].copy()
    labels[-1, SENTENCE] = 1
    return Tagged(sentence.ids[:-1], labels, sentence.space)


def _listed(sentences: Sequence[Tagged], material: Material, random: np.random.Generator) -> list[Tagged]:
    """Make a random part of a paragraph a list with one item per line."""
    first = int(random.integers(len(sentences)))
    last = int(random.integers(first, len(sentences)))
    marker, short = _draw(material.markers, random), random.random() < 0.7
    found = list(sentences)
    if first:
        found[first - 1] = _on_its_line(found[first - 1])
    for number in range(first, last + 1):
        item = _without_point(found[number], material) if short else found[number]
        start = _numbered(marker, number - first + 1, material)
        found[number] = Tagged(*_join(start, _gap(SPACE), (item.ids, item.labels)), NEWLINE)
    return found


def _numbered(marker: Part, number: int, material: Material) -> Part:
    """Put a number in the place of the digit of a marker, if it has one."""
    ids, labels = marker
    places = np.flatnonzero(material.digit[ids])
    if not len(places):
        return marker
    place = int(places[0])
    figure = material.treebank.alphabet.read(str(number)).ids
    inner = labels[[place] * len(figure)]
    inner[:-1] = IGNORE
    inner[:-1, END] = 0
    return _join((ids[:place], labels[:place]), (figure, inner), (ids[place + 1 :], labels[place + 1 :]))


def _change_characters(row: Ids, material: Material, changes: Changes, random: np.random.Generator) -> Ids:
    """Change the case, the quotation marks and the dashes of a paragraph."""
    upper, lower, quotes, dashes = random.random(4).tolist()
    if upper < changes.upper:
        row = material.upper[row]
    elif lower < changes.lower:
        row = material.lower[row]
    white = row <= NEWLINE
    before, after = np.append(True, white)[:-1], np.append(white, True)[1:]
    if quotes < changes.quotes:
        row = np.where(before, material.treebank.opening[row], material.treebank.closing[row])
    if dashes < changes.dashes and len(material.dashes):
        row = np.where(before & after & np.isin(row, material.dashes), random.choice(material.dashes), row)
    return row


def _words(sentence: Tagged, material: Material) -> list[tuple[int, int]]:
    """Return where the tokens start and stop that are single words of letters."""
    letter, several = material.letter[sentence.ids], sentence.labels[:, MULTIWORD]
    return [each for each in tokens(sentence) if letter[each[0] : each[1]].all() and several[each[1] - 1] == 0]


def _put(sentence: Tagged, start: int, stop: int, part: Part) -> Tagged:
    """Put other tokens in the place of tokens."""
    ids, labels = part[0], part[1].copy()
    labels[-1, SENTENCE] = sentence.labels[stop - 1, SENTENCE]
    before, after = (sentence.ids[:start], sentence.labels[:start]), (sentence.ids[stop:], sentence.labels[stop:])
    return Tagged(*_join(before, (ids, labels), after), sentence.space)


def _on_its_line(sentence: Tagged) -> Tagged:
    """Put a line break after a sentence."""
    return replace(sentence, space=NEWLINE)


def _gap(space: int) -> Part:
    """Return a space, or nothing for OUTSIDE."""
    _, labels = blank(int(space != OUTSIDE))
    return np.full(len(labels), space, np.int32), labels


def _join(*parts: Part) -> Part:
    """Join parts of a text."""
    ids, labels = zip(*parts, strict=True)
    return np.concatenate(ids), np.concatenate(labels)


def _draw(values: Sequence[T], random: np.random.Generator) -> T:
    """Return one of several values, all equally probable."""
    return values[int(random.integers(len(values)))]
