"""Drawings of trees: one layout, three outputs.

    draw_text    for a terminal: arcs over the words, or in the margin where the words do not fit on a line
    draw_svg     one self-contained picture of one tree or several, light and dark
    draw_html    one self-contained page of pictures

`show` selects what is drawn: "arcs" (the dependency tree), "bht" (its binary head tree), "tags" (its hexatags), or
"all" three, one above the other as in the first figure of the paper. The binary head tree and the tags of a
non-projective tree are those of the lifted tree, and a note in the drawing says so.

Nothing here knows about terminals, files or browsers.
"""

from collections.abc import Iterable, Iterator

from hexatagger.draw import html, svg, terminal
from hexatagger.draw.figure import Show, figure, mark_unsure
from hexatagger.draw.width import cells, wrap
from hexatagger.errors import ConfigError
from hexatagger.sentence import Sentence

__all__ = ["Show", "draw_html", "draw_html_parts", "draw_svg", "draw_text"]


def draw_text(sentence: Sentence, *, width: int | None = None, color: bool = False, show: Show = "arcs") -> str:
    """Draw a tree with box-drawing characters, within `width` columns if given.

    If the words have probabilities, arcs with an improbable head are marked.

    >>> heads, deprels = [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"]
    >>> sentence = Sentence.from_words(["She", "reads", "fascinating", "papers"], heads=heads, deprels=deprels)
    >>> print(draw_text(sentence))
              root
               │ ╭───────obj────────╮
     ╭─nsubj─╮ │ │       ╭──amod──╮ │
     ▼       │ ▼ │       ▼        │ ▼
    She      reads  fascinating  papers
    >>> print(draw_text(sentence, width=30))
     ╭─── nsubj ► She
    ─┼──── root ► reads
     │ ╭── amod ► fascinating
     ╰─┴─── obj ► papers
    >>> print(draw_text(sentence, show="bht"))
        ╭───────L─────────────╮
     ╭──R───╮          ╭──────R───╮
     │      │          │          │
    She   reads   fascinating   papers
    """
    _check_width(width)
    drawn = figure(sentence, show)
    mark_unsure(drawn, sentence)
    rows = terminal.across(drawn) if width is None or sum(map(cells, drawn.forms)) <= width else None
    if rows is None or (width is not None and max(map(cells, rows), default=0) > width):
        rows = terminal.downwards(drawn, width=width, color=color)
    elif color:
        rows = terminal.across(drawn, color=True)
    for note in drawn.notes:
        rows += wrap(note, width) if width else [note]
    return "\n".join(rows)


def draw_svg(sentences: Iterable[Sentence] | Sentence, *, show: Show = "arcs", width: int | None = svg.WIDTH) -> str:
    """Draw a tree as an SVG document; if it would be wider than `width` pixels, it has one word per row instead.

    Several trees are drawn below one another.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> draw_svg(sentence).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    _check_width(width)
    if isinstance(sentences, Sentence):
        return svg.document(figure(sentences, show), width=width)
    return svg.stack((figure(each, show) for each in sentences), width=width)


def draw_html(sentences: Iterable[Sentence] | Sentence, *, show: Show = "arcs", width: int | None = svg.WIDTH) -> str:
    """Draw trees as one HTML page that loads nothing from elsewhere; options as for `draw_svg`."""
    return "".join(
        draw_html_parts([sentences] if isinstance(sentences, Sentence) else sentences, show=show, width=width)
    )


def draw_html_parts(
    sentences: Iterable[Sentence], *, show: Show = "arcs", width: int | None = svg.WIDTH
) -> Iterator[str]:
    """Yield the page of `draw_html` piece by piece, so that a whole treebank need not fit in memory."""
    _check_width(width)
    yield html.HEAD
    for number, sentence in enumerate(sentences, 1):
        yield html.section(figure(sentence, show), sentence.comment("sent_id") or str(number), width=width)
    yield html.FOOT


def _check_width(width: int | None) -> None:
    if width is not None and width < 1:
        raise ConfigError(f"width {width} is not a positive number: leave it out for no limit")
