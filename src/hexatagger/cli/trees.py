"""Commands on trees and tags, no model needed: encode, decode, lift, unlift, stats."""

import json
from collections.abc import Callable, Iterator
from typing import Any, get_args

import click

from hexatagger.formats.conllu import Format, Roots, format_sentence, read_conllu
from hexatagger.formats.files import open_output
from hexatagger.formats.tagfile import format_tagged, read_tagged
from hexatagger.scoring.breakdown import percent
from hexatagger.scoring.treebank import TreebankStats, collect
from hexatagger.sentence import Sentence
from hexatagger.tags import SCHEMES, Order, Scheme
from hexatagger.tags import lift as lift_tree
from hexatagger.tags import unlift as unlift_tree
from hexatagger.tree import is_projective


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that reads a treebank."""
    for option in (
        click.option(
            "--roots",
            type=click.Choice(["one", "attach"]),
            default="one",
            show_default=True,
            help="A sentence with several roots: an error, or hang the later ones under the first.",
        ),
        click.option(
            "--from",
            "format_",
            type=click.Choice(get_args(Format)),
            default="conllu",
            show_default=True,
            help="Format of FILE.",
        ),
    ):
        command = option(command)
    return command


_output = click.option(
    "-o", "--output", default="-", help="File to write; appears whole or not at all.  [default: stdout]"
)
_scheme = click.option(
    "--scheme", type=click.Choice(SCHEMES), default="head+path", show_default=True, help="How relations are marked."
)


def _trees(file: str, format_: Format, roots: Roots) -> Iterator[Sentence]:
    return read_conllu(file, format=format_, roots=roots)


@click.command()
@click.argument("file", default="-")
@click.option(
    "--order",
    type=click.Choice(get_args(Order)),
    default="left",
    show_default=True,
    help="Which dependents of a word are taken in first.",
)
@click.option(
    "--lift",
    "scheme",
    type=click.Choice(SCHEMES),
    help="Lift crossing arcs and mark them, so that decode restores them.",
)
@_output
@_reading
def encode(file: str, order: Order, scheme: Scheme | None, output: str, format_: Format, roots: Roots) -> None:
    """Turn the trees of FILE into hexatags.

    A line a word: ID, FORM, leaf tag with the relation, internal tag ("_" for the last word).

    \b
      hexatagger encode treebank.conllu
      hexatagger encode treebank.conllu --lift head+path | hexatagger decode -
    """
    changed = total = 0
    with open_output(output) as stream:
        for sentence in _trees(file, format_, roots):
            total += 1
            changed += not is_projective(sentence.heads)
            stream.write(format_tagged(sentence, order=order, scheme=scheme))
    if changed and scheme is None:
        click.echo(
            f"{changed} of {total} sentences are not projective: their crossing arcs were lifted for good; "
            "--lift head+path lets decode restore them.",
            err=True,
        )


@click.command()
@click.argument("file", default="-")
@_output
def decode(file: str, output: str) -> None:
    """Turn hexatags (what encode writes) back into CoNLL-U.

    \b
      hexatagger encode treebank.conllu | hexatagger decode -
    """
    with open_output(output) as stream:
        for sentence in read_tagged(file):
            stream.write(format_sentence(sentence))


@click.command()
@click.argument("file", default="-")
@_scheme
@_output
@_reading
def lift(file: str, scheme: Scheme, output: str, format_: Format, roots: Roots) -> None:
    """Make every tree of FILE projective and mark the relations so that unlift can go back.

    The pseudo-projective transformation of Nivre and Nilsson (2005), just as MaltParser does it.

    \b
      hexatagger lift treebank.conllu --scheme head > projective.conllu
    """
    _map_trees(lift_tree, file, scheme, output, format_, roots)


@click.command()
@click.argument("file", default="-")
@_scheme
@_output
@_reading
def unlift(file: str, scheme: Scheme, output: str, format_: Format, roots: Roots) -> None:
    """Undo lift: move the marked words of FILE back and take the marks away.

    \b
      hexatagger unlift projective.conllu --scheme head
    """
    _map_trees(unlift_tree, file, scheme, output, format_, roots)


def _map_trees(
    change: Callable[[list[int], list[str], Scheme], tuple[list[int], list[str]]],
    file: str,
    scheme: Scheme,
    output: str,
    format_: Format,
    roots: Roots,
) -> None:
    with open_output(output) as stream:
        for sentence in _trees(file, format_, roots):
            sentence.set_tree(*change(sentence.heads, sentence.deprels, scheme))
            stream.write(format_sentence(sentence, format=format_))


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="JSON for programs instead of a table.")
@_reading
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
    collected = {file: collect(_trees(file, format_, roots)) for file in files}
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
