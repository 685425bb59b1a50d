"""`hexatagger calibrate`: make the probabilities of a model mean what they say."""

from pathlib import Path

import click


@click.command(short_help="Make the probabilities of a model mean what they say.")
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--dev",
    "dev_files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    required=True,
    help="CoNLL-U that MODEL was not trained on; repeatable.",
)
@click.option("--store/--no-store", default=True, show_default=True, help="Write the temperatures into the folder.")
def calibrate(model: Path, dev_files: tuple[Path, ...], store: bool) -> None:
    """Fit the temperatures of the folder MODEL: scores are divided by them before they become probabilities.

    The temperatures make the gold trees of --dev most likely. They change no tree. `train` does this at its end. The
    expected calibration error is how far probabilities are from how often the parser is right; each half of --dev is
    judged with the temperatures of the other half.

    \b
      hexatagger calibrate models/mine --dev dev.conllu
    """
    from hexatagger.formats.conllu import read_conllu
    from hexatagger.parsing.calibrate import calibrate as find
    from hexatagger.parsing.calibrate import calibrate_folder
    from hexatagger.parsing.parser import load

    dev = [sentence for file in dev_files for sentence in read_conllu(file, roots="one")]
    found = calibrate_folder(model, dev) if store else find(load(model), dev)
    warm = found.temperature
    click.echo(f"{model}: temperature of tags {warm.tags:g}, of relations {warm.relations:g}", err=True)
    for line in found.describe().split("; "):
        click.echo(line, err=True)
    if store and not found.helps:
        click.echo("not stored: it makes the error worse", err=True)
