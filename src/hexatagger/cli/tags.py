"""`hexatagger encode` and `decode`: trees to hexatags and back; no model needed."""

from typing import get_args

import click

from hexatagger.cli.options import output_option, reading
from hexatagger.formats.conllu import Format, Roots, format_sentence, read_conllu
from hexatagger.formats.files import open_output
from hexatagger.formats.tagfile import format_tagged, read_tagged
from hexatagger.tags import SCHEMES, Order, Scheme
from hexatagger.tree import is_projective


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
@output_option
@reading
def encode(file: str, order: Order, scheme: Scheme | None, output: str, format_: Format, roots: Roots) -> None:
    """Turn the trees of FILE into hexatags.

    A line a word: ID, FORM, leaf tag with the relation, internal tag ("_" for the last word).

    \b
      hexatagger encode treebank.conllu
      hexatagger encode treebank.conllu --lift head+path | hexatagger decode -
    """
    changed = total = 0
    with open_output(output) as stream:
        for sentence in read_conllu(file, format=format_, roots=roots):
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
@output_option
def decode(file: str, output: str) -> None:
    """Turn hexatags (what encode writes) back into CoNLL-U.

    \b
      hexatagger encode treebank.conllu | hexatagger decode -
    """
    with open_output(output) as stream:
        for sentence in read_tagged(file):
            stream.write(format_sentence(sentence))
