"""Every exception that this package raises on purpose.

The command line prints the message of a HexataggerError as one line and exits with 1. Any other exception is a bug.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_SHOWN = 60  # characters of a wrong value in a message
_KINDS = {"str": "string"}


class HexataggerError(Exception):
    """Base class of all errors that this package raises on purpose."""


class FormatError(HexataggerError, ValueError):
    """Malformed input: names the file, line, value and remedy.

    >>> str(FormatError("HEAD '14' is outside the sentence (9 words)", source="train.conllu", line=812))
    "train.conllu:812: HEAD '14' is outside the sentence (9 words)"
    """

    def __init__(self, message: str, *, source: str | None = None, line: int | None = None) -> None:
        self.message, self.source, self.line = message, source, line
        place = ":".join(str(part) for part in (source, line) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)


class TreeError(FormatError):
    """Heads that do not form a tree; `word` is the 1-based word at fault (0: the sentence as a whole)."""

    def __init__(self, message: str, *, word: int = 0, source: str | None = None, line: int | None = None) -> None:
        super().__init__(message, source=source, line=line)
        self.word = word


class AlignmentError(HexataggerError, ValueError):
    """Gold and system files that cannot be aligned; says where they differ."""


class TagError(HexataggerError, ValueError):
    """A tag sequence that encodes no tree."""


class DecodeError(HexataggerError, ValueError):
    """Scores that cannot be decoded: NaN, or everything forbidden."""


class ConstraintError(HexataggerError, ValueError):
    """Constraints that no tree satisfies, or that do not fit the sentence; says which contradict each other."""


class ConfigError(HexataggerError, ValueError):
    """An invalid option or setting."""


class PackageError(HexataggerError, ImportError):
    """An optional package that is not installed; says which extra to install."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a failed import into a PackageError that names the extra to install.

    >>> try:
    ...     with needs("graphs"):
    ...         import no_such_package
    ... except PackageError as error:
    ...     print(str(error).partition(": ")[0], "|", str(error)[-9:])
    no_such_package is not installed | [graphs]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise PackageError(f"{missing} is not installed: {_install(extra)}", name=missing) from None


def _install(extra: str) -> str:
    """Return the command that installs an extra for this Python: of the checkout that runs, or of the package."""
    import shlex
    import shutil  # here, because every start would wait for them

    own = shutil.which("pip")
    same = own is not None and Path(own).parent == Path(sys.executable).parent
    pip = "pip" if same else f"{shlex.quote(sys.executable)} -m pip"
    root = Path(__file__).resolve().parent.parent.parent
    if not (root / "pyproject.toml").is_file():
        return f"{pip} install 'hexatagger[{extra}]'"
    place = "." if root == Path.cwd() else str(root)
    return f"{pip} install -e {shlex.quote(f'{place}[{extra}]')}"


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise ConfigError unless the value is one of the choices.

    >>> check_choice("order", "up", ("left", "right"))
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConfigError: order 'up' is not one of: left, right
    """
    if value not in choices:
        raise ConfigError(f"{name} '{value}' is not one of: {', '.join(map(str, choices))}")


def wrong_type(value: object, needed: str, remedy: str) -> ConfigError:
    """Return the error for an argument of a type that makes no sense.

    >>> raise wrong_type(["a", "b"], "a text", "'She reads.'")
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConfigError: ['a', 'b'] is a list where a text is needed: 'She reads.'
    """
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
    kind = type(value).__name__
    told = shown if value is None else f"{shown} is {'an' if kind[0] in 'aeiou' else 'a'} {_KINDS.get(kind, kind)}"
    return ConfigError(f"{told} where {needed} is needed: {remedy}")
