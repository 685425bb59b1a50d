"""A block of a corpus → documents: its records, or the sentences of a plain file; and parsing them.

What cannot be read or parsed is a problem of its document, with its line; all others are read. Ray Data's readers would
end the job instead. In plain text, bytes that are not UTF-8 are read as U+FFFD, and reported as a problem.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hexatagger.errors import FormatError, HexataggerError
from hexatagger.formats.conllu import parse_block
from hexatagger.formats.files import content_suffix as suffix
from hexatagger.formats.files import find_not_utf8, open_binary, reading, runs
from hexatagger.formats.ids import Ids
from hexatagger.formats.text import Source
from hexatagger.integrations.ray.blocks import JSON_LINES, PARQUET, Block, open_parquet
from hexatagger.parsing.options import ParseOptions
from hexatagger.parsing.parser import Parser
from hexatagger.parsing.pool import parse_pooled
from hexatagger.segment.segmenter import Segmenter, read_plain
from hexatagger.sentence import Sentence

_POOL = 1024  # sentences that are parsed together


@dataclass(slots=True)
class Document:
    """A record of JSON lines or Parquet, or a sentence of a plain file."""

    line: int
    sentences: list[Sentence]
    columns: dict[str, Any] | None = None
    """The other columns of the record; None in a plain file."""
    problems: list[str] = field(default_factory=list)

    def with_ids(self, ids: Ids) -> "Document":
        """Give ids to the sentences that have none, and return the document."""
        self.sentences = list(map(ids.complete, self.sentences))
        return self


def read_documents(
    block: Block, source: Source, text_column: str, segmenter: Callable[[], Segmenter]
) -> Iterator[Document]:
    """Yield the documents of a block, cut into sentences; `segmenter` is called only if there is text to cut."""
    path = Path(block.path)
    if suffix(path) == PARQUET:
        for number, record in _rows(path, block):
            yield read_record(number, record, source, text_column, segmenter)
        return
    with reading(str(path)), open_binary(path, "rb") as stream:
        stream.seek(block.start)
        raw = stream.read(-1 if block.end is None else block.end - block.start)
    text = raw.decode("utf-8", "surrogateescape")
    lines = (text if block.start else text.removeprefix("\ufeff")).removesuffix("\n").split("\n")
    if suffix(path) in JSON_LINES:
        for number, line in enumerate(lines, block.line):
            if line.strip():
                yield read_record(number, line, source, text_column, segmenter)
    elif source in ("conllu", "conllx"):
        yield from _trees(lines, source, block.line)
    else:
        for number, line in enumerate(lines, block.line):
            if byte := find_not_utf8(line):
                yield Document(number, [], problems=[f"{byte}; it is read as U+FFFD"])
        for sentence in read_plain([raw.decode("utf-8", "replace")], source, segmenter, offset=block.character):
            yield Document(block.line, [sentence])


def _trees(lines: list[str], source: Source, first: int) -> Iterator[Document]:
    """Yield the sentences of a plain CoNLL-U file; if the last one is not closed, `cut_file` has said so."""
    for number, run, _ in runs((line.rstrip("\r") for line in lines), first):
        try:
            for place, line in enumerate(run, number):
                if byte := find_not_utf8(line):
                    raise FormatError(f"{byte}: convert the file to UTF-8", line=place)
            document = Document(number, [parse_block(run, "", number, extended=source == "conllu")])
        except FormatError as error:
            document = Document(error.line or number, [], problems=[error.message])
        yield document


def read_record(
    number: int, row: str | dict[str, Any], source: Source, text_column: str, segmenter: Callable[[], Segmenter]
) -> Document:
    """Convert a record, or a line of JSON, to a document."""
    document = Document(number, [], {})
    try:
        record = row if isinstance(row, dict) else _object(row)
        document.columns = {name: value for name, value in record.items() if name != text_column}
        if text_column not in record:
            names = ", ".join(map(str, record)) or "none at all"
            raise FormatError(f"has no column '{text_column}', but {names}: name it with --text-column")
        document.sentences = sentences_of(record[text_column], source, segmenter)
    except FormatError as error:
        document.problems.append(error.message)
    return document


def _object(line: str) -> dict[str, Any]:
    """Read one record of JSON lines."""
    if byte := find_not_utf8(line):
        raise FormatError(f"{byte}: convert the file to UTF-8")
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError('is not a JSON object, like {"text": …}')
    if "\\ud" in line.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise FormatError("has half of a surrogate pair, such as \\ud83d on its own") from None
    return value


def _rows(path: Path, block: Block) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a block of a Parquet file with their numbers, from 1."""
    end, first = block.end or 0, 0
    with open_parquet(path) as file:
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            begin = max(block.start, first)
            if begin < min(end, first + size):
                rows = file.read_row_group(group).slice(begin - first, end - begin)
                yield from enumerate(rows.to_pylist(), begin + 1)
            first += size


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
    if source not in ("conllu", "conllx"):
        return list(read_plain([value], source, segmenter))
    try:
        found = runs(line.rstrip("\r") for line in value.split("\n"))
        return [parse_block(run, "", number, extended=source == "conllu") for number, run, _ in found]
    except FormatError as error:
        raise FormatError(f"line {error.line} of its text: {error.message}") from None


def parse_documents(parser: Parser, documents: Iterable[Document], options: ParseOptions) -> Iterator[Document]:
    """Parse documents, pooling the sentences of several; a sentence that fails is a problem of its document."""
    failures: dict[int, str] = {}  # by identity, as a failed sentence comes back as it was

    def parse(sentences: list[Sentence]) -> list[Sentence]:
        try:
            return parser.parse_sentences(sentences, **options)
        except Exception as error:  # even a bug of ours must not cost the rest of a corpus
            if len(sentences) > 1:
                half = len(sentences) // 2
                return parse(sentences[:half]) + parse(sentences[half:])
            reason = str(error) if isinstance(error, HexataggerError) else f"{type(error).__name__}: {error}"
            failures[id(sentences[0])] = f"sentence '{sentences[0].text[:60]}' cannot be parsed: {reason}"
            return sentences

    pairs = ((document, document.sentences) for document in documents)
    for document, parsed in parse_pooled(pairs, partial(map, parse), size=_POOL):
        document.sentences = [sentence for sentence in parsed if id(sentence) not in failures]
        document.problems += [failures.pop(id(sentence)) for sentence in parsed if id(sentence) in failures]
        yield document
