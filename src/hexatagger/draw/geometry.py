"""A drawing as plain values: the coordinates of words, arcs and nodes, for programs that draw by themselves.

The page of the service draws from this. Pixels come from the same layout as SVG.
"""

from dataclasses import replace
from typing import Any

from hexatagger.draw.figure import Figure, figure, mirrored
from hexatagger.draw.layout import arrange
from hexatagger.draw.svg import _METRICS
from hexatagger.sentence import Sentence


def geometry(sentence: Sentence) -> dict[str, Any]:
    """Return the coordinates of the dependency tree (`arcs`) and of the binary head tree (`bht`).

    A node of the binary head tree has a place in order, 0 to 2N − 2, and is built by the tag at that place. The
    decoder's stack holds the nodes that are built but whose parent is not. An arc is known after `step` tags; arcs of
    the binary head tree are those of the lifted tree if the sentence is not projective.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> made = geometry(sentence)
    >>> [(word["id"], word["form"], word["x"]) for word in made["arcs"]["words"]]
    [(1, 'She', 16.5), (2, 'reads', 85.5)]
    >>> [(arc["head"], arc["dependent"], arc["level"]) for arc in made["arcs"]["arcs"]]
    [(2, 1, 1), (0, 2, 2)]
    >>> [(node["side"], node["height"], node["children"]) for node in made["bht"]["nodes"]]
    [('', 0, []), ('R', 1, [0, 2]), ('', 0, [])]
    >>> made["bht"]["arcs"]
    [{'head': 2, 'dependent': 1, 'step': 3}, {'head': 0, 'dependent': 2, 'step': 3}]
    """
    if not len(sentence):
        empty: dict[str, Any] = {"width": 0, "words": [], "arcs": []}
        return {"right_to_left": False, "arcs": empty, "bht": {"width": 0, "nodes": [], "arcs": []}}
    arcs, whole = figure(sentence, "arcs"), figure(sentence, "all")
    seen = mirrored(arcs) if arcs.right_to_left else arcs
    layout = arrange(seen, _METRICS)
    drawn_arcs = [
        {
            "head": seen.ids[item.arc.head - 1] if item.arc.head else 0,
            "dependent": seen.ids[item.arc.dependent - 1],
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
    words = _words(seen, [layout.middle(2 * place, _METRICS) for place in range(len(seen.ids))], layout.widths)
    whole = replace(whole, arcs=[], brackets=[], upos=[""] * len(whole.ids))
    seen, last = (mirrored(whole), 2 * len(whole.ids) - 2) if whole.right_to_left else (whole, 0)
    places = arrange(seen, _METRICS)
    nodes = [
        {
            "place": node.place,
            "tag": whole.tags[node.place],
            "side": node.side,
            "height": node.height,
            "children": list(node.children),
            "x": round(places.middle(abs(last - node.place), _METRICS), 1),
        }
        for node in whole.nodes
    ]
    return {
        "right_to_left": arcs.right_to_left,
        "arcs": {"width": round(layout.width, 1), "words": words, "arcs": drawn_arcs},
        "bht": {"width": round(places.width, 1), "nodes": nodes, "arcs": _steps(whole)},
    }


def _words(seen: Figure, middles: list[float], widths: list[float]) -> list[dict[str, Any]]:
    """Return the words in their own order."""
    columns = zip(seen.ids, seen.forms, seen.upos, middles, widths, strict=True)
    return sorted(
        (
            {"id": number, "form": form, "upos": upos, "x": round(x, 1), "width": round(width, 1)}
            for number, form, upos, x, width in columns
        ),
        key=lambda word: word["id"],
    )


def _steps(whole: Figure) -> list[dict[str, int]]:
    """Return the arcs in the order in which the decoder finds them: when the heads of both ends are built."""
    found = []
    known: dict[int, tuple[int, int]] = {}  # place → the word that heads the node, the last place it depends on
    for node in sorted(whole.nodes, key=lambda node: node.height):
        if not node.children:
            known[node.place] = (node.place // 2 + 1, node.place)
            continue
        left, right = (known[child] for child in node.children)
        head, dependent = (left, right) if node.side == "L" else (right, left)
        known[node.place] = (head[0], max(node.place, head[1]))
        found.append({"head": head[0], "dependent": dependent[0], "step": 1 + max(node.place, head[1], dependent[1])})
    top = max(whole.nodes, key=lambda node: node.height)
    found.append({"head": 0, "dependent": known[top.place][0], "step": len(whole.nodes)})
    return sorted(found, key=lambda arc: arc["step"])
