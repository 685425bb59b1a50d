"""Sentences ⇄ plain values for JSON: dictionaries, lists, strings and numbers.

Nothing is lost: `from_values(to_values(sentence))` has everything that the sentence has, including comments, multiword
tokens, empty nodes, offsets, probabilities and alternatives. `from_values` checks what it reads; an error names the
place, as in `words[3].head`. `SCHEMA` describes the values as a JSON Schema.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hexatagger.errors import FormatError
from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word

_STRINGS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
_MOST_DIGITS = 9  # of a number in an ID

_TEXT: dict[str, Any] = {"type": "string"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_SHARE: dict[str, Any] = {"type": "number"}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _array(items: dict[str, Any], description: str = "") -> dict[str, Any]:
    return {"type": "array", "items": items} | ({"description": description} if description else {})


_WORD = {
    "id": {"type": "integer", "minimum": 1},
    **dict.fromkeys(("form", "lemma", "upos", "xpos", "feats"), _TEXT),
    "head": _COUNT | {"description": "The number of the head; 0: the root."},
    **dict.fromkeys(("deprel", "deps", "misc"), _TEXT),
    "start": _COUNT | {"description": "Where the word, or its token, begins in the text."},
    "end": _COUNT | {"description": "Where the word, or its token, ends in the text."},
    "head_probability": _SHARE | {"description": "Probability of the head, given the constraints."},
    "heads": _array(
        {"type": "array", "prefixItems": [_COUNT, _SHARE], "minItems": 2, "maxItems": 2},
        "Possible heads with their probabilities, most probable first.",
    ),
}
_ROW = {
    "columns": _array(_TEXT, "The ten columns of CoNLL-U.") | {"minItems": 10, "maxItems": 10},
    "start": _COUNT,
    "end": _COUNT,
}
_SENTENCE = {
    "text": _TEXT,
    "comments": _array(_TEXT, "Comment lines, with their '#'."),
    "words": _array({"$ref": "#/$defs/Word"}),
    "multiwords": _array({"$ref": "#/$defs/Row"}, "Multiword tokens."),
    "empty_nodes": _array({"$ref": "#/$defs/Row"}, "Empty nodes of the enhanced graph."),
    "probability": _SHARE | {"description": "Probability of this tree, given the constraints."},
    "head_samples": _COUNT | {"description": "How many samples the head probabilities come from; absent if exact."},
    "alternatives": _array({"$ref": "#/$defs/Sentence"}, "The next best trees, most probable first."),
    "tags": _array(_TEXT, "Added by the service: the 2N − 1 hexatags, each leaf with its deprel after a slash."),
    "layout": {"type": "object", "description": "Added by the service: the coordinates of a drawing."},
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Sentence of hexatagger",
    "$ref": "#/$defs/Sentence",
    "$defs": {
        "Sentence": _object(_SENTENCE),
        "Word": _object(_WORD, "form"),
        "Row": _object(_ROW, "columns"),
    },
}
"""The JSON Schema of a sentence. `tags` and `layout` follow from the rest; they are accepted but not read."""

T = TypeVar("T")


def to_values(sentence: Sentence) -> dict[str, Any]:
    """Return everything that a sentence has; columns without a value are left out.

    >>> to_values(Sentence([Word(1, "Hi", head=0, deprel="root")]))
    {'words': [{'id': 1, 'form': 'Hi', 'head': 0, 'deprel': 'root'}]}
    """
    values: dict[str, Any] = {"text": sentence.comment("text"), "comments": list(sentence.comments)}
    values["words"] = [
        {name: value for name in _WORD if (value := getattr(word, name)) not in ("_", None) or name == "form"}
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
    """Make a sentence of values like those of `to_values`.

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
    """Make word number `number`."""
    _keys(place, values, _WORD)
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
        raise FormatError(f"{place} '{columns[0]}' is not a range of words between {covered + 1} and {size}")
    start, end = (_maybe(values, name, f"{place}.{name}", _int) for name in ("start", "end"))
    return Multiword(first, last, columns[1], tuple(columns[2:]), start, end)


def _empty_node(place: str, values: Any, size: int) -> EmptyNode:
    columns, after, index = _columns(place, values, ".", "5.1")
    if after > size or index < 1:
        raise FormatError(f"{place} '{columns[0]}' does not follow any of the {size} words")
    return EmptyNode(after, index, tuple(columns[1:]))


def _columns(place: str, values: Any, mark: str, example: str) -> tuple[list[str], int, int]:
    """Return the ten columns of a row that is not a word, and the two numbers of its ID."""
    _keys(place, values, _ROW)
    columns = [_string(f"{place}.columns", each) for each in _list(f"{place}.columns", values.get("columns"))]
    if len(columns) != 10:
        raise FormatError(f"{place} has {len(columns)} columns instead of 10")
    first, _, second = columns[0].partition(mark)
    if not all(each.isascii() and each.isdigit() and len(each) <= _MOST_DIGITS for each in (first, second)):
        raise FormatError(f"{place} {_kind(columns[0])} is not an ID like {example}")
    return columns, int(first), int(second)


def _keys(place: str, values: Any, known: Mapping[str, Any]) -> None:
    if not isinstance(values, Mapping):
        raise FormatError(f"{place} is {_kind(values)} where an object is needed")
    for name in values:
        if name not in known:
            raise FormatError(f"{place} has an unknown key '{name}': known are {', '.join(known)}")


def _maybe(values: Mapping[str, Any], name: str, place: str, read: Callable[[str, Any], T]) -> T | None:
    """Read an optional value."""
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
        raise FormatError(f"{place} is {_kind(value)} where a number, 0 or greater, is needed")
    return value


def _float(place: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise FormatError(f"{place} is {_kind(value)} where a number is needed")
    return value


def _pairs(place: str, value: Any) -> list[tuple[int, float]]:
    """Read pairs of a head and its probability; in JSON a pair is a list."""
    found = []
    for pair in _list(place, value):
        if len(_list(place, pair)) != 2:
            raise FormatError(f"{place} holds {_kind(pair)} where a head and its probability are needed")
        found.append((_int(place, pair[0]), _float(place, pair[1])))
    return found


def _kind(value: Any) -> str:
    """Shorten a value for a message."""
    shown = "null" if value is None else repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"
