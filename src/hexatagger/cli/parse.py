"""`hexatagger parse`: text, words or CoNLL-U to trees, on this machine."""

import functools
import gc
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, TypeVar, cast, get_args

import click

from hexatagger.cli.options import (
    PATH,
    auto_model_option,
    check_columns,
    choice,
    color_option,
    find_kind,
    is_colored,
    is_terminal,
    model_picker,
    output_option,
    parsing,
    progress_bar,
    tell_if_typed,
    threads_option,
    width_option,
)
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import (
    LONGEST_LINE,
    File,
    content_suffix,
    find_not_utf8,
    name_of,
    open_output,
    read_text,
    unpacked,
)
from hexatagger.formats.text import Source

if TYPE_CHECKING:
    from hexatagger.model.config import Task
    from hexatagger.parsing.options import Respected
    from hexatagger.parsing.parser import Parser
    from hexatagger.sentence import Sentence

Item = TypeVar("Item")
Output = Literal["tree", "conllu", "json", "tags", "svg", "html"]
SUFFIXES: dict[str, Output] = {
    ".conllu": "conllu",
    ".conll": "conllu",
    ".json": "json",
    ".jsonl": "json",
    ".tags": "tags",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
    ".txt": "tree",
}
_DASH = "\ufdd0"  # stands for the dash at the beginning of a text; Unicode guarantees that it is not a character


class _ParseCommand(click.Command):
    """A command whose TEXT may begin with a dash: an argument with a space inside that names no option is a text."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Read the arguments."""
        names = {
            name for parameter in self.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)
        }
        short = tuple(name for name in names if len(name) == 2)
        hidden = []
        for before, each in zip(["", *arguments], arguments, strict=False):
            first = re.split(r"[\s=]", each, maxsplit=1)[0]
            is_text = re.match(r"-.*\s|-[0-9]", each, re.DOTALL) and first not in names and not each.startswith(short)
            hidden.append(_DASH + each[1:] if is_text and before not in names else each)
        try:
            return super().parse_args(context, hidden)
        except click.NoSuchOption as error:
            remedy = f"if it is a text, put -- before it: {context.command_path} -- TEXT"
            raise click.UsageError(f"{error.format_message()} ({remedy})", context) from None


def _joined(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str | None:
    """Join the words of TEXT: quotes around it may be left out."""
    text = " ".join(value).replace(_DASH, "-") if value else None
    if text and (byte := find_not_utf8(text)):
        raise ConfigError(f"TEXT: {byte}; convert it, or use a UTF-8 terminal")
    return text


@click.command(cls=_ParseCommand)
@click.argument("text", nargs=-1, callback=_joined)
@click.option(
    "-f",
    "--file",
    "files",
    type=PATH,
    multiple=True,
    help="File to parse instead of TEXT; repeatable; - is stdin.",
)
@auto_model_option
@choice(
    "--from",
    "source",
    of=get_args(Source),
    text="The input: running text, one sentence per line, words separated by spaces, or a file of words.  "
    "[default: conllu for files that end in .conllu, text for everything else]",
)
@choice(
    "--to",
    "target",
    of=get_args(Output),
    text="What to write.  [default: by the suffix of -o: .conllu, .json, .tags, .svg, .html, .txt (tree); "
    "tree in a terminal, conllu elsewhere]",
)
@output_option
@parsing
@width_option
@color_option
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes to parse with.")
@threads_option
@click.option("--resume", is_flag=True, help="Keep finished work in OUTPUT.partial, and continue from there.")
def parse(
    text: str | None,
    files: tuple[str, ...],
    model: str,
    source: Source | None,
    target: Output | None,
    output: str,
    keep: "list[Task]",
    respect: "list[Respected]",
    probabilities: bool,
    k: int,
    width: int | None,
    color: str,
    workers: int,
    threads: int | None,
    resume: bool,
) -> None:
    """Parse TEXT, files or standard input.

    \b
      hexatagger parse "She reads fascinating papers."
      hexatagger parse -f book.txt -o book.conllu --workers 4
      hexatagger parse -f words.conllu --keep upos,lemma
      echo "one sentence , cut into words" | hexatagger parse --from words
      hexatagger parse --k 3 --probabilities "I saw the man with the telescope."
      hexatagger parse --model auto -f letter.txt -f brief.txt
      hexatagger parse "She reads." -o tree.svg

    json is one object per sentence, one per line. Several trees in one SVG are below one another. In a tree in text,
    `62%?` after a relation marks a head that is not sure, if --probabilities are asked for. For many files or machines,
    see hexatagger corpus.
    """
    if text is not None and files:
        raise ConfigError("both TEXT and --file are given: give one of them")
    hint = _find_file(text or "")
    if text is not None and source in ("conllu", "conllx"):
        raise ConfigError(f"--from {source} reads files: name one with --file{hint and f' ({hint})'}")
    if hint:
        click.echo(f"Note: TEXT is the name of a file; to parse its content: {hint}", err=True)
    from hexatagger.formats.ids import Ids
    from hexatagger.model.registry import AUTO
    from hexatagger.parsing.options import ParseOptions

    ids = Ids()
    options = ParseOptions(keep=keep, respect=respect, probabilities=probabilities, k=k)
    elsewhere: Output = "tree" if output == "-" and is_terminal(sys.stdout) else "conllu"
    chosen = target or cast("Output", find_kind(output, SUFFIXES, without_suffix=elsewhere))
    names = list(files) or ([] if text is not None else ["-"])
    sources = [source or _source_of(name) for name in names] or [source or "text"]
    check_columns(keep, respect, sources)
    loading = functools.cache(functools.partial(_begin_loading, threads=1 if workers > 1 else threads))
    if model != AUTO:
        loading(model)
    if "-" in names:
        tell_if_typed({"conllu": "CoNLL-U", "conllx": "CoNLL-X"}.get(sources[names.index("-")], "text"))
    watched = {name: _Watched(name) for name in files if name != "-"}
    inputs = [cast("File", watched.get(name, name)) for name in names]
    documents = (
        [_text_document("TEXT", iter([text]), sources[0], source is None)]
        if text is not None
        else (_document(*each, source is None) for each in zip(inputs, sources, strict=True))
    )

    def parsed_by(parser: "Parser", sentences: "Iterable[Sentence]") -> "Iterator[Sentence]":
        if workers == 1:
            return parser.pipe(sentences, **options)
        from hexatagger.parsing.workers import parse_parallel

        return parse_parallel(parser.folder.path, sentences, workers=workers, threads=threads, **options)

    def parsed(done: int = 0) -> "Iterator[Sentence]":
        pick = model_picker(model)
        picked = ((loading(pick(beginning))(), read) for beginning, read in documents)
        for parser, run in groupby(picked, key=itemgetter(0)):
            sentences = chain.from_iterable(read(parser) for _, read in run)
            # only a job with one model is resumed: there is one run then; ids count what was done before
            yield from parsed_by(parser, meter.read(islice(map(ids.complete, sentences), done, None)))

    shown = is_terminal(sys.stderr) and not (output == "-" and is_terminal(sys.stdout))
    meter = _Meter(list(watched.values()), shown=shown)
    written = functools.partial(_written, chosen, output, width=width, color=color)
    if not resume:
        with open_output(output) as stream, meter.parsed(parsed()) as sentences:
            stream.writelines(written(sentences))
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
        "input": input_digest([] if text is None else [text], [Path(name) for name in names]),
        "model": model_digest(loading(model)().folder.path),
        "version": __version__,
        "options": {"from": sources, "to": chosen, **options},
    }
    partial = open_resumable(output, made_with, json_lines=chosen == "json")
    with partial as (stream, done), meter.parsed(parsed(done)) as sentences:
        stream.writelines(written(sentences))


def _find_file(text: str) -> str:
    """Return the command that parses the file that a text names, or nothing if there is no such file."""
    try:
        if not text or not Path(text).is_file():
            return ""
    except (OSError, ValueError):  # a text may be longer than any name
        return ""
    import shlex

    return f"hexatagger parse -f {shlex.quote(text)}"


def _source_of(name: str) -> Source:
    """Return the format of an input file by its name."""
    return "conllu" if content_suffix(PurePath(name)).lower() == ".conllu" else "text"


def _begin_loading(model: str, *, threads: int | None) -> "Callable[[], Parser]":
    """Begin to load the model; the returned function waits for it.

    What is loaded stays in use, so the garbage collector skips it, now and at exit.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        from hexatagger.parsing.load import begin_loading

        return begin_loading(model, threads=threads)
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def _document(file: "File", source: Source, guessed: bool) -> "tuple[str, Callable[[Parser], Iterator[Sentence]]]":
    """Open a file; return its beginning, and a function from a parser to its sentences.

    If the format is `guessed`, a text that is CoNLL-U is refused.
    """
    if source not in ("conllu", "conllx"):
        return _text_document(name_of(file), read_text(file), source, guessed)  # as it is, so that offsets are right
    from hexatagger.formats.conllu import read_conllu

    trees = read_conllu(file, format="conllu" if source == "conllu" else "conllx")
    first = _beginning(trees, lambda tree: len(tree.text))
    return " ".join(tree.text for tree in first), lambda parser: chain(first, trees)


def _text_document(
    name: str, chunks: Iterator[str], source: Source, guessed: bool
) -> "tuple[str, Callable[[Parser], Iterator[Sentence]]]":
    """Do the same for a text that arrives in chunks."""
    from hexatagger.formats.conllu import looks_like_conllu

    first = _beginning(chunks, len)
    beginning = "".join(first)
    if guessed and looks_like_conllu(beginning):
        remedy = "give it as a file or on standard input with" if name == "TEXT" else "add"
        message = f"is CoNLL-U: {remedy} --from conllu, or --from text to parse it as running text"
        raise FormatError(message, source=name)

    from hexatagger.segment.segmenter import read_plain  # here: its imports would delay opening the network

    def read(parser: "Parser") -> "Iterator[Sentence]":
        return read_plain(chain(first, chunks), source, lambda: parser.segmenter)

    return beginning, read


def _beginning(items: "Iterator[Item]", size: "Callable[[Item], int]") -> "list[Item]":
    """Take as many items as are needed to tell the language."""
    from hexatagger.model.language import READ

    first, total = list[Item](), 0
    while total < READ and (item := next(items, None)) is not None:
        first.append(item)
        total += size(item)
    return first


def _written(
    target: Output, output: str, sentences: "Iterable[Sentence]", *, width: int | None, color: str
) -> Iterable[str]:
    """Return the output as strings; what writes one format does not wait for the import of another."""
    if target == "json":
        return (json.dumps(sentence.to_dict(), ensure_ascii=False) + "\n" for sentence in sentences)
    trees = (tree for sentence in sentences for tree in (sentence, *sentence.alternatives))
    match target:
        case "conllu":
            from hexatagger.formats.conllu import format_sentence

            return map(format_sentence, trees)
        case "tags":
            from hexatagger.formats.tagfile import format_tagged

            return (format_tagged(tree, scheme="head+path") for tree in trees)
        case "svg" | "html":
            from hexatagger.draw import draw_html_parts, draw_svg
            from hexatagger.draw.svg import WIDTH

            pixels = WIDTH if width is None else width or None
            return draw_html_parts(trees, width=pixels) if target == "html" else [draw_svg(trees, width=pixels)]
    from shutil import get_terminal_size

    from hexatagger.draw import draw_text

    terminal = output == "-" and is_terminal(sys.stdout)
    columns = (width or None) if width is not None else get_terminal_size().columns if terminal else None
    colored = is_colored(color, output)

    def drawn(sentence: "Sentence") -> Iterator[str]:
        trees = [sentence, *sentence.alternatives]
        for number, tree in enumerate(trees, 1):
            title = [f"tree {number} of {len(trees)}"] if len(trees) > 1 else []
            if tree.probability is not None:
                title.append(f"probability {tree.probability:.4g}")
            if title:
                yield click.style(", ".join(title), dim=True) + "\n" if colored else ", ".join(title) + "\n"
            yield draw_text(tree, width=columns, color=colored) + "\n\n"

    return (part for sentence in sentences for part in drawn(sentence))


class _Watched:
    """The lines of a file, with a count of the bytes read from the disk."""

    def __init__(self, name: str) -> None:
        self.name, self.read = name, 0

    def __iter__(self) -> Iterator[bytes]:
        path = Path(self.name)
        with path.open("rb") as raw, unpacked(raw, path.suffix) as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                self.read = raw.tell() if stream is not raw else self.read + len(line)
                yield line


class _Meter:
    """Shows progress: words parsed, and how much of the files that is. Without files or a terminal it shows nothing.

    The parser reads ahead. So of the bytes read, the share counts whose words are parsed.
    """

    def __init__(self, files: Sequence[_Watched], *, shown: bool) -> None:
        self._files, self._shown = files, shown and bool(files)
        self._read = self._parsed = 0

    def read(self, sentences: "Iterable[Sentence]") -> "Iterator[Sentence]":
        """Pass on sentences that are to be parsed."""
        for sentence in sentences:
            self._read += len(sentence)
            yield sentence

    @contextmanager
    def parsed(self, sentences: "Iterable[Sentence]") -> "Iterator[Iterable[Sentence]]":
        """Pass on sentences that are parsed, and show the bar as long as this lasts."""
        if not self._shown:
            yield sentences
            return
        paths = [Path(file.name) for file in self._files]
        total = sum(path.stat().st_size for path in paths) if all(path.is_file() for path in paths) else None
        with progress_bar() as bar:
            task = bar.add_task("0 words", total=total)

            def watched() -> "Iterator[Sentence]":
                for number, sentence in enumerate(sentences, 1):
                    self._parsed += len(sentence)
                    if number % 64 == 0:
                        done = sum(file.read for file in self._files) * self._parsed / max(1, self._read)
                        done = max(done, bar.tasks[task].completed)  # it never goes back
                        bar.update(task, description=f"{self._parsed:,} words", completed=done)
                    yield sentence

            yield watched()
