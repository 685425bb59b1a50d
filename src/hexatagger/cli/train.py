"""`hexatagger train`: a treebank and a recipe in, a model folder out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hexatagger.cli.options import FILE, FOLDER, dev_option, progress_bar
from hexatagger.errors import needs

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@click.command(short_help="Train a model on a treebank.")
@click.argument("recipe", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--train", "train_files", type=FILE, multiple=True, required=True, help="CoNLL-U to train on; repeatable."
)
@dev_option("CoNLL-U to select the model on", required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the model, new or empty.")
@click.option("--encoder", help="Use another encoder than the recipe: a Hugging Face name, a folder, or `characters`.")
@click.option(
    "--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Change a key of the recipe; repeatable."
)
@click.option(
    "--related",
    type=FILE,
    multiple=True,
    help="CoNLL-U of a related language: the parser learns from it too; repeatable.",
)
@click.option(
    "--labels",
    type=FOLDER,
    multiple=True,
    help="Folder of labels by larger models, made by hexatagger label, to learn from (distillation); repeatable.",
)
@click.option(
    "--vectors",
    type=FILE,
    help="Word vectors as a further input of `characters`: lines of a word and its numbers, as fastText has them.",
)
@click.option("--export/--no-export", default=True, show_default=True, help="Write ONNX too, to run without torch.")
@click.option("--segmenter", is_flag=True, help="Train a segmenter of raw text too.")
@click.option("--resume", is_flag=True, help="Resume the run in --out from its last checkpoint.")
def train(
    recipe: Path,
    train_files: tuple[Path, ...],
    dev_files: tuple[Path, ...],
    out: Path,
    encoder: str | None,
    settings: tuple[str, ...],
    related: tuple[Path, ...],
    labels: tuple[Path, ...],
    vectors: Path | None,
    export: bool,
    segmenter: bool,
    resume: bool,
) -> None:
    """Train a model by RECIPE (TOML) and leave it in the folder --out.

    The epoch with the best LAS on --dev is kept. A run that was stopped or killed is resumed with the same command and
    --resume. Needs the extra `train`. On several GPUs or processes:

    \b
        accelerate launch -m hexatagger train RECIPE --train … --dev … --out …
    """
    from hexatagger.model.config import Recipe

    chosen = Recipe.load(recipe).with_settings(settings)
    if encoder:
        chosen = chosen.with_encoder(encoder)
    with needs("train"):
        from hexatagger.train.job import Job
        from hexatagger.train.job import train as run
    job = Job(
        recipe=chosen,
        train=train_files,
        dev=dev_files,
        out=out,
        resume=resume,
        related=related,
        labels=labels,
        vectors=vectors,
        export=export,
        segmenter=segmenter,
    )
    with progress_bar() as progress:
        bar = progress.add_task("reading the treebank", total=1.0, part="parser")
        try:
            state = run(job, lambda event: _show(event, progress, bar))
        except KeyboardInterrupt:
            progress.stop()
            message = "stopped; resume from the last checkpoint with the same command and --resume"
            raise click.ClickException(message) from None
    click.echo(f"{out}: dev LAS {state.best:.2f} after epoch {state.best_epoch}", err=True)


def _show(event: dict[str, Any], progress: "Progress", bar: "TaskID") -> None:
    """Show an event of training: steps move the bar, epochs and warnings get a line."""
    part = "segmenter, " if event.get("part") == "segmenter" else ""
    name = event.get("part", "parser")
    if event["event"] in ("step", "part") and name != progress.tasks[bar].fields["part"]:
        progress.reset(bar, total=1.0, part=name)  # another part starts: the time left is that of the part
    if event["event"] == "part":
        progress.update(bar, completed=event["done"], description=name)
    elif event["event"] == "step":
        text = f"{part}epoch {event['epoch']}, step {event['step']}/{event['of']}, loss {event['loss']:.3f}"
        progress.update(bar, completed=event["done"], description=text)
    elif event["event"] == "epoch":
        from hexatagger.train.checkpoint import NOT_SCORES

        scores = "  ".join(f"{name} {value:.2f}" for name, value in event.items() if name not in NOT_SCORES)
        cost = f"{event['seconds'] / 60:.1f} min" + (f", {memory:.1f} GB" if (memory := event.get("gigabytes")) else "")
        line = f"{part}epoch {event['epoch']}: loss {event['loss']:.3f}  {scores}  ({cost})"
        progress.console.print(line, highlight=False, soft_wrap=True)  # a line stays a line in a file
    elif event["event"] == "warning":
        progress.console.print(f"warning: {event['message']}", highlight=False, markup=False, soft_wrap=True)
