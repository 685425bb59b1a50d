"""The command line: commands read options, call the library and print; one module per subject.

A command is imported when it is called, so that each starts fast.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hexatagger import __version__
from hexatagger.errors import HexataggerError
from hexatagger.formats.files import remove_temporary

COMMANDS = {
    "parse": "parse:parse",
    "corpus": "corpus:corpus",
    "serve": "serve:serve",
    "train": "train:train",
    "label": "label:label",
    "export": "model:export",
    "calibrate": "model:calibrate",
    "package": "model:package_model",
    "evaluate": "evaluate:evaluate",
    "models": "models:models",
    "info": "model:info",
    "draw": "draw:draw",
    "find": "find:find",
    "encode": "tags:encode",
    "decode": "tags:decode",
    "lift": "tags:lift",
    "unlift": "tags:unlift",
    "stats": "stats:stats",
}
"""The module and function of each command, in the order of use."""


class _Commands(click.Group):
    """A group that prints expected errors in one line and imports a command when it is called."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the arguments; --help and --version print here."""
        with _errors_on_one_line():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        with _errors_on_one_line(), _tidy_on_sigterm():
            return super().invoke(context)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest one for a name that does not exist."""
        name = arguments[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            close = " or ".join(f"'{each}'" for each in get_close_matches(name, COMMANDS, 2))
            remedy = f"did you mean {close}?" if close else "to parse a text: hexatagger parse TEXT"
            raise click.UsageError(f"there is no command '{name}': {remedy}", context)
        return super().resolve_command(context, arguments)

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


@contextmanager
def _errors_on_one_line() -> Iterator[None]:
    """Turn expected errors, and those of files and streams, into errors that click prints on one line."""
    try:
        yield
    except HexataggerError as error:
        raise click.ClickException(str(error)) from error
    except BrokenPipeError:
        raise  # click ends quietly
    except OSError as error:
        _drop_output()
        place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        raise click.ClickException(f"{place}{error.strerror or error}") from error


@contextmanager
def _tidy_on_sigterm() -> Iterator[None]:
    """Remove temporary files when SIGTERM arrives, and end by that signal."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    process = os.getpid()

    def stop(*_: object) -> None:
        # subtle: nothing is unwound, as flushing output may wait forever for a reader
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getpid() == process:  # not in a fork
            remove_temporary()
        signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _drop_output() -> None:
    """Discard output that could not be written: Python would try again at exit, and print a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    except (AttributeError, ValueError):  # there is no standard output
        pass


_VERSION_HELP = "Show the version and the format of models, and exit."


def _show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print the version, and the format of model folders that this version reads."""
    if value and not context.resilient_parsing:
        from hexatagger.model.folder import FORMAT

        click.echo(f"hexatagger {__version__} (model format {FORMAT})")
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help=_VERSION_HELP)
def main() -> None:
    """Dependency parsing as tagging: a tree is two tags per word.

    Files are CoNLL-U (or CoNLL-X with --from conllx), `.gz` and `.xz` too; `-` is standard input.
    """
