"""`hexatagger export`, `calibrate`, `package` and `info`: what can be done with a model folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hexatagger import __version__
from hexatagger.cli.options import FILE, choice, dev_option, progress_shares, read_gold
from hexatagger.errors import ConfigError, needs

if TYPE_CHECKING:
    from hexatagger.model.card import Kept


@click.command(short_help="Write the network of a model as ONNX.")
@click.argument("model", type=click.Path(path_type=Path))
@dev_option("CoNLL-U to check 8 bits on")
def export(model: Path, dev_files: tuple[Path, ...]) -> None:
    """Write the network of a trained MODEL as ONNX into its folder, in 32 and in 8 bits.

    An export that does not do what the network does is refused: in 32 bits scores must be within 1e-4 of torch's, and 8
    bits may cost at most 0.3 LAS on --dev. Without --dev only 32 bits are written. Needs the extra `train`.

    \b
      hexatagger export runs/mine --dev dev.conllu
    """
    with needs("train"):
        from hexatagger.train.export.onnx import export as run

    with progress_shares("exporting") as report:
        found = run(model, read_gold(dev_files), report=report)
    click.echo(f"{model}: scores differ from torch's by at most {found.difference:.2g}", err=True)
    if found.las is not None and found.las_int8 is not None:
        click.echo(f"dev LAS {found.las:.2f} in 32 bits, {found.las_int8:.2f} in 8", err=True)


@click.command(short_help="Make the probabilities of a model mean what they say.")
@click.argument("model")
@dev_option("CoNLL-U that MODEL was not trained on", required=True)
@click.option("--store/--no-store", default=True, show_default=True, help="Write the temperatures into the folder.")
def calibrate(model: str, dev_files: tuple[Path, ...], store: bool) -> None:
    """Fit the temperatures of MODEL, a name or folder: scores are divided by them before they become probabilities.

    The temperatures make the gold trees of --dev most likely. They change no tree. `train` does this at its end. The
    expected calibration error is how far probabilities are from how often the parser is right; each half of --dev is
    judged with the temperatures of the other half.

    \b
      hexatagger calibrate runs/mine --dev dev.conllu
    """
    from hexatagger.model.registry import find_model
    from hexatagger.parsing.calibrate import calibrate as find
    from hexatagger.parsing.calibrate import calibrate_folder
    from hexatagger.parsing.load import load

    dev = read_gold(dev_files)
    with progress_shares("calibrating") as report:
        found = (
            calibrate_folder(find_model(model), dev, report=report) if store else find(load(model), dev, report=report)
        )
    warm = found.temperature
    click.echo(f"{model}: temperature of tags {warm.tags:g}, of relations {warm.relations:g}", err=True)
    for line in found.describe().split("; "):
        click.echo(line, err=True)
    if store and not found.helps:
        click.echo("not stored: it makes the error worse", err=True)


@click.command(name="package", short_help="Make the folder or wheel of a model to pass on.")
@click.argument("model")
@click.argument("out", type=click.Path(path_type=Path), required=False)
@choice("--precision", of=["int8", "fp32"], default="int8", text="Precision of the network.")
@dev_option("CoNLL-U to score the package on")
@click.option(
    "--train",
    "train_files",
    type=FILE,
    multiple=True,
    help="CoNLL-U that MODEL was trained on, to make what an older model lacks; repeatable.",
)
@click.option("--segmenter", help="Take the segmenter from this model.")
@click.option("--made", "command", default="", help="The command that makes this package again, for the card.")
@click.option("--wheel", is_flag=True, help="Make a wheel in the folder OUT, for pip.  [default: here]")
@click.option("--name", default="", help="Name of the model in the wheel.  [default: its language]")
@click.option("--version", default=__version__, show_default=True, help="Version of the wheel.")
def package_model(
    model: str,
    out: Path | None,
    precision: "Kept",
    dev_files: tuple[Path, ...],
    train_files: tuple[Path, ...],
    segmenter: str | None,
    command: str,
    wheel: bool,
    name: str,
    version: str,
) -> None:
    """Copy only what running needs from a trained MODEL, a name or folder, to the new folder OUT.

    Weights for training, logs and the learning curve stay behind. With --dev the package itself is scored, given words
    and given text, and its card says so. With --train the table of lemmas and the profile of the language are made
    again, for a model that was trained before there were any.

    With --wheel the result is a wheel, hexatagger_NAME-VERSION-py3-none-any.whl. Once pip has installed it, the model
    is found by its name, anywhere.

    \b
      hexatagger package runs/mine models/mine --dev dev.conllu
      hexatagger package runs/mine --wheel --name fr --dev dev.conllu
    """
    import tempfile

    from hexatagger.model.wheel import build_wheel
    from hexatagger.parsing.package import package

    if out is None and not wheel:
        raise ConfigError("OUT is missing: name the folder to make, or make a wheel with --wheel")
    dev, train = read_gold(dev_files), read_gold(train_files)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model" if out is None or wheel else out
        made = package(model, folder, precision=precision, dev=dev, train=train, segmenter=segmenter, command=command)
        result = build_wheel(folder, out or Path(), name=name, version=version) if wheel else folder
        size = sum(path.stat().st_size for path in ([result] if wheel else result.iterdir()))
    click.echo(f"{result}: {size / 1e6:.1f} MB", err=True)
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
      hexatagger info fr
      hexatagger info runs/mine
    """
    from hexatagger.model.folder import README, read_file, read_folder
    from hexatagger.model.registry import find_model

    folder = read_folder(find_model(model))
    click.echo(read_file(folder.path / README).rstrip())
    sizes = {path.name: path.stat().st_size for path in sorted(folder.path.iterdir()) if path.is_file()}
    click.echo(f"\nFolder {folder.path}: " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))
