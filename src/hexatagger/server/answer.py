"""Parsed Sentences → the body of the answer: JSON, CoNLL-U or SVG."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexatagger.draw import draw_svg
from hexatagger.draw.figure import figure
from hexatagger.draw.geometry import geometry
from hexatagger.formats.conllu import format_sentence
from hexatagger.model.language import find_foreign
from hexatagger.sentence import Sentence
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseRequest

TYPES = {"json": "application/json", "conllu": "text/plain; charset=utf-8", "svg": "image/svg+xml"}


def write_answer(request: ParseRequest, sentences: Sequence[Sentence], model: Path) -> bytes:
    """Return the body of the answer to a request; JSON says if the text does not look like the model's language."""
    if request.to == "svg":
        return draw_svg(_chosen(request, sentences), show=request.show, width=request.width).encode()
    if request.to == "conllu":
        return "".join(format_sentence(tree) for each in sentences for tree in _trees(request, each)).encode()
    values: dict[str, Any] = {"model": request.model, "sentences": [_values(request, each) for each in sentences]}
    if warning := find_foreign(request.text or " ".join(each.text for each in sentences), model, {}):
        values["warning"] = warning
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def _values(request: ParseRequest, sentence: Sentence) -> dict[str, Any]:
    """Return a sentence for JSON. It and its alternatives have tags and a layout if these are asked for."""
    values = {"text": sentence.text, **sentence.to_dict()}
    values.setdefault("words", [])
    trees = [sentence, *sentence.alternatives]
    for tree, written in zip(trees, [values, *values.get("alternatives", ())], strict=True):
        if request.tags:
            written["tags"] = figure(tree, "tags").tags
        if request.layout:
            written["layout"] = geometry(tree)
    return values


def _chosen(request: ParseRequest, sentences: Sequence[Sentence]) -> Sentence:
    """Return the sentence to draw: the one that is named, or the only one."""
    number = request.sentence or (1 if len(sentences) == 1 else 0)
    if not 1 <= number <= len(sentences):
        message = f"an SVG shows one sentence: choose one from 1 to {len(sentences)}"
        raise Refused(422, "no_such_sentence", message if sentences else "nothing to draw", field="sentence")
    return _trees(request, sentences[number - 1])[0]


def _trees(request: ParseRequest, sentence: Sentence) -> list[Sentence]:
    """Return the tree that is named, or the last one if there are fewer; all trees if none is named."""
    trees = [sentence, *sentence.alternatives]
    return [trees[: request.tree][-1]] if request.tree else trees
