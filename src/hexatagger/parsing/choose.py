"""Prediction → Tree: the best tree of a sentence, and the deprel of every word in it.

Base system (the paper): the score of a tree is that of its best tag sequence, and Viterbi finds the best tree exactly,
in linear time.

Extension of ours: if the network has pointer scores, the score of a tree is that of its best tag sequence plus the
pointer score of every word's head. Here this objective is approximated: the trees of the 32 best tag sequences are
reranked. Its exact form is the chart, O(N⁴), which `probabilities` uses.

Deprels follow from the tree. The network applies the rule that `root` goes with head 0 alone (`tree.fits_head`): it
puts out the best deprel for a root word and that for any other word.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.decode.lattice import Scores
from hexatagger.parsing.pieces import Numbers
from hexatagger.parsing.predictions import Prediction, batch

RERANKED = 32  # how many of the best tag sequences are reranked with pointer scores


@dataclass(slots=True)
class Tree:
    """A tree as it was decoded: projective, its deprels numbers of the label set."""

    heads: list[int]
    deprels: Numbers
    """The number of each word's deprel: (words,)."""
    fixed: frozenset[int] = frozenset()
    """Words whose head is a constraint: undoing the lifting must not move them."""
    probability: float | None = None  # this and the rest come from `probabilities`, if asked for
    head_probabilities: Scores | None = None
    """The probability of every head of every word: (words, words + 1)."""
    samples: int = 0
    """How many sampled trees the head probabilities come from; 0 if they are exact."""
    others: "list[Tree]" = field(default_factory=list)
    """The next best trees, the most probable first."""


def best_trees(predictions: Sequence[Prediction]) -> list[Tree]:
    """Return the best tree of every sentence: by Viterbi, or by reranking where there are pointer scores."""
    tags = decode.best(*batch(predictions))
    heads = decode.heads(tags)
    pointing = [number for number, prediction in enumerate(predictions) if prediction.head is not None]
    listed = decode.candidates(*batch([predictions[number] for number in pointing]), RERANKED) if pointing else []
    for number, trees in zip(pointing, listed, strict=True):
        pointers = predictions[number].head
        assert pointers is not None
        votes = pointers[np.arange(len(pointers)), [each for each, _, _ in trees]].sum(1)
        heads[number], tags[number], _ = trees[int((votes + [score for _, _, score in trees]).argmax())]
    return label_trees(predictions, heads, tags)


def label_trees(
    predictions: Sequence[Prediction], heads: Sequence[NDArray[np.integer]], tags: Sequence[NDArray[np.integer]]
) -> list[Tree]:
    """Give every word the best deprel for its head and leaf tag; each tree comes with its prediction."""
    if not predictions:
        return []
    # All trees in one row, because they may be many and short.
    relation = np.concatenate([prediction.relation for prediction in predictions])
    root = np.concatenate([prediction.root for prediction in predictions])
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
