"""A block of a corpus → a shard: a file of parsed sentences that is complete or absent.

A shard is written under a temporary name and renamed at the end, so making it twice has the same result as making it
once. Anything that could not be read or parsed is listed in `SHARD.problems.jsonl`, which is written first. A worker
that is killed leaves its temporary file behind. The next one counts these files and gives up at the fifth.
"""

import json
import os
import re
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from hexatagger.errors import ConfigError, FormatError, HexataggerError, check_choice
from hexatagger.formats.conllu import format_sentence
from hexatagger.formats.files import open_binary, open_output, read_lines
from hexatagger.formats.ids import Ids
from hexatagger.formats.tagfile import format_tagged
from hexatagger.formats.text import Source
from hexatagger.integrations.ray.blocks import Block
from hexatagger.integrations.ray.documents import Document, parse_documents, read_documents
from hexatagger.model.language import READ, find_foreign
from hexatagger.parsing.options import ParseOptions, Precision
from hexatagger.parsing.parser import Parser

Target = Literal["conllu", "json", "tags", "parquet"]

_TRIES = 5
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """Everything that determines the content of shards, besides model and corpus."""

    source: Source = "text"
    """The format of a file, or of the text of a record."""
    target: Target = "conllu"
    """The format of a shard."""
    text_column: str = "text"
    """The column of a record that has the text."""
    packed: bool = False
    """Whether shards are compressed with gzip."""
    block: int = 0
    """Bytes per block; 0 chooses automatically."""
    precision: Precision = "auto"
    parsing: ParseOptions = field(default_factory=ParseOptions)
    """The options of `Parser.parse_sentences`."""

    def __post_init__(self) -> None:
        for name, kind in (("source", Source), ("target", Target), ("precision", Precision)):
            check_choice(name, getattr(self, name), get_args(kind))
        if self.block < 0:
            raise ConfigError(f"block {self.block} is too small: at least 1 byte, or 0 to choose automatically")
        if self.target == "parquet" and self.packed:
            raise ConfigError("Parquet is compressed already: leave out --gz")
        if self.target == "parquet" and self.parsing.get("k", 1) > 1:
            raise ConfigError("a table has no place for the k best trees: write conllu or json")

    def block_size(self, total: int) -> int:
        """Return the bytes per block for this many bytes of files: a minute of one core, less for a small corpus.

        >>> sizes = [CorpusOptions(source=source).block_size(10**12) for source in ("conllu", "text")]
        >>> sizes[0] // sizes[1]  # CoNLL-U takes more bytes per word
        8
        """
        unit = 8 if self.source in ("conllu", "conllx") else 1
        return self.block or unit * min(1 << 20, max(1 << 16, total // unit // 64))

    def shard(self, name: str, number: int) -> str:
        """Return the name of a shard.

        >>> CorpusOptions(packed=True).shard("books/a.txt", 3)
        'books/a.txt.00003.conllu.gz'
        """
        suffix = "jsonl" if self.target == "json" else self.target
        return f"{name}.{number:05d}.{suffix}{'.gz' if self.packed else ''}"


class Tally(NamedTuple):
    """The content of a shard in numbers."""

    shard: str
    sentences: int
    words: int
    failure: str | None = None
    """Why the shard could not be made."""
    foreign: str = ""
    """What is wrong if its text does not look like the language of the model."""


def make_shard(parser: Parser, block: Block, options: CorpusOptions, out: Path) -> Tally:
    """Parse a block and write its shard; an error that concerns only this block is in the Tally."""
    shard = options.shard(block.name, block.number)
    place = out / shard
    sentences = words = 0
    problems: list[str] = []
    beginning = ""

    def parsed() -> Iterator[Document]:
        nonlocal sentences, words, beginning
        documents = read_documents(block, options.source, options.text_column, lambda: parser.segmenter)
        ids = Ids(f"{block.name}.{block.number:05d}")  # no other shard of the corpus has this name
        named = (document.with_ids(ids) for document in documents)
        for document in parse_documents(parser, named, options.parsing):
            sentences += len(document.sentences)
            words += sum(map(len, document.sentences))
            if len(beginning) < READ:
                beginning += " ".join(["", *(sentence.text for sentence in document.sentences)])
            for message in document.problems:
                values = {"file": block.path, "line": document.line, "message": message}
                problems.append(json.dumps(values, ensure_ascii=False) + "\n")
            yield document

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        left = unfinished(place)
        if len(left) >= _TRIES:
            raise HexataggerError(f"a worker died {len(left)} times while making it, perhaps for lack of memory")
        temporary = place.with_name(f".{place.name}.{uuid.uuid4().hex}.part")
        temporary.touch()
        if options.target == "parquet":
            from hexatagger.integrations.ray.tables import write_parquet

            write_parquet(parsed(), Path(block.path), temporary)
        else:
            with open_binary(temporary, "wb", like=place) as shard_file:
                for document in parsed():
                    shard_file.write(format_document(document, block.name, options.target).encode("utf-8"))
        if problems:
            with open_output(_problems(place)) as stream:
                stream.writelines(problems)
        with temporary.open("rb") as raw:
            os.fsync(raw.fileno())  # on the disk before it gets its name
        temporary.replace(place)
        for path in left:
            path.unlink(missing_ok=True)
    except (HexataggerError, OSError) as error:
        if isinstance(error, OSError):
            error = FormatError(f"cannot be written: {error.strerror or error}", source=str(place))
        return Tally(shard, 0, 0, f"{error} (on {socket.gethostname()})")
    return Tally(shard, sentences, words, foreign=find_foreign(beginning, parser.folder.path, {}))


def _problems(place: Path) -> Path:
    """Return the file that lists the problems of a shard."""
    return place.with_name(f"{place.name}.problems.jsonl")


def read_problems(out: Path, options: CorpusOptions, blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """Yield the problems of the blocks' shards: file, line and message."""
    for block in blocks:
        path = _problems(out / options.shard(block.name, block.number))
        if path.exists():
            yield from map(json.loads, read_lines(path))


def unfinished(place: Path) -> list[Path]:
    """Return the temporary files that killed workers left of a shard."""
    return sorted(place.parent.glob(f".{escape(place.name)}.*.part"))


def format_document(document: Document, name: str | None, target: Target) -> str:
    """Return the lines of a document of the file `name`.

    In CoNLL-U a record starts a document, named after its column `id` or its place, and its other columns are comments,
    as in the treebank GUM; without a file, only a record with an `id` does. In JSON a record is an object with all its
    columns but the text, and `sentences`.

    >>> from hexatagger.sentence import Sentence
    >>> record = Document(7, [Sentence.from_words(["Hi"])], {"id": 12, "author": "Anna", "tags": ["a", "b"]})
    >>> format_document(record, "a.jsonl", "conllu").splitlines()[:3]
    ['# newdoc id = 12', '# meta::author = Anna', '# meta::tags = ["a", "b"]']
    """
    if target == "json":
        values: list[dict[str, Any]] = [sentence.to_dict() for sentence in document.sentences]
        if document.columns is not None:
            check_free(document.columns, ["sentences"])
            values = [{**document.columns, "sentences": values}] if values or not document.problems else []
        return "".join(json.dumps(each, ensure_ascii=False, default=str) + "\n" for each in values)
    if document.sentences:
        document.sentences[0].comments = [*_opening(document, name), *document.sentences[0].comments]
    trees = [tree for sentence in document.sentences for tree in (sentence, *sentence.alternatives)]
    if target == "tags":
        return "".join(format_tagged(tree, scheme="head+path") for tree in trees)
    return "".join(map(format_sentence, trees))


def check_free(columns: Iterable[str], names: Iterable[str]) -> None:
    """Raise ConfigError if records have a column that the output needs."""
    for name in names:
        if name in columns:
            raise ConfigError(f"records have a column '{name}', which the output has too: rename it")


def _opening(document: Document, name: str | None) -> list[str]:
    """Return the comments that start a document: none in a plain file."""
    columns = {column: value for column, value in (document.columns or {}).items() if value is not None}
    if document.columns is None or (name is None and "id" not in columns):
        return []
    lines = [f"# newdoc id = {on_one_line(columns.pop('id', f'{name}:{document.line}'))}"]
    return lines + [f"# meta::{on_one_line(column)} = {on_one_line(value)}" for column, value in columns.items()]


def on_one_line(value: object) -> str:
    """Return a string as it is if it fits on one line, anything else as JSON."""
    if isinstance(value, str) and not _CONTROL.search(value):
        return value
    return json.dumps(value, ensure_ascii=isinstance(value, str), default=str)
