"""`hexatagger draw`: trees as drawings, in the terminal or in a file."""

import shutil
from collections.abc import Iterator
from itertools import chain, islice

import click

from hexatagger.cli.options import (
    color_option,
    file_argument,
    find_kind,
    format_option,
    is_colored,
    output_option,
    width_option,
)
from hexatagger.draw import Show, draw_html_parts, draw_svg, draw_text
from hexatagger.draw.svg import WIDTH
from hexatagger.draw.unicode import printable
from hexatagger.errors import FormatError, TreeError
from hexatagger.formats.conllu import Format, read_conllu
from hexatagger.formats.files import name_of, open_output
from hexatagger.sentence import Sentence

SUFFIXES = {".txt": "text", ".svg": "svg", ".html": "html", ".htm": "html"}


@click.command(short_help="Draw trees in the terminal, as SVG or as HTML.")
@file_argument
@output_option
@click.option(
    "--to",
    type=click.Choice(["text", "svg", "html"]),
    help="What to write.  [default: by the suffix of -o: .txt, .svg or .html; or text]",
)
@click.option(
    "--show",
    type=click.Choice(["arcs", "bht", "tags", "all"]),
    default="arcs",
    show_default=True,
    help="The dependency arcs, the binary head tree, the hexatags, or all three.",
)
@click.option(
    "--sentence", "chosen", multiple=True, metavar="N|ID", help="Draw only this one: number or sent_id; repeatable."
)
@width_option
@color_option
@format_option
def draw(
    file: str,
    output: str,
    to: str | None,
    show: Show,
    chosen: tuple[str, ...],
    width: int | None,
    color: str,
    format_: Format,
) -> None:
    """Draw the trees of FILE.

    Non-projective arcs are dashed. Words without a head have no arc. The binary head tree and the tags need a tree;
    crossing arcs are lifted first, and a note says so.

    \b
      hexatagger draw treebank.conllu
      hexatagger draw treebank.conllu --sentence 3 --show all
      hexatagger draw treebank.conllu --sentence weblog-0003 -o tree.svg
      hexatagger draw treebank.conllu -o trees.html

    Several trees in one SVG are below one another.
    """
    kind = to or find_kind(output, SUFFIXES, without_suffix="text")
    name = name_of(file)
    sentences: Iterator[tuple[int, Sentence]] = enumerate(read_conllu(file, format=format_), 1)
    if chosen:
        sentences = _pick(sentences, chosen, name)
    ahead = list(islice(sentences, 2))
    if not ahead:
        raise FormatError("has no sentence to draw", source=name)
    several = len(ahead) > 1
    current = ""

    def watched() -> Iterator[Sentence]:
        nonlocal current
        for number, sentence in chain(ahead, sentences):
            current = sentence.comment("sent_id") or str(number)
            yield sentence

    colored = is_colored(color, output)
    columns = width if width is not None else shutil.get_terminal_size().columns if output == "-" else 80
    pixels = WIDTH if width is None else width or None

    def text(sentence: Sentence) -> str:
        drawn = draw_text(sentence, width=columns or None, color=colored, show=show)
        title = click.style(printable(current), dim=True) if colored else printable(current)
        return f"{title}\n{drawn}\n\n" if several else f"{drawn}\n"

    try:
        with open_output(output) as stream:
            if kind == "html":
                stream.writelines(draw_html_parts(watched(), show=show, width=pixels))
            elif kind == "svg":
                stream.write(draw_svg(watched(), show=show, width=pixels))
            else:
                stream.writelines(map(text, watched()))
    except TreeError as error:
        if error.source is not None:
            raise
        raise TreeError(f"sentence {current}: {error.message}", word=error.word, source=name) from None


def _pick(
    sentences: Iterator[tuple[int, Sentence]], chosen: tuple[str, ...], name: str
) -> Iterator[tuple[int, Sentence]]:
    """Return the chosen sentences in the given order; a sent_id takes precedence over a number."""
    by_id: dict[str, tuple[int, Sentence]] = {}
    by_number: dict[str, tuple[int, Sentence]] = {}
    number = 0
    for number, sentence in sentences:
        for known, key in ((by_id, sentence.comment("sent_id")), (by_number, str(number))):
            if key in chosen:
                known.setdefault(key, (number, sentence))
    found = by_number | by_id
    for key in chosen:
        if key not in found:
            raise FormatError(f"no sentence '{key}': give a sent_id, or a number from 1 to {number}", source=name)
    return iter([found[key] for key in chosen])
