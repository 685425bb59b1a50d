"""Refused: an error that is told to the client, with an HTTP status, a code for programs, a message for people."""

from typing import Any

from pydantic import BaseModel, ValidationError

_WANTED = {
    "string_type": "a string",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "int_type": "a whole number",
    "bool_type": "true or false",
}
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}


class Refused(Exception):  # noqa: N818
    """A request that is answered with an error."""

    def __init__(
        self, status: int, code: str, message: str, *, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field, self.retry_after = status, code, message, field, retry_after


def explain(error: ValidationError, model: type[BaseModel]) -> Refused:
    """Turn pydantic's first complaint about a JSON body into our own error, which names the field."""
    first = error.errors(include_url=False)[0]
    kind, place, value, context = first["type"], list(first["loc"]), first["input"], first.get("ctx", {})
    if kind == "json_invalid":
        return _malformed(context["error"])
    if isinstance(value, float) and not abs(value) < float("inf"):
        return _malformed("NaN and infinite numbers are not JSON")
    if kind == "missing" or (place and place[-1] == "[key]"):
        place.pop()
    field = _path(place)
    if kind == "extra_forbidden":
        known = ", ".join(_fields(model, place[:-1]))
        message = f"'{str(place[-1])[:80]}' is not a field: use {known}"
    elif kind in _WANTED:
        message = f"{field or 'the body'} must be {_WANTED[kind]}, not {_KINDS.get(type(value), 'a number')}"
    elif kind == "literal_error":
        message = f"{field} must be one of: {context['expected'].replace(' or ', ', ').replace(chr(39), '')}"
    elif kind == "greater_than_equal":
        message = f"{field} must be at least {context['ge']}"
    elif kind == "less_than_equal":
        message = f"{field} must be at most {context['le']}"
    elif kind == "too_short":
        message = f"{field} must not be empty"
    elif kind in ("missing", "too_long"):  # of a pair
        message = f"{field} must be two numbers"
    elif kind == "string_pattern_mismatch" and first["loc"][-1] == "[key]":
        message = f"'{str(value)[:80]}' in {_path(place[:-1])} is not the number of a word"
    elif kind in ("string_pattern_mismatch", "string_too_short"):
        message = f"{field} must be a word: at least one character, no tabs, no line ends"
    else:
        message = f"{field}: {first['msg']}"
    return Refused(422, "invalid", message, field=field or None)


def _malformed(problem: str) -> Refused:
    """Tell JSON that cannot be read from JSON that holds half a character, which cannot be written as UTF-8."""
    if "surrogate" in problem or "hex escape" in problem:
        return Refused(422, "invalid", f"a string has half of a surrogate pair, like \\ud800 alone ({problem})")
    return Refused(400, "malformed_json", f"the body is not JSON: {problem}")


def _path(place: list[int | str]) -> str:
    """Write the place of a value as `words[0][1]` or `constraints[0].heads`."""
    return "".join(f"[{each}]" if isinstance(each, int) else f".{str(each)[:80]}" for each in place).lstrip(".")


def _fields(model: type[BaseModel], place: list[int | str]) -> list[str]:
    """Return the names of the fields of the object at a place in the body."""
    schema: Any = model.model_json_schema()
    definitions, found = schema.get("$defs", {}), schema
    for step in place:
        found = found["items"] if isinstance(step, int) else found["properties"][step]
        for choice in found.get("anyOf", ()):
            found = definitions[choice["$ref"].rpartition("/")[2]] if "$ref" in choice else found
    return list(found["properties"])
