"""Parsed Sentences → the body of an answer: JSON, CoNLL-U or SVG."""

import json
from collections.abc import Sequence
from typing import Any

from hexatagger.draw import draw_svg
from hexatagger.formats.conllu import format_sentence
from hexatagger.sentence import Sentence
from hexatagger.server.question import Question, Refused
from hexatagger.tags import base, from_heads, lift

TYPES = {"json": "application/json", "conllu": "text/plain; charset=utf-8", "svg": "image/svg+xml"}


def write_answer(question: Question, sentences: Sequence[Sentence]) -> bytes:
    """Return the body of the answer to a question."""
    if question.to == "svg":
        return draw_svg(_chosen(question, sentences), show=question.show).encode()
    if question.to == "conllu":
        return "".join(format_sentence(tree) for each in sentences for tree in _trees(question, each)).encode()
    values = {"model": question.model, "sentences": [_values(question, each) for each in sentences]}
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def _values(question: Question, sentence: Sentence) -> dict[str, Any]:
    """Return a sentence as JSON has it, with its tags if asked for, and those of its alternatives."""
    values = {"text": sentence.text, **sentence.to_dict()}
    values.setdefault("words", [])
    if question.tags:
        values["tags"] = tags_of(sentence)
        for alternative, tree in zip(sentence.alternatives, values.get("alternatives", ()), strict=True):
            tree["tags"] = tags_of(alternative)
    return values


def tags_of(sentence: Sentence) -> list[str]:
    """Return the 2N − 1 hexatags of a tree, each leaf with its relation; of a lifted one where arcs cross.

    >>> tags_of(Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"]))
    ['l/nsubj', 'Lr', 'r/root']
    """
    if not len(sentence):
        return []
    heads, deprels = lift(sentence.heads, sentence.deprels)
    if heads == sentence.heads:
        deprels = [base(deprel) for deprel in deprels]
    tags = [str(tag) for tag in from_heads(heads)]
    tags[::2] = [f"{tag}/{deprel}" for tag, deprel in zip(tags[::2], deprels, strict=True)]
    return tags


def _chosen(question: Question, sentences: Sequence[Sentence]) -> Sentence:
    """Return the sentence to draw: the one that is asked for, or the only one."""
    if question.sentence is None and len(sentences) == 1:
        return _trees(question, sentences[0])[0]
    number = question.sentence or 0
    if not 1 <= number <= len(sentences):
        message = (
            f"a drawing shows one sentence: choose one from 1 to {len(sentences)}" if sentences else "nothing to draw"
        )
        raise Refused(422, "no_such_sentence", message, field="sentence")
    return _trees(question, sentences[number - 1])[0]


def _trees(question: Question, sentence: Sentence) -> list[Sentence]:
    """Return the tree that is asked for, the last where there are fewer; all trees if none is named."""
    trees = [sentence, *sentence.alternatives]
    return trees if question.tree is None else [trees[: question.tree][-1]]
