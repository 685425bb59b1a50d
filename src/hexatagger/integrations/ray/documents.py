"""A block of a corpus → documents: its records, or the sentences of a plain file.

A record that cannot be read is a Problem of its document, with its line; all others are read. Ray Data's readers would
end the job instead. In plain text, bytes that are not UTF-8 are read as U+FFFD, and reported as a Problem.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from hexatagger.errors import FormatError
from hexatagger.formats.conllu import parse_block
from hexatagger.formats.files import open_binary, reading
from hexatagger.formats.text import words_of
from hexatagger.integrations.ray.blocks import JSON_LINES, PARQUET, Block, Source, Span, open_parquet, suffix
from hexatagger.segment.segmenter import Segmenter
from hexatagger.sentence import Sentence

_PART = 1024  # sentences per document of a plain file


class Problem(NamedTuple):
    """Something that could not be read or parsed, with its first line or row."""

    line: int
    message: str


@dataclass(slots=True)
class Document:
    """A record of JSON lines or Parquet, or a number of sentences of a plain file."""

    line: int
    sentences: list[Sentence]
    columns: dict[str, Any] | None = None
    """The other columns of the record; None in a plain file."""
    problems: list[Problem] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """The first lines of the sentences of a plain CoNLL-U file; empty otherwise."""


def read_documents(
    block: Block, source: Source, text_column: str, segmenter: Callable[[], Segmenter]
) -> Iterator[Document]:
    """Yield the documents of a block, cut into sentences; `segmenter` is called only if there is text to cut."""
    path = Path(block.path)
    if suffix(path) == PARQUET:
        yield from _records(_rows(path, block.span), source, text_column, segmenter)
        return
    start, end, offset, first = block.span
    with reading(str(path)), open_binary(path, "rb") as stream:
        stream.seek(start)
        raw = stream.read(-1 if end is None else end - start)
    if suffix(path) in JSON_LINES:
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
    """Decode plain text; bytes that are not UTF-8 are replaced, and reported once per line."""
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
    """Yield the sentences of a plain CoNLL-U file, some at a time."""
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
    """Convert records to documents."""
    for number, row in rows:
        document = Document(number, [], {})
        try:
            record = row if isinstance(row, dict) else _object(row)
            document.columns = {name: value for name, value in record.items() if name != text_column}
            if text_column not in record:
                names = ", ".join(map(str, record)) or "none at all"
                raise FormatError(f"has no column '{text_column}', but {names}: name it with --text-column")
            document.sentences = sentences_of(record[text_column], source, segmenter)
        except FormatError as error:
            document.problems.append(Problem(number, error.message))
        yield document


def _object(line: bytes) -> dict[str, Any]:
    """Read one record of JSON lines."""
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
            raise FormatError("has half of a surrogate pair, such as \\ud83d on its own") from None
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


def _rows(path: Path, span: Span) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a block of a Parquet file with their numbers, from 1."""
    with open_parquet(path) as file:
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
