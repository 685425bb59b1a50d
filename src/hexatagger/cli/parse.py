"""`hexatagger parse`: text, words or CoNLL-U to trees, on this machine."""

import functools
import gc
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, starmap
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeVar, cast, get_args

import click

from hexatagger.cli.options import (
    auto_model_option,
    choice,
    is_terminal,
    model_picker,
    output_option,
    parsing,
    progress_bar,
    source_option,
    threads_option,
)
from hexatagger.errors import ConfigError
from hexatagger.formats.files import LONGEST_LINE, File, find_not_utf8, open_binary, open_output, read_text

if TYPE_CHECKING:
    from hexatagger.formats.text import Source
    from hexatagger.model.config import Task
    from hexatagger.parsing.options import Respected
    from hexatagger.parsing.parser import Parser
    from hexatagger.sentence import Sentence

Item = TypeVar("Item")
Output = Literal["tree", "conllu", "json", "tags", "svg", "html"]


@click.command()
@click.argument("text", nargs=-1)
@click.option("-f", "--file", "files", multiple=True, help="File to parse instead of TEXT; repeatable; - is stdin.")
@auto_model_option
@source_option
@choice("--to", "target", of=get_args(Output), text="What to write.  [default: tree in a terminal, conllu elsewhere]")
@output_option
@parsing
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes to parse with.")
@threads_option
@click.option("--resume", is_flag=True, help="Keep finished work in OUTPUT.partial, and continue from there.")
def parse(
    text: tuple[str, ...],
    files: tuple[str, ...],
    model: str,
    source: "Source",
    target: Output | None,
    output: str,
    keep: "list[Task]",
    respect: "list[Respected]",
    probabilities: bool,
    k: int,
    workers: int,
    threads: int | None,
    resume: bool,
) -> None:
    """Parse TEXT, files or standard input.

    \b
      hexatagger parse "She reads fascinating papers."
      hexatagger parse -f book.txt -o book.conllu --workers 4
      hexatagger parse --from conllu -f words.conllu --keep upos,lemma
      echo "one sentence , cut into words" | hexatagger parse --from words
      hexatagger parse --k 3 --probabilities "I saw the man with the telescope."
      hexatagger parse --model auto -f letter.txt -f brief.txt

    json is one object per sentence, one per line. For many files or machines, see hexatagger corpus.
    """
    if text and files:
        raise ConfigError("both TEXT and --file are given: give one of them")
    for each in text:
        if byte := find_not_utf8(each):
            raise ConfigError(f"TEXT: {byte}; convert it, or use a UTF-8 terminal")
    from hexatagger.formats.ids import Ids
    from hexatagger.model.registry import AUTO
    from hexatagger.parsing.options import ParseOptions

    ids = Ids()
    options = ParseOptions(keep=keep, respect=respect, probabilities=probabilities, k=k)
    chosen: Output = target or ("tree" if output == "-" and is_terminal(sys.stdout) else "conllu")
    loaded = functools.cache(functools.partial(_load, threads=1 if workers > 1 else threads))
    if model != AUTO:
        loaded(model)
    names = list(files) or ([] if text else ["-"])
    watched = {name: _Watched(name) for name in files if name != "-"}
    documents = _documents(source, text, [cast("File", watched.get(name, name)) for name in names])

    def read(parser: "Parser", stream: "Iterator[str] | Iterator[Sentence]") -> "Iterator[Sentence]":
        if source in ("conllu", "conllx"):
            return cast("Iterator[Sentence]", stream)
        from hexatagger.segment.segmenter import read_plain  # here: its imports would delay opening the network

        return read_plain(cast("Iterator[str]", stream), source, lambda: parser.segmenter)

    def read_all(run: "Iterable[tuple[Parser, Iterator[str] | Iterator[Sentence]]]", done: int) -> "Iterator[Sentence]":
        """Read documents; the ids of the sentences run through all of them, also those `done` before."""
        return islice(map(ids.complete, chain.from_iterable(starmap(read, run))), done, None)

    def parsed_by(parser: "Parser", sentences: "Iterable[Sentence]") -> "Iterator[Sentence]":
        if workers == 1:
            return parser.pipe(sentences, **options)
        from hexatagger.parsing.workers import parse_parallel

        return parse_parallel(parser.folder.path, sentences, workers=workers, threads=threads, **options)

    def parsed(done: int = 0) -> "Iterator[Sentence]":
        pick = model_picker(model)
        picked = ((loaded(pick(beginning)), stream) for beginning, stream in documents)
        found: Iterator[Sentence] = (
            sentence
            for parser, run in groupby(picked, key=itemgetter(0))
            # only a job with one model is resumed: there is one run then
            for sentence in parsed_by(parser, read_all(run, done))
        )
        if watched and is_terminal(sys.stderr):
            found = _shown(found, list(watched.values()))
        return found if chosen == "json" else (tree for each in found for tree in (each, *each.alternatives))

    if not resume:
        with open_output(output) as stream:
            _write(parsed(), chosen, stream)
        return
    from hexatagger import __version__
    from hexatagger.cli.resume import open_resumable
    from hexatagger.parsing.fingerprint import input_digest, model_digest

    if model == AUTO:
        raise ConfigError("--resume needs one model for everything: name it instead of auto")
    if k > 1:
        raise ConfigError("--resume and --k exclude each other: sentences could not be counted")
    if output in ("", "-") or chosen not in ("conllu", "json", "tags") or Path(output).suffix in (".gz", ".xz"):
        raise ConfigError("--resume needs a plain output file (-o) of conllu, json or tags")
    if "-" in names:
        raise ConfigError("--resume cannot read standard input a second time: name files with --file")
    made_with = {
        "input": input_digest(text, [Path(name) for name in names]),
        "model": model_digest(loaded(model).folder.path),
        "version": __version__,
        "options": {"from": source, "to": chosen, **options},
    }
    with open_resumable(output, made_with, json_lines=chosen == "json") as (stream, done):
        _write(parsed(done), chosen, stream)


def _load(model: str, *, threads: int | None) -> "Parser":
    """Load the model, without collecting garbage: what is loaded stays, and the search takes a tenth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        from hexatagger.parsing.load import load

        return load(model, threads=threads)
    finally:
        if collects:
            gc.enable()


def _documents(
    source: "Source", texts: Sequence[str], files: "Sequence[File]"
) -> "Iterator[tuple[str, Iterator[str] | Iterator[Sentence]]]":
    """Read every text and file of the input as a stream; yield its beginning, and all of it: chunks or Sentences."""
    from hexatagger.formats.conllu import read_conllu

    if source in ("conllu", "conllx"):
        if texts:
            raise ConfigError(f"--from {source} reads files: name one with --file")
        for file in files:
            trees = read_conllu(file, format="conllu" if source == "conllu" else "conllx")
            first = _beginning(trees, lambda tree: len(tree.text))
            yield " ".join(tree.text for tree in first), chain(first, trees)
        return
    chunks: list[Iterable[str]] = [[text] for text in texts]
    chunks += [read_text(file) for file in files]  # as it is, so that offsets are those of the file
    for part in map(iter, chunks):
        lines = _beginning(part, len)
        yield "".join(lines), chain(lines, part)


def _beginning(items: "Iterator[Item]", size: "Callable[[Item], int]") -> "list[Item]":
    """Take as many items as are needed to tell the language."""
    from hexatagger.model.language import READ

    first, total = list[Item](), 0
    while total < READ and (item := next(items, None)) is not None:
        first.append(item)
        total += size(item)
    return first


def _write(sentences: "Iterable[Sentence]", target: Output, stream: IO[str]) -> None:
    """Write all sentences."""
    stream.writelines(_written(sentences, target, terminal=stream.isatty()))


def _written(sentences: "Iterable[Sentence]", target: Output, *, terminal: bool) -> Iterable[str]:
    """Return the output as strings; what writes one format does not wait for the import of another."""
    match target:
        case "conllu":
            from hexatagger.formats.conllu import format_sentence

            return map(format_sentence, sentences)
        case "tags":
            from hexatagger.formats.tagfile import format_tagged

            return (format_tagged(sentence, scheme="head+path") for sentence in sentences)
        case "json":
            return (json.dumps(sentence.to_dict(), ensure_ascii=False) + "\n" for sentence in sentences)
        case "svg":
            return (sentence.to_svg() + "\n" for sentence in sentences)
        case "html":
            from hexatagger.draw import draw_html_parts

            return draw_html_parts(sentences)
        case "tree":
            from shutil import get_terminal_size

            from hexatagger.draw import draw_text

            width = get_terminal_size().columns if terminal else None
            return (draw_text(sentence, width=width, color=terminal) + "\n\n" for sentence in sentences)


class _Watched:
    """The lines of a file, with a count of the bytes read."""

    def __init__(self, name: str) -> None:
        self.name, self.read = name, 0

    def __iter__(self) -> Iterator[bytes]:
        with open_binary(Path(self.name), "rb") as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                self.read += len(line)
                yield line


def _shown(sentences: "Iterable[Sentence]", files: Sequence[_Watched]) -> "Iterator[Sentence]":
    """Pass sentences through and show progress: bytes read and words parsed."""
    paths, words = [Path(file.name) for file in files], 0
    known = all(path.is_file() and path.suffix not in (".gz", ".xz") for path in paths)
    with progress_bar() as bar:
        task = bar.add_task("reading", total=sum(path.stat().st_size for path in paths) if known else None)
        for number, sentence in enumerate(sentences):
            words += len(sentence)
            if number % 64 == 0:
                bar.update(task, description=f"{words:,} words", completed=sum(file.read for file in files))
            yield sentence
