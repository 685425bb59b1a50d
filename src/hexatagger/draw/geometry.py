"""A drawing as plain values: the coordinates of words, arcs and nodes, for programs that draw by themselves.

The page of the service draws from this. Pixels come from the same layout as SVG.
"""

from dataclasses import replace
from typing import Any

from hexatagger.draw.figure import Figure, fans, figure
from hexatagger.draw.layout import PIXELS, arrange
from hexatagger.sentence import Sentence


def geometry(sentence: Sentence) -> dict[str, Any]:
    """Return the coordinates of the dependency tree (`arcs`) and of the binary head tree (`bht`).

    `fans` are the lines of a drawing with one word per row: the arcs of a head share one, its column is its level.

    A node of the binary head tree has a place in order, 0 to 2N − 2, and is built by the tag at that place. The
    decoder's stack holds the nodes that are built but whose parent is not. An arc is known after `step` tags; arcs of
    the binary head tree are those of the lifted tree if the sentence is not projective.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> made = geometry(sentence)
    >>> [(word["id"], word["form"], word["x"]) for word in made["arcs"]["words"]]
    [(1, 'She', 16.5), (2, 'reads', 85.5)]
    >>> [(arc["head"], arc["dependent"], arc["level"]) for arc in made["arcs"]["arcs"]]
    [(2, 1, 1), (0, 2, 2)]
    >>> made["fans"]
    [{'head': 2, 'dependents': [1], 'level': 1}]
    >>> [(node["side"], node["height"], node["children"]) for node in made["bht"]["nodes"]]
    [('', 0, []), ('R', 1, [0, 2]), ('', 0, [])]
    >>> made["bht"]["arcs"]
    [{'head': 2, 'dependent': 1, 'step': 3}, {'head': 0, 'dependent': 2, 'step': 3}]
    """
    drawn = figure(sentence, "arcs")
    layout = arrange(drawn, PIXELS)
    arcs = [
        {
            "head": item.arc.head,
            "dependent": item.arc.dependent,
            "label": item.arc.label,
            "level": item.arc.level,
            "crossing": item.arc.crossing,
            "from": round(item.head, 1),
            "to": round(item.dependent, 1),
            "begin": round(item.begin, 1),
            "end": round(item.end, 1),
        }
        for item in layout.arcs
    ]
    words = [
        {"id": number, "form": form, "upos": upos, "x": round(x, 1), "width": round(width, 1)}
        for number, (form, upos, x, width) in enumerate(
            zip(drawn.forms, drawn.upos, layout.middles[::2], layout.widths, strict=True), 1
        )
    ]
    tree = replace(figure(sentence, "all"), arcs=[], brackets=[], upos=[""] * len(sentence))
    places = arrange(tree, PIXELS)
    nodes = [
        {
            "place": node.place,
            "tag": tag,
            "side": node.side,
            "height": node.height,
            "children": list(node.children),
            "x": round(x, 1),
        }
        for node, tag, x in zip(tree.nodes, tree.tags, places.middles, strict=True)
    ]
    return {
        "right_to_left": tree.right_to_left,
        "fans": [{"head": fan.head, "dependents": list(fan.dependents), "level": fan.level} for fan in fans(drawn)],
        "arcs": {"width": round(layout.width, 1), "words": words, "arcs": arcs},
        "bht": {"width": round(places.width, 1), "nodes": nodes, "arcs": _steps(tree)},
    }


def _steps(tree: Figure) -> list[dict[str, int]]:
    """Return the arcs in the order in which the decoder finds them: when the heads of both ends are built."""
    found = []
    known: dict[int, tuple[int, int]] = {}  # place → the word that heads the node, the last place it depends on
    upwards = sorted(tree.nodes, key=lambda node: node.height)
    for node in upwards:
        if not node.children:
            known[node.place] = (node.place // 2 + 1, node.place)
            continue
        left, right = (known[child] for child in node.children)
        head, dependent = (left, right) if node.side == "L" else (right, left)
        known[node.place] = (head[0], max(node.place, head[1]))
        found.append({"head": head[0], "dependent": dependent[0], "step": 1 + max(node.place, head[1], dependent[1])})
    for top in upwards[-1:]:
        found.append({"head": 0, "dependent": known[top.place][0], "step": len(upwards)})
    return sorted(found, key=lambda arc: arc["step"])
