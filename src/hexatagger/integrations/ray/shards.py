"""A block of a corpus → a shard: a file of parsed sentences that is there whole or not at all.

A shard is called after its block (`a.txt` → `a.txt.00000.conllu`, `a.txt.00001.conllu`, …), grows under another name
and is renamed at the end, so making it twice is the same as making it once. What could not be read or parsed stands
beside it, in `a.txt.00000.conllu.problems.jsonl`, which is written first: a shard that is there is all there.

A worker that is killed leaves the unfinished file behind. Who makes the shard next counts those, and gives up after
the fifth: a block that kills every worker must not do so for ever.
"""

import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from hexatagger.errors import ConfigError, FormatError, HexataggerError, check_choice
from hexatagger.formats.conllu import format_sentence
from hexatagger.formats.files import open_binary, open_output, read_lines
from hexatagger.formats.tagfile import format_tagged
from hexatagger.integrations.ray.blocks import SOURCES, Block, Source
from hexatagger.integrations.ray.documents import Document, Problem, read_documents
from hexatagger.model.folder import PARSING_FILES
from hexatagger.parsing.parser import Parser, Precision, load
from hexatagger.sentence import Sentence

Target = Literal["conllu", "json", "tags", "parquet"]
TARGETS: tuple[Target, ...] = get_args(Target)

_SUFFIXES = {"conllu": ".conllu", "json": ".jsonl", "tags": ".tags", "parquet": ".parquet"}
_PROBLEMS = ".problems.jsonl"
_TRIES = 5
_POOL = 1024  # sentences that are parsed together
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that the content of shards depends on, besides model and corpus."""

    source: Source = "text"
    """What a file, or the text of a record, is."""
    target: Target = "conllu"
    """What is written."""
    text_column: str = "text"
    """Where the text of a record is."""
    packed: bool = False
    """Whether shards are packed with gzip."""
    block: int = 0
    """Bytes of a block; 0 to have it chosen."""
    precision: Precision = "auto"
    options: dict[str, Any] = field(default_factory=dict)
    """Those of `Parser.parse_sentences`."""

    def __post_init__(self) -> None:
        check_choice("source", self.source, SOURCES)
        check_choice("target", self.target, TARGETS)
        check_choice("precision", self.precision, get_args(Precision))
        if self.block < 0:
            raise ConfigError(f"block {self.block} is too small: at least 1 byte, or 0 to have it chosen")
        if self.target == "parquet" and self.packed:
            raise ConfigError("Parquet is packed already: leave out --gz")
        if self.target == "parquet" and self.options.get("k", 1) > 1:
            raise ConfigError("a table has no place for the k best trees: write conllu or json")

    def block_size(self, total: int) -> int:
        """Return the bytes of a block of files that have so many: enough for a minute of a core, less if they are few.

        >>> Settings().block_size(10**12) == Settings(source="conllu").block_size(10**12) // 8  # bytes a word takes
        True
        """
        unit = 8 if self.source in ("conllu", "conllx") else 1
        return self.block or unit * min(1 << 20, max(1 << 16, total // unit // 64))

    def shard(self, name: str, number: int) -> str:
        """Return the name of a shard.

        >>> Settings(packed=True).shard("books/a.txt", 3)
        'books/a.txt.00003.conllu.gz'
        """
        return f"{name}.{number:05d}{_SUFFIXES[self.target]}{'.gz' if self.packed else ''}"

    def place(self, out: Path, block: Block) -> Path:
        """Return where the shard of a block is, or will be."""
        return out / self.shard(block.name, block.number)


@dataclass(slots=True)
class Tally:
    """What a shard holds."""

    shard: str
    documents: int = 0
    sentences: int = 0
    words: int = 0
    problems: int = 0
    failure: str | None = None
    """Why there is no such shard."""


def model_digest(folder: Path) -> str:
    """Return a digest of all in a model folder that parsing depends on."""
    digest = hashlib.sha256()
    for path in sorted(folder / name for name in PARSING_FILES):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def check_model(folder: Path, source: Source, precision: Precision, options: dict[str, Any]) -> None:
    """Load a model and ask it for nothing: what is wrong with it or with options is then said here, and once."""
    parser = load(folder, precision=precision, threads=1)
    if source in ("text", "lines"):
        _ = parser.segmenter
    parser.parse_sentences([], **options)


def make_shard(parser: Parser, block: Block, settings: Settings, out: Path) -> Tally:
    """Parse a block and write its shard; what goes wrong with this one block only is told in the Tally."""
    tally, place = Tally(settings.shard(block.name, block.number)), settings.place(out, block)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        left = unfinished(place)
        if len(left) >= _TRIES:
            raise HexataggerError(f"a worker died {len(left)} times while making it, perhaps for lack of memory")
        temporary = place.with_name(f".{place.name}.{uuid.uuid4().hex}.part")
        temporary.touch()
        documents = read_documents(block, settings.source, settings.text_column, lambda: parser.segmenter)
        found: list[Problem] = []
        parsed = _counted(parse_documents(parser, documents, **settings.options), tally, found)
        _write(parsed, block, settings, temporary, place)
        if found:
            with open_output(place.with_name(place.name + _PROBLEMS)) as stream:
                for line, message in found:
                    values = {"file": block.path, "line": line, "message": message}
                    stream.write(json.dumps(values, ensure_ascii=False) + "\n")
        _flush(temporary)
        temporary.replace(place)
        for path in left:
            path.unlink(missing_ok=True)
    except HexataggerError as error:
        tally.failure = f"{error} (on {socket.gethostname()})"
    except OSError as error:
        reason = f"cannot be written: {error.strerror or error} (on {socket.gethostname()})"
        tally.failure = str(FormatError(reason, source=str(place)))
    return tally


def read_problems(out: Path, settings: Settings, blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """Yield the problems of all shards of blocks: file, line and message."""
    for block in blocks:
        place = settings.place(out, block)
        path = place.with_name(place.name + _PROBLEMS)
        if path.exists():
            yield from (json.loads(line) for line in read_lines(path))


def unfinished(place: Path) -> list[Path]:
    """Return what killed workers left of a shard."""
    return sorted(place.parent.glob(f".{_escaped(place.name)}.*.part"))


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _flush(path: Path) -> None:
    """See to it that a file is on the disk before it gets its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _counted(documents: Iterable[Document], tally: Tally, problems: list[Problem]) -> Iterator[Document]:
    """Let documents pass and count what they hold."""
    for document in documents:
        tally.documents += document.columns is not None
        tally.sentences += len(document.sentences)
        tally.words += sum(map(len, document.sentences))
        tally.problems += len(document.problems)
        problems += document.problems
        yield document


def parse_documents(parser: Parser, documents: Iterable[Document], **options: Any) -> Iterator[Document]:
    """Parse documents, many sentences at once whatever document they are of.

    A sentence that cannot be parsed is a Problem of its document.
    """
    waiting: list[Document] = []
    count = 0
    for document in documents:
        waiting.append(document)
        count += len(document.sentences)
        if count >= _POOL:
            yield from _parsed(parser, waiting, options)
            waiting, count = [], 0
    yield from _parsed(parser, waiting, options)


def _parsed(parser: Parser, documents: list[Document], options: dict[str, Any]) -> Iterator[Document]:
    made = iter(_each(parser, [sentence for document in documents for sentence in document.sentences], options))
    for document in documents:
        given, document.sentences = document.sentences, []
        for sentence, line in zip(given, document.lines or [document.line] * len(given), strict=True):
            result = next(made)
            if isinstance(result, Sentence):
                document.sentences.append(result)
            else:
                message = f"sentence '{sentence.text[:60]}' cannot be parsed: {result}"
                document.problems.append(Problem(line, message))
        yield document


def _each(parser: Parser, sentences: list[Sentence], options: dict[str, Any]) -> list[Sentence | str]:
    """Parse sentences; for one that cannot be parsed, return why."""
    try:
        return [*parser.parse_sentences(sentences, **options)]
    except Exception as error:  # even if it is a mistake of ours, it must not cost the rest of a corpus
        if len(sentences) == 1:
            return [str(error) if isinstance(error, HexataggerError) else f"{type(error).__name__}: {error}"]
        half = len(sentences) // 2
        return _each(parser, sentences[:half], options) + _each(parser, sentences[half:], options)


def _write(documents: Iterable[Document], block: Block, settings: Settings, temporary: Path, place: Path) -> None:
    """Write the documents of a block to a temporary file, in the form that its later name says."""
    if settings.target == "parquet":
        from hexatagger.integrations.ray.tables import write_parquet

        write_parquet(documents, Path(block.path), temporary)
        return
    with open_binary(temporary, "wb", like=place) as stream:
        for document in documents:
            stream.write(format_document(document, block.name, settings.target).encode("utf-8"))


def format_document(document: Document, name: str | None, target: Target) -> str:
    """Return the lines of a document of the file `name`.

    In CoNLL-U a record opens a document, called after its column `id` or after its place, and its other columns are
    comments, as in the treebank GUM; without a file, only a record with an `id` does. In JSON a record is an object
    with all its columns but the text, and `sentences`.

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
        document.sentences[0].comments = [*opening(document, name), *document.sentences[0].comments]
    trees = [tree for sentence in document.sentences for tree in (sentence, *sentence.alternatives)]
    if target == "tags":
        return "".join(format_tagged(tree, scheme="head+path") for tree in trees)
    return "".join(map(format_sentence, trees))


def check_free(columns: Iterable[str], names: Iterable[str]) -> None:
    """Raise ConfigError if records have a column that the output needs."""
    for name in names:
        if name in columns:
            raise ConfigError(f"records have a column '{name}', which the output has too: rename it")


def opening(document: Document, name: str | None) -> list[str]:
    """Return the comments that say which document begins: none in a plain file."""
    columns = {column: value for column, value in (document.columns or {}).items() if value is not None}
    if document.columns is None or (name is None and "id" not in columns):
        return []
    lines = [f"# newdoc id = {shown(columns.pop('id', f'{name}:{document.line}'))}"]
    return lines + [f"# meta::{shown(column)} = {shown(value)}" for column, value in columns.items()]


def shown(value: object) -> str:
    """Write a value on one line: a string as it is if it can be, all else as JSON."""
    if isinstance(value, str) and not _CONTROL.search(value):
        return value
    return json.dumps(value, ensure_ascii=bool(isinstance(value, str)), default=str)
