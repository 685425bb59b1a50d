r"""Open whatever a user may name: a path, `.gz`, `.xz`, `-` for the standard streams, or an open file.

Text is UTF-8 in any locale, and a line ends with "\n" only. Output appears whole or not at all: it is written to a
temporary file beside its place. At the end that file is renamed, or copied into a file that has other names too.
Devices and pipes are written to directly.
"""

import contextlib
import glob
import gzip
import io
import logging
import lzma
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path, PurePath
from typing import IO, cast

from hexatagger.errors import FormatError

File = str | os.PathLike[str] | IO[str] | IO[bytes]
LOG = logging.getLogger("hexatagger")

LONGEST_LINE = 1 << 26
"""The greatest length of a line in bytes, so that memory stays bounded."""
_LOCK = ".lock"
_temporary: set[Path] = set()  # what this process has to remove
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


def name_of(file: File) -> str:
    """Return the name of a file for error messages."""
    if isinstance(file, str | os.PathLike):
        return "<stdin>" if file == "-" else os.fspath(file)
    return str(getattr(file, "name", "<stream>"))


def read_text(file: File) -> Iterator[str]:
    """Yield the lines of a file with their ends, unchanged."""
    name, number = name_of(file), 0
    with reading(name), _opened(file) as stream:
        for raw in _bounded(stream):
            number += 1
            if len(raw) > LONGEST_LINE:
                raise _too_long(name, number)
            try:
                yield raw if isinstance(raw, str) else raw.decode("utf-8")
            except UnicodeDecodeError as error:
                message = f"byte 0x{error.object[error.start]:02x} is not UTF-8: convert the file to UTF-8"
                raise FormatError(message, source=name, line=number) from None


def read_bytes(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of an open file with their ends; `name` is for the error if one is too long."""
    for number, raw in enumerate(cast("Iterator[bytes]", _bounded(stream)), 1):
        if len(raw) > LONGEST_LINE:
            raise _too_long(name, number)
        yield raw


def _too_long(name: str, number: int) -> FormatError:
    message = f"the line has more than {LONGEST_LINE:,} bytes: break it into lines"
    return FormatError(message, source=name, line=number)


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn the errors of reading and decompressing a file into a FormatError that names it."""
    try:
        yield
    except (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FormatError(f"cannot be decompressed: {error}", source=name) from None
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", source=name) from None


def _bounded(stream: IO[str] | IO[bytes]) -> Iterator[str | bytes]:
    """Return the lines of a stream; one that is too long is cut after the first character too many."""
    if not hasattr(stream, "readline"):  # any iterable of lines will do
        return iter(stream)
    return takewhile(bool, iter(partial(stream.readline, LONGEST_LINE + 1), None))


def read_lines(file: File) -> Iterator[str]:
    """Yield the lines of a file without their ends; a byte order mark is dropped, CRLF accepted."""
    for number, line in enumerate(read_text(file)):
        # subtle: words may contain U+0085 or U+2028, so neither splitlines() nor universal newlines
        plain = line.rstrip("\r\n")
        yield plain if number else plain.removeprefix("\ufeff")


def read_blocks(file: File) -> Iterator[tuple[int, list[str]]]:
    """Yield the runs of lines between empty lines, each with the number of its first line.

    A last run without an empty line after it is logged as a warning: the file may be cut off.
    """
    for number, run, closed in runs(read_lines(file)):
        yield number, run
        if not closed:  # only now: if the run is malformed, the reader raises an error and the warning would be noise
            warn_unclosed(f"{name_of(file)}:{number + len(run) - 1}")


def warn_unclosed(place: str) -> None:
    """Log that a file ends without an empty line."""
    LOG.warning("%s: no empty line after the last sentence: the file may be cut off", place)


def runs(lines: Iterable[str], first: int = 1) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the runs of lines between empty lines: number of the first line, lines, whether an empty one follows.

    >>> list(runs(["a", "b", "", "c"]))
    [(1, ['a', 'b'], True), (4, ['c'], False)]
    """
    run: list[str] = []
    number = first
    for number, line in enumerate(lines, first):
        if line:
            run.append(line)
        elif run:
            yield number - len(run), run, True
            run = []
    if run:
        yield number - len(run) + 1, run, False


def find_not_utf8(text: str) -> str:
    r"""Name the first byte that is not UTF-8 in a text that was decoded with "surrogateescape"; "" if there is none.

    >>> find_not_utf8(b"tw\xe9".decode("utf-8", "surrogateescape"))
    'byte 0xe9 is not UTF-8'
    """
    found = _ESCAPED_BYTE.search(text)
    return f"byte 0x{ord(found[0]) - 0xDC00:02x} is not UTF-8" if found else ""


@contextlib.contextmanager
def _opened(file: File) -> Iterator[IO[str] | IO[bytes]]:
    """Open for reading; an open file stays open."""
    if not isinstance(file, str | os.PathLike):
        yield file
    elif file == "-":
        if sys.stdin is None:
            raise FormatError("standard input is closed: name a file")
        yield sys.stdin.buffer
    else:
        with open_binary(Path(file), "rb") as stream:
            yield stream


@contextlib.contextmanager
def open_output(file: File) -> Iterator[IO[str]]:
    """Open for writing text; a path gets its new content if the block succeeds, and keeps its old one otherwise."""
    if isinstance(file, str | os.PathLike) and file != "-":
        with replacing(file) as temporary, open_binary(temporary, "wb", like=Path(file)) as raw, _text(raw) as stream:
            yield stream
        return
    if file == "-" and sys.stdout is None:
        raise FormatError("standard output is closed: name a file with --output")
    target = sys.stdout.buffer if isinstance(file, str | os.PathLike) else file
    if isinstance(target, io.TextIOBase):
        yield cast("IO[str]", target)
        return
    stream = _text(cast("IO[bytes]", target))
    try:
        with _encoding("<stdout>" if file == "-" else name_of(file)):
            yield stream
        stream.flush()
    finally:
        stream.detach()  # subtle: closing the wrapper would close a stream that is not ours


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path, whose content becomes that of `path` if the block succeeds.

    Links, mode and hard links of an existing file stay. A device or pipe is given as it is. Temporary files that killed
    processes left are removed.
    """
    if not os.fspath(path):
        raise FormatError("the output has no name: name a file, or - for standard output")
    with writing(path):
        place = Path(path)
        if place.is_dir():
            raise FormatError("is a directory: name a file", source=str(path))
        if place.exists() and not place.is_file():
            yield place
            return
        target = Path(os.path.realpath(place)) if place.is_symlink() else place  # resolve() fails on loops
        prefix = _part_prefix(target.name)
        for left in target.parent.glob(f"{glob.escape(prefix)}*.part"):
            if _is_left(left):
                left.unlink(missing_ok=True)
        temporary = target.with_name(f"{prefix}{os.urandom(4).hex()}.part")
        with _removed(temporary), temporary.open("xb") as held:
            lock(held)  # says that the file is in use as long as this process lives
            yield temporary
            _move(temporary, target, keep=place.is_symlink())


@contextlib.contextmanager
def temporary_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty folder beside `path` to make something in; it is removed at the end.

    Those that killed processes left for the same `path` are removed at the start.
    """
    place = Path(path)
    prefix = _part_prefix(place.name)
    for left in place.parent.glob(f"{glob.escape(prefix)}*.parts"):
        if _is_left(left / _LOCK):
            shutil.rmtree(left, ignore_errors=True)
    temporary = place.with_name(f"{prefix}{os.urandom(4).hex()}.parts")
    inner = temporary / "folder"
    with _removed(temporary):
        with writing(path):
            inner.mkdir(parents=True)
            held = (temporary / _LOCK).open("xb")
        with held:
            lock(held)  # says that the folder is in use as long as this process lives
            yield inner


@contextlib.contextmanager
def _removed(path: Path) -> Iterator[None]:
    """Remove a temporary file or folder at the end, or when the process is told to end."""
    _temporary.add(path)
    try:
        yield
    finally:
        _remove(path)
        _temporary.discard(path)


def remove_temporary() -> None:
    """Remove the temporary files and folders of this process, which is about to end."""
    for path in list(_temporary):
        _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    """Say whether the process that made a temporary file is gone."""
    try:
        with path.open("rb+") as file:
            return lock(file)
    except OSError:
        return False


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError into a FormatError that names the file."""
    try:
        with _encoding(os.fspath(path)):
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FormatError(f"cannot be written: {error.strerror or error}", source=os.fspath(path)) from None


@contextlib.contextmanager
def _encoding(name: str) -> Iterator[None]:
    """Turn text that UTF-8 cannot hold into a FormatError."""
    try:
        yield
    except UnicodeEncodeError as error:
        text = error.object[max(0, error.start - 20) : error.end]
        raise FormatError(f"cannot be written: {text!r} has half of a surrogate pair", source=name) from None


def lock(file: IO[bytes]) -> bool:
    """Lock an open file until it is closed; return whether no other process has it locked. Always true on Windows."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows; a file system without locks
        pass
    return True


def _part_prefix(name: str) -> str:
    """Return how the names of temporary files for `name` start; short enough for any file system."""
    raw = os.fsencode(name)
    if len(raw) <= 200:
        return f".{name}."
    import hashlib  # only here: it loads OpenSSL

    return f".{raw[:150].decode('utf-8', 'ignore')}.{hashlib.sha256(raw).hexdigest()[:16]}."


def _move(temporary: Path, target: Path, *, keep: bool) -> None:
    """Give `target` the content of a temporary file; a file with other names keeps its identity."""
    if not target.exists():
        temporary.replace(target)
    elif keep or target.stat().st_nlink > 1:
        shutil.copyfile(temporary, target)
    else:
        shutil.copymode(target, temporary)
        temporary.replace(target)


def content_suffix(path: PurePath) -> str:
    """Return the suffix that names the content, `.gz` and `.xz` aside.

    >>> content_suffix(PurePath("a.conllu.gz"))
    '.conllu'
    """
    return (path.with_suffix("") if path.suffix in (".gz", ".xz") else path).suffix


def open_binary(path: Path, mode: str, like: Path | None = None) -> IO[bytes]:
    """Open a path, compressed according to its suffix or that of `like`."""
    suffix = (like or path).suffix
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, mode, compresslevel=6))
    if suffix == ".xz":
        return cast("IO[bytes]", lzma.open(path, mode))
    return cast("IO[bytes]", path.open(mode))


def unpacked(raw: IO[bytes], suffix: str) -> IO[bytes]:
    """Read an open file decompressed, according to the suffix of its name; a plain file is returned as it is."""
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.open(raw))
    return cast("IO[bytes]", lzma.open(raw)) if suffix == ".xz" else raw


def _text(raw: IO[bytes]) -> io.TextIOWrapper:
    """Wrap a binary stream as UTF-8 text."""
    return io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
