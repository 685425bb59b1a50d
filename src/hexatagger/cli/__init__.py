"""The command line: commands read options, call the library and print; one module per subject.

A command is imported when it is called, so that each starts fast.
"""

from importlib import import_module
from typing import Any

import click

from hexatagger import __version__
from hexatagger.errors import HexataggerError

COMMANDS = {
    "parse": "parse:parse",
    "corpus": "corpus:corpus",
    "serve": "serve:serve",
    "train": "train:train",
    "export": "train:export",
    "calibrate": "calibrate:calibrate",
    "package": "train:package_model",
    "evaluate": "evaluate:evaluate",
    "info": "info:info",
    "draw": "draw:draw",
    "encode": "tags:encode",
    "decode": "tags:decode",
    "lift": "lift:lift",
    "unlift": "lift:unlift",
    "stats": "stats:stats",
}
"""The module and function of each command, in the order of use."""


class _Commands(click.Group):
    """A group that prints expected errors in one line and imports a command when it is called."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; an error in the input is not a traceback."""
        try:
            return super().invoke(context)
        except HexataggerError as error:
            raise click.ClickException(str(error)) from error

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in COMMANDS:
            return None
        module, attribute = COMMANDS[name].split(":")
        found: click.Command = getattr(import_module(f"hexatagger.cli.{module}"), attribute)
        return found


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="hexatagger")
def main() -> None:
    """Dependency parsing as tagging: a tree is two tags per word.

    Files are CoNLL-U (or CoNLL-X with --from conllx), `.gz` and `.xz` too; `-` is standard input.
    """
