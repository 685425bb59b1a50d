"""`hexatagger lift` and `unlift`: the pseudo-projective transformation and its inverse; no model needed."""

from collections.abc import Callable

import click

from hexatagger.cli.options import output_option, reading
from hexatagger.formats.conllu import Format, Roots, format_sentence, read_conllu
from hexatagger.formats.files import open_output
from hexatagger.tags import SCHEMES, Scheme
from hexatagger.tags import lift as lift_tree
from hexatagger.tags import unlift as unlift_tree

_scheme = click.option(
    "--scheme", type=click.Choice(SCHEMES), default="head+path", show_default=True, help="How relations are marked."
)


@click.command()
@click.argument("file", default="-")
@_scheme
@output_option
@reading
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
@output_option
@reading
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
        for sentence in read_conllu(file, format=format_, roots=roots):
            sentence.set_tree(*change(sentence.heads, sentence.deprels, scheme))
            stream.write(format_sentence(sentence, format=format_))
