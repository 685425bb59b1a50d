"""Options and other things that several commands share."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, get_args

import click

from hexatagger.errors import ConfigError
from hexatagger.formats.conllu import Format, read_conllu
from hexatagger.formats.text import Source
from hexatagger.sentence import Sentence

if TYPE_CHECKING:
    from rich.progress import Progress

Command = Callable[..., Any]
Option = Callable[[Command], Command]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def choice(*names: str, of: Sequence[str], default: str | None = None, text: str) -> Option:
    """Return an option that takes one of several values; `text` is its help."""
    return click.option(*names, type=click.Choice(of), default=default, show_default=default is not None, help=text)


def add_options(*options: Option) -> Option:
    """Return a decorator that adds options to a command, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _names(*choices: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a callback that reads names separated by commas."""

    def read(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
        chosen = [name.strip() for name in value.split(",") if name.strip()]
        for name in chosen:
            if name not in choices:
                raise ConfigError(f"{parameter.opts[0]} '{name}' is not one of: {', '.join(choices)}")
        return chosen

    return read


output_option = click.option(
    "-o", "--output", default="-", help="File to write; appears whole or not at all.  [default: stdout]"
)
model_option = click.option(
    "--model", default="en", show_default=True, help="Name or folder of a model: see hexatagger models."
)
auto_model_option = click.option(
    "--model",
    default="en",
    show_default=True,
    help="Name or folder of a model, see hexatagger models; auto: by the language of each text.",
)
threads_option = click.option(
    "--threads", type=click.IntRange(1), help="Threads per process.  [default: the cores it may use, shared by workers]"
)
roots_option = choice(
    "--roots",
    of=["one", "attach"],
    default="one",
    text="A sentence with several roots: an error, or attach the later ones to the first.",
)
source_option = choice(
    "--from",
    "source",
    of=get_args(Source),
    default="text",
    text="The input: running text, one sentence per line, words separated by spaces, or a file of words.",
)

format_option = choice("--from", "format_", of=get_args(Format), default="conllu", text="Format of FILE.")

reading = add_options(format_option, roots_option)
"""The options of every command that reads a treebank."""

parsing = add_options(
    click.option(
        "--keep",
        default="",
        callback=_names("upos", "xpos", "feats", "lemma"),
        help="Columns of CoNLL-U input to leave as they are where filled: upos,xpos,feats,lemma.",
    ),
    click.option(
        "--respect",
        default="",
        callback=_names("head", "deprel"),
        help="Columns of CoNLL-U input that the tree must obey where filled: head,deprel.",
    ),
    click.option(
        "--probabilities",
        is_flag=True,
        help="Write the probability of each head and of the tree: MISC HeadProb, # tree_prob.",
    ),
    click.option(
        "--k", default=1, show_default=True, type=click.IntRange(1), help="Write the k best trees of each sentence."
    ),
)
"""The options of every command that parses."""


def dev_option(text: str, *, required: bool = False) -> Option:
    """Return the option for files of gold trees; read them with `read_gold`."""
    return click.option("--dev", "dev_files", type=FILE, multiple=True, required=required, help=f"{text}; repeatable.")


def read_gold(files: Iterable[Path]) -> list[Sentence]:
    """Read the trees of all files."""
    return [sentence for file in files for sentence in read_conllu(file, roots="one")]


def model_picker(model: str) -> Callable[[str], str]:
    """Return a function from the beginning of a text to the model for it: `model`, or for `auto` an installed one.

    The first text that does not look like the language of its model is reported on standard error.
    """
    from hexatagger.model.language import find_foreign, identify
    from hexatagger.model.registry import AUTO, find_model, installed

    models = {name: each.folder for name, each in installed().items()}
    told = False

    def pick(text: str) -> str:
        nonlocal told
        name = identify(text) if model == AUTO else model
        if not told and (message := find_foreign(text, find_model(name), models)):
            told = True
            click.echo(f"Warning: {message}", err=True)
        return name

    return pick


def lay_out_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """Align columns: those in `left` to the left, the others, numbers, to the right.

    >>> print(lay_out_table(["", "F1"], [["UAS", "100.00"], ["LAS", "66.67"]]))
             F1
    UAS  100.00
    LAS   66.67
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = zip(row, widths, strict=True)
        lines.append(
            "  ".join(
                cell.ljust(width) if number in left else cell.rjust(width) for number, (cell, width) in enumerate(cells)
            ).rstrip()
        )
    return "\n".join(lines)


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a standard stream, which may be closed, is a terminal."""
    return stream is not None and stream.isatty()


def progress_bar() -> "Progress":
    """Return a progress bar on standard error, hidden unless that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
