"""The layout as plain values: it agrees with the decoder's steps, and covers right-to-left and non-projective trees."""

import json
from typing import Any

from hypothesis import given

from hexatagger.draw.geometry import geometry
from hexatagger.sentence import Sentence
from hexatagger.tags import from_heads, lift
from hexatagger.tags.bht import steps
from strategies import trees


def stack(nodes: list[dict[str, Any]], step: int) -> list[str]:
    """The stack after so many tags, as the page shows it."""

    def write(place: int) -> str:
        node = nodes[place]
        if place >= step:
            return "?"
        left_right = " ".join(write(child) for child in node["children"])
        return f"{node['side']}({left_right})" if node["side"] else str(place // 2 + 1)

    inside = {child for node in nodes[:step] for child in node["children"]}
    return [write(node["place"]) for node in nodes[:step] if node["place"] not in inside]


@given(trees())
def test_nodes_and_arcs_are_those_of_the_decoder(heads: list[int]) -> None:
    sentence = Sentence.from_words(["w"] * len(heads), heads=heads, deprels=["x"] * len(heads))
    made = geometry(sentence)
    json.dumps(made, allow_nan=False)
    lifted, _ = lift(heads, ["x"] * len(heads))
    tags = from_heads(lifted)
    nodes = made["bht"]["nodes"]
    assert [node["tag"] for node in nodes] == [str(tag) for tag in tags]
    for step, expected in enumerate(steps(tags), 1):
        assert stack(nodes, step) == [str(item) for item in expected]
    found = {arc["dependent"]: arc["head"] for arc in made["bht"]["arcs"]}
    assert [found[word] for word in range(1, len(heads) + 1)] == lifted
    drawn = {arc["dependent"]: arc["head"] for arc in made["arcs"]["arcs"]}
    assert [drawn[word] for word in range(1, len(heads) + 1)] == heads


def test_right_to_left() -> None:
    made = geometry(Sentence.from_words(["كتاب", "جديد"], heads=[0, 1], deprels=["root", "amod"]))
    first, second = made["arcs"]["words"]
    assert made["right_to_left"]
    assert first["x"] > second["x"]
    places = [node["x"] for node in made["bht"]["nodes"]]
    assert places == sorted(places, reverse=True)
    assert geometry(Sentence([]))["bht"]["nodes"] == []
