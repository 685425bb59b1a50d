"""`hexatagger train`, `export`, `calibrate`, `package` and `info`: model folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hexatagger.cli.options import FILE, FOLDER, choice, dev_option, progress_bar, read_gold
from hexatagger.errors import needs

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from hexatagger.model.card import Kept


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
@click.option("--teacher", type=FOLDER, help="A model folder whose soft tags are learnt too (distillation).")
@click.option(
    "--unlabelled",
    type=FILE,
    multiple=True,
    help="Sentences for the teacher to tag: CoNLL-U, or .txt with one sentence per line and spaces between words; "
    "repeatable.",
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
    teacher: Path | None,
    unlabelled: tuple[Path, ...],
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
        teacher=teacher,
        unlabelled=unlabelled,
        export=export,
        segmenter=segmenter,
    )
    with progress_bar() as progress:
        bar = progress.add_task("reading", total=1.0)
        try:
            state = run(job, lambda event: _show(event, progress, bar))
        except KeyboardInterrupt:
            progress.stop()
            message = "stopped; resume from the last checkpoint with the same command and --resume"
            raise click.ClickException(message) from None
    click.echo(f"{out}: dev LAS {state.best:.2f} after epoch {state.best_epoch}", err=True)


@click.command(short_help="Write the network of a model as ONNX.")
@click.argument("model", type=click.Path(path_type=Path))
@dev_option("CoNLL-U to check 8 bits on")
def export(model: Path, dev_files: tuple[Path, ...]) -> None:
    """Write the network of a trained MODEL as ONNX into its folder, in 32 and in 8 bits.

    An export that does not do what the network does is refused: in 32 bits scores must be within 1e-4 of torch's, and 8
    bits may cost at most 0.3 LAS on --dev. Without --dev only 32 bits are written. Needs the extra `train`.

    \b
      hexatagger export models/en --dev dev.conllu
    """
    with needs("train"):
        from hexatagger.train.export.onnx import export as run

    found = run(model, read_gold(dev_files))
    click.echo(f"{model}: scores differ from torch's by at most {found.difference:.2g}", err=True)
    if found.las is not None and found.las_int8 is not None:
        click.echo(f"dev LAS {found.las:.2f} in 32 bits, {found.las_int8:.2f} in 8", err=True)


@click.command(short_help="Make the probabilities of a model mean what they say.")
@click.argument("model", type=FOLDER)
@dev_option("CoNLL-U that MODEL was not trained on", required=True)
@click.option("--store/--no-store", default=True, show_default=True, help="Write the temperatures into the folder.")
def calibrate(model: Path, dev_files: tuple[Path, ...], store: bool) -> None:
    """Fit the temperatures of the folder MODEL: scores are divided by them before they become probabilities.

    The temperatures make the gold trees of --dev most likely. They change no tree. `train` does this at its end. The
    expected calibration error is how far probabilities are from how often the parser is right; each half of --dev is
    judged with the temperatures of the other half.

    \b
      hexatagger calibrate models/mine --dev dev.conllu
    """
    from hexatagger.parsing.calibrate import calibrate as find
    from hexatagger.parsing.calibrate import calibrate_folder
    from hexatagger.parsing.parser import load

    dev = read_gold(dev_files)
    found = calibrate_folder(model, dev) if store else find(load(model), dev)
    warm = found.temperature
    click.echo(f"{model}: temperature of tags {warm.tags:g}, of relations {warm.relations:g}", err=True)
    for line in found.describe().split("; "):
        click.echo(line, err=True)
    if store and not found.helps:
        click.echo("not stored: it makes the error worse", err=True)


@click.command(name="package", short_help="Make the folder of a model to pass on.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@choice("--precision", of=["int8", "fp32"], default="int8", text="Precision of the network.")
@dev_option("CoNLL-U to score the package on")
@click.option("--segmenter", type=FOLDER, help="Take the segmenter from this model.")
@click.option("--made", "command", default="", help="The command that makes this package again, for the card.")
def package_model(
    model: Path, out: Path, precision: "Kept", dev_files: tuple[Path, ...], segmenter: Path | None, command: str
) -> None:
    """Copy only what running needs from a trained MODEL to the new folder OUT.

    Weights for training, logs and the learning curve stay behind. With --dev the package itself is scored, given words
    and given text, and its card says so.

    \b
      hexatagger package runs/mine models/mine --dev dev.conllu
    """
    from hexatagger.parsing.package import package

    dev = read_gold(dev_files)
    made = package(model, out, precision=precision, dev=dev, segmenter=segmenter, command=command)
    click.echo(f"{out}: {sum(path.stat().st_size for path in out.iterdir()) / 1e6:.1f} MB", err=True)
    for given, scores in (("words", made.words), ("text", made.text)):
        if scores:
            shown = "  ".join(f"{name} {value:.2f}" for name, value in scores.items())
            click.echo(f"dev, given {given}: {shown}", err=True)


@click.command()
@click.argument("model", default="en")
def info(model: str) -> None:
    """Show the card of MODEL: data, licence, scores.

    \b
      hexatagger info
      hexatagger info models/cy
    """
    from hexatagger.model.folder import README, read_file, read_folder
    from hexatagger.model.registry import find_model

    folder = read_folder(find_model(model))
    click.echo(read_file(folder.path / README).rstrip())
    sizes = {path.name: path.stat().st_size for path in sorted(folder.path.iterdir()) if path.is_file()}
    click.echo(f"\nFolder {folder.path}: " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))


def _show(event: dict[str, Any], progress: "Progress", bar: "TaskID") -> None:
    """Show an event of training: steps move the bar, epochs and warnings get a line."""
    part = "segmenter, " if event.get("part") == "segmenter" else ""
    if event["event"] == "step":
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
