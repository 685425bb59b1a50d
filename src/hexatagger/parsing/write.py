"""Predicted numbers → the columns of a Sentence: the last step of parsing, the same for training and running."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.model.labels import Labels
from hexatagger.parsing.pieces import Ints, Window
from hexatagger.sentence import Sentence, Word
from hexatagger.tags import Scheme, unlift
from hexatagger.tags.lemma import apply_script

_TREE = ("leaf", "internal", "relation", "root", "mark", "relations", "head", "pairs")
_CANDIDATES = 32
"""Of how many sequences the trees are compared with where words point."""


@dataclass(slots=True)
class Prediction:
    """What a network says about the words of one sentence, reduced to what is needed."""

    leaf: NDArray[np.float32]
    """Scores of the leaf tags: (words, 2)."""
    internal: NDArray[np.float32]
    """Scores of the internal tags, the last row without meaning: (words, 4)."""
    relation: Ints
    """Best relation other than a root's, for each leaf tag or for both: (words, 2 or 1)."""
    root: Ints
    """Best relation of a root word, likewise."""
    mark: Ints | None = None
    """Best mark of the lifting scheme: (words,); None where marks are part of the relation."""
    tasks: dict[str, Ints] = field(default_factory=dict)
    """Best label per further task: (words,)."""
    relations: NDArray[np.float32] | None = None
    """Log-probabilities of all relations, where they were asked for: (words, 2 or 1, relations)."""
    head: NDArray[np.float32] | None = None
    """Log-probabilities of heads, where the network points at them: (words, at least 1 + words)."""
    pairs: Ints | None = None
    """Best relation to each of these heads, where it depends on them: likewise."""

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Take what a network puts out, by name; whatever is no part of the tree is a further task."""
        tree = {name: arrays.get(name) for name in _TREE}
        return cls(**tree, tasks={name: array for name, array in arrays.items() if name not in tree})  # type: ignore[arg-type]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the same by name."""
        tree = {name: getattr(self, name) for name in _TREE}
        return {name: array for name, array in tree.items() if array is not None} | self.tasks


@dataclass(slots=True)
class Tree:
    """A tree as it was decoded: projective, its relations numbers of the label set."""

    heads: list[int]
    relations: Ints
    """The number of each word's relation: (words,)."""
    fixed: frozenset[int] = frozenset()
    """Words whose head was given and must not be moved."""


def annotate(
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    labels: Labels,
    *,
    lift: Scheme,
    trees: Sequence[Tree] | None = None,
) -> list[Sentence]:
    """Return new sentences with all predicted columns; comments, multiword tokens and the other columns stay.

    The trees are the best ones unless others are given.
    """
    if not sentences:
        return []
    return [
        writer(sentence, prediction, labels, lift=lift)(tree)
        for sentence, prediction, tree in zip(sentences, predictions, trees or best_trees(predictions), strict=True)
    ]


def writer(sentence: Sentence, prediction: Prediction, labels: Labels, *, lift: Scheme) -> Callable[[Tree], Sentence]:
    """Return what makes, of a tree, a new sentence with the tree and all else that is predicted.

    All that does not depend on the tree is done once, however many trees there are.
    """
    columns: dict[str, list[Any]] = {
        name: [getattr(word, name) for word in sentence] for name in ("id", "form", "deps", "misc", "start", "end")
    }
    for task in ("lemma", "upos", "xpos", "feats"):
        if (numbers := prediction.tasks.get(task)) is None:
            columns[task] = [getattr(word, task) for word in sentence]
        else:
            strings = labels.tasks[task].strings
            columns[task] = [strings[number] for number in numbers.tolist()]
    if "lemma" in prediction.tasks:
        columns["lemma"] = list(map(apply_script, columns["form"], columns["lemma"]))
    before = [columns[name] for name in ("id", "form", "lemma", "upos", "xpos", "feats")]
    after = [columns[name] for name in ("deps", "misc", "start", "end")]
    relations = labels.relations.strings
    marks = [labels.marks[number] for number in prediction.mark.tolist()] if prediction.mark is not None else []

    def write(tree: Tree) -> Sentence:
        deprels = [relations[number] for number in tree.relations.tolist()]
        if any(marks):
            # subtle: without a mark nothing moves; a word that is passed over may keep its own
            deprels = [
                deprel + ("" if word in tree.fixed and mark.startswith("|") else mark)
                for word, (deprel, mark) in enumerate(zip(deprels, marks, strict=True), 1)
            ]
        heads, deprels = unlift(tree.heads, deprels, lift)
        words = list(itertools.starmap(Word, zip(*before, heads, deprels, *after, strict=True)))
        return Sentence(words, sentence.comments, sentence.multiwords, sentence.empty_nodes)

    return write


def stitch(parts: Sequence[tuple[Window, Prediction]]) -> Prediction:
    """Put the predictions of a sentence's windows together, from each the words that are kept from it."""
    if len(parts) == 1:
        return parts[0][1]
    ordered = sorted(parts, key=lambda part: part[0].start)
    cuts = [
        (prediction, slice(window.keep[0] - window.start, window.keep[1] - window.start))
        for window, prediction in ordered
    ]
    joined = {
        name: np.concatenate([prediction.arrays()[name][kept] for prediction, kept in cuts])
        for name in cuts[0][0].arrays()
        if name not in ("head", "pairs")  # a window knows nothing of the words outside
    }
    return Prediction.of(joined)


def best_trees(predictions: Sequence[Prediction]) -> list[Tree]:
    """Decode the best tree of every sentence.

    Where the network points at heads, that is the tree for which tags and heads together say most, among the trees of
    the best sequences.
    """
    tags = decode.best(*batch(predictions))
    heads = decode.heads(tags)
    voting = [number for number, prediction in enumerate(predictions) if prediction.head is not None]
    for number, (tree, sequence) in zip(voting, _voted([predictions[each] for each in voting]), strict=True):
        heads[number], tags[number] = tree, sequence
    return labelled(predictions, heads, tags)


def _voted(predictions: Sequence[Prediction]) -> Iterator[tuple[Ints, NDArray[np.int8]]]:
    """Choose of every sentence whose words point the tree for which tags and heads together say most."""
    listed = decode.candidates(*batch(predictions), _CANDIDATES) if predictions else []
    for prediction, trees in zip(predictions, listed, strict=True):
        assert prediction.head is not None
        votes = prediction.head[np.arange(len(prediction.head)), [heads for heads, _, _ in trees]].sum(1)
        tree, tags, _ = trees[int((votes + [score for _, _, score in trees]).argmax())]
        yield tree, tags


def labelled(
    predictions: Sequence[Prediction], heads: Sequence[NDArray[np.integer]], tags: Sequence[NDArray[np.integer]]
) -> list[Tree]:
    """Give every word of trees, each with its prediction, the best relation for its head and its leaf tag."""
    if not predictions:
        return []
    # All trees in one row, as they may be many and short.
    relation, root = (
        np.concatenate([getattr(prediction, name) for prediction in predictions]) for name in ("relation", "root")
    )
    above = np.concatenate(heads)
    places = np.arange(len(above))
    side = np.concatenate([sequence[::2] for sequence in tags]) if relation.shape[1] == 2 else np.zeros_like(places)
    found = np.where(above == 0, root[places, side], relation[places, side]).astype(np.int64)
    trees, end = [], 0
    for prediction, tree in zip(predictions, heads, strict=True):
        start, end = end, end + len(tree)
        own = found[start:end] if prediction.pairs is None else prediction.pairs[places[: len(tree)], tree]
        trees.append(Tree(tree.tolist(), own.astype(np.int64)))
    return trees


def batch(predictions: Sequence[Prediction]) -> tuple[NDArray[np.float32], NDArray[np.float32], Ints]:
    """Lay the scores of tags side by side, as the decoder takes them: leaf, internal, lengths."""
    lengths = np.array([len(prediction.leaf) for prediction in predictions], np.int64)
    longest = int(lengths.max(initial=0))
    leaf = np.zeros((len(predictions), longest, 2), np.float32)
    internal = np.zeros((len(predictions), longest, 4), np.float32)
    for row, prediction in enumerate(predictions):
        leaf[row, : lengths[row]] = prediction.leaf
        internal[row, : lengths[row]] = prediction.internal
    return leaf, internal, lengths
