"""Trees that obey constraints, exactly: the best, the k best, and how probable they are given the constraints.

What constraints need more than the depth lattice? Restricted relations change the scores of leaf tags and stay in it,
in O(N · depth). Heads do not: the lattice does not know them. So the best tree is, in this order:

1. the best sequence of the lattice, if its tree obeys: nothing that does can be better;
2. if every head is fixed, the best sequence of that tree (see `trees`): O(N²);
3. the best of a chart that knows heads (see `chart`): O(N⁴).

Where heads have scores of their own, `votes`, these are added to those of the tags, and only 2 and 3 are left: the
lattice does not know heads.

Further trees take two charts each (see `search`). Probabilities are renormalised over what obeys: one chart, filled
with sums of probabilities and read from both sides.

A span is a unit of the tree (see `constraints`) just if, in every sequence of the tree, a node that crosses the span is
headed by a word of the span and is not yet a whole dependent: that word then is the one with its head outside. So spans
are constraints on nodes and cost the chart nothing.
"""

import heapq
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.chart.chart import MASS, Chart
from hexatagger.decode.chart.constraints import (
    Constraints,
    allowed_arcs,
    arc_scores,
    check_constraints,
    joined,
    obeys,
)
from hexatagger.decode.chart.search import only_tree, ranked_trees, search
from hexatagger.decode.table import Ints, Scores, Tags, checked
from hexatagger.decode.tree_scores import tree_scores
from hexatagger.decode.viterbi import heads
from hexatagger.errors import ConstraintError, DecodeError
from hexatagger.tree import is_projective, is_tree

LONGEST = 150
"""Words of a sentence up to which more than the best tree can be had: memory grows with the third power of them."""
_PATIENCE = 2000
"""Up to so many words times constraints, a contradiction is narrowed down to the constraints it needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Constrained:
    """The best tree that obeys."""

    tags: Tags
    heads: Ints
    relations: Ints | None
    """The best relations that obey and go with the heads; None if no scores of relations were given."""
    score: float


def best_constrained(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    *,
    relation: ArrayLike | None = None,
    root: Collection[int] = (),
) -> Constrained:
    """Return the best sequence of one sentence whose tree obeys the constraints.

    `leaf` is (words, 2), `internal` (words − 1, 4). `relation` holds log-probabilities of relations for each leaf tag
    or for both, (words, 2 or 1, relations); only the root word takes the relations in `root`, and it takes no others.
    A word with a constraint on its relations adds the score of the best one it may have; the other words add none, so
    that without constraints the answer is that of `best`.

    >>> scores = np.zeros((3, 2)), np.array([[0, 5, 0, 0], [5, 0, 0, 0]])
    >>> best_constrained(*scores, Constraints()).heads.tolist()
    [2, 0, 2]
    >>> best_constrained(*scores, Constraints(heads={3: 1})).heads.tolist()
    [0, 1, 1]
    """
    [found] = kbest_constrained(leaf, internal, constraints, 1, relation=relation, root=root)
    return found


def kbest_constrained(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    k: int,
    *,
    relation: ArrayLike | None = None,
    root: Collection[int] = (),
    votes: ArrayLike | None = None,
) -> list[Constrained]:
    """Return the k best different trees that obey, best first, or all there are; everything as for `best_constrained`.

    `votes` are scores of every head of every word, (words, words + 1), that are added to those of tags.

    >>> scores = np.zeros((3, 2)), np.array([[0, 5, 0, 0], [5, 0, 1, 0]])
    >>> [tree.heads.tolist() for tree in kbest_constrained(*scores, Constraints(root=1), 3)]
    [[0, 1, 1], [0, 1, 2], [0, 3, 1]]
    """
    if k < 1:
        raise DecodeError(f"k is {k}: at least 1 is needed")
    leaves, nodes, choices, said = _checked(leaf, internal, constraints, relation, root, votes)
    words = len(leaves)
    cases = list(_cases(leaves, constraints, choices, root, said, _best_of))
    if k > 1 or votes is not None:
        _refuse_long(words, cases)
    ranked = (ranked_trees(scores, nodes, arcs, constraints.spans) for scores, arcs in cases)
    found = list(itertools.islice(heapq.merge(*ranked, key=lambda each: -each[0]), k))
    if not found:
        _refuse_all(constraints, words, root)
    made = []
    for score, tags in sorted(found, key=lambda each: -each[0]):  # rounding may have changed the order
        [tree] = heads([tags])
        made.append(Constrained(tags, tree, _choose(constraints, choices, tags[::2], tree, root), score))
    return made


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """The distribution over the trees that obey."""

    trees: Scores
    """Log-probabilities of the trees that were asked for; −inf for one that does not obey."""
    head: Scores
    """Probability of every head: (words, words + 1); each row sums to 1."""


def probabilities_given(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    trees: Sequence[Sequence[int]] = (),
    *,
    relation: ArrayLike | None = None,
    root: Collection[int] = (),
    votes: ArrayLike | None = None,
) -> Given:
    """Return how probable trees and heads are given the constraints; scores as for `kbest_constrained`.

    A word with a constraint on its relations counts with the probability that it has one of them.

    >>> scores = np.zeros((3, 2)), np.zeros((2, 4))
    >>> given = probabilities_given(*scores, Constraints(root=1), [[0, 1, 1], [2, 0, 2]])
    >>> np.exp(given.trees).round(3).tolist()
    [0.333, 0.0]
    >>> given.head.round(3).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.667, 0.0, 0.333], [0.0, 0.667, 0.333, 0.0]]
    """
    leaves, nodes, choices, said = _checked(leaf, internal, constraints, relation, root, votes)
    words = len(leaves)
    cases = list(_cases(leaves, constraints, choices, root, said, _share_of))
    _refuse_long(words, cases)
    totals, sums = [-np.inf], [np.full((words + 1, words + 1), -np.inf)]
    found = np.full(len(trees), -np.inf)
    for scores, arcs in cases:
        allowed = arcs > -np.inf
        if not words or not allowed[0, 1:].any():
            continue
        for number, tree in enumerate(trees):
            if obeys(tree, allowed, constraints.spans):
                found[number] = _log_sum(tree, scores, nodes, arcs)
        if (only := only_tree(allowed)) is not None:
            if is_tree(only) and is_projective(only) and obeys(only, allowed, constraints.spans):
                totals.append(_log_sum(only, scores, nodes, arcs))
                sums.append(np.where(allowed, totals[-1], -np.inf))
            continue
        chart = Chart(scores, nodes, arcs, constraints.spans, MASS)
        totals.append(chart.total)
        sums.append(chart.arcs())
    log_z = float(np.logaddexp.reduce(totals)) if words else 0.0
    if np.isneginf(log_z):
        _refuse_all(constraints, words, root)
    shares = np.exp(np.logaddexp.reduce(sums) - log_z)
    return Given(np.minimum(found - log_z, 0.0), shares[:, 1:].T)


def _log_sum(tree: Sequence[int], leaf: Scores, internal: Scores, arcs: Scores) -> float:
    """Return the log of the sum over all sequences of a tree, with what its arcs add."""
    votes = arcs[list(tree), range(1, len(tree) + 1)].sum()
    return float(tree_scores([tree], leaf[None], internal[None])[0] + votes)


def _checked(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    relation: ArrayLike | None,
    root: Collection[int],
    votes: ArrayLike | None,
) -> tuple[Scores, Scores, Scores | None, Scores | None]:
    """Check all that is given for a sentence, and return its scores: (words, 2), (words − 1, 4), relations, votes."""
    words = np.asarray(leaf).shape[0] if np.asarray(leaf).size else 0
    nodes = np.asarray(internal, np.float64).reshape(1, -1, 4)[:, : max(0, words - 1)]
    leaves, nodes, _ = checked(np.asarray(leaf, np.float64).reshape(1, words, 2), nodes, [words])
    choices = _relations(relation, words, root)
    check_constraints(constraints, words, root=root)
    said = None if votes is None else np.asarray(votes, np.float64)
    if said is not None and (said.shape != (words, words + 1) or not np.isfinite(said).all()):
        raise DecodeError(f"votes {said.shape} must be finite and ({words}, {words + 1}): each head of each word")
    return leaves[0], nodes[0], choices, said


def _refuse_long(words: int, cases: Sequence[tuple[Scores, Scores]]) -> None:
    """Raise DecodeError for a sentence too long for charts, if these are needed."""
    if words > LONGEST and any(only_tree(arcs > -np.inf) is None for _, arcs in cases):
        raise DecodeError(
            f"a sentence of {words} words is too long for probabilities and further trees under constraints "
            f"({LONGEST} at most, as memory grows with the third power): ask for its best tree only, or fix every head"
        )


def _refuse_all(constraints: Constraints, words: int, root: Collection[int]) -> NoReturn:
    """Say why no tree obeys."""
    _explain(constraints, words, root)
    raise DecodeError("no legal sequence obeys the constraints: too much is forbidden (-inf)")


def _relations(relation: ArrayLike | None, words: int, root: Collection[int]) -> Scores | None:
    """Check the scores of relations: (words, 2, relations)."""
    if relation is None:
        return None
    scores = np.asarray(relation, np.float64)
    if scores.ndim != 3 or len(scores) != words or scores.shape[1] not in (1, 2):
        raise DecodeError(f"relation {scores.shape} must be (words, 2 or 1, relations) with {words} words")
    if root and not all(0 <= number < scores.shape[2] for number in root):
        raise DecodeError(f"a relation of the root is not one of the {scores.shape[2]} relations")
    return np.broadcast_to(scores, (words, 2, scores.shape[2]))


_Weigh = Callable[[Scores, list[int], list[int]], Scores]
"""Takes scores of relations (2, relations), those that a word may have and those that go with its place in the tree."""


def _best_of(scores: Scores, fitting: list[int], every: list[int]) -> Scores:
    """Return the score of the best relation by leaf tag."""
    return scores[:, fitting].max(1)  # type: ignore[no-any-return]


def _share_of(scores: Scores, fitting: list[int], every: list[int]) -> Scores:
    """Return the log-probability that the relation is one of those by leaf tag."""
    shares: Scores = np.logaddexp.reduce(scores[:, fitting], 1) - np.logaddexp.reduce(scores[:, every], 1)
    return shares


def _cases(
    leaf: Scores,
    constraints: Constraints,
    relation: Scores | None,
    root: Collection[int],
    votes: Scores | None,
    weigh: _Weigh,
) -> Iterator[tuple[Scores, Scores]]:
    """Yield problems without relations, the best of whose answers is the answer: scores of leaves and of arcs.

    What a relation adds to a leaf may depend on whether the word is the root. A word that may have relations of both
    kinds is the root in a problem of its own.
    """
    allowed = allowed_arcs(constraints, len(leaf), root=root)
    mixed = [
        word
        for word, relations in constraints.relations.items()
        if root and not set(root).isdisjoint(relations) and not set(root).issuperset(relations) and allowed[0, word]
    ]
    for top in (*mixed, 0):
        free, scores = allowed.copy(), leaf.copy()
        if top:
            free[0] &= np.arange(len(allowed)) == top
        else:
            free[0, mixed] = False
        for word, relations in constraints.relations.items():
            is_root = word == top or set(root).issuperset(relations) if root else None
            fitting = _fitting(relations, is_root, root)
            if fitting and relation is not None:
                every = _fitting(range(relation.shape[2]), is_root, root)
                scores[word - 1] += weigh(relation[word - 1], fitting, every)
        yield scores, arc_scores(free, votes)


def _fitting(relations: Collection[int], is_root: bool | None, root: Collection[int]) -> list[int]:
    """Return the relations that a word may have as the root or not as the root (None: it makes no difference)."""
    return sorted(number for number in relations if is_root is None or (number in root) == is_root)


def _choose(
    constraints: Constraints, relation: Scores | None, leaves: Tags, tree: Ints, root: Collection[int]
) -> Ints | None:
    """Return the best relation of every word that obeys and goes with its head."""
    if relation is None:
        return None
    every = range(relation.shape[2])
    found = np.zeros(len(tree), np.intp)
    for place, (head, side) in enumerate(zip(tree.tolist(), leaves.tolist(), strict=True)):
        is_root = head == 0 if root else None
        fitting = _fitting(constraints.relations.get(place + 1, every), is_root, root) or list(every)
        found[place] = fitting[int(relation[place, side, fitting].argmax())]
    return found


def _explain(constraints: Constraints, words: int, root: Collection[int]) -> None:
    """Raise ConstraintError that names constraints which no tree obeys together, if there are such."""

    def possible(parts: Sequence[tuple[str, Constraints]]) -> bool:
        some = joined([part for _, part in parts])
        arcs = arc_scores(allowed_arcs(some, words, root=root))
        return search(np.zeros((words, 2)), np.zeros((max(0, words - 1), 4)), arcs, some.spans) is not None

    parts = constraints.parts()
    if possible(parts):
        return
    if words * len(parts) <= _PATIENCE:
        for part in list(parts):  # drop what is not needed for the contradiction
            rest = [other for other in parts if other is not part]
            if not possible(rest):
                parts = rest
    shown = [text for text, _ in parts]
    listed = "; ".join(shown if len(shown) <= 12 else [*shown[:12], "…"])
    raise ConstraintError(f"no projective tree obeys all of these: {listed}")
