"""A request's JSON → a Question that makes sense, or a Refused that says what is wrong with it, and where.

Everything is checked here by hand, once, so that the messages are ours and nothing behind this file meets a value of
the wrong kind. `openapi` says the same in the words of JSON Schema; a fuzzer holds the two against each other.
"""

import io
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeVar, cast

from hexatagger.errors import FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.sentence import Sentence
from hexatagger.server.options import Options

Value = TypeVar("Value")
To = Literal["json", "conllu", "svg"]
Show = Literal["arcs", "bht", "tags", "all"]
SOURCES = ("text", "words", "conllu")
TARGETS = ("json", "conllu", "svg")
SHOWS = ("arcs", "bht", "tags", "all")
_CHARTS = 4
"""How many charts of the longest sentence a request may take that has constraints (see `decode.chart`): seconds."""
FIELDS = (*SOURCES, "model", "to", "show", "sentence", "tree", "tags", "probabilities", "k", "constraints")
_WORD_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_CONSTRAINTS = ("heads", "forbidden", "relations", "root", "spans")


class Refused(Exception):  # noqa: N818
    """A request that gets no answer but this: an HTTP status, a code for programs, a sentence for people."""

    def __init__(
        self, status: int, code: str, message: str, *, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field, self.retry_after = status, code, message, field, retry_after


@dataclass(frozen=True, slots=True)
class Known:
    """What a request says is known of one sentence; relations are names here."""

    heads: Mapping[int, int]
    forbidden: Collection[tuple[int, int]]
    relations: Mapping[int, Collection[str]]
    root: int | None
    spans: Collection[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: text or sentences, and what is wanted of them."""

    model: str
    text: str | None = None
    sentences: Sequence[Sentence] = ()
    to: To = "json"
    show: Show = "arcs"
    sentence: int | None = None
    """Which sentence to draw, from 1."""
    tree: int | None = None
    """Which of the k best trees to draw or write, from 1; if none is named, CoNLL-U has all, a drawing the best."""
    tags: bool = False
    probabilities: bool = False
    k: int = 1
    known: Sequence[Known | None] = ()
    """Of the first sentences, of all, or of none."""

    @property
    def exact(self) -> bool:
        """Whether more is asked than the best tree."""
        return self.probabilities or self.k > 1 or any(self.known)


def read_question(body: bytes, options: Options) -> Question:
    """Check the body of a request.

    >>> read_question(b'{"words": [["She", "reads"]]}', Options()).sentences[0].forms
    ['She', 'reads']
    >>> read_question(b'{"text": "She reads.", "k": 0}', Options())
    Traceback (most recent call last):
        ...
    hexatagger.server.question.Refused: k must be between 1 and 20
    """
    values = _object(_json(body), "")
    _only(values, FIELDS, "")
    given = [name for name in SOURCES if name in values]
    if len(given) != 1:
        _wrong("", f"exactly one of text, words and conllu is needed, not {' and '.join(given) or 'none'}")
    model = _string(values.get("model", options.default_model), "model")
    if model not in options.models:
        known = ", ".join(options.models)
        raise Refused(404, "unknown_model", f"there is no model '{model[:80]}': use {known}", field="model")
    sentences: Sequence[Sentence] = ()
    if given[0] == "words":
        sentences = _words(values["words"])
    elif given[0] == "conllu":
        sentences = _conllu(_string(values["conllu"], "conllu"))
    k = _integer(values.get("k", 1), "k", 1, options.max_k)
    question = Question(
        model=model,
        text=_string(values["text"], "text") if given[0] == "text" else None,
        sentences=sentences,
        to=cast("To", _choice(values.get("to", "json"), "to", TARGETS)),
        show=cast("Show", _choice(values.get("show", "arcs"), "show", SHOWS)),
        sentence=None if "sentence" not in values else _integer(values["sentence"], "sentence", 1, 10**9),
        tree=None if "tree" not in values else _integer(values["tree"], "tree", 1, options.max_k),
        tags=_flag(values.get("tags", False), "tags"),
        probabilities=_flag(values.get("probabilities", False), "probabilities"),
        k=k,
        known=_known(values.get("constraints", [])),
    )
    if question.tree is not None and question.tree > k:
        _wrong("tree", f"tree {question.tree} is asked for, but only {k} {'are' if k > 1 else 'is'} made: raise k")
    if question.text is None:
        check_size(question, sentences, options)
    return question


def check_size(question: Question, sentences: Sequence[Sentence], options: Options) -> None:
    """Refuse what is too much, once the words are known."""
    words = sum(map(len, sentences))
    if words > options.max_words:
        message = f"{words} words are more than the {options.max_words} of one request: send them in parts"
        raise Refused(413, "too_many_words", message)
    if len(question.known) > len(sentences):
        _wrong("constraints", f"constraints for {len(question.known)} sentences, but there are {len(sentences)}")
    longest = max(map(len, sentences), default=0)
    if question.exact and longest > options.max_exact:
        message = (
            f"a sentence of {longest} words is too long for probabilities, k and constraints "
            f"({options.max_exact} at most): ask for the best tree only"
        )
        raise Refused(413, "sentence_too_long", message)
    charts = 2 * question.k - 1 + (3 if question.probabilities or question.k > 1 else 0)
    pairs = zip(sentences, question.known, strict=False)
    if charts * sum(len(sentence) ** 4 for sentence, known in pairs if known) > _CHARTS * options.max_exact**4:
        message = (
            f"{question.k} trees of sentences so long that obey constraints take too much time, which grows with the "
            "fourth power of the words: ask for fewer trees, or with constraints on fewer or shorter sentences"
        )
        raise Refused(413, "sentence_too_long", message)


def _json(body: bytes) -> Any:
    """Read JSON; numbers that JSON does not have, and halves of characters, are refused."""
    try:
        text = body.decode("utf-8")
        values = json.loads(text, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise Refused(400, "malformed_json", f"the body is not UTF-8 (byte {error.start + 1})") from None
    except RecursionError:
        raise Refused(400, "malformed_json", "the body is nested too deeply") from None
    except ValueError as error:
        raise Refused(400, "malformed_json", f"the body is not JSON: {error}") from None
    if "\\u" in text or "\\U" in text:
        _no_halves(values)
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _no_halves(values: Any) -> None:
    """Refuse strings with half a surrogate pair: they cannot be written as UTF-8 again."""
    try:
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(422, "invalid", "a string has half of a surrogate pair, like \\ud800 alone") from None


def _wrong(field: str, message: str) -> NoReturn:
    raise Refused(422, "invalid", message, field=field or None)


def _object(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _wrong(field, f"{field or 'the body'} must be an object, not {_kind(value)}")
    return value


def _list(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        _wrong(field, f"{field} must be a list, not {_kind(value)}")
    return value


def _only(values: Mapping[str, Any], fields: Sequence[str], field: str) -> None:
    for name in values:
        if name not in fields:
            _wrong(f"{field}.{name}".strip("."), f"'{name[:80]}' is not a field: use {', '.join(fields)}")


def _string(value: Any, field: str) -> str:
    if not isinstance(value, str):
        _wrong(field, f"{field} must be a string, not {_kind(value)}")
    return value


def _flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        _wrong(field, f"{field} must be true or false, not {_kind(value)}")
    return value


def _choice(value: Any, field: str, choices: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        _wrong(field, f"{field} must be one of: {', '.join(choices)}")
    return value


def _integer(value: Any, field: str, least: int, most: int) -> int:
    if isinstance(value, float) and value.is_integer():  # 2.0 is an integer of JSON Schema
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        _wrong(field, f"{field} must be a whole number, not {_kind(value)}")
    if not least <= value <= most:
        _wrong(
            field,
            f"{field} must be between {least} and {most}" if most < 10**9 else f"{field} must be at least {least}",
        )
    return value


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")


def _words(value: Any) -> list[Sentence]:
    """Make Sentences of lists of words."""
    made = []
    for number, words in enumerate(_list(value, "words")):
        if not _list(words, f"words[{number}]"):
            _wrong(f"words[{number}]", "a sentence has at least one word")
        for place, word in enumerate(words):
            field = f"words[{number}][{place}]"
            if not _string(word, field) or any(character in word for character in "\t\n\r"):
                _wrong(field, f"{field} must have a character, and neither tab nor line end")
        made.append(Sentence.from_words(words))
    return made


def _conllu(text: str) -> list[Sentence]:
    """Read CoNLL-U; the empty line after the last sentence may be missing."""
    try:
        return list(read_conllu(io.StringIO(text.rstrip("\r\n") + "\n\n")))
    except FormatError as error:
        place = f"line {error.line}: " if error.line else ""
        raise Refused(422, "invalid_conllu", f"{place}{error.message}", field="conllu") from None


def _known(value: Any) -> list[Known | None]:
    """Read what is known: for each of the first sentences an object or null."""
    made: list[Known | None] = []
    for number, known in enumerate(_list(value, "constraints")):
        field = f"constraints[{number}]"
        if known is None:
            made.append(None)
            continue
        _only(_object(known, field), _CONSTRAINTS, field)
        root = known.get("root")
        made.append(
            Known(
                heads=_by_word(
                    known.get("heads", {}), f"{field}.heads", lambda each, place: _integer(each, place, 0, 10**9)
                ),
                forbidden=_pairs(known.get("forbidden", []), f"{field}.forbidden"),
                relations=_by_word(known.get("relations", {}), f"{field}.relations", _names),
                root=None if root is None else _integer(root, f"{field}.root", 1, 10**9),
                spans=_pairs(known.get("spans", []), f"{field}.spans"),
            )
        )
    return made


def _by_word(value: Any, field: str, check: Callable[[Any, str], Value]) -> dict[int, Value]:
    """Read an object whose keys are numbers of words."""
    found = {}
    for key, each in _object(value, field).items():
        if not _WORD_NUMBER.fullmatch(key):
            _wrong(field, f"'{key[:80]}' in {field} is not the number of a word")
        found[int(key)] = check(each, f"{field}.{key}")
    return found


def _names(value: Any, field: str) -> list[str]:
    names = [_string(each, field) for each in (value if isinstance(value, list) else [value])]
    return names or _wrong(field, f"{field} must name a relation")


def _pairs(value: Any, field: str) -> list[tuple[int, int]]:
    found = []
    for number, pair in enumerate(_list(value, field)):
        place = f"{field}[{number}]"
        if len(_list(pair, place)) != 2:
            _wrong(place, f"{place} must be two numbers")
        found.append((_integer(pair[0], place, 1, 10**9), _integer(pair[1], place, 0, 10**9)))
    return found
