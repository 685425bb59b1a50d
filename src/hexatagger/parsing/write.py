"""Tree → Sentence: the last step of parsing writes the columns, the notes in MISC and the comments."""

import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any, get_args

import numpy as np

from hexatagger.model.config import Task
from hexatagger.model.labels import Labels
from hexatagger.model.lemmas import Lemmas
from hexatagger.parsing.choose import Tree
from hexatagger.parsing.predictions import Prediction
from hexatagger.sentence import Sentence, Word, comment_key
from hexatagger.tags import Scheme, unlift
from hexatagger.tags.lemma import apply_script

_SHOWN, _MOST = 0.01, 8  # the heads of a word that are listed: the least probability, and how many
_HEAD_NOTE = "HeadProb="  # the note in MISC that states the probability of a word's head
_COMMENTS = ("tree_prob", "alternative", "head_prob")  # the comments about probabilities
_BEFORE = ("id", "form", "lemma", "upos", "xpos", "feats")  # the fields of a Word before HEAD and DEPREL
_AFTER = ("deps", "misc", "start", "end")


def write(
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    trees: Sequence[Tree],
    labels: Labels,
    *,
    lift: Scheme,
    keep: Collection[str] = (),
    lemmas: Lemmas | None = None,
) -> list[Sentence]:
    """Return new sentences with everything that is predicted; `Parser.parse_sentences` says what stays of the old.

    `lemmas` are those of the training set; without them, a lemma is what the network's script makes of the form.
    Notes about probabilities are those of this parse alone.
    """
    return [
        _sentence(sentence, _columns(sentence, prediction, labels, keep, lemmas), prediction, tree, labels, lift)
        for sentence, prediction, tree in zip(sentences, predictions, trees, strict=True)
    ]


def _sentence(
    sentence: Sentence,
    columns: dict[str, list[Any]],
    prediction: Prediction,
    tree: Tree,
    labels: Labels,
    lift: Scheme,
) -> Sentence:
    """Write one sentence and its alternatives; what does not depend on the tree is done once."""
    same_tree = len(tree.fixed) == len(sentence) and tree.heads == sentence.heads
    names = labels.relations.strings
    if not same_tree:
        columns["deps"] = ["_"] * len(sentence)
    before, after = ([columns[name] for name in part] for part in (_BEFORE, _AFTER))
    marks = [labels.marks[number] for number in prediction.mark.tolist()] if prediction.mark is not None else []

    def with_tree(tree: Tree) -> Sentence:
        deprels = [names[number] for number in tree.deprels.tolist()]
        if any(marks):
            # subtle: a fixed word must not move, but others may move past it: it loses its own mark only
            kept = ["" if word in tree.fixed and mark.startswith("|") else mark for word, mark in enumerate(marks, 1)]
            deprels = [deprel + mark for deprel, mark in zip(deprels, kept, strict=True)]
        heads, deprels = unlift(tree.heads, deprels, lift)
        words = list(itertools.starmap(Word, zip(*before, heads, deprels, *after, strict=True)))
        comments = [line for line in sentence.comments if comment_key(line) not in _COMMENTS]
        # An empty node is a node of DEPS only: without DEPS, a file that has one is not valid.
        nodes = list(sentence.empty_nodes) if same_tree else []
        return Sentence(words, comments, list(sentence.multiwords), nodes, tree.probability)

    made = with_tree(tree)
    made.alternatives = [with_tree(other) for other in tree.others]
    for number, each in enumerate((made, *made.alternatives), 1):
        if number > 1:
            # subtle: two trees with one `sent_id`, or a paragraph that starts twice, would make the file invalid
            named = [(line, comment_key(line).split()[:1]) for line in each.comments]
            kept = [(line, name) for line, name in named if name not in (["newpar"], ["newdoc"])]
            each.comments = [f"{line.rstrip()}.alt{number}" if name == ["sent_id"] else line for line, name in kept]
            each.comments.append(f"# alternative = {number}")
        if each.probability is not None:
            each.comments.append(f"# tree_prob = {each.probability:.6g}")
    if tree.head_probabilities is not None:
        _note_heads(made, tree)
    return made


def _columns(
    sentence: Sentence, prediction: Prediction, labels: Labels, keep: Collection[str], lemmas: Lemmas | None
) -> dict[str, list[Any]]:
    """Return every field of the words except HEAD and DEPREL."""
    columns: dict[str, list[Any]] = {}
    for name in ("id", "form", *_AFTER):
        columns[name] = [getattr(word, name) for word in sentence]
    for place, misc in enumerate(columns["misc"]):
        if _HEAD_NOTE in misc:
            parts = [part for part in misc.split("|") if not part.startswith(_HEAD_NOTE)]
            columns["misc"][place] = "|".join(parts) or "_"
    for task in get_args(Task):
        found = ["_"] * len(sentence)
        if (numbers := prediction.tasks.get(task)) is not None:
            strings = labels.tasks[task].strings
            found = [strings[number] for number in numbers.tolist()]
            if task == "lemma" and lemmas is not None:  # subtle: it comes after UPOS and FEATS, kept or predicted
                found = list(map(lemmas.find, columns["form"], columns["upos"], columns["feats"], found))
            elif task == "lemma":
                found = list(map(apply_script, columns["form"], found))
        if task in keep:
            given = [getattr(word, task) for word in sentence]
            found = [new if old == "_" else old for old, new in zip(given, found, strict=True)]
        columns[task] = found
    return columns


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
