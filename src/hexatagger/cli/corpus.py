"""What `parse --engine ray` does: a job on a Ray cluster, with its progress on standard error."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hexatagger.errors import ConfigError, HexataggerError

if TYPE_CHECKING:
    from hexatagger.integrations.ray import Progress, Summary

_SECONDS = 30  # between two lines of progress where there is no terminal


def parse_corpus(
    files: Sequence[str],
    output: str,
    *,
    model: str,
    settings: dict[str, Any],
    address: str | None,
    workers: int | None,
) -> None:
    """Parse files into shards, and say at the end what came of it; anything that is missing is exit code 1."""
    from hexatagger.integrations.ray import Settings, parse_files

    if not files or "-" in files:
        raise ConfigError("--engine ray reads files: name them with --file, a pattern in quotes or a folder")
    if output == "-":
        raise ConfigError("--engine ray writes a folder of files: name it with --output")
    made = Settings(**settings)
    with _Meter() as meter:
        summary = parse_files(
            files, output, model=model, settings=made, address=address, actors=workers, report=meter.show
        )
    click.echo(_told(summary), err=True)
    if summary.failures:
        name, reason = next(iter(summary.failures.items()))
        more = f" (and {len(summary.failures) - 1} more)" if len(summary.failures) > 1 else ""
        raise HexataggerError(f"{name} could not be made: {reason}{more}; the same command tries again")
    if summary.problems:
        more = f" (and {summary.problems - 1:,} more)" if summary.problems > 1 else ""
        where = f"they are listed in *.problems.jsonl in {output}, and all else is parsed"
        raise HexataggerError(f"{summary.examples[0]}{more}; {where}")


def _told(summary: "Summary") -> str:
    """Say what was done."""
    kept = f", {summary.kept:,} of them done before" if summary.kept else ""
    speed = f" in {_clock(summary.seconds)} ({summary.words / summary.seconds:,.0f} words/s)" if summary.seconds else ""
    return f"{summary.shards:,} shards{kept}; {summary.sentences:,} sentences, {summary.words:,} words{speed}"


def _clock(seconds: float) -> str:
    """Write a duration.

    >>> _clock(3725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


class _Meter:
    """Shows on standard error how far a job is: a bar in a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        self._terminal, self._last = console.is_terminal, time.monotonic()
        columns = (BarColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=console, transient=True, disable=not self._terminal)
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> "_Meter":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, progress: "Progress") -> None:
        """Show how far it is."""
        speed = f", {progress.words / progress.seconds:,.0f} words/s" if progress.seconds else ""
        left = f", {_clock(progress.left)} left" if progress.left is not None else ""
        told = f"{progress.done:,} of {progress.shards:,} shards{speed}{left}"
        self._bar.update(self._task, description=told, completed=progress.done, total=progress.shards)
        if not self._terminal and time.monotonic() - self._last >= _SECONDS:
            self._last = time.monotonic()
            click.echo(told, err=True)
