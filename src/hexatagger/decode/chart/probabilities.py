"""Probabilities of trees and heads given constraints, of tags alone or of tags plus head scores: exact.

Scores are renormalised over the sequences that obey: one chart in the log semiring, with its outside pass.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.chart.chart import LOG, Chart
from hexatagger.decode.chart.constraints import Constraints, obeys
from hexatagger.decode.chart.kbest import refuse_constraints
from hexatagger.decode.chart.problem import Problem, log_share, make_problem, refuse_long, root_word
from hexatagger.decode.lattice import Scores, highest_scores, refuse_imprecise
from hexatagger.decode.tree_scores import tree_scores_unchecked
from hexatagger.errors import DecodeError
from hexatagger.tree import check_projective, is_projective, is_tree


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """The distribution over trees given the constraints."""

    trees: Scores
    """Log-probabilities of the trees asked about; −inf for a tree that does not obey."""
    head: Scores
    """Probability of every head: (words, words + 1); each row sums to 1."""


def probabilities_given(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    trees: Sequence[Iterable[int]] = (),
    *,
    deprel: ArrayLike | None = None,
    root: Collection[int] = (),
    head_scores: ArrayLike | None = None,
) -> Conditional:
    """Return the probabilities of trees and heads given the constraints; arguments as for `kbest_constrained`. O(N⁴).

    A word with a constraint on its deprels counts with the probability that it has one of them.

    >>> scores = np.zeros((3, 2)), np.zeros((2, 4))
    >>> given = probabilities_given(*scores, Constraints(root=1), [[0, 1, 1], [2, 0, 2]])
    >>> np.exp(given.trees).round(3).tolist()
    [0.333, 0.0]
    >>> given.head.round(3).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.667, 0.0, 0.333], [0.0, 0.667, 0.333, 0.0]]
    """
    problem = make_problem(leaf, internal, constraints, log_share, deprel=deprel, root=root, head_scores=head_scores)
    words, allowed = len(problem.leaf), problem.allowed
    refuse_long(problem)
    log_partition, sums = -np.inf, np.full((words + 1, words + 1), -np.inf)
    if (only := problem.only_tree) is not None:
        if is_tree(only) and is_projective(only):
            log_partition = _tree_score(only, problem)
            sums = np.where(allowed, log_partition, -np.inf)
    elif allowed[0, 1:].any():
        chart = Chart(problem, LOG)
        log_partition = chart.total
        if log_partition > -np.inf:
            highest = highest_scores(problem.leaf[None], problem.internal[None])
            highest = np.concatenate([highest, problem.arcs[None, :, 1:].max(1)], axis=1)
            refuse_imprecise(highest, np.array([log_partition]), np.array([words]), np.array([0]))
            sums = chart.arc_sums()
    if np.isneginf(log_partition):
        refuse_constraints(constraints, words, root)
    found = np.empty(len(trees))
    for number, tree in enumerate(map(check_projective, trees)):
        if len(tree) != words:
            raise DecodeError(f"tree {number + 1} has {len(tree)} words, but the sentence has {words}")
        found[number] = _tree_score(tree, problem)
    return Conditional(np.minimum(found - log_partition, 0.0), np.exp(sums - log_partition)[:, 1:].T)


def _tree_score(tree: list[int], problem: Problem) -> float:
    """Return the log of the sum over all sequences of a tree, with its arc scores; −inf if it does not obey."""
    if not obeys(tree, problem.allowed, problem.spans):
        return -np.inf
    arcs = problem.arcs[tree, range(1, len(tree) + 1)].sum()
    leaf, first = problem.leaves(root_word(tree)), np.zeros(1, np.intp)
    return float(tree_scores_unchecked([np.array(tree, np.intp)], leaf[None], problem.internal[None], first)[0] + arcs)
