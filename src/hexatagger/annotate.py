"""Predicted numbers → the columns of a Sentence: the last step of parsing, the same for training and running."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.pieces import Ints, Window
from hexatagger.sentence import Sentence
from hexatagger.tags import Scheme, unlift
from hexatagger.tags.labels import Labels
from hexatagger.tags.lemma import apply_script


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

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Take what a network puts out, by name; whatever is no part of the tree is a further task."""
        tree = {name: arrays.get(name) for name in ("leaf", "internal", "relation", "root", "mark")}
        return cls(**tree, tasks={name: array for name, array in arrays.items() if name not in tree})  # type: ignore[arg-type]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the same by name."""
        tree = {name: getattr(self, name) for name in ("leaf", "internal", "relation", "root", "mark")}
        return {name: array for name, array in tree.items() if array is not None} | self.tasks


def annotate(
    sentences: Sequence[Sentence], predictions: Sequence[Prediction], labels: Labels, *, lift: Scheme
) -> list[Sentence]:
    """Return new sentences with all predicted columns; comments, multiword tokens and the other columns stay."""
    if not sentences:
        return []
    trees = _trees(predictions)
    made = []
    for sentence, prediction, (heads, leaves) in zip(sentences, predictions, trees, strict=True):
        side = leaves if prediction.relation.shape[1] == 2 else np.zeros_like(leaves)
        places = np.arange(len(leaves))
        relation = np.where(np.asarray(heads) == 0, prediction.root[places, side], prediction.relation[places, side])
        deprels = [labels.relations[number] for number in relation.tolist()]
        if prediction.mark is not None:
            deprels = [
                deprel + labels.marks[number] for deprel, number in zip(deprels, prediction.mark.tolist(), strict=True)
            ]
        heads, deprels = unlift(heads, deprels, lift)
        words = [
            replace(word, head=head, deprel=deprel)
            for word, head, deprel in zip(sentence.words, heads, deprels, strict=True)
        ]
        for task, numbers in prediction.tasks.items():
            strings = labels.tasks[task]
            for word, number in zip(words, numbers.tolist(), strict=True):
                value = strings[number]
                setattr(word, task, apply_script(word.form, value) if task == "lemma" else value)
        made.append(replace(sentence, words=words))
    return made


def stitch(parts: Sequence[tuple[Window, Prediction]]) -> Prediction:
    """Put the predictions of a sentence's windows together, from each the words that are kept from it."""
    if len(parts) == 1:
        return parts[0][1]
    ordered = sorted(parts, key=lambda part: part[0].start)
    cuts = [
        (prediction, slice(window.keep[0] - window.start, window.keep[1] - window.start)) for window, prediction in ordered
    ]
    joined = {
        name: np.concatenate([prediction.arrays()[name][kept] for prediction, kept in cuts])
        for name in cuts[0][0].arrays()
    }
    return Prediction.of(joined)


def _trees(predictions: Sequence[Prediction]) -> list[tuple[list[int], Ints]]:
    """Decode: heads and leaf tags of every sentence."""
    lengths = np.array([len(prediction.leaf) for prediction in predictions])
    longest = int(lengths.max())
    leaf = np.zeros((len(predictions), longest, 2), np.float32)
    internal = np.zeros((len(predictions), longest, 4), np.float32)
    for row, prediction in enumerate(predictions):
        leaf[row, : lengths[row]] = prediction.leaf
        internal[row, : lengths[row]] = prediction.internal
    tags = decode.best(leaf, internal, lengths)
    heads = decode.heads(tags)
    return [
        ([int(head) for head in each], np.asarray(sequence[::2], np.int64))
        for each, sequence in zip(heads, tags, strict=True)
    ]
