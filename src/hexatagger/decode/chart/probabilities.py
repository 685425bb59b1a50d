"""Probabilities of trees and heads given constraints, of tags alone or of tags plus head scores: exact.

Scores are renormalised over the sequences that obey: one chart in the log semiring, with its outside pass.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.chart.chart import LOG, Chart
from hexatagger.decode.chart.constraints import Constraints, obeys
from hexatagger.decode.chart.kbest import refuse_constraints
from hexatagger.decode.chart.problem import Problem, log_share, problems, refuse_long
from hexatagger.decode.lattice import Scores
from hexatagger.decode.tree_scores import tree_scores
from hexatagger.tree import is_projective, is_tree, plain


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
    trees: Sequence[Sequence[int]] = (),
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
    asked = list(problems(leaf, internal, constraints, log_share, deprel=deprel, root=root, head_scores=head_scores))
    words = len(asked[0].leaf)
    refuse_long(asked)
    totals, sums = [-np.inf], [np.full((words + 1, words + 1), -np.inf)]
    found = np.full(len(trees), -np.inf)
    for problem in asked:
        allowed = problem.allowed
        if not words or not allowed[0, 1:].any():
            continue
        for number, tree in enumerate(trees):
            if obeys(plain(tree), allowed, problem.spans):
                found[number] = _tree_score(tree, problem)
        if (only := problem.only_tree) is not None:
            if is_tree(only) and is_projective(only) and obeys(only, allowed, problem.spans):
                totals.append(_tree_score(only, problem))
                sums.append(np.where(allowed, totals[-1], -np.inf))
            continue
        chart = Chart(problem, LOG)
        totals.append(chart.total)
        sums.append(chart.arc_sums())
    log_partition = float(np.logaddexp.reduce(totals)) if words else 0.0
    if np.isneginf(log_partition):
        refuse_constraints(constraints, words, root)
    head = np.exp(np.logaddexp.reduce(sums) - log_partition)
    return Conditional(np.minimum(found - log_partition, 0.0), head[:, 1:].T)


def _tree_score(tree: Sequence[int], problem: Problem) -> float:
    """Return the log of the sum over all sequences of a tree, with its arc scores."""
    arcs = problem.arcs[list(tree), range(1, len(tree) + 1)].sum()
    return float(tree_scores([tree], problem.leaf[None], problem.internal[None])[0] + arcs)
