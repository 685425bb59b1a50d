"""A corpus of files → blocks that can be parsed apart, and blocks → documents.

A block begins where a sentence begins whatever stands before it: plain text is cut before a paragraph (an empty line
precedes it), text with a sentence a line before a line, CoNLL-U before a sentence, JSON lines before a line, Parquet
before a row. So what is made of the blocks of a file is, one after another, what is made of the file, offsets included.
A file without such places is one block, however long it is. A block of a packed file (`.gz`, `.xz`) is reached by
unpacking what precedes it, which is nothing against parsing.

A record that cannot be read is a Problem of its document, with its line; all others are read. In plain text, bytes
that are not UTF-8 are read as U+FFFD, and that is a Problem too.
"""

import gzip
import json
import lzma
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, get_args

from hexatagger.conllu import parse_block
from hexatagger.errors import ConfigError, FormatError, needs
from hexatagger.files import open_binary
from hexatagger.rawtext import VISIBLE, words_of
from hexatagger.segment import Segmenter
from hexatagger.sentence import Sentence

Source = Literal["text", "lines", "words", "conllu", "conllx"]
SOURCES: tuple[Source, ...] = get_args(Source)

_PACKED = (".gz", ".xz")
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = ".parquet"
_CONLLU = (".conllu", ".conll", ".conllx")
_MAGIC = re.compile(r"[*?[]")
_PART = 1024  # sentences of a plain file that make a document


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


class Problem(NamedTuple):
    """Something that could not be read or parsed, with the line or row that it begins in."""

    line: int
    message: str


@dataclass(slots=True)
class Document:
    """A record of JSON lines or Parquet, or some sentences of a plain file."""

    line: int
    sentences: list[Sentence]
    columns: dict[str, Any] | None = None
    """What the record has besides its text; None in a plain file."""
    problems: list[Problem] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """Where the sentences of a plain CoNLL-U file begin; empty elsewhere."""


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
        known = (*_JSON_LINES, _PARQUET, *_CONLLU, ".txt")
        root, found = path, [each for each in path.rglob("*") if _suffix(each) in known]
    elif path.exists() or not _MAGIC.search(pattern):
        return path.parent, [path] if path.is_file() else []
    else:
        fixed = next(number for number, part in enumerate(path.parts) if _MAGIC.search(part))
        root = Path(*path.parts[:fixed])
        found = [*root.glob("/".join(path.parts[fixed:]))]
    shown = (each for each in found if not any(part.startswith(".") for part in each.relative_to(root).parts))
    return root, sorted(each for each in shown if each.is_file())


def _suffix(path: Path) -> str:
    """Return the suffix that says what is inside."""
    return (path.with_suffix("") if path.suffix in _PACKED else path).suffix


def check_source(path: Path, source: Source) -> None:
    """Raise ConfigError if the name of a file says that it is something else than it is to be read as."""
    if _suffix(path) in _CONLLU and source not in ("conllu", "conllx"):
        raise ConfigError(f"{path} is CoNLL-U, but is to be read as {source}: say --from conllu")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
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
    if _suffix(path) == _PARQUET:
        return _cut_rows(path, size)
    begins = _Beginnings("jsonl" if _suffix(path) in _JSON_LINES else source)
    starts = [Span(0, None)]
    place = characters = 0
    with _opened(path) as stream:
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


def read_documents(
    block: Block, source: Source, text_column: str, segmenter: Callable[[], Segmenter]
) -> Iterator[Document]:
    """Yield the documents of a block, cut into sentences; `segmenter` is asked for only where text is to be cut."""
    path = Path(block.path)
    if _suffix(path) == _PARQUET:
        yield from _records(_rows(path, block.span), source, text_column, segmenter)
        return
    start, end, offset, first = block.span
    with _opened(path) as stream:
        stream.seek(start)
        raw = stream.read(-1 if end is None else end - start)
    if _suffix(path) in _JSON_LINES:
        lines = enumerate(raw.split(b"\n"), first)
        objects = ((number, line) for number, line in lines if line.strip())
        yield from _records(objects, source, text_column, segmenter)
    elif source in ("conllu", "conllx"):
        yield from _trees(raw, source, first)
    else:
        text, problems = _decoded(raw, first)
        if problems:
            yield Document(first, [], problems=problems)
        if source == "words":
            sentences = words_of([text], offset=offset)
        else:
            sentences = segmenter().stream([text], lines=source == "lines", offset=offset)
        while part := list(islice(sentences, _PART)):
            yield Document(first, part)


def _decoded(raw: bytes, first: int) -> tuple[str, list[Problem]]:
    """Decode plain text; what is not UTF-8 is replaced and reported, once for a line."""
    try:
        return raw.decode("utf-8"), []
    except UnicodeDecodeError:
        pass
    problems = []
    for number, line in enumerate(raw.split(b"\n"), first):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.append(Problem(number, f"{_not_utf8(error)}; it is read as U+FFFD"))
    return raw.decode("utf-8", "replace"), problems


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"byte 0x{error.object[error.start]:02x} is not UTF-8"


def _trees(raw: bytes, source: Source, first: int) -> Iterator[Document]:
    """Yield the sentences of a plain CoNLL-U file, some at once."""
    document = Document(first, [])
    lines = raw.removesuffix(b"\n").split(b"\n")
    for number, block in runs(lines, first):
        try:
            if number + len(block) == first + len(lines):
                raise FormatError("the last sentence is not closed by an empty line: the file may be cut off")
            decoded = [line.decode("utf-8") for line in block]
            if number == 1:
                decoded[0] = decoded[0].removeprefix("\ufeff")
            document.sentences.append(parse_block(decoded, "", number, extended=source == "conllu"))
            document.lines.append(number)
        except UnicodeDecodeError as error:
            line = number + block.index(error.object)
            document.problems.append(Problem(line, f"{_not_utf8(error)}: convert the file to UTF-8"))
        except FormatError as error:
            document.problems.append(Problem(error.line or number, error.message))
        if len(document.sentences) == _PART:
            yield document
            document = Document(first, [])
    yield document


def runs(lines: Sequence[bytes], first: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the runs of lines between empty lines, each with the number of its first line."""
    run: list[bytes] = []
    number = first
    for number, line in enumerate(lines, first):
        plain = line.removesuffix(b"\r")
        if plain:
            run.append(plain)
        elif run:
            yield number - len(run), run
            run = []
    if run:
        yield number - len(run) + 1, run


def _records(
    rows: Iterable[tuple[int, bytes | dict[str, Any]]],
    source: Source,
    text_column: str,
    segmenter: Callable[[], Segmenter],
) -> Iterator[Document]:
    """Make documents of records."""
    for number, row in rows:
        document = Document(number, [], {})
        try:
            record = row if isinstance(row, dict) else _object(row)
            document.columns = {name: value for name, value in record.items() if name != text_column}
            if text_column not in record:
                names = ", ".join(map(str, record)) or "none at all"
                raise FormatError(f"has no column '{text_column}', but {names}: say which with --text-column")
            document.sentences = sentences_of(record[text_column], source, segmenter)
        except FormatError as error:
            document.problems.append(Problem(number, error.message))
        yield document


def _object(line: bytes) -> dict[str, Any]:
    """Read a line of JSON lines."""
    try:
        value = json.loads(line.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise FormatError(f"{_not_utf8(error)}: convert the file to UTF-8") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError('is not a JSON object, like {"text": …}')
    if b"\\ud" in line.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise FormatError("has half a character, like \\ud83d without what must follow it") from None
    return value


def sentences_of(value: object, source: Source, segmenter: Callable[[], Segmenter]) -> list[Sentence]:
    """Cut the text of a record into sentences; words may also be a list, or a list of lists.

    >>> [sentence.forms for sentence in sentences_of([["Hi", "!"], ["Bye"]], "words", lambda: None)]
    [['Hi', '!'], ['Bye']]
    """
    if source == "words" and isinstance(value, list):
        given = [value] if value and all(isinstance(each, str) for each in value) else value
        if all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in given):
            return [Sentence.from_words(words) for words in given if words]
    if not isinstance(value, str):
        shown = "null" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"
        raise FormatError(f"its text is {shown}: a string is needed")
    if source in ("text", "lines"):
        return segmenter().segment(value, lines=source == "lines")
    if source == "words":
        return list(words_of([value]))
    found = []
    for number, run in runs(value.encode("utf-8").split(b"\n"), 1):
        try:
            lines = [line.decode("utf-8") for line in run]
            found.append(parse_block(lines, "", number, extended=source == "conllu"))
        except FormatError as error:
            raise FormatError(f"line {error.line} of its text: {error.message}") from None
    return found


def _cut_rows(path: Path, size: int) -> list[Span]:
    """Cut a Parquet file by what its footer says of the size of row groups."""
    with _parquet(path) as file:
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


def _rows(path: Path, span: Span) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a block of a Parquet file with their numbers, from 1."""
    with _parquet(path) as file:
        first, wanted, before = 0, list[int](), 0
        for number in range(file.metadata.num_row_groups):
            size = file.metadata.row_group(number).num_rows
            if first + size <= span.start:
                before = first + size
            elif first < (span.end or 0):
                wanted.append(number)
            first += size
        table = file.read_row_groups(wanted).slice(span.start - before, (span.end or 0) - span.start)
        for batch in table.to_batches(max_chunksize=1024):
            yield from enumerate(batch.to_pylist(), span.line)
            span = span._replace(line=span.line + batch.num_rows)


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file."""
    with needs("ray"):
        import pyarrow
        from pyarrow import parquet
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise FormatError(f"cannot be read as Parquet: {error}", source=str(path)) from None
