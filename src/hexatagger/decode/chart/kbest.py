"""The best tree, and the k best trees, of one sentence under constraints and with head scores: exact.

Deprel constraints change the scores of leaf tags, which the lattice can handle. Constraints on heads and head scores
need heads, which the lattice does not know. So the best tree is, in this order:

1. the best sequence of the lattice, O(N · depth), if its tree obeys and no arc has a score: nothing can be better;
2. if every head is fixed, the best sequence of that tree, O(N²) (see `tree_scores`);
3. the best sequence of a chart, O(N⁴) (see `chart`).

To list trees, the set of all trees is partitioned (Yanover and Weiss 2003, "Finding the M most probable configurations
using loopy belief propagation", NIPS). For a set whose best tree is known, the chart gives the score of the best tree
with each arc. The second best tree has some arc that the best one does not have, so the best such arc leads to it. This
arc splits the set in two: the trees with the arc, of which the second is the best, and those without, of which the best
still is. Each further tree takes two charts, whatever the scores are and however many sequences a tree has.

A span is a unit of a tree (see `constraints`) if and only if, in every sequence of the tree, each node that crosses the
span is headed by a word of the span and is not a complete dependent; that word is the one with its head outside. So
spans are constraints on nodes.
"""

import heapq
import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.chart.chart import BEST, Chart
from hexatagger.decode.chart.constraints import Constraints, joined, obeys
from hexatagger.decode.chart.problem import (
    Problem,
    best_deprel,
    can_narrow,
    deprel_scores,
    fitting,
    make_problem,
    refuse_long,
    root_word,
    score,
)
from hexatagger.decode.heads import heads
from hexatagger.decode.lattice import Ints, Scores, Tags
from hexatagger.decode.tree_scores import best_of_tree
from hexatagger.decode.viterbi import best
from hexatagger.errors import ConstraintError, DecodeError
from hexatagger.tree import is_projective, is_tree


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedTree:
    """One of the best trees that obey the constraints."""

    tags: Tags
    """The best sequence of the tree."""
    heads: Ints
    deprels: Ints | None
    """The best deprels that obey and agree with the heads; None if no deprel scores were given."""
    score: float


def best_constrained(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    *,
    deprel: ArrayLike | None = None,
    root: Collection[int] = (),
) -> ConstrainedTree:
    """Return the best sequence of one sentence whose tree obeys the constraints: O(N · depth) at best, else O(N⁴).

    `leaf` is (words, 2), `internal` (words − 1, 4). `deprel` holds log-probabilities of deprels for each leaf tag or
    for both, (words, 2 or 1, deprels). `root` is the set of root deprels: the root word takes one of these, and no
    other word does. A word with a constraint on its deprels adds the score of the best allowed one; other words add
    nothing, so without constraints the answer is that of `best`.

    >>> scores = np.zeros((3, 2)), np.array([[0, 5, 0, 0], [5, 0, 0, 0]])
    >>> best_constrained(*scores, Constraints()).heads.tolist()
    [2, 0, 2]
    >>> best_constrained(*scores, Constraints(heads={3: 1})).heads.tolist()
    [0, 1, 1]
    """
    [found] = kbest_constrained(leaf, internal, constraints, 1, deprel=deprel, root=root)
    return found


def kbest_constrained(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    k: int,
    *,
    deprel: ArrayLike | None = None,
    root: Collection[int] = (),
    head_scores: ArrayLike | None = None,
) -> list[ConstrainedTree]:
    """Return the k best distinct trees that obey, best first, or all if there are fewer: O(k · N⁴).

    Arguments are those of `best_constrained`. `head_scores` are scores of every head of every word, (words, words + 1),
    that are added to the scores of tags.

    >>> scores = np.zeros((3, 2)), np.array([[0, 5, 0, 0], [5, 0, 1, 0]])
    >>> [tree.heads.tolist() for tree in kbest_constrained(*scores, Constraints(root=1), 3)]
    [[0, 1, 1], [0, 1, 2], [0, 3, 1]]
    """
    if k < 1:
        raise DecodeError(f"k is {k}: at least 1 is needed")
    problem = make_problem(leaf, internal, constraints, best_deprel, deprel=deprel, root=root, head_scores=head_scores)
    words = len(problem.leaf)
    if k > 1 or head_scores is not None:
        refuse_long(problem)
    found = list(itertools.islice(ranked_trees(problem), k))
    if not found:
        refuse_constraints(constraints, words, root)
    choices = deprel_scores(deprel, words, root)
    made = []
    for points, tags in sorted(found, key=lambda each: -each[0]):  # rounding may have changed the order
        [tree] = heads([tags])
        made.append(ConstrainedTree(tags, tree, _choose(constraints, choices, tags[::2], tree, root), points))
    return made


def search(problem: Problem) -> tuple[float, Tags] | None:
    """Return the best sequence of a problem with its score, or None if there is none."""
    words, allowed = len(problem.leaf), problem.allowed
    if not words:
        return 0.0, np.empty(0, np.int8)
    if not allowed[:, 1:].any(0).all() or not allowed[0, 1:].any():
        return None
    # With leaf scores for the root word, the lattice gives an upper bound, reached if every leaf has its own score.
    bound = problem.leaf if problem.root_leaf is None else np.maximum(problem.leaf, problem.root_leaf)
    try:
        [tags] = best(bound[None], problem.internal[None], [words])
    except DecodeError:
        return None
    [tree] = heads([tags])
    own = np.arange(words), tags[::2]
    reached = np.array_equal(problem.leaves(root_word(tree))[own], bound[own])
    if reached and not problem.arcs[allowed].any() and obeys(tree.tolist(), allowed, problem.spans):
        return score(problem, tags), tags
    if (only := problem.only_tree) is not None:
        if not is_tree(only) or not is_projective(only) or not obeys(only, allowed, problem.spans):
            return None
        highest, sequence = best_of_tree(only, problem.leaves(root_word(only)), problem.internal)
        found = np.array(sequence, np.int8)
        return None if highest == -np.inf else (score(problem, found), found)
    traced = Chart(problem, BEST).trace()
    return None if traced is None else (score(problem, traced), traced)


def ranked_trees(problem: Problem, *, first: Tags | None = None) -> Iterator[tuple[float, Tags]]:
    """Yield all trees of a problem, best first, each with its best sequence: two charts each.

    `first` is the best sequence, if it is known already.
    """
    found = search(problem) if first is None else (score(problem, first), first)
    if found is None:
        return
    yield found
    if problem.only_tree is not None:
        return
    [tree] = heads([found[1]])
    # Disjoint sets of trees: score of the second best tree, best tree, the arc that leads to the second, arc scores.
    # The counter keeps ties in order and the other fields from being compared.
    sets: list[tuple[float, int, Ints, tuple[int, int], Scores]] = []
    made = 0

    def push(chart: Chart, tree: Ints, arcs: Scores) -> None:
        nonlocal made
        sums = chart.arc_sums()
        sums[tree, np.arange(1, len(sums))] = -np.inf
        head, word = np.unravel_index(sums.argmax(), sums.shape)
        if sums[head, word] > -np.inf:
            heapq.heappush(sets, (-float(sums[head, word]), made, tree, (int(head), int(word)), arcs))
            made += 1

    push(Chart(problem, BEST), tree, problem.arcs)
    while sets:
        _, _, tree, (head, word), arcs = heapq.heappop(sets)
        with_arc, without_arc = arcs.copy(), arcs.copy()
        with_arc[np.arange(len(arcs)) != head, word] = -np.inf
        without_arc[head, word] = -np.inf
        chart = Chart(replace(problem, arcs=with_arc), BEST)
        tags = chart.trace()
        assert tags is not None  # the set has a tree with this arc
        yield score(problem, tags), tags
        push(chart, heads([tags])[0], with_arc)
        push(Chart(replace(problem, arcs=without_arc), BEST), tree, without_arc)


def _choose(
    constraints: Constraints, deprel: Scores | None, leaves: Tags, tree: Ints, root: Collection[int]
) -> Ints | None:
    """Return the best deprel of every word that obeys and agrees with its head."""
    if deprel is None:
        return None
    every = range(deprel.shape[2])
    found = np.zeros(len(tree), np.intp)
    for place, (head, side) in enumerate(zip(tree.tolist(), leaves.tolist(), strict=True)):
        is_root = head == 0 if root else None
        choices = fitting(constraints.relations.get(place + 1, every), is_root, root) or list(every)
        found[place] = choices[int(deprel[place, side, choices].argmax())]
    return found


def refuse_constraints(constraints: Constraints, words: int, root: Collection[int]) -> NoReturn:
    """Raise ConstraintError naming constraints that contradict each other; DecodeError if it is the scores."""

    def possible(parts: Sequence[tuple[str, Constraints]]) -> bool:
        some = joined([part for _, part in parts])
        zeros = np.zeros((words, 2)), np.zeros((max(0, words - 1), 4))
        problem = make_problem(*zeros, some, best_deprel, deprel=None, root=root, head_scores=None)
        return search(problem) is not None

    parts = constraints.parts()
    if possible(parts):
        raise DecodeError("no legal sequence obeys the constraints: too many tags are forbidden (-inf)")
    if can_narrow(words, len(parts)):
        for part in list(parts):  # drop constraints that the contradiction does not need
            rest = [other for other in parts if other is not part]
            if not possible(rest):
                parts = rest
    shown = [text for text, _ in parts]
    listed = "; ".join(shown if len(shown) <= 12 else [*shown[:12], "…"])
    raise ConstraintError(f"no projective tree obeys all of these: {listed}")
