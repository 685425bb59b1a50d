"""Prediction → Tree: the best tree of a sentence, and the deprel of every word in it.

Base system (the paper): the score of a tree is that of its best tag sequence, and Viterbi finds the best tree exactly,
in linear time.

Extension of ours: if the network has pointer scores, the score of a tree is that of its best tag sequence plus the
pointer score of every word's head. Here this objective is approximated: the trees of the 8 best tag sequences are
reranked. Its exact form is the chart, O(N⁴), which `probabilities` uses.

Deprels follow from the tree. The network applies the rule that `root` goes with head 0 alone (`tree.fits_head`): it
puts out the best deprel for a root word and that for any other word. Extension of ours: a second network sees each word
with its head and its place in the tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.decode.lattice import Scores
from hexatagger.parsing.fit import fit_deprels
from hexatagger.parsing.pieces import Numbers
from hexatagger.parsing.predictions import Prediction, batch

RERANKED = (
    8  # how many of the best tag sequences are reranked with pointer scores; 32 add 0.02 UAS for 5 times the time
)
_GROUP = 128  # trees whose deprels are chosen at once
FEATURES = 21  # number of values of `arc_features`


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
    # If every word has its most probable head in the best tree, no other tree can be better.
    open_ones = [
        number
        for number, (prediction, tree) in enumerate(zip(predictions, heads, strict=True))
        if prediction.head is not None and (prediction.head.argmax(1) != tree).any()
    ]
    listed = decode.candidates(*batch([predictions[each] for each in open_ones]), RERANKED) if open_ones else []
    for number, trees in zip(open_ones, listed, strict=True):
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
    if any(prediction.decide is not None for prediction in predictions):
        found = _given_tree(predictions, heads)
    trees, end = [], 0
    for prediction, tree in zip(predictions, heads, strict=True):
        start, end = end, end + len(tree)
        own = found[start:end] if prediction.pairs is None else prediction.pairs[places[: len(tree)], tree]
        trees.append(Tree(tree.tolist(), own.astype(np.int64)))
    return trees


def _given_tree(predictions: Sequence[Prediction], heads: Sequence[NDArray[np.integer]]) -> Numbers:
    """Return the best deprel of every word of every tree, by the second network."""
    # A sentence without words has no vectors, and no words to decide on either.
    arcs = [(each, tree) for each, tree in zip(predictions, heads, strict=True) if each.decide is not None]
    # in groups, because each copies the vectors of its words twice
    return np.concatenate([_decided(arcs[start : start + _GROUP]) for start in range(0, len(arcs), _GROUP)])


def _decided(arcs: Sequence[tuple[Prediction, NDArray[np.integer]]]) -> Numbers:
    """Do the same for a few trees at once."""
    decide = arcs[0][0].decide
    assert decide is not None
    words = np.concatenate([each.dependent for each, _ in arcs if each.dependent is not None])
    above = join_heads([tree for _, tree in arcs])
    governors = np.concatenate([each.governor for each, _ in arcs if each.governor is not None])[above - 1]
    governors[above == 0] = 0.0
    scores = decide(words, governors, arc_features(above))
    if (fits := arcs[0][0].fits) is not None:
        return fit_deprels(scores, above, np.concatenate([each.tasks["upos"] for each, _ in arcs]), fits)
    found: Numbers = scores.argmax(-1)
    return found


def join_heads(heads: Sequence[NDArray[np.integer]]) -> Numbers:
    """Return the heads of all trees in one row, counted from the first word of the first tree; 0 stays 0.

    >>> join_heads([np.array([2, 0]), np.array([0, 1])]).tolist()
    [2, 0, 0, 3]
    """
    sizes = [len(tree) for tree in heads]
    own = np.concatenate(heads)
    return np.where(own == 0, 0, own + np.repeat(np.cumsum([0, *sizes[:-1]]), sizes))


def arc_features(heads: NDArray[np.integer]) -> Numbers:
    """Describe the place of every word in its tree by three numbers: (words, 3), for one tree or for `join_heads`.

    0 for a root word, 1 to 8 for side and distance of the head; 9 to 17 for the number of dependents on both sides;
    18 to 20 for the number of siblings between the word and its head.

    >>> arc_features(np.array([2, 0, 4, 2])).tolist()  # She reads fascinating papers
    [[5, 9, 18], [0, 13, 18], [5, 9, 18], [2, 12, 18]]
    """
    size = len(heads)
    places = np.arange(1, size + 1)
    distance = np.where(heads == 0, 0, places - heads)  # negative: the head is to the right
    bucket = np.digitize(np.abs(distance), (1, 2, 3, 5))
    side = np.where(distance < 0, 4, 0)
    left = np.bincount(heads[distance < 0], minlength=size + 1)[1:]
    right = np.bincount(heads[distance > 0], minlength=size + 1)[1:]
    dependents = 9 + 3 * np.minimum(left, 2) + np.minimum(right, 2)
    # Dependents of one head on one side are numbered from the head outwards.
    order = np.lexsort((np.abs(distance), distance < 0, heads))
    group = 2 * heads[order] + (distance[order] < 0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(group)) + 1]) if size else np.zeros(0, np.int64)
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size) - np.repeat(first, np.diff(np.append(first, size)))
    rank[heads == 0] = 0
    return np.stack([np.where(heads == 0, 0, bucket + side), dependents, 18 + np.minimum(rank, 2)], axis=1)
