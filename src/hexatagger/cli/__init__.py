"""The command line: commands read options, call the library and print; each file holds the commands of one subject.

Nothing heavy is imported here or at the top of those files, so that `--help` answers at once.
"""

from typing import Any

import click

from hexatagger import __version__
from hexatagger.cli.calibrate import calibrate
from hexatagger.cli.draw import draw
from hexatagger.cli.evaluate import evaluate
from hexatagger.cli.parse import info, parse
from hexatagger.cli.serve import serve
from hexatagger.cli.train import export, package_model, train
from hexatagger.cli.trees import decode, encode, lift, stats, unlift
from hexatagger.errors import HexataggerError


class _Commands(click.Group):
    """A group that tells the errors we raise on purpose in one line, and lists commands in the order of use."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; what is wrong with the input is no traceback."""
        try:
            return super().invoke(context)
        except HexataggerError as error:
            raise click.ClickException(str(error)) from error

    def list_commands(self, context: click.Context) -> list[str]:
        """Keep the order in which the commands were added."""
        return list(self.commands)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="hexatagger")
def main() -> None:
    """Dependency parsing as tagging: a tree is two tags a word.

    Files are CoNLL-U (or CoNLL-X with --from conllx), `.gz` and `.xz` too; `-` is standard input.
    """


for command in (
    parse,
    serve,
    train,
    export,
    calibrate,
    package_model,
    evaluate,
    info,
    draw,
    encode,
    decode,
    lift,
    unlift,
    stats,
):
    main.add_command(command)
