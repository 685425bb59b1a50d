"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, get_args

import click

from hexatagger.formats.conllu import Format


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options shared by all commands that read a treebank."""
    for option in (
        click.option(
            "--roots",
            type=click.Choice(["one", "attach"]),
            default="one",
            show_default=True,
            help="A sentence with several roots: an error, or attach the later ones to the first.",
        ),
        click.option(
            "--from",
            "format_",
            type=click.Choice(get_args(Format)),
            default="conllu",
            show_default=True,
            help="Format of FILE.",
        ),
    ):
        command = option(command)
    return command


output_option = click.option(
    "-o", "--output", default="-", help="File to write; appears whole or not at all.  [default: stdout]"
)
"""Where a command writes."""
