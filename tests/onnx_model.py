"""A whole model folder in milliseconds: real networks for ONNX Runtime that were never trained.

The parser's network sees the letters of a word and of the word before it; its trees are noise, but legal and
repeatable. The segmenter's network ends a token where letters end and a sentence after a full stop.
"""

import json
from pathlib import Path
from typing import Any

from hexatagger.model.config import Recipe
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.segment.alphabet import SegmenterSettings
from hexatagger.segment.multiword import Rewrites
from hexatagger.segment.segmenter import to_json
from hexatagger.tags.lemma import to_script

RECIPE = '[model]\nencoder = "characters"\nchar_buckets = 500\ntasks = ["upos", "xpos", "feats", "lemma"]\n'
LABELS = Labels(
    LabelSet(["root", "nsubj", "obj", "det", "punct"]),
    tasks={
        "upos": LabelSet(["NOUN", "VERB", "DET"]),
        "xpos": LabelSet(["NN", "VB", "DT"]),
        "feats": LabelSet(["_", "Number=Plur", "Mood=Ind|Number=Sing|Tense=Past"]),
        "lemma": LabelSet([to_script("Dogs", "dog"), to_script("dog", "dog"), to_script("Anna", "Anna")]),
    },
)


def write_model(folder: Path, *, segmenter: bool = True) -> Path:
    """Write a model folder and return it."""
    folder.mkdir(parents=True)
    recipe = Recipe.from_toml(RECIPE)
    (folder / "config.json").write_text(json.dumps({"format": 1, **recipe.to_dict()}), encoding="utf-8")
    (folder / "labels.json").write_text(LABELS.to_json(), encoding="utf-8")
    (folder / "model.onnx").write_bytes(_parser())
    (folder / "README.md").write_text("# Noise\n", encoding="utf-8")
    if segmenter:
        settings = SegmenterSettings(characters=".", categories=("Ll", "Po", "So"), radius=3)
        (folder / "segmenter.json").write_text(to_json(settings, Rewrites({}, {})), encoding="utf-8")
        (folder / "segmenter.onnx").write_bytes(_segmenter())
    return folder


class _Graph:
    """Collects the nodes of a network."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, kind: str) -> str:
        import numpy as np
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        from onnx import helper

        output = name or f"node{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def cut(self, source: str, start: int, end: int, axis: int, name: str = "") -> str:
        return self.add("Slice", source, *(self.constant([each], "int64") for each in (start, end, axis)), name=name)

    def save(self, inputs: dict[str, tuple[str, int]], outputs: dict[str, tuple[str, int]]) -> bytes:
        from onnx import TensorProto, helper

        def describe(values: dict[str, tuple[str, int]]) -> list[Any]:
            return [
                helper.make_tensor_value_info(name, getattr(TensorProto, kind), [f"{name}{n}" for n in range(rank)])
                for name, (kind, rank) in values.items()
            ]

        graph = helper.make_graph(self.nodes, "noise", describe(inputs), describe(outputs), self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return bytes(model.SerializeToString())


def _parser() -> bytes:
    """Return a network from n-grams of words to scores: (batch, words, n-grams) → (batch, words, …)."""
    graph = _Graph()
    whole = graph.add("Gather", "pieces", graph.constant(0, "int64"), axis=2)  # the id of the whole word
    words = graph.add("Cast", whole, to=1)
    before = graph.add("Pad", graph.cut(words, 0, -1, 1), graph.constant([0, 1, 0, 0], "int64"))
    last = graph.constant([2], "int64")
    angles = graph.add("Mul", graph.add("Unsqueeze", words, last), graph.constant(range(1, 17), "float32"))
    sines = graph.add("Sin", graph.add("Add", angles, graph.add("Unsqueeze", before, last)))
    waves = graph.add("Mul", sines, graph.constant(3, "float32"))
    graph.cut(waves, 0, 2, 2, name="leaf")
    graph.cut(waves, 2, 6, 2, name="internal")
    scores = graph.add("LogSoftmax", graph.cut(waves, 6, 11, 2), axis=2)
    graph.add("Unsqueeze", scores, last, name="relations")
    others = graph.add("ArgMax", graph.cut("relations", 1, 5, 3), axis=3, keepdims=0)
    graph.add("Add", others, graph.constant(1, "int64"), name="relation")
    graph.add("ArgMax", graph.cut("relations", 0, 1, 3), axis=3, keepdims=0, name="root")
    graph.add("ArgMax", graph.cut(waves, 0, 1, 2), axis=2, keepdims=0, name="mark")
    for number, task in enumerate(LABELS.tasks):
        graph.add("ArgMax", graph.cut(waves, 3 * number, 3 * number + 3, 2), axis=2, keepdims=0, name=task)
    outputs = {"leaf": ("FLOAT", 3), "internal": ("FLOAT", 3), "relation": ("INT64", 3), "root": ("INT64", 3)}
    outputs |= {"mark": ("INT64", 2), **dict.fromkeys(LABELS.tasks, ("INT64", 2)), "relations": ("FLOAT", 4)}
    return graph.save({"pieces": ("INT64", 3)}, outputs)


def _segmenter() -> bytes:
    """Return a network from ids of characters to scores: (batch, length) → (batch, length, 4)."""
    graph = _Graph()
    letter = graph.add("Cast", graph.add("Equal", "ids", graph.constant(3, "int32")), to=1)
    after = graph.add("Pad", graph.cut(letter, 1, 1 << 31, 1), graph.constant([0, 0, 0, 1], "int64"))
    inside = graph.add("Mul", letter, after)
    stop = graph.add("Cast", graph.add("Greater", "ids", graph.constant(5, "int32")), to=1)
    never = graph.add("Mul", letter, graph.constant(0, "float32"))
    end = graph.add("Sub", graph.constant(1, "float32"), inside)
    last = graph.constant([2], "int64")
    shares = graph.add("Concat", *(graph.add("Unsqueeze", each, last) for each in (end, stop, never, never)), axis=2)
    doubled = graph.add("Mul", shares, graph.constant(2, "float32"))
    graph.add("Sub", doubled, graph.constant(1, "float32"), name="scores")
    return graph.save({"ids": ("INT32", 2)}, {"scores": ("FLOAT", 3)})
