"""Commands that run a model: parse, info."""

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import click

from hexatagger.errors import ConfigError
from hexatagger.formats.files import File, open_binary, open_output, read_text

if TYPE_CHECKING:
    from rich.progress import Progress

    from hexatagger.parsing.parser import Parser
    from hexatagger.sentence import Sentence

Input = Literal["text", "lines", "words", "conllu", "conllx"]
Output = Literal["tree", "conllu", "json", "tags", "svg", "html", "parquet"]
COLUMNS = ("upos", "xpos", "feats", "lemma")


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "-f", "--file", "files", multiple=True, help="File to parse instead of TEXT; may be given again; - is stdin."
)
@click.option("--model", default="en", show_default=True, help="Folder of a model, or en: the one inside the package.")
@click.option(
    "--from",
    "source",
    type=click.Choice(["text", "lines", "words", "conllu", "conllx"]),
    default="text",
    show_default=True,
    help="What is given: running text, a sentence a line, words separated by spaces, or a file of words.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(["tree", "conllu", "json", "tags", "svg", "html", "parquet"]),
    help="What to write; parquet with --engine ray only.  [default: tree in a terminal, conllu elsewhere]",
)
@click.option("-o", "--output", default="-", help="File to write; appears whole or not at all.  [default: stdout]")
@click.option(
    "--keep", default="", help="Columns of CoNLL-U input to leave as they are where filled: upos,xpos,feats,lemma."
)
@click.option(
    "--probabilities", is_flag=True, help="Say how probable each head and the tree are: MISC HeadProb, # tree_prob."
)
@click.option(
    "--k", default=1, show_default=True, type=click.IntRange(1), help="Give the k best trees of each sentence."
)
@click.option(
    "--respect", default="", help="Columns of CoNLL-U input that the tree must obey where filled: head,deprel."
)
@click.option(
    "--workers", type=click.IntRange(1), help="Processes to parse with.  [default: 1, or with --engine ray all cores]"
)
@click.option("--resume", is_flag=True, help="Keep what is done in OUTPUT.partial, and go on from there if it exists.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="What runs it: this machine, or a Ray cluster that makes a folder of shards, resumes and survives its nodes.",
)
@click.option(
    "--address", help="The Ray cluster, as in auto or HOST:6379.  [default: RAY_ADDRESS, or one started here]"
)
@click.option("--text-column", help="With --engine ray: where a record has its text.  [default: text]")
@click.option("--gz", is_flag=True, help="With --engine ray: pack the shards.")
def parse(
    text: tuple[str, ...],
    files: tuple[str, ...],
    model: str,
    source: Input,
    target: Output | None,
    output: str,
    keep: str,
    probabilities: bool,
    k: int,
    respect: str,
    workers: int | None,
    resume: bool,
    engine: Literal["local", "ray"],
    address: str | None,
    text_column: str | None,
    gz: bool,
) -> None:
    """Parse TEXT, files or standard input.

    \b
      hexatagger parse "She reads fascinating papers."
      hexatagger parse -f book.txt -o book.conllu --workers 4
      hexatagger parse --from conllu -f words.conllu --keep upos,lemma
      echo "one sentence , cut into words" | hexatagger parse --from words
      hexatagger parse --k 3 --probabilities "I saw the man with the telescope."
      hexatagger parse --engine ray -f 'corpus/*.jsonl' -o out

    json is an object a sentence, one on each line.
    """
    if text and files:
        raise ConfigError("both TEXT and --file are given: give one of them")
    options = {
        "keep": _columns("--keep", keep, COLUMNS),
        "respect": _columns("--respect", respect, ("head", "deprel")),
        "probabilities": probabilities,
        "k": k,
    }
    if engine == "ray":
        from hexatagger.cli.corpus import parse_corpus

        settings = {"source": source, "target": target or "conllu", "text_column": text_column or "text", "packed": gz}
        settings["options"] = options
        parse_corpus(files, output, model=model, settings=settings, address=address, workers=workers)
        return
    if target == "parquet" or address or text_column or gz:
        raise ConfigError(
            "--to parquet, --address, --text-column and --gz are for a folder of shards: add --engine ray"
        )
    workers = workers or 1
    from hexatagger.parsing.parser import load

    chosen: Output = target or ("tree" if output == "-" and sys.stdout.isatty() else "conllu")
    parser = load(model, threads=1 if workers > 1 else None)
    names = list(files) or ([] if text else ["-"])
    meter = _Meter([name for name in files if name != "-"])
    given: list[File] = ["-" if name == "-" else cast("File", _Watched(name, meter)) for name in names]
    done = _partial(output, chosen, k) if resume else 0
    sentences = itertools.islice(_sentences(parser, source, text, given), done, None)
    counted = meter.count(_parsed(parser, model, sentences, workers, options))
    _write(counted if chosen == "json" else _with_alternatives(counted), chosen, output, resume=resume)


def _columns(option: str, names: str, choices: Sequence[str]) -> list[str]:
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in choices:
            raise ConfigError(f"{option} '{name}' is not one of: {', '.join(choices)}")
    return chosen


def _with_alternatives(sentences: "Iterable[Sentence]") -> "Iterator[Sentence]":
    """Let the alternatives of a sentence follow it."""
    for sentence in sentences:
        yield sentence
        yield from sentence.alternatives


def _sentences(parser: "Parser", source: Input, texts: Sequence[str], files: "Sequence[File]") -> "Iterator[Sentence]":
    """Read all that is to be parsed, as a stream."""
    from hexatagger.formats.conllu import read_conllu
    from hexatagger.formats.text import words_of

    if source in ("conllu", "conllx"):
        if texts:
            raise ConfigError(f"--from {source} reads files: name one with --file")
        for file in files:
            yield from read_conllu(file, format="conllu" if source == "conllu" else "conllx")
        return
    chunks: list[Iterable[str]] = [[text] for text in texts]
    chunks += [read_text(file) for file in files]  # as it is, so that offsets are those of the file
    for part in chunks:
        yield from words_of(part) if source == "words" else parser.segmenter.stream(part, lines=source == "lines")


def _parsed(
    parser: "Parser", model: str, sentences: "Iterator[Sentence]", workers: int, options: dict[str, Any]
) -> "Iterator[Sentence]":
    if workers > 1:
        from hexatagger.parsing.workers import parse_parallel

        yield from parse_parallel(model, sentences, workers=workers, **options)
    else:
        yield from parser.stream(sentences, **options)


def _formatter(target: Output, stream: IO[str]) -> "Callable[[Sentence], str]":
    """Return what writes a sentence."""
    from hexatagger.formats.conllu import format_sentence
    from hexatagger.formats.tagfile import format_tagged

    if target == "conllu":
        return format_sentence
    if target == "tags":
        return lambda sentence: format_tagged(sentence, scheme="head+path")
    if target == "json":
        return lambda sentence: json.dumps(sentence.to_dict(), ensure_ascii=False) + "\n"
    if target == "svg":
        return lambda sentence: sentence.to_svg() + "\n"
    from shutil import get_terminal_size

    from hexatagger.draw import draw_text

    terminal = stream.isatty()
    width = get_terminal_size().columns if terminal else None
    return lambda sentence: draw_text(sentence, width=width, color=terminal) + "\n\n"


def _write(sentences: "Iterator[Sentence]", target: Output, output: str, *, resume: bool) -> None:
    """Write everything; to resume, behind what the partial file has already."""
    if target == "html":
        from hexatagger.draw import draw_html_parts

        with open_output(output) as stream:
            stream.writelines(draw_html_parts(sentences))
        return
    partial = _partial_path(output)
    with partial.open("a", encoding="utf-8", newline="\n") if resume else open_output(output) as stream:
        write = _formatter(target, stream)
        for sentence in sentences:
            stream.write(write(sentence))
    if resume:
        partial.replace(output)


def _partial_path(output: str) -> Path:
    return Path(f"{output}.partial")


def _partial(output: str, target: Output, k: int) -> int:
    """Return how many sentences of an earlier run are there already; cut off what is not whole."""
    if k > 1:
        raise ConfigError("--resume and --k do not go together: sentences could not be counted")
    if output == "-" or target not in ("conllu", "json", "tags") or Path(output).suffix in (".gz", ".xz"):
        raise ConfigError("--resume needs a plain output file (-o) of conllu, json or tags")
    path = _partial_path(output)
    if not path.exists():
        return 0
    count = place = whole = 0
    with path.open("rb+") as stream:
        for line in stream:
            place += len(line)
            if line.endswith(b"\n") and (target == "json" or line == b"\n"):
                count, whole = count + 1, place
        stream.truncate(whole)
    return count


def _bar() -> "Progress":
    """Return a bar on standard error."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _Meter:
    """Shows on standard error, if that is a terminal, how far files are read and how many words are parsed."""

    def __init__(self, names: Sequence[str]) -> None:
        self.read = 0  # bytes
        self._bar = _bar() if names and sys.stderr.isatty() else None
        if self._bar is not None:
            paths = [Path(name) for name in names]
            known = all(path.is_file() and path.suffix not in (".gz", ".xz") for path in paths)
            total = sum(path.stat().st_size for path in paths) if known else None
            self._task = self._bar.add_task("reading", total=total)

    def count(self, sentences: "Iterable[Sentence]") -> "Iterator[Sentence]":
        """Let sentences pass and show how many."""
        if self._bar is None:
            yield from sentences
            return
        words = 0
        with self._bar:
            for number, sentence in enumerate(sentences):
                words += len(sentence)
                if number % 64 == 0:
                    self._bar.update(self._task, description=f"{words:,} words", completed=self.read)
                yield sentence


class _Watched:
    """The lines of a file, whose reading a meter sees."""

    def __init__(self, name: str, meter: _Meter) -> None:
        self.name, self._meter = name, meter

    def __iter__(self) -> Iterator[bytes]:
        with open_binary(Path(self.name), "rb") as stream:
            for line in stream:
                self._meter.read += len(line)
                yield line


@click.command()
@click.argument("model", default="en")
def info(model: str) -> None:
    """Show the card of MODEL: data, licence, scores.

    \b
      hexatagger info
      hexatagger info models/cy
    """
    from hexatagger.model.folder import README, read_file, read_folder
    from hexatagger.model.registry import find_model

    folder = read_folder(find_model(model))
    click.echo(read_file(folder.path / README).rstrip())
    sizes = {path.name: path.stat().st_size for path in sorted(folder.path.iterdir()) if path.is_file()}
    click.echo(f"\nFolder {folder.path}: " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))
