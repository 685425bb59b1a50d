"""A figure as text: arcs over the words in box-drawing characters, or one word per row where that is too wide.

Non-projective arcs are dashed. In the downward form all arcs of a head share one line in the margin, each relation
stands where its arc arrives, and 60 words take 60 rows of any terminal.
"""

from hexatagger.draw.figure import Arc, Figure, Node, fans
from hexatagger.draw.layout import CELLS, Layout, arrange
from hexatagger.draw.terminal_canvas import Canvas
from hexatagger.draw.width import cells, shorten

_NO_LIMIT = 10**6


def across(figure: Figure, *, color: bool = False) -> list[str]:
    """Draw along the line of words and return the rows."""
    layout = arrange(figure, CELLS)
    middles = list(map(int, layout.middles))
    canvas = Canvas()
    row = 0
    if len(figure.nodes) > 1:
        top = max(node.height for node in figure.nodes)
        points = [(top - node.height, middle) for node, middle in zip(figure.nodes, middles, strict=True)]
        _draw_nodes(canvas, figure.nodes, points, sideways=False)
        row = top + 1
    for middle, tag in zip(middles, figure.tags, strict=False):
        canvas.put(row, middle - (cells(tag) - 1) // 2, tag, "tag")
    row += bool(figure.tags)
    if figure.show == "arcs" and figure.arcs:
        top = max(placed.arc.level for placed in layout.arcs)
        _draw_arcs(canvas, layout, top, -1)
        row = top + 1
    for texts, style in ((figure.forms, "word"), (figure.upos, "upos")):
        for begin, width, text in zip(layout.begins, layout.widths, texts, strict=True):
            canvas.put(row, int(begin) + (int(width) - cells(text)) // 2, text, style)
        row += any(texts)
    for bracket in figure.brackets:
        begin, end = map(int, layout.block(bracket.first, bracket.last))
        canvas.across(row, begin, end - 1)
        canvas.put(row, begin, "╰", "line")
        canvas.put(row, end - 1, "╯", "line")
        canvas.put(row, begin + max(0, end - begin - cells(bracket.form)) // 2, bracket.form, "upos")
    row += bool(figure.brackets)
    if figure.show == "all" and figure.arcs:
        _draw_arcs(canvas, layout, row, 1)
    return canvas.render(color=color)


def _draw_arcs(canvas: Canvas, layout: Layout, base: int, step: int) -> None:
    """Draw the arcs above (`step` -1) or below (1) the row `base`, which holds the arrowheads."""
    legs: dict[tuple[int, bool], int] = {}  # the highest level of each leg: arcs of one head share theirs
    for placed in layout.arcs:
        arc, level = placed.arc, base + step * placed.arc.level
        head, dependent = int(placed.head), int(placed.dependent)
        if arc.head:
            canvas.across(level, head, dependent, dashed=arc.crossing)
        for leg in {head, dependent}:
            legs[leg, arc.crossing] = max(arc.level, legs.get((leg, arc.crossing), 0))
    for (leg, dashed), highest in legs.items():
        canvas.down(leg, base, base + step * highest, dashed=dashed)
    for placed in layout.arcs:  # text last: it covers all lines
        arc = placed.arc
        canvas.put(base, int(placed.dependent), "▼" if step < 0 else "▲", "crossing" if arc.crossing else "line")
        canvas.put(base + step * arc.level, int(placed.begin), arc.label, _label_style(arc))


def _label_style(arc: Arc) -> str:
    return "unsure" if arc.unsure else "crossing" if arc.crossing else "label"


def _draw_nodes(canvas: Canvas, nodes: list[Node], points: list[tuple[int, int]], *, sideways: bool) -> None:
    """Draw the binary head tree, its nodes at these rows and columns; its top is at the left if `sideways`."""
    for node in nodes:
        row, column = points[node.place]
        for child in node.children:
            to_row, to_column = points[child]
            if sideways:
                canvas.down(column, row, to_row)
                canvas.across(to_row, column, to_column)
            else:
                canvas.across(row, column, to_column)
                canvas.down(to_column, row, to_row)
    for node in nodes:
        canvas.put(*points[node.place], node.side, "node")


def downwards(figure: Figure, *, width: int | None = None, color: bool = False) -> list[str]:
    """Draw one word per row: first the binary head tree and the tags, then the arcs. Return the rows."""
    rows: list[str] = []
    if figure.tags or figure.nodes:
        rows += _tags_downwards(figure, width, color)
    if figure.show in ("arcs", "all"):
        rows += [""] * bool(rows) + _arcs_downwards(figure, width, color)
    return rows


def _arcs_downwards(figure: Figure, width: int | None, color: bool) -> list[str]:
    """Draw the arcs in the left margin and the words beside them."""
    gathered = fans(figure)
    levels = max((fan.level for fan in gathered), default=0)
    labels = max((cells(arc.label) for arc in figure.arcs), default=0)
    upos = max(map(cells, figure.upos), default=0)
    brackets = max((cells(bracket.form) + 5 for bracket in figure.brackets), default=0)
    beside = labels + 5 + (upos + 2 if upos else 0) + brackets
    room = (width or _NO_LIMIT) - beside
    pitch = 2 if room - 2 * levels >= 12 else 1
    if room - levels < 8:
        return _table(figure, width, color)
    forms = [shorten(form, max(1, room - pitch * levels - 1)) for form in figure.forms]

    canvas = Canvas(bridges=True)
    start = pitch * levels + 1  # where the labels begin
    arrows = start + labels + 2
    for fan in gathered:  # a line down the margin, and a branch to every word on it
        rows, column = [word - 1 for word in (fan.head, *fan.dependents)], pitch * (levels - fan.level) + 1
        canvas.down(column, min(rows), max(rows), dashed=fan.crossing)
        for row in rows:
            canvas.across(row, column, arrows, dashed=fan.crossing)
    for arc in figure.arcs:
        style = _label_style(arc)
        if not arc.head:
            canvas.across(arc.dependent - 1, 0, arrows)
        canvas.put(arc.dependent - 1, arrows, "►", "crossing" if arc.crossing else "line")
        if arc.label:
            canvas.put(arc.dependent - 1, arrows - 2 - cells(arc.label), f" {arc.label} ", style)
    after = arrows + 2 + max(map(cells, forms), default=0) + 2
    for row, (form, tag) in enumerate(zip(forms, figure.upos, strict=True)):
        canvas.put(row, arrows + 2, form, "word")
        canvas.put(row, after, tag, "upos")
    column = after + (upos + 2 if upos else 1)
    for bracket in figure.brackets:
        first, last = bracket.first - 1, bracket.last - 1
        canvas.down(column, first, last)
        canvas.across(first, column - 1, column)
        canvas.across(last, column - 1, column)
        canvas.put((first + last) // 2, column + 2, bracket.form, "upos")
    return canvas.render(color=color)


def _tags_downwards(figure: Figure, width: int | None, color: bool) -> list[str]:
    """Draw the binary head tree in the left margin, one row per node in order, with tags and words beside it."""
    canvas = Canvas()
    height = max((node.height for node in figure.nodes), default=0)
    tags = max(map(cells, figure.tags), default=0)
    room = (width or _NO_LIMIT) - (tags + 2 if tags else 0)
    pitch = 2 if room - 2 * height >= 12 else 1 if room - height >= 8 else 0
    if pitch:
        points = [(node.place, pitch * (height - node.height)) for node in figure.nodes]
        _draw_nodes(canvas, figure.nodes, points, sideways=True)
    after = pitch * height + 2 if figure.nodes else 0
    for place, tag in enumerate(figure.tags):
        canvas.put(place, after, tag, "tag")
    after += tags + 2 if tags else 0
    for row, form in enumerate(figure.forms):
        canvas.put(2 * row, after, shorten(form, max(1, (width or _NO_LIMIT) - after)), "word")
    return canvas.render(color=color)


def _table(figure: Figure, width: int | None, color: bool) -> list[str]:
    """Write a table where no drawing fits: number, word, relation, number of the head."""
    canvas = Canvas()
    heads = {arc.dependent: arc for arc in figure.arcs}
    numbers = len(str(len(figure.forms)))
    labels = max((cells(arc.label) for arc in figure.arcs), default=0)
    room = max(1, (width or _NO_LIMIT) - 2 * numbers - labels - 5)
    forms = [shorten(form, room) for form in figure.forms]
    after = numbers + 1 + max(map(cells, forms), default=0) + 1
    for row, form in enumerate(forms):
        canvas.put(row, numbers - len(str(row + 1)), str(row + 1), "upos")
        canvas.put(row, numbers + 1, form, "word")
        if arc := heads.get(row + 1):
            canvas.put(row, after, arc.label, _label_style(arc))
            canvas.put(row, after + labels + 1, f"← {arc.head}", "line")
    return canvas.render(color=color)
