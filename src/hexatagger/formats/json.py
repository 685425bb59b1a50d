"""Sentences ⇄ plain values, as JSON has them: dictionaries, lists, strings and numbers.

Nothing is lost on the way: `from_values(to_values(sentence))` has all that the sentence has, comments, multiword
tokens, empty nodes, offsets, probabilities and alternatives included. Values that come from elsewhere are checked; what
is wrong is named with its place, as in `words[3].head`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hexatagger.errors import FormatError
from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word

_STRINGS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
_FIELDS = (
    *("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"),
    *("start", "end", "head_probability", "heads"),
)
_ROW = ("columns", "start", "end")
_SENTENCE = (
    *("text", "comments", "words", "multiwords", "empty_nodes"),
    *("probability", "head_samples", "alternatives", "tags"),
)
"""The keys of a sentence; `tags` are what the HTTP service adds, and follow from the rest."""

T = TypeVar("T")


def to_values(sentence: Sentence) -> dict[str, Any]:
    """Return everything a sentence has, columns without a value left out.

    >>> to_values(Sentence([Word(1, "Hi", head=0, deprel="root")]))
    {'words': [{'id': 1, 'form': 'Hi', 'head': 0, 'deprel': 'root'}]}
    """
    values: dict[str, Any] = {"text": sentence.comment("text"), "comments": list(sentence.comments)}
    values["words"] = [
        {name: value for name in _FIELDS if (value := getattr(word, name)) not in ("_", None) or name == "form"}
        for word in sentence.words
    ]
    values["multiwords"] = [_row(row, start=row.start, end=row.end) for row in sentence.multiwords]
    values["empty_nodes"] = [_row(row) for row in sentence.empty_nodes]
    values["probability"], values["head_samples"] = sentence.probability, sentence.head_samples or None
    values["alternatives"] = [to_values(alternative) for alternative in sentence.alternatives]
    return {name: value for name, value in values.items() if value or value == 0}


def _row(row: Multiword | EmptyNode, **offsets: int | None) -> dict[str, Any]:
    return {"columns": list(row.columns)} | {name: place for name, place in offsets.items() if place is not None}


def from_values(values: Mapping[str, Any]) -> Sentence:
    """Make the sentence that `to_values` made such values of.

    >>> from_values({"words": [{"id": 1, "form": "Hi", "head": 2}]})
    Traceback (most recent call last):
        ...
    hexatagger.errors.FormatError: words[0].head 2 is outside the sentence (1 words)
    """
    _keys("a sentence", values, _SENTENCE)
    rows = _list("words", values.get("words", []))
    words = [_word(f"words[{place}]", row, place + 1, len(rows)) for place, row in enumerate(rows)]
    comments = [_string(f"comments[{place}]", line) for place, line in enumerate(_list_of(values, "comments"))]
    for place, line in enumerate(comments):
        if not line.startswith("#"):
            raise FormatError(f"comments[{place}] '{line}' does not begin with '#'")
    sentence = Sentence(words, comments)
    if sentence.comment("text") is None and (text := values.get("text")) is not None:
        comments.append(f"# text = {' '.join(_string('text', text).splitlines())}")
    covered = 0
    for place, row in enumerate(_list_of(values, "multiwords")):
        sentence.multiwords.append(_multiword(f"multiwords[{place}]", row, covered, len(words)))
        covered = sentence.multiwords[-1].last
    for place, row in enumerate(_list_of(values, "empty_nodes")):
        sentence.empty_nodes.append(_empty_node(f"empty_nodes[{place}]", row, len(words)))
    sentence.probability = _maybe(values, "probability", "probability", _float)
    sentence.head_samples = _maybe(values, "head_samples", "head_samples", _int) or 0
    for place, other in enumerate(_list_of(values, "alternatives")):
        try:
            sentence.alternatives.append(from_values(other))
        except FormatError as error:
            raise FormatError(f"alternatives[{place}]: {error.message}") from None
    return sentence


def _word(place: str, values: Any, number: int, size: int) -> Word:
    """Make the word that is to have this number."""
    _keys(place, values, _FIELDS)
    if _int(f"{place}.id", values.get("id", number)) != number:
        raise FormatError(f"{place}.id {values['id']} is out of order: the next word is {number}")
    if "form" not in values:
        raise FormatError(f"{place} has no form")
    word = Word(number, "_")
    for name in _STRINGS:
        setattr(word, name, _string(f"{place}.{name}", values.get(name, "_")))
    for name in ("head", "start", "end"):
        setattr(word, name, _maybe(values, name, f"{place}.{name}", _int))
    word.head_probability = _maybe(values, "head_probability", f"{place}.head_probability", _float)
    word.heads = _maybe(values, "heads", f"{place}.heads", _pairs)
    for name, head in (("head", word.head), *(("heads", head) for head, _ in word.heads or ())):
        if head is not None and head > size:
            raise FormatError(f"{place}.{name} {head} is outside the sentence ({size} words)")
    return word


def _multiword(place: str, values: Any, covered: int, size: int) -> Multiword:
    columns, first, last = _columns(place, values, "-", "2-3")
    if not covered < first <= last <= size:
        raise FormatError(f"{place} '{columns[0]}' is no range of the words after {covered} up to {size}")
    start, end = (_maybe(values, name, f"{place}.{name}", _int) for name in ("start", "end"))
    return Multiword(first, last, columns[1], tuple(columns[2:]), start, end)


def _empty_node(place: str, values: Any, size: int) -> EmptyNode:
    columns, after, index = _columns(place, values, ".", "5.1")
    if after > size or index < 1:
        raise FormatError(f"{place} '{columns[0]}' stands after none of the {size} words")
    return EmptyNode(after, index, tuple(columns[1:]))


def _columns(place: str, values: Any, mark: str, example: str) -> tuple[list[str], int, int]:
    """Return the ten columns of a row that is no word, and the two numbers of its ID."""
    _keys(place, values, _ROW)
    columns = [_string(f"{place}.columns", each) for each in _list(f"{place}.columns", values.get("columns"))]
    if len(columns) != 10:
        raise FormatError(f"{place} has {len(columns)} columns instead of 10")
    first, _, second = columns[0].partition(mark)
    if not all(number.isascii() and number.isdigit() for number in (first, second)):
        raise FormatError(f"{place} '{columns[0]}' is no ID like {example}")
    return columns, int(first), int(second)


def _keys(place: str, values: Any, known: Sequence[str]) -> None:
    if not isinstance(values, Mapping):
        raise FormatError(f"{place} is {_kind(values)} where an object is needed")
    for name in values:
        if name not in known:
            raise FormatError(f"{place} has an unknown key '{name}': known are {', '.join(known)}")


def _maybe(values: Mapping[str, Any], name: str, place: str, read: Callable[[str, Any], T]) -> T | None:
    """Read a value that may be missing."""
    value = values.get(name)
    return None if value is None else read(place, value)


def _list_of(values: Mapping[str, Any], name: str) -> Sequence[Any]:
    return _list(name, values.get(name, []))


def _list(place: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise FormatError(f"{place} is {_kind(value)} where a list is needed")
    return value


def _string(place: str, value: Any) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{place} is {_kind(value)} where a string is needed")
    return value


def _int(place: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise FormatError(f"{place} is {_kind(value)} where a number from 0 up is needed")
    return value


def _float(place: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise FormatError(f"{place} is {_kind(value)} where a number is needed")
    return value


def _pairs(place: str, value: Any) -> list[tuple[int, float]]:
    """Read heads with their probabilities; JSON has lists for pairs."""
    found = []
    for pair in _list(place, value):
        if len(_list(place, pair)) != 2:
            raise FormatError(f"{place} holds {_kind(pair)} where a head and its probability are needed")
        found.append((_int(place, pair[0]), _float(place, pair[1])))
    return found


def _kind(value: Any) -> str:
    """Show a value in a message."""
    shown = "null" if value is None else repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"
