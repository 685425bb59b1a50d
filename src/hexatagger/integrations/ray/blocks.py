"""A corpus of files → blocks that can be parsed apart.

A block begins where a sentence begins whatever stands before it: plain text is cut before a paragraph (an empty line
precedes it), text with a sentence a line before a line, CoNLL-U before a sentence, JSON lines before a line, Parquet
before a row. So what is made of the blocks of a file is, one after another, what is made of the file, offsets included.
A file without such places is one block, however long it is. A block of a packed file (`.gz`, `.xz`) is reached by
unpacking what precedes it, which is nothing against parsing.
"""

import gzip
import lzma
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, get_args

from hexatagger.errors import ConfigError, FormatError, needs
from hexatagger.formats.files import open_binary
from hexatagger.formats.text import VISIBLE

Source = Literal["text", "lines", "words", "conllu", "conllx"]
SOURCES: tuple[Source, ...] = get_args(Source)

_PACKED = (".gz", ".xz")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
_CONLLU = (".conllu", ".conll", ".conllx")
_MAGIC = re.compile(r"[*?[]")


class Span(NamedTuple):
    """Where a block is: bytes of the unpacked file, or rows of a Parquet file."""

    start: int
    end: int | None
    """None: to the end of the file."""
    character: int = 0
    """How many characters of the file precede it."""
    line: int = 1
    """The number of its first line or row."""


class Block(NamedTuple):
    """A block of a file; `name` is what the file is called in the corpus."""

    name: str
    path: str
    number: int
    span: Span


def find_files(patterns: Iterable[str], *, outside: Path) -> dict[str, Path]:
    """Return the files of a corpus by name: given by path, by pattern, or by folder with all below it.

    A name is the path from the folder on that was given, so a pattern tells more files apart than a list of paths.
    What is in the folder `outside`, where the output goes, is no part of the corpus.
    """
    found: dict[str, Path] = {}
    for pattern in patterns:
        root, paths = _matching(pattern)
        paths = [path for path in paths if not path.resolve().is_relative_to(outside.resolve())]
        if not paths:
            raise FormatError("no file is there: correct the path or the pattern", source=pattern)
        for path in paths:
            name = path.relative_to(root).as_posix()
            if found.setdefault(name, path.absolute()).resolve() != path.resolve():
                message = f"{found[name]} and {path} would have the same name in the output: name their common folder"
                raise ConfigError(message)
    return found


def _matching(pattern: str) -> tuple[Path, list[Path]]:
    """Return the folder that names count from, and the files; hidden ones only if they are named."""
    path = Path(pattern)
    if path.is_dir():
        known = (*JSON_LINES, PARQUET, *_CONLLU, ".txt")
        root, found = path, [each for each in path.rglob("*") if suffix(each) in known]
    elif path.exists() or not _MAGIC.search(pattern):
        return path.parent, [path] if path.is_file() else []
    else:
        fixed = next(number for number, part in enumerate(path.parts) if _MAGIC.search(part))
        root = Path(*path.parts[:fixed])
        found = [*root.glob("/".join(path.parts[fixed:]))]
    shown = (each for each in found if not any(part.startswith(".") for part in each.relative_to(root).parts))
    return root, sorted(each for each in shown if each.is_file())


def suffix(path: Path) -> str:
    """Return the suffix that says what is inside."""
    return (path.with_suffix("") if path.suffix in _PACKED else path).suffix


def check_source(path: Path, source: Source) -> None:
    """Raise ConfigError if the name of a file says that it is something else than it is to be read as."""
    if suffix(path) in _CONLLU and source not in ("conllu", "conllx"):
        raise ConfigError(f"{path} is CoNLL-U, but is to be read as {source}: say --from conllu")


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file; what is wrong with it is a FormatError."""
    try:
        with open_binary(path, "rb") as stream:
            yield stream
    except (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FormatError(f"cannot be unpacked: {error}", source=str(path)) from None
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", source=str(path)) from None


def cut_file(path: Path, source: Source, size: int) -> list[Span]:
    r"""Return the spans of the blocks of a file, of `size` bytes and up to the next place where it can be cut.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.txt"
    ...     _ = path.write_bytes(b"One.\n\nTwo.\nStill two.\n\nThree.\n")
    ...     [(span.start, span.end, span.line) for span in cut_file(path, "text", 4)]
    [(0, 6, 1), (6, 23, 3), (23, None, 6)]
    """
    if suffix(path) == PARQUET:
        return _cut_rows(path, size)
    begins = _Beginnings("jsonl" if suffix(path) in JSON_LINES else source)
    starts = [Span(0, None)]
    place = characters = 0
    with opened(path) as stream:
        if path.suffix not in _PACKED and path.stat().st_size <= size:
            return starts
        for number, raw in enumerate(stream, 1):
            text = raw.decode("utf-8", "replace")
            if begins(text) and place - starts[-1].start >= size:
                starts.append(Span(place, None, characters, number))
            place += len(raw)
            characters += len(text)
    ends = [*(each.start for each in starts[1:]), None]
    return [each._replace(end=end) for each, end in zip(starts, ends, strict=True)]


class _Beginnings:
    """Says of the lines of a file, one after another, whether a block may begin there."""

    def __init__(self, kind: Literal["jsonl"] | Source) -> None:
        self.kind = kind
        self.empty = self.seen = False  # whether the line before is empty; whether there was a word yet

    def __call__(self, line: str) -> bool:
        if self.kind == "jsonl":
            return True
        if self.kind in ("conllu", "conllx"):
            before, self.empty = self.empty, not line.removesuffix("\n").removesuffix("\r")
            return before and not self.empty
        # subtle: spaces at the beginning of a line belong to the break before it, so no block begins with them
        fits = bool(self.seen and VISIBLE.match(line) and (self.empty or self.kind != "text"))
        self.empty = not VISIBLE.search(line)
        self.seen |= not self.empty
        return fits


def _cut_rows(path: Path, size: int) -> list[Span]:
    """Cut a Parquet file by what its footer says of the size of row groups."""
    with open_parquet(path) as file:
        metadata = file.metadata
        starts, row, weight = [0], 0, 0.0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            end, share = row + group.num_rows, group.total_byte_size / max(1, group.num_rows)
            while row < end:
                if weight >= size:
                    starts.append(row)
                    weight = 0.0
                taken = min(end - row, math.ceil((size - weight) / share))
                row, weight = row + taken, weight + taken * share
    return [Span(start, end, 0, start + 1) for start, end in zip(starts, [*starts[1:], row], strict=True)]


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file."""
    with needs("ray"):
        import pyarrow
        from pyarrow import parquet
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise FormatError(f"cannot be read as Parquet: {error}", source=str(path)) from None
