"""`hexatagger models`: the models that have a name here."""

import json
import re
from typing import TYPE_CHECKING, Any

import click

from hexatagger.cli.options import lay_out_table
from hexatagger.errors import FormatError

if TYPE_CHECKING:
    from hexatagger.model.registry import InstalledModel


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything as a JSON array instead.")
def models(as_json: bool) -> None:
    """List the models that can be named with --model.

    They come from the folders in HEXATAGGER_MODELS, from installed packages, and from hexatagger itself (en). LAS is on
    dev, in percent, given words and given raw text. hexatagger info NAME shows the card of a model.
    """
    from hexatagger.model.registry import installed

    rows = [_describe(model) for model in installed().values()]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    header = ["name", "MB", "LAS words", "LAS text", "language", "treebanks", "licence", "from"]
    click.echo(lay_out_table(header, [_cells(row) for row in rows], left=(0, 4, 5, 6, 7)))


def _describe(model: "InstalledModel") -> dict[str, Any]:
    """Return the facts about a model; what its card does not say is None."""
    from hexatagger.model.card import Card, read_card

    problem = None
    try:
        card = read_card(model.folder) or Card()
    except FormatError as error:
        card, problem = Card(), str(error)
    words, text = (card.package.words, card.package.text) if card.package else (card.scores, {})
    train = [each.name for each in card.data if each.part == "train"]
    return {
        "name": model.name,
        "title": card.title or None,
        "language": card.language or None,
        "treebanks": card.treebanks or ", ".join(train) or None,
        "licence": card.licence or None,
        "bytes": sum(path.stat().st_size for path in model.folder.iterdir() if path.is_file()),
        "las_words": words.get("LAS", card.scores.get("LAS")),
        "las_text": text.get("LAS"),
        "from": model.origin,
        "folder": str(model.folder),
        "problem": problem,
    }


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row of the table: of a licence its name, of many treebanks the first and their number."""
    scores = ["" if row[key] is None else f"{row[key]:.2f}" for key in ("las_words", "las_text")]
    licence = re.split(r"[,;(]", row["licence"] or "")[0].strip()
    first, *more = (row["treebanks"] or row["problem"] or "").split(", ")
    treebanks = f"{first} and {len(more)} more" if len(more) > 1 else ", ".join([first, *more])
    texts = [row["title"] or row["language"] or "", treebanks, licence, row["from"]]
    return [row["name"], f"{row['bytes'] / 1e6:.1f}", *scores, *texts]
