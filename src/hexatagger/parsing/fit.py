"""Extension of ours: deprels that fit together, learnt from a treebank by counting.

The second network (`Decide`) scores the deprels of each word by itself. Some combinations never occur in a treebank:
two subjects of one verb, a dependent of a punctuation mark, an `advmod` that is a NOUN. For four kinds of pairs we
count how often a pair occurs, and how often it would if both parts were independent:

    word      deprel and UPOS of a word
    arc       deprel of a word, and UPOS of its head with the side on which the head is
    above     deprel of a word and that of its head
    beside    deprels of two words with the same head

A pair that occurs less often than expected costs log(observed / expected), times WEIGHT; others cost nothing. Deprels
start with the best ones by network, word and arc. Then, a few times, each head changes the deprel of the one dependent
that gains most. This takes linear time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import FormatError
from hexatagger.model.folder import read_json, write_json
from hexatagger.model.labels import MISSING, Labels
from hexatagger.parsing.pieces import Numbers
from hexatagger.sentence import Sentence
from hexatagger.tags import Scheme, lift
from hexatagger.tags.projective import split_mark

WEIGHT = 0.6
_SMOOTHING = 0.1  # added to observed and expected counts
_ROUNDS = 6
_UNIT = 10  # costs are stored in tenths
_LEAST = 1e-9  # gains below this are rounding
Costs = NDArray[np.float32]


@dataclass(slots=True)
class Fits:
    """The costs of all pairs, at most 0; deprels first."""

    word: Costs  # (deprels, UPOS)
    arc: Costs  # (deprels, 2 · UPOS + 1); the last column is the root
    above: Costs  # (deprels, deprels of the head)
    beside: Costs  # (deprels, deprels)


def count_fits(sentences: Sequence[Sentence], labels: Labels, scheme: Scheme) -> Fits:
    """Count the pairs of a treebank."""
    deprels, tags = len(labels.relations), len(labels.tasks["upos"])
    word, arc = np.zeros((deprels, tags)), np.zeros((deprels, 2 * tags + 1))
    above, beside = np.zeros((2, deprels, deprels))
    for sentence in sentences:
        tree, names = lift(sentence.heads, sentence.deprels, scheme)
        heads, own = np.array(tree), np.array(labels.relations.ids([split_mark(name)[0] for name in names]))
        upos = np.array(labels.tasks["upos"].ids([word.upos for word in sentence]), np.int64)
        if MISSING in own or MISSING in upos:
            continue
        np.add.at(word, (own, upos), 1)
        np.add.at(arc, (own, _arcs(heads, upos, tags)), 1)
        below = heads > 0
        np.add.at(above, (own[below], own[heads[below] - 1]), 1)
        together = np.zeros((len(heads) + 1, deprels))
        np.add.at(together, (heads, own), 1)
        together = together[1:]
        beside += together.T @ together - np.diag(together.sum(0))
    words = word.sum(1)
    # subtle: a deprel without dependents has a cost for all of them, so heads are counted as words, not as arcs
    expected = above.sum(1, keepdims=True) * words / max(1.0, words.sum())
    return Fits(_costs(word), _costs(arc), _costs(above, expected), _costs(beside))


def _costs(observed: NDArray[np.float64], expected: NDArray[np.float64] | None = None) -> Costs:
    """Return log(observed / expected) where it is below 0; by default, expected if rows and columns are independent."""
    if expected is None:
        expected = observed.sum(1, keepdims=True) * observed.sum(0) / max(1.0, observed.sum())
    found = np.minimum(0.0, np.log((observed + _SMOOTHING) / (expected + _SMOOTHING)))
    return np.asarray(np.rint(found * _UNIT) / _UNIT, np.float32)


def _arcs(heads: Numbers, upos: Numbers, tags: int) -> Numbers:
    """Return a number for the UPOS of each word's head and the side on which it is."""
    right = heads > np.arange(1, len(heads) + 1)
    return np.where(heads == 0, 2 * tags, 2 * upos[heads - 1] + right)


def fit_deprels(scores: Costs, heads: Numbers, upos: Numbers, fits: Fits) -> Numbers:
    """Return deprels that fit together: (words,), for one tree or for several as `join_heads` has them.

    `scores` are log-probabilities of deprels given the tree; those of deprels that are not allowed are the least.
    """
    places, below = np.arange(len(scores)), heads > 0
    base = np.maximum(scores, -100.0) + WEIGHT * fits.word.T[upos]
    base += WEIGHT * fits.arc.T[_arcs(heads, upos, fits.word.shape[1])]
    chosen: Numbers = base.argmax(1)
    children, parents = np.flatnonzero(below), heads[below] - 1
    order = np.argsort(parents, kind="stable")
    children, parents = children[order], parents[order]  # those of one head are beside each other
    first = np.flatnonzero(np.concatenate([parents[:1] >= 0, parents[1:] != parents[:-1]]))
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(parents))))
    above, beside = WEIGHT * fits.above, WEIGHT * fits.beside
    for _ in range(_ROUNDS if len(children) else 0):
        total, own = base.copy(), chosen[children]
        total[children] += above.T[chosen[parents]]
        # subtle: sums of rows, not a product of matrices: for that, numpy starts threads that take the other cores
        total[parents[first]] += np.add.reduceat(above[own], first)
        total[children] += np.add.reduceat(beside[own], first)[group] - beside[own]
        best = total.argmax(1)
        gain = (total[places, best] - total[places, chosen])[children]
        ranked = np.lexsort((-gain, group))
        leading = ranked[first]
        changed = children[leading[gain[leading] > _LEAST]]
        if not len(changed):
            break
        chosen[changed] = best[changed]
    return chosen


def write_fits(fits: Fits, path: Path) -> None:
    """Write the costs, in tenths."""
    write_json(path, {name: np.rint(getattr(fits, name) * _UNIT).astype(int).tolist() for name in Fits.__slots__})


def read_fits(path: Path, labels: Labels) -> Fits:
    """Read what `write_fits` wrote; FormatError if it does not fit the labels."""
    if "upos" not in labels.tasks:
        raise FormatError("needs a model that predicts UPOS: remove the file", source=str(path))
    values, deprels, tags = read_json(path), len(labels.relations), len(labels.tasks["upos"])
    shapes = {"word": tags, "arc": 2 * tags + 1, "above": deprels, "beside": deprels}
    found = {}
    for name, width in shapes.items():
        try:
            table = np.array(values.get(name))
        except ValueError:  # rows of different lengths
            table = np.empty(0)
        if table.dtype.kind != "i" or table.shape != (deprels, width):
            raise FormatError(f"'{name}' is not a table of {deprels} by {width} whole numbers", source=str(path))
        found[name] = np.asarray(table / _UNIT, np.float32)
    return Fits(**found)
