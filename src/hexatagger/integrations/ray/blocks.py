"""A corpus of files → blocks that can be parsed independently.

A block starts where a sentence starts in any case: plain text is cut before a paragraph that follows an empty line,
text with one sentence per line before a line, CoNLL-U before a sentence, JSON lines before a line, Parquet at a row.
So the output of a file's blocks, concatenated, is the output of the file, offsets included. A file without such places
is one block, however long. A block of a compressed file (`.gz`, `.xz`) is reached by decompressing everything before
it, which costs little compared to parsing.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from hexatagger.errors import ConfigError, FormatError, needs
from hexatagger.formats.files import open_binary, reading
from hexatagger.formats.text import VISIBLE

Source = Literal["text", "lines", "words", "conllu", "conllx"]
SOURCES: tuple[Source, ...] = get_args(Source)

_PACKED = (".gz", ".xz")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
_CONLLU = (".conllu", ".conll", ".conllx")
_MAGIC = re.compile(r"[*?[]")


class Span(NamedTuple):
    """The extent of a block: bytes of the uncompressed file, or rows of a Parquet file."""

    start: int
    end: int | None
    """None: to the end of the file."""
    character: int = 0
    """The number of characters before it."""
    line: int = 1
    """The number of its first line or row."""


class Block(NamedTuple):
    """A block of a file; `name` is the file's name in the corpus."""

    name: str
    path: str
    number: int
    span: Span


def find_files(patterns: Iterable[str], *, outside: Path) -> dict[str, Path]:
    """Return the files of a corpus by name, from paths, patterns, and folders with everything below them.

    A name is the path relative to the given folder or to the fixed part of the pattern. Files in `outside`, the output
    folder, are not part of the corpus.
    """
    found: dict[str, Path] = {}
    for pattern in patterns:
        root, paths = _matching(pattern)
        paths = [path for path in paths if not path.resolve().is_relative_to(outside.resolve())]
        if not paths:
            raise FormatError("no such file: correct the path or the pattern", source=pattern)
        for path in paths:
            name = path.relative_to(root).as_posix()
            if found.setdefault(name, path.absolute()).resolve() != path.resolve():
                message = f"{found[name]} and {path} would have the same name in the output: name their common folder"
                raise ConfigError(message)
    return found


def _matching(pattern: str) -> tuple[Path, list[Path]]:
    """Return the folder that names are relative to, and the files; hidden ones only if named."""
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
    """Return the suffix that names the content, `.gz` and `.xz` aside."""
    return (path.with_suffix("") if path.suffix in _PACKED else path).suffix


def check_source(path: Path, source: Source) -> None:
    """Raise ConfigError if the name of a file contradicts the format to read it as."""
    if suffix(path) in _CONLLU and source not in ("conllu", "conllx"):
        raise ConfigError(f"{path} is CoNLL-U, but would be read as {source}: add --from conllu")


def cut_file(path: Path, source: Source, size: int) -> list[Span]:
    r"""Return the spans of a file's blocks: `size` bytes, and on to the next place where it can be cut.

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
    with reading(str(path)), open_binary(path, "rb") as stream:
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
    """Tells, for the lines of a file in order, whether a block may start there."""

    def __init__(self, kind: Literal["jsonl"] | Source) -> None:
        self.kind = kind
        self.empty = self.seen = False  # whether the previous line is empty; whether there was a word yet

    def __call__(self, line: str) -> bool:
        if self.kind == "jsonl":
            return True
        if self.kind in ("conllu", "conllx"):
            before, self.empty = self.empty, not line.removesuffix("\n").removesuffix("\r")
            return before and not self.empty
        # subtle: spaces at the start of a line belong to the break before it, so no block starts with them
        fits = bool(self.seen and VISIBLE.match(line) and (self.empty or self.kind != "text"))
        self.empty = not VISIBLE.search(line)
        self.seen |= not self.empty
        return fits


def _cut_rows(path: Path, size: int) -> list[Span]:
    """Cut a Parquet file into blocks of equally many rows, from the sizes in its footer."""
    with open_parquet(path) as file:
        rows = file.metadata.num_rows
        total = sum(file.metadata.row_group(number).total_byte_size for number in range(file.metadata.num_row_groups))
    step = max(1, size * rows // max(1, total))
    return [Span(start, min(rows, start + step), 0, start + 1) for start in range(0, max(1, rows), step)]


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
