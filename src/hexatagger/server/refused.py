"""Refused: an error that is told to the client, with an HTTP status, a code for programs, a message for people."""

from pydantic import BaseModel, ValidationError

_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
_WANTED = {
    "string_type": "a string, not {kind}",
    "list_type": "a list, not {kind}",
    "tuple_type": "a list, not {kind}",
    "dict_type": "an object, not {kind}",
    "model_type": "an object, not {kind}",
    "int_type": "a whole number, not {kind}",
    "bool_type": "true or false, not {kind}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "missing": "two numbers",  # of a pair
    "too_long": "two numbers",
    "string_too_short": "a word: at least one character, no tabs, no line ends",
    "string_pattern_mismatch": "a word: at least one character, no tabs, no line ends",
}


class Refused(Exception):  # noqa: N818
    """A request that is answered with an error."""

    def __init__(
        self, status: int, code: str, message: str, *, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field, self.retry_after = status, code, message, field, retry_after


def explain(error: ValidationError, model: type[BaseModel], inner: type[BaseModel]) -> Refused:
    """Turn pydantic's first complaint about a JSON body into our own error, which names the field.

    `model` is the model of the body, `inner` that of objects inside it.
    """
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
        known = (model if len(place) == 1 else inner).model_fields
        message = f"'{str(place[-1])[:80]}' is not a field: use {', '.join(known)}"
    elif kind == "literal_error":
        message = f"{field} must be one of: {context['expected'].replace(' or ', ', ').replace(chr(39), '')}"
    elif kind == "too_short":
        message = f"{field} must not be empty"
    elif kind == "string_pattern_mismatch" and first["loc"][-1] == "[key]":
        message = f"'{str(value)[:80]}' in {_path(place[:-1])} is not the number of a word"
    elif kind in _WANTED:
        wanted = _WANTED[kind].format(kind=_KINDS.get(type(value), "a number"), **context)
        message = f"{field or 'the body'} must be {wanted}"
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
