"""The service described in OpenAPI 3.1, for /openapi.json, /docs, generated clients and the fuzzer of the tests."""

from typing import Any

from hexatagger import __version__
from hexatagger.server.options import Options
from hexatagger.server.question import SHOWS, TARGETS

_NUMBER = {"type": "integer", "minimum": 1}
_HEAD = {"type": "integer", "minimum": 0}
_PAIR = {"type": "array", "prefixItems": [_NUMBER, _HEAD], "minItems": 2, "maxItems": 2}
_WORD_KEY = "^[1-9][0-9]{0,8}$"

_REFUSALS = {
    400: "The body is not JSON.",
    404: "There is no such model.",
    408: "The body did not arrive in time.",
    413: "More bytes or words than one request may have, or a sentence too long for what is asked.",
    415: "The body is not `application/json`.",
    422: "A field is unknown, missing or wrong, or constraints contradict one another.",
    429: "Too many requests are waiting: try again after `Retry-After` seconds.",
    500: "A mistake of ours.",
    503: "It took too long, or the service is shutting down.",
}


def describe(options: Options) -> dict[str, Any]:
    """Return the description of a service with these options.

    >>> sorted(describe(Options())["paths"])
    ['/healthz', '/metrics', '/v1/models', '/v1/parse']
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hexatagger",
            "version": __version__,
            "summary": "Dependency parsing as tagging.",
            "description": (
                f"At most {options.max_body:,} bytes, {options.max_words:,} words and {options.timeout:g} seconds a "
                f"request. Sentences longer than {options.max_exact} words get no probabilities, k or constraints."
            ),
        },
        "paths": {
            "/v1/parse": {"post": _parse()},
            "/v1/models": {"get": _get("The models there are.", "models", {"$ref": "#/components/schemas/Models"})},
            "/healthz": {"get": _get("Whether the service is up.", "health", {"$ref": "#/components/schemas/Health"})},
            "/metrics": {"get": _get("Counters in the text format of Prometheus.", "metrics", None)},
        },
        "components": {"schemas": _schemas(options)},
    }


def _get(summary: str, name: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}} if schema else {"text/plain": {"schema": {"type": "string"}}}
    return {
        "summary": summary,
        "operationId": name,
        "responses": {"200": {"description": summary, "content": content}},
    }


def _parse() -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    answers: dict[str, Any] = {
        "200": {
            "description": "The trees, in the form that `to` names.",
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Answer"}},
                "text/plain": {"schema": {"type": "string"}},
                "image/svg+xml": {"schema": {"type": "string"}},
            },
        }
    }
    for status, description in _REFUSALS.items():
        answers[str(status)] = {"description": description, "content": error}
    answers["429"]["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    return {
        "summary": "Parse text, words or CoNLL-U.",
        "operationId": "parse",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": "#/components/schemas/Question"},
                    "examples": {
                        "text": {"value": {"text": "She reads fascinating papers."}},
                        "words": {"value": {"words": [["She", "reads", "papers"]], "to": "conllu"}},
                        "constraints": {
                            "value": {
                                "words": [["I", "saw", "the", "man", "with", "the", "telescope"]],
                                "probabilities": True,
                                "k": 2,
                                "constraints": [{"heads": {"7": 4}}],
                            }
                        },
                    },
                }
            },
        },
        "responses": answers,
    }


def _schemas(options: Options) -> dict[str, Any]:
    return {
        "Question": _question(options),
        "Constraints": _object(
            {
                "heads": _by_word(_HEAD, "Word → its head, 0 for the root."),
                "forbidden": _list(_PAIR, "Pairs of a word and a head it must not have."),
                "relations": _by_word(
                    {"oneOf": [_list({"type": "string"}, least=1), {"type": "string"}]}, "Word → relations it may have."
                ),
                "root": {"type": ["integer", "null"], "minimum": 1, "description": "The word that is the root."},
                "spans": _list(_PAIR, "First and last word of what is one unit."),
            }
        ),
        "Answer": _object(
            {"model": {"type": "string"}, "sentences": _list({"$ref": "#/components/schemas/Sentence"})},
            required=["model", "sentences"],
        ),
        "Sentence": _sentence(),
        "Word": _word(),
        "Models": _object(
            {
                "models": _list(
                    _object(
                        {
                            "name": {"type": "string"},
                            "default": {"type": "boolean"},
                            "text": {"type": "boolean", "description": "Whether it cuts text into words."},
                            "columns": _list({"type": "string"}, "What it predicts besides the tree."),
                            "relations": _list({"type": "string"}),
                        },
                        required=["name", "default", "text", "columns", "relations"],
                    )
                ),
                "limits": {"type": "object", "additionalProperties": {"type": "number"}},
            },
            required=["models", "limits"],
        ),
        "Health": _object({"status": {"const": "ok"}, "version": {"type": "string"}}, required=["status", "version"]),
        "Error": _object(
            {
                "error": _object(
                    {
                        "code": {"type": "string", "description": "For programs."},
                        "message": {"type": "string", "description": "For people."},
                        "field": {"type": "string", "description": "Where in the request."},
                    },
                    required=["code", "message"],
                )
            },
            required=["error"],
        ),
    }


def _question(options: Options) -> dict[str, Any]:
    word = {"type": "string", "minLength": 1, "pattern": "^[^\\t\\n\\r]+$"}
    made = _object(
        {
            "text": {"type": "string", "description": "Running text."},
            "words": _list(_list(word, least=1), "Sentences that are cut into words already."),
            "conllu": {"type": "string", "description": "CoNLL-U; what the model does not predict stays."},
            "model": {"type": "string", "description": "Name of a model.", "default": options.default_model},
            "to": {"enum": list(TARGETS), "default": "json", "description": "The form of the answer."},
            "show": {"enum": list(SHOWS), "default": "arcs", "description": "What an SVG shows."},
            "sentence": _NUMBER | {"maximum": 10**9, "description": "Which sentence an SVG shows."},
            "tree": _NUMBER
            | {"maximum": options.max_k, "description": "Which of the k best trees SVG or CoNLL-U have."},
            "tags": {"type": "boolean", "default": False, "description": "Whether JSON has the hexatags."},
            "probabilities": {
                "type": "boolean",
                "default": False,
                "description": "Whether to say how sure the parser is of every head, and of the tree.",
            },
            "k": _NUMBER | {"maximum": options.max_k, "default": 1, "description": "How many trees, the best first."},
            "constraints": _list(
                {"oneOf": [{"$ref": "#/components/schemas/Constraints"}, {"type": "null"}]},
                "What is known of the first sentence, the second, and so on.",
            ),
        }
    )
    return made | {"oneOf": [{"required": [name]} for name in ("text", "words", "conllu")]}


def _sentence() -> dict[str, Any]:
    rows = _list({"type": "object", "properties": {"columns": _list({"type": "string"})}})
    return {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "comments": _list({"type": "string"}),
            "words": _list({"$ref": "#/components/schemas/Word"}),
            "multiwords": rows,
            "empty_nodes": rows,
            "tags": _list(
                {"type": "string"}, "The 2N − 1 hexatags in order; leaves have their relation after a slash."
            ),
            "probability": {"type": "number", "description": "Of this tree, given the constraints."},
            "alternatives": _list({"$ref": "#/components/schemas/Sentence"}, "The further trees, likelier ones first."),
        },
        "required": ["words"],
    }


def _word() -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    return {
        "type": "object",
        "properties": {
            "id": _NUMBER,
            **dict.fromkeys(("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc"), text),
            "head": _HEAD | {"description": "The number of the head, 0 for the root."},
            "start": {"type": "integer", "minimum": 0, "description": "Where the token begins in the text."},
            "end": {"type": "integer", "minimum": 0, "description": "Where it ends."},
            "head_probability": {"type": "number", "description": "How likely the head is, given the constraints."},
            "heads": {"type": "array", "description": "Heads with their probabilities, the likeliest first."},
        },
        "required": ["id", "form"],
    }


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return made | ({"required": required} if required else {})


def _list(items: dict[str, Any], description: str = "", least: int = 0) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "array", "items": items}
    made |= {"minItems": least} if least else {}
    return made | ({"description": description} if description else {})


def _by_word(values: dict[str, Any], description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "patternProperties": {_WORD_KEY: values},
        "additionalProperties": False,
        "description": description,
    }
