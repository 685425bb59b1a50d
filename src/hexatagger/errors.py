"""Every exception this package raises on purpose.

    HexataggerError
    ├── FormatError      a file or stream is not what it should be: says file, line, value and remedy
    │   └── TreeError    well-formed columns whose heads are not a tree
    ├── AlignmentError   two files cannot be compared: says where they part
    ├── TagError         a sequence of tags that no tree has
    ├── DecodeError      scores that cannot be decoded (NaN, or everything forbidden)
    ├── ConstraintError  what is asked of a tree cannot be had: says which constraints contradict one another
    ├── ConfigError      an option or setting with a value that makes no sense
    └── PackageError     a package is not installed: says which, and what to install

The command line prints the message of a HexataggerError as one line and exits with 1; anything else is a bug of ours.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class HexataggerError(Exception):
    """Base of all errors this package raises on purpose."""


class FormatError(HexataggerError, ValueError):
    """Input that is not in the format it should be, with its place.

    >>> str(FormatError("HEAD '14' is outside the sentence (9 words)", source="train.conllu", line=812))
    "train.conllu:812: HEAD '14' is outside the sentence (9 words)"
    """

    def __init__(self, message: str, *, source: str | None = None, line: int | None = None) -> None:
        self.message, self.source, self.line = message, source, line
        place = ":".join(str(part) for part in (source, line) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)


class TreeError(FormatError):
    """Heads that do not form a tree; `word` is the 1-based word to look at (0: the sentence as a whole)."""

    def __init__(self, message: str, *, word: int = 0, source: str | None = None, line: int | None = None) -> None:
        super().__init__(message, source=source, line=line)
        self.word = word


class AlignmentError(HexataggerError, ValueError):
    """Gold and system files that cannot be aligned."""


class TagError(HexataggerError, ValueError):
    """A tag sequence that stands for no tree."""


class DecodeError(HexataggerError, ValueError):
    """Scores from which no tag sequence can be chosen."""


class ConstraintError(HexataggerError, ValueError):
    """Constraints on a tree that contradict one another, or the sentence."""


class ConfigError(HexataggerError, ValueError):
    """A setting with a value that makes no sense."""


class PackageError(HexataggerError, ImportError):
    """A package that only some parts of this one need, and that is not installed."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a failing import inside into a PackageError that names the extra to install.

    >>> with needs("graphs"):
    ...     import no_such_package
    Traceback (most recent call last):
        ...
    hexatagger.errors.PackageError: no_such_package is not installed: pip install 'hexatagger[graphs]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise PackageError(f"{missing} is not installed: pip install 'hexatagger[{extra}]'", name=missing) from None


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise ConfigError unless the value is one of the choices.

    >>> check_choice("order", "up", ("left", "right"))
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConfigError: order 'up' is not one of: left, right
    """
    if value not in choices:
        raise ConfigError(f"{name} '{value}' is not one of: {', '.join(map(str, choices))}")
