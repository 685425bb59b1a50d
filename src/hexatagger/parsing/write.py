"""Tree → Sentence: the last step of parsing writes the columns, the notes in MISC and the comments."""

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from hexatagger.model.labels import Labels
from hexatagger.parsing.choose import Tree
from hexatagger.parsing.predictions import Prediction
from hexatagger.sentence import Sentence, Word
from hexatagger.tags import Scheme, unlift
from hexatagger.tags.lemma import apply_script

_SHOWN = 0.01
"""Heads that are less probable than this are not listed."""
_MOST = 8
"""How many heads of a word are listed."""
_HEAD_NOTE, _TREE_NOTES = "HeadProb=", ("# tree_prob =", "# alternative =")
"""How files state probabilities: in MISC and in comments."""
_BEFORE = ("id", "form", "lemma", "upos", "xpos", "feats")
_AFTER = ("deps", "misc", "start", "end")
"""The fields of a Word before and after HEAD and DEPREL."""


def write(
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    trees: Sequence[Tree],
    labels: Labels,
    *,
    lift: Scheme,
    keep: Collection[str] = (),
) -> list[Sentence]:
    """Return new sentences with everything that is predicted; comments, multiword tokens and other columns stay.

    Columns named in `keep` stay as they are where they are filled.
    """
    return [
        _sentence(sentence, prediction, tree, labels, lift, keep)
        for sentence, prediction, tree in zip(sentences, predictions, trees, strict=True)
    ]


def _sentence(
    sentence: Sentence, prediction: Prediction, tree: Tree, labels: Labels, lift: Scheme, keep: Collection[str]
) -> Sentence:
    """Write one sentence and its alternatives; what does not depend on the tree is done once."""
    columns, names = _columns(sentence, prediction, labels, keep), labels.relations.strings
    before, after = ([columns[name] for name in part] for part in (_BEFORE, _AFTER))
    marks = [labels.marks[number] for number in prediction.mark.tolist()] if prediction.mark is not None else []

    def with_tree(tree: Tree) -> Sentence:
        heads, deprels = _unlifted(tree, [names[number] for number in tree.deprels.tolist()], marks, lift)
        words = list(itertools.starmap(Word, zip(*before, heads, deprels, *after, strict=True)))
        made = Sentence(words, sentence.comments, sentence.multiwords, sentence.empty_nodes)
        made.probability = tree.probability
        return made

    made = with_tree(tree)
    made.alternatives = [with_tree(other) for other in tree.others]
    if tree.head_probabilities is not None:
        _note_heads(made, tree)
    if tree.probability is not None:
        _note_trees(made)
    return made


def _columns(sentence: Sentence, prediction: Prediction, labels: Labels, keep: Collection[str]) -> dict[str, list[Any]]:
    """Return every field of the words except HEAD and DEPREL."""
    columns: dict[str, list[Any]] = {name: [getattr(word, name) for word in sentence] for name in (*_BEFORE, *_AFTER)}
    for task, numbers in prediction.tasks.items():
        given, strings = columns[task], labels.tasks[task].strings
        found = [strings[number] for number in numbers.tolist()]
        if task == "lemma":
            found = list(map(apply_script, columns["form"], found))
        if task in keep:
            found = [new if old == "_" else old for old, new in zip(given, found, strict=True)]
        columns[task] = found
    return columns


def _unlifted(tree: Tree, deprels: list[str], marks: Sequence[str], lift: Scheme) -> tuple[list[int], list[str]]:
    """Move lifted words back to their heads, as the marks say."""
    if any(marks):
        # subtle: a fixed word must not move, but others may move past it: it loses its own mark only
        deprels = [
            deprel + ("" if word in tree.fixed and mark.startswith("|") else mark)
            for word, (deprel, mark) in enumerate(zip(deprels, marks, strict=True), 1)
        ]
    return unlift(tree.heads, deprels, lift)


def _note_heads(sentence: Sentence, tree: Tree) -> None:
    """Give every word the probability of its head and the list of its likeliest heads."""
    assert tree.head_probabilities is not None
    shares = np.minimum(tree.head_probabilities, 1.0)  # rounding
    own = shares[np.arange(len(shares)), tree.heads]
    for word, head, share in zip(sentence.words, tree.heads, own.tolist(), strict=True):
        word.head_probability, word.heads = share, [(head, share)]
        note = f"{_HEAD_NOTE}{share:.4f}"
        if word.misc != "_":
            note = "|".join([*(part for part in word.misc.split("|") if not part.startswith(_HEAD_NOTE)), note])
        word.misc = note
    doubtful = np.flatnonzero(own <= 1 - _SHOWN)  # no other word has a second head to list
    likeliest = np.argsort(-shares[doubtful], axis=1, kind="stable")[:, :_MOST]
    listed = shares[doubtful[:, None], likeliest]
    for place, heads, values in zip(doubtful.tolist(), likeliest.tolist(), listed.tolist(), strict=True):
        sentence.words[place].heads = [each for each in zip(heads, values, strict=True) if each[1] >= _SHOWN]


def _note_trees(sentence: Sentence) -> None:
    """State in comments how probable each tree is, and the rank of each alternative."""
    given = [line for line in sentence.comments if not line.startswith(_TREE_NOTES)]
    sentence.comments = [*given, f"# tree_prob = {sentence.probability:.6g}"]
    for number, other in enumerate(sentence.alternatives, 2):
        other.comments = [*given, f"# alternative = {number}", f"# tree_prob = {other.probability:.6g}"]
