"""JSON or TOML values → dataclasses, every value checked against the type that its field declares.

The files of a model folder may come from anywhere. A wrong value is a ConfigError that names the key.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from hexatagger.errors import ConfigError, FormatError, check_choice

T = TypeVar("T")

_KINDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
_LARGEST = 2**63


def parse_json(text: str, source: str) -> dict[str, Any]:
    """Parse a file that holds a JSON object; `source` is its name in errors."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:  # subtle: numbers of thousands of digits are a bare ValueError
        raise FormatError(f"is not JSON: {error}", source=source) from None
    if not isinstance(values, dict):
        raise FormatError("is not a JSON object", source=source)
    return values


@contextmanager
def checking(source: str) -> Iterator[None]:
    """Turn a ConfigError about the values of a file into a FormatError that names the file."""
    try:
        yield
    except ConfigError as error:
        raise FormatError(str(error), source=source) from None


def build(cls: type[T], values: Any, key: str) -> T:
    """Make a dataclass of an object whose keys are its fields; `key` is the object's own name.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int
    ...     scale: float = 1.0
    >>> build(Size, {"width": 3}, "size")
    Size(width=3, scale=1.0)
    >>> build(Size, {"width": "3"}, "size")
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConfigError: size.width "3" is not a whole number
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{key} {_shown(values)} is not an object")
    hints, known = get_type_hints(cls), fields(cast("Any", cls))
    check_keys(values, [each.name for each in known], "key", prefix=f"{key}.")
    for each in known:
        if each.name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise ConfigError(f"{key}.{each.name} is missing")
    return cls(**{name: checked(value, hints[name], f"{key}.{name}") for name, value in values.items()})


def check_fields(section: str, config: Any) -> None:
    """Raise ConfigError if a dataclass has a value of another type than its field declares."""
    hints = get_type_hints(type(config))
    for each in fields(config):
        checked(getattr(config, each.name), hints[each.name], f"{section}.{each.name}")


def check_range(section: str, config: Any, *names: str, least: float = 0, most: float = math.inf) -> None:
    """Raise ConfigError if one of these numbers, or tuples of numbers, is outside the range."""
    for name in names:
        value = getattr(config, name)
        if not all(least <= each <= most for each in (value if isinstance(value, tuple) else (value,))):
            wrong = f"is not between {least} and {most}" if most < math.inf else f"is too small: at least {least}"
            raise ConfigError(f"{section}.{name} {value} {wrong}")


def check_keys(names: Iterable[str], known: Iterable[str], kind: str, *, prefix: str = "") -> None:
    """Raise ConfigError for a name that is not known, with the nearest one that is."""
    known = list(known)
    for name in names:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            hint = f"did you mean '{prefix}{near[0]}'?" if near else f"there are: {', '.join(known)}"
            raise ConfigError(f"unknown {kind} '{prefix}{name}': {hint}")


def checked(value: Any, hint: Any, key: str) -> Any:
    """Return a value as its type hint wants it: lists become tuples, objects dataclasses."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is UnionType:  # something or None
        return None if value is None else checked(value, inner[0], key)
    if is_dataclass(hint):
        return value if isinstance(value, cast("type", hint)) else build(cast("type", hint), value, key)
    if origin is tuple:
        length = None if inner[-1] is Ellipsis else len(inner)
        if not isinstance(value, list | tuple) or (length is not None and len(value) != length):
            raise ConfigError(f"{key} {_shown(value)} is not a list" + (f" of {length}" if length else ""))
        return tuple(checked(each, inner[0], key) for each in value)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{key} {_shown(value)} is not an object")
        return {name: checked(each, inner[1], f"{key}.{name}") for name, each in value.items()}
    kind: Any = str if origin is Literal else hint
    # subtle: bool is a subclass of int, and a whole number will do for a float
    fits = isinstance(value, int | float if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if fits and isinstance(value, int | float):
        fits = -_LARGEST <= value < _LARGEST and math.isfinite(value)
    if not fits:
        raise ConfigError(f"{key} {_shown(value)} is not {_KINDS[kind]}")
    if origin is Literal:
        check_choice(key, value, inner)
    return value


def _shown(value: Any) -> str:
    """Show a value in an error, shortened if it is long."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "…"
