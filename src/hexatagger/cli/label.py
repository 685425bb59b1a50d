"""`hexatagger label`: let large models label text, so that a smaller model can learn from it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hexatagger.cli.options import FILE, choice, model_names, progress_bar
from hexatagger.errors import needs

if TYPE_CHECKING:
    from hexatagger.train.label import Source


@click.command(short_help="Label text with large models, to train a smaller one.")
@click.argument("files", metavar="FILE...", type=FILE, nargs=-1, required=True)
@click.option(
    "--teacher",
    "teachers",
    multiple=True,
    required=True,
    shell_complete=model_names,
    help="Name or folder of a trained and exported model; repeatable: several are averaged.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the labels.")
@choice("--from", "source", of=("text", "lines", "words", "conllu"), default="text", text="What the files are.")
@click.option("--words", type=click.IntRange(0), default=0, help="Label a random sample of so many words.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the sample.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Number of processes.")
def label(
    files: tuple[Path, ...],
    teachers: tuple[str, ...],
    out: Path,
    source: "Source",
    words: int,
    seed: int,
    workers: int,
) -> None:
    """Label the sentences of FILE... with one or more trained models, for hexatagger train --labels.

    A small model that learns from the labels of larger ones, over much more text than the treebank has, is better than
    one that learns from the treebank alone. Label the sentences of the treebank too: training combines these labels
    with the gold trees. If labelling is stopped, the same command continues it.

    \b
      hexatagger label --teacher large --out labels/text text.txt.gz --words 1000000 --workers 2
      hexatagger label --teacher large --out labels/gold --from conllu train.conllu
      hexatagger train small.toml --labels labels/text --labels labels/gold --train train.conllu …
    """
    with needs("train"):
        from hexatagger.train.label import Progress
        from hexatagger.train.label import label as run
    from hexatagger.model.registry import find_model

    folders = [find_model(each) for each in teachers]
    with progress_bar() as progress:
        bar = progress.add_task("reading", total=words or None)

        def report(done: Progress) -> None:
            progress.update(bar, completed=done.words, description=f"{done.words:,} words in {done.shards:,} shards")

        try:
            done = run(folders, files, out, source=source, words=words, seed=seed, workers=workers, report=report)
        except KeyboardInterrupt:
            progress.stop()
            raise click.ClickException("stopped; the same command continues it") from None
    click.echo(f"{out}: {done.words:,} words in {done.shards:,} shard{'s' * (done.shards > 1)}", err=True)
