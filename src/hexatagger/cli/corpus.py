"""`hexatagger corpus`: files of any number and size, parsed on a Ray cluster into a folder of shards."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import click

from hexatagger.cli.options import check_columns, choice, model_option, parsing, progress_bar, source_option
from hexatagger.errors import ConfigError, HexataggerError

if TYPE_CHECKING:
    from hexatagger.formats.text import Source
    from hexatagger.integrations.ray import Summary
    from hexatagger.model.config import Task
    from hexatagger.parsing.options import Respected

_SECONDS = 30  # between two lines of progress where standard error is not a terminal


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--output", required=True, help="Folder for the shards; an interrupted job continues there.")
@model_option
@source_option
@choice("--to", "target", of=["conllu", "json", "tags", "parquet"], default="conllu", text="What to write.")
@click.option(
    "--text-column", default="text", show_default=True, help="The column of JSON lines or Parquet that has the text."
)
@click.option("--gz", is_flag=True, help="Compress the shards.")
@parsing
@click.option("--workers", type=click.IntRange(1), help="Processes to parse with.  [default: all cores]")
@click.option("--address", help="The Ray cluster: auto or HOST:6379.  [default: RAY_ADDRESS, or one started here]")
def corpus(
    files: tuple[str, ...],
    output: str,
    model: str,
    source: "Source",
    target: Literal["conllu", "json", "tags", "parquet"],
    text_column: str,
    gz: bool,
    keep: "list[Task]",
    respect: "list[Respected]",
    probabilities: bool,
    k: int,
    workers: int | None,
    address: str | None,
) -> None:
    """Parse a corpus on a Ray cluster, into a folder of shards.

    FILES are paths, folders and patterns in quotes, of text, CoNLL-U, JSON lines and Parquet; .gz and .xz too. The
    same command continues a job that was interrupted. Needs the extra [ray].

    \b
      hexatagger corpus 'corpus/*.jsonl' -o out
      hexatagger corpus --from lines --to parquet --workers 8 corpus/ -o out
      hexatagger corpus --address auto 'corpus/**/*.txt.gz' -o out --gz
    """
    if "-" in files:
        raise ConfigError("corpus does not read standard input: name files, folders or patterns")
    if not output:
        raise ConfigError("the output has no name: name a folder for the shards")
    check_columns(keep, respect, [source])
    from hexatagger.integrations.ray import CorpusOptions, parse_files
    from hexatagger.parsing.options import ParseOptions

    options = CorpusOptions(
        source=source,
        target=target,
        text_column=text_column,
        packed=gz,
        parsing=ParseOptions(keep=keep, respect=respect, probabilities=probabilities, k=k),
    )
    with _meter() as show:
        summary = parse_files(files, output, model=model, options=options, address=address, actors=workers, report=show)
    kept = f", {summary.kept:,} of them done before" if summary.kept else ""
    speed = f" in {_clock(summary.seconds)} ({summary.words / summary.seconds:,.0f} words/s)" if summary.seconds else ""
    counts = f"{summary.sentences:,} sentences, {summary.words:,} words"
    click.echo(f"{summary.shards:,} shards{kept}; {counts}{speed}", err=True)
    if summary.foreign:
        name, reason = next(iter(summary.foreign.items()))
        click.echo(f"Warning: {name}: {reason} ({len(summary.foreign):,} of {summary.done:,} shards)", err=True)
    if summary.failures:
        name, reason = next(iter(summary.failures.items()))
        more = f" (and {len(summary.failures) - 1} more)" if len(summary.failures) > 1 else ""
        raise HexataggerError(f"{name} could not be made: {reason}{more}; run the command again to retry")
    if summary.problems:
        more = f" (and {summary.problems - 1:,} more)" if summary.problems > 1 else ""
        where = f"*.problems.jsonl in {output} lists all of them, and the rest is parsed"
        raise HexataggerError(f"{summary.examples[0]}{more}; {where}")


def _clock(seconds: float) -> str:
    """Format a duration.

    >>> _clock(3725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


@contextmanager
def _meter() -> "Iterator[Callable[[Summary], None]]":
    """Show the progress of a job on standard error: a bar in a terminal, a line now and then elsewhere."""
    last = time.monotonic()
    with progress_bar() as bar:
        task = bar.add_task("starting", total=None)

        def show(summary: "Summary") -> None:
            nonlocal last
            done = summary.kept + summary.done
            line, left = f"{done:,} of {summary.shards:,} shards", ""
            if summary.done:
                line += f", {summary.words / summary.seconds:,.0f} words/s"
                left = f", {_clock(summary.seconds / summary.done * (summary.shards - done))} left"
            bar.update(task, description=line, completed=done, total=summary.shards)
            if bar.disable and time.monotonic() - last >= _SECONDS:
                last = time.monotonic()
                click.echo(line + left, err=True)

        yield show
