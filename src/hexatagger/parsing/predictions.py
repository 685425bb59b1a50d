"""What the network says about a sentence, and the scores that the decoder needs from it.

The first of four steps from the network's output to a Sentence, all plain numpy, shared by training and running:

    predictions    Prediction: the output for one sentence, put together from its windows
    choose         Prediction → Tree: the best tree and its deprels
    probabilities  Prediction → Tree: with probabilities, k-best trees and constraints
    write          Tree → the columns of a new Sentence
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode.lattice import Scores
from hexatagger.model.config import ModelConfig
from hexatagger.model.labels import Labels
from hexatagger.parsing.pieces import Numbers, Window

_TREE = ("leaf", "internal", "relation", "root", "mark", "relations", "head", "pairs", "dependent", "governor")
Vectors = NDArray[np.float32]
Decide = Callable[[Vectors, Vectors, Numbers], Vectors]
"""The second network: maps the vectors of words and of their heads, and `choose.arc_features`, to the log-probabilities
of deprels: (words, width) twice and (words, features) to (words, deprels). The head of a root word is zero."""


@dataclass(slots=True)
class Prediction:
    """The network's output for the words of one sentence; the fields have the names of the network's outputs."""

    leaf: NDArray[np.float32]
    """Scores of the leaf tags: (words, 2)."""
    internal: NDArray[np.float32]
    """Scores of the internal tags: (words, 4); the last row means nothing."""
    relation: Numbers
    """The best deprel of a word that is not the root, per leaf tag or for both: (words, 2 or 1)."""
    root: Numbers
    """The best deprel of a word that is the root: (words, 2 or 1)."""
    mark: Numbers | None = None
    """The best mark of the lifting scheme: (words,). None if marks are part of the deprels."""
    tasks: dict[str, Numbers] = field(default_factory=dict)
    """The best label of each further task: (words,)."""
    relations: NDArray[np.float32] | None = None
    """Log-probabilities of all deprels: (words, 2 or 1, deprels). None unless they were asked for."""
    head: NDArray[np.float32] | None = None
    """Extension: pointer scores, log-probabilities of every head: (words, 1 + words or more)."""
    pairs: Numbers | None = None
    """Extension: the best deprel for every head, with the shape of `head`. None if deprels do not depend on heads."""
    dependent: Vectors | None = None
    """Extension: the vectors of words for `decide`; None if deprels do not depend on the tree."""
    governor: Vectors | None = None
    """Extension: the vectors of words as heads, for `decide`."""
    decide: Decide | None = None
    """Extension: the second network, which chooses deprels given the tree."""

    def __len__(self) -> int:
        return len(self.leaf)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], decide: Decide | None = None) -> Self:
        """Make a Prediction from the network's outputs by name; every name that is not about the tree is a task."""
        tree = {name: arrays.get(name) for name in _TREE}
        tasks = {name: array for name, array in arrays.items() if name not in tree}
        return cls(**tree, tasks=tasks, decide=decide)  # type: ignore[arg-type]

    @classmethod
    def empty(cls, config: ModelConfig, labels: Labels) -> Self:
        """Make the Prediction for a sentence without words."""
        deprels = np.zeros((0, 2 if config.relations == "joint" else 1, len(labels.relations)), np.float32)
        none = np.zeros(deprels.shape[:2], np.int64)
        leaf, internal = np.zeros((0, 2), np.float32), np.zeros((0, 4), np.float32)
        return cls(leaf, internal, none, none, tasks=dict.fromkeys(labels.tasks, none[:, 0]), relations=deprels)


def stitch(parts: Sequence[tuple[Window, Prediction]]) -> Prediction:
    """Put together the predictions of a sentence's windows.

    Several windows have no pointer scores together, because a window knows nothing about the words outside.
    """
    if len(parts) == 1:
        return parts[0][1]

    def arrays(prediction: Prediction) -> dict[str, NDArray[Any]]:
        tree = {name: getattr(prediction, name) for name in _TREE if name not in ("head", "pairs")}
        return {name: array for name, array in tree.items() if array is not None} | prediction.tasks

    return Prediction.of(join([(window, arrays(prediction)) for window, prediction in parts]), parts[0][1].decide)


def join(parts: Sequence[tuple[Window, Mapping[str, NDArray[Any]]]]) -> dict[str, NDArray[Any]]:
    """Concatenate the arrays of windows, each (words, …), with the words that are kept from each window.

    >>> none = np.zeros((3, 2), np.int64)
    >>> parts = [Window(none, none, none, start=start, keep=keep) for start, keep in ((0, (0, 2)), (1, (2, 4)))]
    >>> join([(parts[1], {"a": np.array([1, 2, 3])}), (parts[0], {"a": np.array([0, 1, 2])})])["a"].tolist()
    [0, 1, 2, 3]
    """
    ordered = sorted(parts, key=lambda part: part[0].start)
    return {name: np.concatenate([arrays[name][window.kept] for window, arrays in ordered]) for name in ordered[0][1]}


def batch(predictions: Sequence[Prediction]) -> tuple[NDArray[np.float32], NDArray[np.float32], Numbers]:
    """Lay the tag scores of sentences side by side, as the decoder takes them: leaf, internal, lengths."""
    lengths = np.array([len(prediction) for prediction in predictions], np.int64)
    longest = int(lengths.max(initial=0))
    leaf = np.zeros((len(predictions), longest, 2), np.float32)
    internal = np.zeros((len(predictions), longest, 4), np.float32)
    for row, prediction in enumerate(predictions):
        leaf[row, : lengths[row]] = prediction.leaf
        internal[row, : lengths[row]] = prediction.internal
    return leaf, internal, lengths


def tag_scores(predictions: Sequence[Prediction], temperature: float = 1.0) -> tuple[Scores, Scores, Numbers]:
    """Return tag scores for probabilities, divided by the temperature: leaf, internal, lengths.

    If deprels are predicted jointly with leaf tags, the score of a leaf tag is the log of the sum over its deprels.
    """
    leaf, internal, lengths = batch(predictions)
    leaves, nodes = leaf.astype(np.float64) / temperature, internal.astype(np.float64) / temperature
    for row, prediction in enumerate(predictions):
        if (deprels := prediction.relations) is not None and deprels.shape[1] == 2:
            leaves[row, : len(deprels)] = np.logaddexp.reduce(deprels.astype(np.float64) / temperature, -1)
    return leaves, nodes, lengths
