"""The body of POST /v1/parse: pydantic models that check it, and the ParseTask that is made of it.

The models are strict: "2" is not 2, unknown fields are refused. FastAPI publishes their JSON Schema in /openapi.json.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from hexatagger.decode import Constraints
from hexatagger.draw import Show
from hexatagger.draw.svg import WIDTH
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.language import choose
from hexatagger.model.registry import AUTO
from hexatagger.sentence import Sentence
from hexatagger.server.options import ServerOptions
from hexatagger.server.refused import Refused, explain

SOURCES = ("text", "words", "conllu")
_CHARACTERS = 20
"""Characters of text per word that a request may have: longer text is refused before it is segmented."""


def _whole(value: Any) -> Any:
    """Take 2.0 for 2: JSON Schema says that it is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _describe(schema: dict[str, Any]) -> None:
    """Say in the JSON Schema that one source is needed, and hide defaults that stand for "not given"."""
    schema["oneOf"] = [{"required": [name]} for name in SOURCES]
    for name in (*SOURCES, "model", "sentence", "tree"):
        del schema["properties"][name]["default"]


_NOTHING_ELSE: dict[str, JsonValue] = {"additionalProperties": False}
Number = Annotated[int, Field(ge=1, le=10**9), BeforeValidator(_whole)]
Head = Annotated[int, Field(ge=0, le=10**9), BeforeValidator(_whole)]
WordForm = Annotated[str, Field(min_length=1, pattern=r"^[^\t\n\r]+$")]
WordKey = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}$")]
_Names = Annotated[list[str], Field(min_length=1)]
Deprels = Annotated[
    _Names,
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=str | _Names),
]


class RequestConstraints(BaseModel):
    """Constraints on the tree of one sentence."""

    model_config = ConfigDict(extra="forbid", strict=True)

    heads: dict[WordKey, Head] = Field({}, description="Word → its head; 0: the root.", json_schema_extra=_NOTHING_ELSE)
    forbidden: list[tuple[Number, Head]] = Field([], description="Pairs of a word and a head that it must not have.")
    relations: dict[WordKey, Deprels] = Field(
        {}, description="Word → the relations it may have.", json_schema_extra=_NOTHING_ELSE
    )
    root: Number | None = Field(None, description="The root word.")
    spans: list[tuple[Number, Number]] = Field([], description="First and last word of each unit.")

    def known(self) -> Constraints:
        """Return the same for the parser."""
        return Constraints(
            heads={int(word): head for word, head in self.heads.items()},
            forbidden=sorted(set(self.forbidden)),
            relations={int(word): names for word, names in self.relations.items()},
            root=self.root,
            spans=sorted(set(self.spans)),  # each one costs time in every chart
        )


class ParseRequest(BaseModel):
    """What to parse, and what to answer."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_describe)

    text: str = Field("", description="Running text.")
    words: list[Annotated[list[WordForm], Field(min_length=1)]] = Field([], description="Sentences as lists of words.")
    conllu: str = Field("", description="CoNLL-U. Columns that the model does not predict are kept.")
    model: str = Field("", description="Name of a model, or auto: by the language. Default: the first one.")
    to: Literal["json", "conllu", "svg"] = Field("json", description="Format of the answer.")
    show: Show = Field("arcs", description="What an SVG shows.")
    width: Number = Field(WIDTH, description="Pixels: an SVG that would be wider has one word per row.")
    sentence: Number = Field(0, description="Which sentence an SVG shows.")
    tree: Number = Field(0, description="Which of the k best trees to write as SVG or CoNLL-U.")
    tags: bool = Field(False, description="Add the hexatags to JSON.")
    layout: bool = Field(False, description="Add the coordinates of a drawing to JSON.")
    probabilities: bool = Field(False, description="Add the probability of every head and of the tree.")
    k: Number = Field(1, description="Number of trees, best first.")
    constraints: list[RequestConstraints | None] = Field(
        [], description="Constraints for the first sentence, the second, and so on; null for none."
    )


@dataclass(frozen=True, slots=True)
class ParseTask:
    """A request that was checked, with its input as Sentences; text is segmented later, by the model."""

    request: ParseRequest
    sentences: Sequence[Sentence]
    constraints: Sequence[Constraints | None]
    """For the first sentences; the others have none."""

    def pairs(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Sentence, Constraints | None]]:
        """Return sentences, each with its constraints."""
        return zip(sentences, chain(self.constraints, repeat(None)), strict=False)


def read_request(body: bytes, options: ServerOptions, folders: Mapping[str, Path] | None = None) -> ParseTask:
    """Check the body of a request; `folders` are those of the models, to choose one by the language of a text.

    >>> read_request(b'{"words": [["She", "reads"]]}', ServerOptions()).sentences[0].forms
    ['She', 'reads']
    >>> read_request(b'{"text": "She reads.", "k": 0}', ServerOptions())
    Traceback (most recent call last):
        ...
    hexatagger.server.refused.Refused: k must be at least 1
    """
    try:
        request = ParseRequest.model_validate_json(body)
    except ValidationError as error:
        raise explain(error, ParseRequest, RequestConstraints) from None
    given = [name for name in SOURCES if name in request.model_fields_set]
    if len(given) != 1:
        message = f"exactly one of text, words and conllu is needed, not {' and '.join(given) or 'none'}"
        raise Refused(422, "invalid", message)
    request.model = request.model if "model" in request.model_fields_set else options.default_model
    if request.model not in (*options.models, AUTO):
        message = f"there is no model '{request.model[:80]}': use {', '.join(options.models)}"
        raise Refused(404, "unknown_model", message, field="model")
    if request.k > options.max_k:
        raise Refused(422, "invalid", f"k must be at most {options.max_k}", field="k")
    if request.tree > request.k:
        message = f"tree {request.tree} does not exist: k is {request.k}, raise it to get more trees"
        raise Refused(422, "invalid", message, field="tree")
    if len(request.text) > (most := _CHARACTERS * options.max_words):
        message = f"{len(request.text)} characters are more than the limit of {most} per request: send them in parts"
        raise Refused(413, "text_too_long", message, field="text")
    try:  # the empty line after the last sentence may be missing
        sentences = list(read_conllu(io.StringIO(request.conllu.rstrip("\r\n") + "\n\n")))
    except FormatError as error:
        place = f"line {error.line}: " if error.line else ""
        raise Refused(422, "invalid_conllu", f"{place}{error.message}", field="conllu") from None
    sentences += map(Sentence.from_words, request.words)
    if request.model not in options.models:
        text = request.text or " ".join(sentence.text for sentence in sentences)
        try:
            request.model = choose(text, folders or {})
        except ConfigError as error:
            raise Refused(422, "no_language", str(error), field="model") from None
    return ParseTask(request, sentences, [each.known() if each else None for each in request.constraints])
