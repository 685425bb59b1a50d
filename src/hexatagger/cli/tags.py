"""`hexatagger encode`, `decode`, `lift` and `unlift`: trees to hexatags or projective trees, and back."""

from collections.abc import Callable
from typing import get_args

import click

from hexatagger.cli.options import choice, file_argument, output_option, reading
from hexatagger.formats.conllu import Format, Roots, format_sentence, read_conllu
from hexatagger.formats.files import open_output
from hexatagger.formats.tagfile import format_tagged, read_tagged
from hexatagger.tags import SCHEMES, Order, Scheme
from hexatagger.tags import lift as lift_tree
from hexatagger.tags import unlift as unlift_tree
from hexatagger.tree import is_projective


@click.command()
@file_argument
@choice("--order", of=get_args(Order), default="left", text="Which dependents of a word are taken in first.")
@choice("--lift", "scheme", of=SCHEMES, text="Lift crossing arcs and mark them, so that decode restores them.")
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
@file_argument
@output_option
def decode(file: str, output: str) -> None:
    """Turn hexatags (what encode writes) back into CoNLL-U.

    \b
      hexatagger encode treebank.conllu | hexatagger decode -
    """
    with open_output(output) as stream:
        for sentence in read_tagged(file):
            stream.write(format_sentence(sentence))


_scheme = choice("--scheme", of=SCHEMES, default="head+path", text="How relations are marked.")


@click.command()
@file_argument
@_scheme
@output_option
@reading
def lift(file: str, scheme: Scheme, output: str, format_: Format, roots: Roots) -> None:
    """Make every tree of FILE projective and mark the relations so that unlift can go back.

    The pseudo-projective transformation of Nivre and Nilsson (2005), identical to that of MaltParser.

    \b
      hexatagger lift treebank.conllu --scheme head > projective.conllu
    """
    _map_trees(lift_tree, file, scheme, output, format_, roots)


@click.command()
@file_argument
@_scheme
@output_option
@reading
def unlift(file: str, scheme: Scheme, output: str, format_: Format, roots: Roots) -> None:
    """Undo lift: move the marked words of FILE back and remove the marks.

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
