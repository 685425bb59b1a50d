"""A corpus of files → blocks that can be parsed independently.

A block starts where a sentence starts in any case: plain text is cut before a paragraph that follows an empty line,
text with one sentence per line before a line, CoNLL-U before a sentence, JSON lines before a line, Parquet at a row.
So the output of a file's blocks, concatenated, is the output of the file, offsets included. A block of a compressed
file is reached by decompressing everything before it, which costs little compared to parsing. A block is in memory as a
whole: a text without any empty line is one block.
"""

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from hexatagger.errors import ConfigError, FormatError, needs
from hexatagger.formats.files import content_suffix as suffix
from hexatagger.formats.files import open_binary, read_bytes, reading, warn_unclosed
from hexatagger.formats.text import VISIBLE, Source

JSON_LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
_PACKED = (".gz", ".xz")
_TREES = ("conllu", "conllx")
_CONLLU = (".conllu", ".conll", ".conllx")
_MAGIC = re.compile(r"[*?[]")


class Block(NamedTuple):
    """A block of a file: bytes of its uncompressed content, or rows of Parquet."""

    name: str
    """The file's name in the corpus."""
    path: str
    number: int
    start: int
    end: int | None
    """None: to the end of the file."""
    character: int = 0
    """The number of characters before it."""
    line: int = 1
    """The number of its first line or row."""


def find_files(patterns: Iterable[str], *, outside: Path) -> dict[str, Path]:
    """Return the files of a corpus by name, from paths, patterns, and folders with everything below them.

    A name is the path relative to the given folder or to the fixed part of the pattern. Files in `outside`, the output
    folder, are not part of the corpus.
    """
    found: dict[str, Path] = {}
    for pattern in patterns:
        root, matching = _matching(pattern)
        paths = [path for path in matching if not path.resolve().is_relative_to(outside.resolve())]
        if matching and not paths:
            raise ConfigError(f"{pattern} is in the output folder {outside}: name another output folder")
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


def check_source(path: Path, source: Source) -> None:
    """Raise ConfigError if the name of a file contradicts the format to read it as."""
    if suffix(path) in _CONLLU and source not in _TREES:
        raise ConfigError(f"{path} is CoNLL-U, but would be read as {source}: add --from conllu")


def cut_file(name: str, path: Path, source: Source, size: int) -> list[Block]:
    r"""Return the blocks of a file: `size` bytes, and on to the next place where it can be cut.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.txt"
    ...     _ = path.write_bytes(b"One.\n\nTwo.\nStill two.\n\nThree.\n")
    ...     [(block.start, block.end, block.line) for block in cut_file("a.txt", path, "text", 4)]
    [(0, 6, 1), (6, 23, 3), (23, None, 6)]
    """
    if suffix(path) == PARQUET:
        return _cut_rows(name, path, size)
    kind = "jsonl" if suffix(path) in JSON_LINES else source
    blocks = [Block(name, str(path), 0, 0, None)]
    place = characters = 0
    seen, before = False, ""  # whether there was a word yet; the previous line
    number = 0
    with reading(str(path)), open_binary(path, "rb") as stream:
        if path.suffix not in _PACKED and path.stat().st_size <= size:
            if kind in _TREES and not _is_closed(stream):
                warn_unclosed(str(path))
            return blocks
        for number, raw in enumerate(read_bytes(stream, str(path)), 1):
            text = raw.decode("utf-8", "replace")
            if place - blocks[-1].start >= size and seen and _may_start(kind, before, text):
                blocks[-1] = blocks[-1]._replace(end=place)
                blocks.append(Block(name, str(path), len(blocks), place, None, characters, number))
            seen = seen or VISIBLE.search(text) is not None
            place, characters, before = place + len(raw), characters + len(text), text
    if kind in _TREES and before.rstrip("\r\n"):
        warn_unclosed(f"{path}:{number}")
    return blocks


def _is_closed(stream: IO[bytes]) -> bool:
    """Say whether a file ends with an empty line, or is empty."""
    stream.seek(-min(4, stream.seek(0, io.SEEK_END)), io.SEEK_END)
    end = stream.read().replace(b"\r", b"")
    return not end.strip(b"\n") or end.endswith(b"\n\n")


def _may_start(kind: str, before: str, line: str) -> bool:
    """Return whether a block may start with this line, given the line before it."""
    if kind in _TREES:
        return not before.rstrip("\r\n") and bool(line.rstrip("\r\n"))
    # subtle: spaces at the start of a line belong to the break before it, so no block of plain text starts with them
    return kind == "jsonl" or bool(VISIBLE.match(line) and (kind != "text" or not VISIBLE.search(before)))


def _cut_rows(name: str, path: Path, size: int) -> list[Block]:
    """Cut a Parquet file into blocks of equally many rows, from the sizes in its footer."""
    with open_parquet(path) as file:
        rows = file.metadata.num_rows
        total = sum(file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups))
    step = max(1, size * rows // max(1, total))
    starts = range(0, max(1, rows), step)
    return [
        Block(name, str(path), number, start, min(rows, start + step), 0, start + 1)
        for number, start in enumerate(starts)
    ]


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
