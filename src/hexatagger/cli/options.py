"""Options and other things that several commands share."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, get_args

import click

from hexatagger.errors import ConfigError
from hexatagger.formats.conllu import Format, read_conllu
from hexatagger.formats.files import content_suffix
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


def model_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Complete the name of a model in a shell: installed ones, and folders."""
    from click.shell_completion import CompletionItem

    from hexatagger.model.registry import installed

    names = [CompletionItem(name) for name in installed() if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="dir")]


def _told_if_typed(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Say that a command reads what is typed, before it waits for it."""
    if value == "-":
        tell_if_typed("CoNLL-U")
    return value


def tell_if_typed(what: str) -> None:
    """If standard input is a terminal, say what is read from it and how to end."""
    if is_terminal(sys.stdin):
        end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
        click.echo(f"Reading {what} from the terminal; end with {end} on a new line.", err=True)


PATH = click.Path(allow_dash=True)
"""A path that is checked where it is opened; as a type it lets shells complete it."""
file_argument = click.argument("file", type=PATH, default="-", callback=_told_if_typed)
"""The treebank that a command reads, standard input by default."""
output_option = click.option(
    "-o", "--output", type=PATH, default="-", help="File to write; appears whole or not at all.  [default: stdout]"
)
model_option = click.option(
    "--model",
    default="en",
    show_default=True,
    shell_complete=model_names,
    help="Name or folder of a model: see hexatagger models.",
)
auto_model_option = click.option(
    "--model",
    default="en",
    shell_complete=model_names,
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

width_option = click.option(
    "--width",
    type=click.IntRange(min=0),
    help="Columns of text, or pixels: wider drawings have one word per row; 0: no limit.  [default: terminal; 2000]",
)
color_option = choice(
    "--color",
    of=["auto", "always", "never"],
    default="auto",
    text="Colours in text; auto: on a terminal, or if FORCE_COLOR is set, but never if NO_COLOR is.",
)

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


def check_columns(keep: Sequence[str], respect: Sequence[str], sources: Iterable[Source]) -> None:
    """Raise ConfigError if columns are to be kept or obeyed, but the input has no columns."""
    for name, columns in (("--keep", keep), ("--respect", respect)):
        if columns and (other := next((each for each in sources if each not in ("conllu", "conllx")), None)):
            raise ConfigError(f"{name} is about the columns of CoNLL-U, but the input is {other}: add --from conllu")


def is_colored(color: str, output: str) -> bool:
    """Say whether to colour text; `color` is the value of --color."""
    if color == "auto":
        wanted = bool(os.environ.get("FORCE_COLOR")) or is_terminal(sys.stdout)
        return output == "-" and wanted and not os.environ.get("NO_COLOR")
    return color == "always"


def find_kind(output: str, kinds: Mapping[str, str], *, without_suffix: str) -> str:
    """Return the format of an output file by the suffix of its name, .gz and .xz aside.

    >>> kinds = {".txt": "text", ".svg": "svg"}
    >>> find_kind("trees.svg.gz", kinds, without_suffix="text"), find_kind("trees", kinds, without_suffix="text")
    ('svg', 'text')
    """
    suffix = content_suffix(PurePath(output)).lower()
    if not suffix or output == "-":
        return without_suffix
    if suffix not in kinds:
        raise ConfigError(f"'{output}' does not end in {', '.join(kinds)}: name it that way, or add --to")
    return kinds[suffix]


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

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    # subtle: `console.is_terminal` is also true where FORCE_COLOR is set
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not is_terminal(sys.stderr))


@contextmanager
def progress_shares(what: str) -> Iterator[Callable[[float], None]]:
    """Show the progress of one piece of work; give the function that takes the share that is done."""
    with progress_bar() as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)
