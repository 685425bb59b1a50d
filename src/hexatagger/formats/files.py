r"""Open what a user may name: a path, `.gz`, `.xz`, `-` for the standard streams, or a file that is open already.

Text is UTF-8 whatever the locale says, a line ends with "\n" and nothing else. A file that is written appears whole
or not at all: it grows under a temporary name beside its place and is renamed at the end.
"""

import contextlib
import gzip
import io
import logging
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from hexatagger.errors import FormatError

File = str | os.PathLike[str] | IO[str] | IO[bytes]
LOG = logging.getLogger("hexatagger")


def name_of(file: File) -> str:
    """Name a file as an error message should."""
    if isinstance(file, str | os.PathLike):
        return "<stdin>" if file == "-" else os.fspath(file)
    return str(getattr(file, "name", "<stream>"))


def read_text(file: File) -> Iterator[str]:
    """Yield the text of a file as it is, a line at a time with its end: nothing is dropped or changed."""
    name, number = name_of(file), 0
    try:
        with _opened(file) as stream:
            for raw in stream:
                number += 1
                yield raw if isinstance(raw, str) else raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8: convert the file to UTF-8"
        raise FormatError(message, source=name, line=number) from None
    except (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FormatError(f"cannot be unpacked after line {number}: {error}", source=name) from None
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", source=name) from None


def read_lines(file: File) -> Iterator[str]:
    """Yield the lines of a file without their ends; a byte order mark is dropped, CRLF accepted."""
    for number, line in enumerate(read_text(file)):
        # subtle: words may contain U+0085 or U+2028, so neither splitlines() nor universal newlines
        plain = line.removesuffix("\n").rstrip("\r")
        yield plain if number else plain.removeprefix("\ufeff")


def read_blocks(file: File) -> Iterator[tuple[int, list[str]]]:
    """Yield the runs of lines between empty lines, each with the number of its first line.

    A last run without an empty line after it is logged as a warning: the file may be cut off.
    """
    block: list[str] = []
    number = 0
    for number, line in enumerate(read_lines(file), 1):
        if line:
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []
    if block:
        yield number - len(block) + 1, block
        # Only now: if the run is malformed, the reader raises an error and the warning would be noise.
        LOG.warning("%s:%d: no empty line after the last sentence: the file may be cut off", name_of(file), number)


@contextlib.contextmanager
def _opened(file: File) -> Iterator[IO[str] | IO[bytes]]:
    """Open for reading; what was open already stays open."""
    if not isinstance(file, str | os.PathLike):
        yield file
    elif file == "-":
        yield sys.stdin.buffer
    else:
        with open_binary(Path(file), "rb") as stream:
            yield stream


@contextlib.contextmanager
def open_output(file: File) -> Iterator[IO[str]]:
    """Open for writing text; a path gets its new content when the block ends well, and keeps its old one otherwise."""
    if isinstance(file, str | os.PathLike) and file != "-":
        with replacing(file) as temporary, open_binary(temporary, "wb", like=Path(file)) as raw, _text(raw) as stream:
            yield stream
        return
    target = sys.stdout.buffer if isinstance(file, str | os.PathLike) else file
    if isinstance(target, io.TextIOBase):
        yield cast("IO[str]", target)
        return
    stream = _text(cast("IO[bytes]", target))
    try:
        yield stream
        stream.flush()
    finally:
        stream.detach()  # subtle: closing the wrapper would close a stream that is not ours


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`, and rename it to `path` if the block ends well."""
    place = Path(path)
    temporary = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        if place.is_dir():
            raise FormatError("is a directory: name a file", source=str(path))
        yield temporary
        temporary.replace(place)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise FormatError(f"cannot be written: {error.strerror or error}", source=str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def open_binary(path: Path, mode: str, like: Path | None = None) -> IO[bytes]:
    """Open a path, packed as its suffix (or that of `like`) says."""
    suffix = (like or path).suffix
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, mode, compresslevel=6))
    if suffix == ".xz":
        return cast("IO[bytes]", lzma.open(path, mode))
    return cast("IO[bytes]", path.open(mode))


def _text(raw: IO[bytes]) -> io.TextIOWrapper:
    """Wrap a binary stream as UTF-8 text."""
    return io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
