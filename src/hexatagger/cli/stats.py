"""`hexatagger stats`: counts and properties of the trees in a treebank."""

import json

import click

from hexatagger.cli.options import reading
from hexatagger.formats.conllu import Format, Roots, read_conllu
from hexatagger.scoring.breakdown import percent
from hexatagger.scoring.treebank import TreebankStats, collect
from hexatagger.tags import SCHEMES


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="JSON for programs instead of a table.")
@reading
def stats(files: tuple[str, ...], as_json: bool, format_: Format, roots: Roots) -> None:
    """Say what the trees of FILES ask of a hexatagger.

    \b
    sentences, words, longest, relations   counts
    non-proj., words    share of sentences that are not projective, of words with a crossing arc
    depth               stack depth that the tags need, left-first/right-first
    head, path, head+path   share of words whose head or relation each lifting scheme loses

    \b
      hexatagger stats train.conllu dev.conllu
    """
    collected = {file: collect(read_conllu(file, format=format_, roots=roots)) for file in files}
    if as_json:
        click.echo(json.dumps({file: counts.to_json() for file, counts in collected.items()}, indent=2))
        return
    header = ["sentences", "words", "longest", "relations", "non-proj.", "words", "depth", *SCHEMES, "file"]
    rows = [header, *(_row(file, counts) for file, counts in collected.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header) - 1)]
    for *cells, file in rows:
        click.echo("  ".join([*(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)), file]))


def _row(file: str, counts: TreebankStats) -> list[str]:
    return [
        str(counts.sentences),
        str(counts.words),
        str(counts.longest),
        str(len(counts.deprels)),
        f"{percent(counts.nonprojective_sentences, counts.sentences):.2f} %",
        f"{percent(counts.nonprojective_words, counts.words):.3f} %",
        f"{counts.depth_left}/{counts.depth_right}",
        *(f"{percent(loss.words, counts.words):.3f} %" for loss in counts.losses.values()),
        file,
    ]
