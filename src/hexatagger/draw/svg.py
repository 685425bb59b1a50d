"""A figure as a self-contained SVG document, with colours for light and dark mode.

Arcs have flat tops that carry the relation on a patch of background. Non-projective arcs are dashed and have another
colour. A drawing that would be too wide has one word per row instead, with the arcs in the margin.

Colours are CSS variables (`--hexa-…`), each preceded by a plain value for programs without variables. All text goes
through `escape`.
"""

import re
from collections.abc import Iterable
from html import escape

from hexatagger.draw.figure import Arc, Figure, Node, fans
from hexatagger.draw.layout import FORM, LABEL, PIXELS, SMALL, TAG, Layout, arrange
from hexatagger.draw.width import pixels

WIDTH = 2000
"""The width in pixels beyond which a drawing along the line is too wide to read."""

_STEP = 27  # between levels
_ROW = 25  # between words, downwards
_MARGIN = 16

_COLORS = {  # light, dark
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#f0f6fc"),
    "muted": ("#59636e", "#9198a1"),
    "line": ("#6e7781", "#8b949e"),
    "label": ("#0550ae", "#79c0ff"),
    "crossing": ("#bc4c00", "#ffa657"),
    "left": ("#0550ae", "#79c0ff"),
    "right": ("#8250df", "#d2a8ff"),
}


def _sheet() -> str:
    """Return the style sheet: a colour `@name` becomes its plain value, then its variable."""
    light, dark = ("".join(f"--hexa-{name}:{each[mode]};" for name, each in _COLORS.items()) for mode in (0, 1))
    sheet = f"""
.hexa{{{light}font-family:'Noto Sans','Segoe UI',Roboto,Helvetica,Arial,sans-serif}}
@media (prefers-color-scheme:dark){{.hexa{{{dark}}}}}
.hexa text{{text-anchor:middle;unicode-bidi:isolate;white-space:pre}}
.hexa text.start{{text-anchor:start}}
.hexa text.end{{text-anchor:end}}
.hexa path{{fill:none;stroke-width:1.4}}
.hexa .paper{{fill:@paper}}
.hexa .form{{fill:@ink;font-size:{FORM}px}}
.hexa .upos{{fill:@muted;font-size:{SMALL}px}}
.hexa .note{{fill:@muted;font-size:{LABEL}px;font-style:italic}}
.hexa .label{{fill:@label;font-size:{LABEL}px}}
.hexa .tag{{fill:@ink;font:{TAG}px 'Noto Sans Mono','DejaVu Sans Mono',Menlo,Consolas,monospace}}
.hexa .inner{{fill:@right;font-weight:700}}
.hexa .line{{stroke:@line}}
.hexa path.head{{fill:@line;stroke:none}}
.hexa .crossing .label,.hexa .crossing .head{{fill:@crossing}}
.hexa .crossing .line{{stroke:@crossing;stroke-dasharray:5 3}}
.hexa .arc:hover .line{{stroke-width:2.6}}.hexa .arc:hover .label{{font-weight:700}}
.hexa circle{{fill:@paper;stroke-width:1.4}}
.hexa .L circle{{stroke:@left}}.hexa .L text{{fill:@left}}
.hexa .R circle{{stroke:@right}}.hexa .R text{{fill:@right}}
.hexa .L text,.hexa .R text{{font-size:{SMALL}px;font-weight:600}}"""
    colored = r"\1:{0};\1:var(--hexa-\2,{0})"
    return re.sub(r"(\w+):@(\w+)", lambda found: found.expand(colored.format(_COLORS[found[2]][0])), sheet.strip())


STYLE = _sheet()
"""The style sheet: in every SVG document, and once in an HTML page."""


def document(figure: Figure, *, width: int | None = WIDTH, style: bool = True) -> str:
    """Draw along the line of words, or one word per row if that takes more than `width` pixels."""
    parts, wide, high = _drawing(figure, width)
    return _element(figure, parts, wide, high, style=style)


def stack(figures: Iterable[Figure], *, width: int | None = WIDTH) -> str:
    """Draw several figures below one another, as one document."""
    drawn = [(figure, *_drawing(figure, width)) for figure in figures]
    if len(drawn) == 1:
        return _element(*drawn[0])
    widest, top, inner = max((wide for _, _, wide, _ in drawn), default=0.0), 0.0, list[str]()
    for figure, parts, wide, high in drawn:
        inner.append(_element(figure, parts, wide, high, style=False, place=f' y="{top:.0f}"'))
        top += high
    size = f'width="{widest:.0f}" height="{top:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="hexa" {size} viewBox="0 0 {widest:.0f} {top:.0f}">\n'
    return f'{head}<style>{STYLE}</style>\n<rect class="paper" {size}/>\n{"".join(inner)}</svg>\n'


def _drawing(figure: Figure, width: int | None) -> tuple[list[str], float, float]:
    """Return the elements of a drawing, and its width and height with the margins."""
    layout = arrange(figure, PIXELS)
    fits = width is None or layout.width + 2 * _MARGIN <= width
    parts, (wide, high) = _across(figure, layout) if fits else _downwards(figure)
    for note in figure.notes:
        parts.append(_text(0, high + 14, note, "note start"))
        wide, high = max(wide, pixels(note, LABEL)), high + 22
    return parts, float(round(wide + 2 * _MARGIN)), float(round(high + 2 * _MARGIN))


def _element(figure: Figure, parts: list[str], wide: float, high: float, *, style: bool = True, place: str = "") -> str:
    """Return the svg element of a drawing."""
    size = f'width="{wide:.0f}" height="{high:.0f}"'
    box = f"{-_MARGIN} {-_MARGIN} {wide:.0f} {high:.0f}"
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hexa" role="img"{place} {size} viewBox="{box}">',
        f"<title>{escape(figure.title or 'An empty sentence')}</title>",
        f"<desc>{escape(figure.description)}</desc>" if figure.arcs else "",
        f"<style>{STYLE}</style>" if style else "",
        f'<rect class="paper" x="{-_MARGIN}" y="{-_MARGIN}" {size}/>',
    ]
    return "\n".join(filter(None, [*head, *parts, "</svg>"])) + "\n"


def _across(figure: Figure, layout: Layout) -> tuple[list[str], tuple[float, float]]:
    """Draw along the line; return the elements and their total width and height."""
    parts: list[str] = []
    y = 0.0
    if len(figure.nodes) > 1:
        top, bottom = 10.0, 10.0 + _STEP * max(node.height for node in figure.nodes)
        points = [(x, bottom - _STEP * node.height) for x, node in zip(layout.middles, figure.nodes, strict=True)]
        parts += _nodes(figure.nodes, points)
        y = top + bottom - 8
    for place, tag in enumerate(figure.tags):
        parts.append(_text(layout.middles[place], y + 12, tag, "tag inner" if place % 2 else "tag"))
    y += 20 if figure.tags else 0
    if figure.show == "arcs" and figure.arcs:
        y += LABEL + _STEP * max(placed.arc.level for placed in layout.arcs)
        parts += _arcs(figure, layout, y, -1)
        y += 5
    middles = layout.middles[::2]
    parts += [_text(x, y + FORM, form, "form") for x, form in zip(middles, figure.forms, strict=True)]
    y += FORM + 8 if figure.forms else 0
    if any(figure.upos):
        parts += [_text(x, y + 11, upos, "upos") for x, upos in zip(middles, figure.upos, strict=True)]
        y += 17
    for bracket in figure.brackets:
        begin, end = layout.block(bracket.first, bracket.last)
        parts.append(f'<path class="line" d="M{begin:.1f} {y:.1f}v6H{end:.1f}v-6"/>')
        parts.append(_text((begin + end) / 2, y + 20, bracket.form, "upos"))
    y += 26 if figure.brackets else 0
    if figure.show == "all" and figure.arcs:
        parts += _arcs(figure, layout, y + 4, 1)
        y += 4 + LABEL + _STEP * max(placed.arc.level for placed in layout.arcs)
    return parts, (layout.width, y)


def _arcs(figure: Figure, layout: Layout, base: float, step: int) -> list[str]:
    """Draw the arcs above (`step` -1) or below (1) the line `base`; outer ones first, so that labels stay on top."""
    parts: list[str] = []
    for placed in reversed(layout.arcs):
        x, y = placed.dependent, base + step * _STEP * placed.arc.level
        start = [(placed.head, base), (placed.head, y)] if placed.arc.head else []
        path = _path([*start, (x, y), (x, base + step * 4)], min(10.0, abs(placed.head - x) / 2))
        head = f"M{x:.1f} {base:.1f}l-3.6 {step * 7.5}h7.2z"
        parts.append(_arc(figure, placed.arc, path, head, placed.begin, y))
    return parts


def _path(points: list[tuple[float, float]], bend: float) -> str:
    """Return a line through points that turns at right angles, with rounded corners."""
    path = "M{:.1f} {:.1f}".format(*points[0])
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        near, far = (
            f"{x + bend * ((to_x > x) - (to_x < x)):.1f} {y + bend * ((to_y > y) - (to_y < y)):.1f}"
            for to_x, to_y in (before, after)
        )
        path += f"L{near}Q{x:.1f} {y:.1f} {far}"
    return path + "L{:.1f} {:.1f}".format(*points[-1])


def _arc(figure: Figure, arc: Arc, path: str, head: str, x: float, y: float, *, aligned: bool = False) -> str:
    """Write one arc: its line, arrowhead, description, and label on a patch of background that begins at x.

    Labels are centred on their patches, or end at the same distance from their ends if `aligned`.
    """
    room = PIXELS.label(arc.label)
    ends = f'data-head="{arc.head}" data-dependent="{arc.dependent}"'
    parts = [
        f'<g class="{"arc crossing" if arc.crossing else "arc"}" {ends}><title>{escape(figure.tell(arc))}</title>',
        f'<path class="line" d="{path}"/><path class="head" d="{head}"/>',
    ]
    if arc.label:
        parts.append(f'<rect class="paper" x="{x:.1f}" y="{y - 8:.1f}" width="{room:.1f}" height="16"/>')
        anchor, kind = (x + room - 2, "label end") if aligned else (x + room / 2, "label")
        parts.append(_text(anchor, y + 4.2, arc.label, kind))
    return "".join(parts) + "</g>"


def _nodes(nodes: list[Node], points: list[tuple[float, float]]) -> list[str]:
    """Draw the binary head tree at the given points, with a circle for every inner node as in the paper."""
    parts = []
    for node, (x, y) in zip(nodes, points, strict=True):
        for child in node.children:
            to_x, to_y = points[child]
            parts.append(f'<path class="line" d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"/>')
    for node, (x, y) in zip(nodes, points, strict=True):
        if node.side:
            circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            parts.append(f'<g class="{node.side}">{circle}{_text(x, y + 3.9, node.side)}</g>')
    return parts


def _downwards(figure: Figure) -> tuple[list[str], tuple[float, float]]:
    """Draw one word per row: first the binary head tree and the tags, then the arcs."""
    parts: list[str] = []
    size = (0.0, 0.0)
    if figure.nodes or figure.tags:
        parts, size = _tags_downwards(figure)
    if figure.show in ("arcs", "all"):
        arcs, (wide, high) = _arcs_downwards(figure, size[1] + (20 if parts else 0))
        parts += arcs
        size = (max(size[0], wide), high)
    return parts, size


def _tags_downwards(figure: Figure) -> tuple[list[str], tuple[float, float]]:
    """Draw the binary head tree from left to right, one row per node in order."""
    pitch, row = 24, 20
    height = max((node.height for node in figure.nodes), default=0)
    parts = _nodes(
        figure.nodes, [(10.0 + pitch * (height - node.height), 10.0 + row * node.place) for node in figure.nodes]
    )
    x = 20.0 + pitch * height if figure.nodes else 0.0
    for place, tag in enumerate(figure.tags):
        parts.append(_text(x, 14.5 + row * place, tag, "tag inner start" if place % 2 else "tag start"))
    x += max(map(PIXELS.tag, figure.tags), default=0) + 10
    parts += [_text(x, 16 + row * 2 * word, form, "form start") for word, form in enumerate(figure.forms)]
    wide = x + max(map(PIXELS.form, figure.forms), default=0)
    return parts, (wide, row * (2 * len(figure.forms) - 1))


def _arcs_downwards(figure: Figure, top: float) -> tuple[list[str], tuple[float, float]]:
    """Draw the arcs in the left margin, with relation, word and UPOS beside them."""
    pitch = 16
    gathered = fans(figure)
    levels = max((fan.level for fan in gathered), default=0)
    columns = {(fan.head, to): 6.0 + pitch * (levels - fan.level) for fan in gathered for to in fan.dependents}
    labels = pitch * levels + 14 + max((PIXELS.label(arc.label) for arc in figure.arcs), default=0)
    tip = labels + 16
    rows = [top + 12 + _ROW * word for word in range(len(figure.forms))]
    # A line that leaves a word starts left of the label of the arc that arrives there.
    starts = {arc.dependent: labels - PIXELS.label(arc.label) for arc in figure.arcs if arc.label}
    parts = []
    for arc in sorted(figure.arcs, key=lambda arc: -arc.level):
        y = rows[arc.dependent - 1]
        start = [(0.0, y)]
        if arc.head:
            column, row = columns[arc.head, arc.dependent], rows[arc.head - 1]
            start = [(starts.get(arc.head, tip), row), (column, row), (column, y)]
        path = _path([*start, (tip - 4, y)], 8)
        head = f"M{tip:.1f} {y:.1f}l-7.5 -3.6v7.2z"
        parts.append(_arc(figure, arc, path, head, labels - PIXELS.label(arc.label), y, aligned=True))
    x = tip + 7
    parts += [_text(x, y + 6, form, "form start") for y, form in zip(rows, figure.forms, strict=True)]
    x += max(map(PIXELS.form, figure.forms), default=0) + 14
    parts += [_text(x, y + 4.5, upos, "upos start") for y, upos in zip(rows, figure.upos, strict=True)]
    x += max(map(PIXELS.small, figure.upos), default=0)
    wide = x
    for bracket in figure.brackets:
        begin, end = rows[bracket.first - 1], rows[bracket.last - 1]
        parts.append(f'<path class="line" d="M{x + 6:.1f} {begin - 5:.1f}h6V{end + 5:.1f}h-6"/>')
        parts.append(_text(x + 18, (begin + end) / 2 + 4.5, bracket.form, "upos start"))
        wide = max(wide, x + 20 + PIXELS.small(bracket.form))
    return parts, (wide, top - 1 + _ROW * len(rows))


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    """Write a text element; nothing for an empty text."""
    if not text:
        return ""
    marked = f' class="{kind}"' if kind else ""
    return f'<text{marked} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
