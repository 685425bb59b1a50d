"""Tree → Sentence: the last step of parsing writes the columns, the notes in MISC and the comments."""

import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any, get_args

import numpy as np

from hexatagger.model.config import Task
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
_HEAD_NOTE = "HeadProb="
"""The note in MISC that states the probability of a word's head."""
_COMMENTS = ("tree_prob", "alternative", "head_prob")
"""The comments that state the probability of a tree, its rank, and how the probabilities of heads were computed."""
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
    """Return new sentences with everything that is predicted.

    What is not analysis stays: FORM, MISC, offsets, comments and multiword tokens. Analysis that is not predicted goes:
    LEMMA, UPOS, XPOS and FEATS are blank, unless they are named in `keep`, which leaves them as they are where they are
    filled. DEPS is blank and empty nodes are gone, because the tree is new; they stay if constraints fix every head to
    the one that the sentence has. Notes about probabilities are those of this parse alone.
    """
    return [
        _sentence(sentence, prediction, tree, labels, lift, keep)
        for sentence, prediction, tree in zip(sentences, predictions, trees, strict=True)
    ]


def _sentence(
    sentence: Sentence, prediction: Prediction, tree: Tree, labels: Labels, lift: Scheme, keep: Collection[str]
) -> Sentence:
    """Write one sentence and its alternatives; what does not depend on the tree is done once."""
    same_tree = len(tree.fixed) == len(sentence) and tree.heads == sentence.heads
    columns, names = _columns(sentence, prediction, labels, keep), labels.relations.strings
    if not same_tree:
        columns["deps"] = ["_"] * len(sentence)
    before, after = ([columns[name] for name in part] for part in (_BEFORE, _AFTER))
    marks = [labels.marks[number] for number in prediction.mark.tolist()] if prediction.mark is not None else []

    def with_tree(tree: Tree) -> Sentence:
        heads, deprels = _unlifted(tree, [names[number] for number in tree.deprels.tolist()], marks, lift)
        words = list(itertools.starmap(Word, zip(*before, heads, deprels, *after, strict=True)))
        comments = [line for line in sentence.comments if line[1:].partition("=")[0].strip() not in _COMMENTS]
        # An empty node is a node of DEPS only: without DEPS, a file that has one is not valid.
        nodes = list(sentence.empty_nodes) if same_tree else []
        return Sentence(words, comments, list(sentence.multiwords), nodes, tree.probability)

    made = with_tree(tree)
    made.alternatives = [with_tree(other) for other in tree.others]
    if tree.probability is not None:
        _note_trees(made)
    if tree.head_probabilities is not None:
        _note_heads(made, tree)
    return made


def _columns(sentence: Sentence, prediction: Prediction, labels: Labels, keep: Collection[str]) -> dict[str, list[Any]]:
    """Return every field of the words except HEAD and DEPREL."""
    columns: dict[str, list[Any]] = {
        name: [getattr(word, name) for word in sentence] for name in ("id", "form", *_AFTER)
    }
    columns["misc"] = [_without_note(misc) if _HEAD_NOTE in misc else misc for misc in columns["misc"]]
    for task in get_args(Task):
        found = ["_"] * len(sentence)
        if (numbers := prediction.tasks.get(task)) is not None:
            strings = labels.tasks[task].strings
            found = [strings[number] for number in numbers.tolist()]
        if numbers is not None and task == "lemma":
            found = list(map(apply_script, columns["form"], found))
        if task in keep:
            given = [getattr(word, task) for word in sentence]
            found = [new if old == "_" else old for old, new in zip(given, found, strict=True)]
        columns[task] = found
    return columns


def _without_note(misc: str) -> str:
    return "|".join(part for part in misc.split("|") if not part.startswith(_HEAD_NOTE)) or "_"


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
    """Give every word the probability of its head and its likeliest heads, and say if these were sampled."""
    assert tree.head_probabilities is not None
    sentence.head_samples = tree.samples
    if tree.samples:
        error = math.sqrt(0.25 / tree.samples)
        sentence.comments.append(f"# head_prob = sampled, {tree.samples} trees, standard error at most {error:.3g}")
    shares = np.minimum(tree.head_probabilities, 1.0)  # rounding
    own = shares[np.arange(len(shares)), tree.heads]
    for word, head, share in zip(sentence.words, tree.heads, own.tolist(), strict=True):
        word.head_probability, word.heads = share, [(head, share)]
        note = f"{_HEAD_NOTE}{share:.4f}"
        word.misc = note if word.misc == "_" else f"{word.misc}|{note}"
    doubtful = np.flatnonzero(own <= 1 - _SHOWN)  # no other word has a second head to list
    likeliest = np.argsort(-shares[doubtful], axis=1, kind="stable")[:, :_MOST]
    listed = shares[doubtful[:, None], likeliest]
    for place, heads, values in zip(doubtful.tolist(), likeliest.tolist(), listed.tolist(), strict=True):
        sentence.words[place].heads = [each for each in zip(heads, values, strict=True) if each[1] >= _SHOWN]


def _note_trees(sentence: Sentence) -> None:
    """State in comments how probable each tree is, and the rank of each alternative.

    An alternative starts no paragraph or document, and has a `sent_id` of its own: otherwise the file is not valid.
    """
    for number, tree in enumerate((sentence, *sentence.alternatives), 1):
        if number > 1:
            named = [(line, line[1:].partition("=")[0].split()[:1]) for line in tree.comments]
            kept = [(line, name) for line, name in named if name not in (["newpar"], ["newdoc"])]
            tree.comments = [f"{line}-alternative-{number}" if name == ["sent_id"] else line for line, name in kept]
            tree.comments.append(f"# alternative = {number}")
        tree.comments.append(f"# tree_prob = {tree.probability:.6g}")
