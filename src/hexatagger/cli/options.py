"""Options that several commands share."""

from collections.abc import Callable, Sequence
from typing import IO, Any, Literal, get_args

import click

from hexatagger.errors import ConfigError
from hexatagger.formats.conllu import Format

Command = Callable[..., Any]
Input = Literal["text", "lines", "words", "conllu", "conllx"]


def _names(*choices: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a callback that reads names separated by commas."""

    def read(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
        chosen = [name.strip() for name in value.split(",") if name.strip()]
        for name in chosen:
            if name not in choices:
                raise ConfigError(f"{parameter.opts[0]} '{name}' is not one of: {', '.join(choices)}")
        return chosen

    return read


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a standard stream, which may be closed, is a terminal."""
    return stream is not None and stream.isatty()


def add_options(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Return a decorator that adds options to a command, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


output_option = click.option(
    "-o", "--output", default="-", help="File to write; appears whole or not at all.  [default: stdout]"
)

format_option = click.option(
    "--from",
    "format_",
    type=click.Choice(get_args(Format)),
    default="conllu",
    show_default=True,
    help="Format of FILE.",
)

reading = add_options(
    [
        format_option,
        click.option(
            "--roots",
            type=click.Choice(["one", "attach"]),
            default="one",
            show_default=True,
            help="A sentence with several roots: an error, or attach the later ones to the first.",
        ),
    ]
)
"""The options of every command that reads a treebank."""

model_option = click.option(
    "--model", default="en", show_default=True, help="Folder of a model, or en: the one inside the package."
)

source_option = click.option(
    "--from",
    "source",
    type=click.Choice(get_args(Input)),
    default="text",
    show_default=True,
    help="The input: running text, one sentence per line, words separated by spaces, or a file of words.",
)

parsing = add_options(
    [
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
    ]
)
"""The options of every command that parses."""
