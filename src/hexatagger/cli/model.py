"""`hexatagger export`, `calibrate`, `package` and `info`: what can be done with a model folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hexatagger.cli.options import FILE, FOLDER, choice, dev_option, read_gold
from hexatagger.errors import needs

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
    from hexatagger.parsing.load import load

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
@click.option(
    "--lemmas", type=FILE, multiple=True, help="CoNLL-U that MODEL was trained on, to collect lemmas from; repeatable."
)
@click.option("--made", "command", default="", help="The command that makes this package again, for the card.")
def package_model(
    model: Path,
    out: Path,
    precision: "Kept",
    dev_files: tuple[Path, ...],
    segmenter: Path | None,
    lemmas: tuple[Path, ...],
    command: str,
) -> None:
    """Copy only what running needs from a trained MODEL to the new folder OUT.

    Weights for training, logs and the learning curve stay behind. With --dev the package itself is scored, given words
    and given text, and its card says so. A model that was trained before there was a table of lemmas gets one with
    --lemmas.

    \b
      hexatagger package runs/mine models/mine --dev dev.conllu
    """
    from hexatagger.parsing.package import package

    dev, train = read_gold(dev_files), read_gold(lemmas)
    made = package(model, out, precision=precision, dev=dev, segmenter=segmenter, lemmas=train, command=command)
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
