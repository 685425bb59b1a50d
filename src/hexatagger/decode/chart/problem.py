"""From constraints and scores to what a chart solves: scores of leaf tags, internal tags and arcs.

What a deprel constraint adds to a leaf can depend on whether the word is the root, if the word may have both root
deprels and others. So a problem can have a second table of leaf scores, for the root word: one chart suffices.
"""

import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.chart.constraints import Constraints, allowed_arcs, check_constraints
from hexatagger.decode.heads import heads
from hexatagger.decode.lattice import HIGHEST, Bools, Ints, Scores, Tags, check_scores
from hexatagger.decode.limits import CHART, SERVICE
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The scores of one sentence and the spans that must be units."""

    leaf: Scores
    """(words, 2)"""
    internal: Scores
    """(words − 1, 4)"""
    arcs: Scores
    """(head, word) as in `allowed_arcs`: −inf for arcs that are not allowed."""
    root_leaf: Scores | None = None
    """Leaf scores of a word that is the root: (words, 2); None if they are the same."""
    spans: Collection[tuple[int, int]] = ()
    """Spans that must be units, without duplicates and spans that always are (one word, the whole sentence)."""
    bounds: tuple[Ints, Ints] | None = None
    """The spans as constraints on nodes, see `span_bounds`; None if there are none."""

    def leaves(self, root: int) -> Scores:
        """Return the leaf scores of trees with this root word: (words, 2)."""
        if self.root_leaf is None:
            return self.leaf
        return np.where((np.arange(1, len(self.leaf) + 1) == root)[:, None], self.root_leaf, self.leaf)

    @property
    def allowed(self) -> Bools:
        """Which arcs are allowed: (head, word)."""
        return self.arcs > -np.inf

    @property
    def only_tree(self) -> list[int] | None:
        """The heads of all words if each has exactly one allowed head."""
        allowed = self.allowed[:, 1:]
        return allowed.argmax(0).tolist() if (allowed.sum(0) == 1).all() else None


def unconstrained(leaf: Scores, internal: Scores) -> Problem:
    """Return the problem of a sentence without constraints and head scores."""
    return Problem(leaf, internal, np.where(allowed_arcs(Constraints(), len(leaf)), 0.0, -np.inf))


def score(problem: Problem, tags: Tags) -> float:
    """Return the score of a sequence: its tags and its arcs. O(N)."""
    [tree] = heads([tags])
    leaves, nodes = tags[::2], tags[1::2] - Hexatag.L_HEAD_L
    of_leaves = problem.leaves(root_word(tree))[np.arange(len(leaves)), leaves].sum()
    of_nodes = problem.internal[np.arange(len(nodes)), nodes].sum()
    return float(of_leaves + of_nodes + problem.arcs[tree, np.arange(1, len(problem.arcs))].sum())


def root_word(tree: ArrayLike) -> int:
    """Return the 1-based root word of a tree; 0 if it is empty."""
    return int(np.flatnonzero(np.asarray(tree) == 0).sum() + 1) if np.size(tree) else 0


def span_bounds(spans: Collection[tuple[int, int]], words: int) -> tuple[Ints, Ints]:
    """Return the lowest and the highest head of every node, (begin, end) each, counted from 0.

    A node that crosses a span must be headed by a word of the span. The lowest head is −1 if no span is crossed.

    >>> low, high = span_bounds([(2, 3)], 4)
    >>> int(low[0, 1]), int(high[0, 1]), int(low[0, 2])  # words 1 to 2 cross the span, words 1 to 3 do not
    (1, 2, -1)
    """
    low, high = np.full((words, words), -1), np.full((words, words), words)
    for first, last in spans:
        a, b = first - 1, last - 1
        for crossing in (np.s_[a + 1 : b + 1, b + 1 :], np.s_[:a, a:b]):  # nodes that begin, or end, inside the span
            np.maximum(low[crossing], a, out=low[crossing])
            np.minimum(high[crossing], b, out=high[crossing])
    return low, high


Weigh = Callable[[Scores, list[int], list[int]], Scores]
"""Takes deprel scores (2, deprels), the deprels a word may have, and all that agree with its place in the tree."""


def best_deprel(scores: Scores, fitting: list[int], every: list[int]) -> Scores:
    """Return the score of the best allowed deprel by leaf tag."""
    return scores[:, fitting].max(1)  # type: ignore[no-any-return]


def log_share(scores: Scores, fitting: list[int], every: list[int]) -> Scores:
    """Return the log-probability of the allowed deprels by leaf tag."""
    shares: Scores = np.logaddexp.reduce(scores[:, fitting], 1) - np.logaddexp.reduce(scores[:, every], 1)
    return shares


def make_problem(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    weigh: Weigh,
    *,
    deprel: ArrayLike | None,
    root: Collection[int],
    head_scores: ArrayLike | None,
) -> Problem:
    """Check the arguments of a question about one sentence, and return its problem."""
    words = np.asarray(leaf).shape[0] if np.asarray(leaf).size else 0
    nodes = np.asarray(internal, np.float64).reshape(1, -1, 4)[:, : max(0, words - 1)]
    leaves, nodes, _ = check_scores(np.asarray(leaf, np.float64).reshape(1, words, 2), nodes, [words])
    choices = deprel_scores(deprel, words, root)
    check_constraints(constraints, words, root=root)
    pointers = np.asarray(np.zeros((words, words + 1)) if head_scores is None or not words else head_scores, np.float64)
    if pointers.shape != (words, words + 1) or not (np.abs(pointers) <= HIGHEST).all():
        shape = f"({words}, {words + 1})"
        raise DecodeError(f"head_scores {pointers.shape} must be finite and {shape}: every head of every word")
    allowed = allowed_arcs(constraints, words, root=root)
    arcs = np.full(allowed.shape, -np.inf)
    arcs[:, 1:] = np.where(allowed[:, 1:], pointers.T, -np.inf)
    scores, root_scores = leaves[0].copy(), leaves[0].copy()
    if choices is not None:
        for (word, deprels), is_root in itertools.product(constraints.relations.items(), (False, True)):
            kind = is_root if root else None
            # A word that may have one kind of deprels only is never scored as the other.
            if not (numbers := fitting(deprels, kind, root)):
                kind, numbers = not is_root, fitting(deprels, not is_root, root)
            every = fitting(range(choices.shape[2]), kind, root)
            (root_scores if is_root else scores)[word - 1] += weigh(choices[word - 1], numbers, every)
    spans = [(first, last) for first, last in sorted(set(constraints.spans)) if 0 < last - first < words - 1]
    root_scores = np.where(allowed[0, 1:, None], root_scores, scores)
    differ = not np.array_equal(scores, root_scores)
    bounds = span_bounds(spans, words) if spans else None
    return Problem(scores, nodes[0], arcs, root_scores if differ else None, spans, bounds)


def deprel_scores(deprel: ArrayLike | None, words: int, root: Collection[int]) -> Scores | None:
    """Check deprel scores and return them as (words, 2, deprels)."""
    if deprel is None:
        return None
    scores = np.asarray(deprel, np.float64)
    if scores.ndim != 3 or len(scores) != words or scores.shape[1] not in (1, 2):
        raise DecodeError(f"deprel {scores.shape} must be (words, 2 or 1, deprels) with {words} words")
    if root and not all(0 <= number < scores.shape[2] for number in root):
        raise DecodeError(f"root {sorted(root)} must be numbers of the {scores.shape[2]} deprels")
    return np.broadcast_to(scores, (words, 2, scores.shape[2]))


def fitting(deprels: Collection[int], is_root: bool | None, root: Collection[int]) -> list[int]:
    """Return the deprels that agree with being the root or not (None: it makes no difference)."""
    return sorted(number for number in deprels if is_root is None or (number in root) == is_root)


def refuse_long(problem: Problem) -> None:
    """Raise DecodeError for a sentence that is too long for a chart, if it needs one."""
    words = len(problem.leaf)
    if words > CHART and problem.only_tree is None:
        raise DecodeError(
            f"a sentence of {words} words is too long for probabilities and k-best trees under constraints "
            f"(at most {CHART} words): ask for its best tree only, or fix every head"
        )


def chart_cost(
    words: int,
    constraints: Constraints | None = None,
    *,
    k: int = 1,
    probabilities: bool = False,
    head_scores: bool = False,
    root: Collection[Any] = (),
) -> int:
    """Return the worst-case cost of a question about one sentence: charts × N⁴. Costs of sentences can be added.

    The question is k trees from `kbest_constrained`, or `best_constrained` for k = 1, and `probabilities_given` if
    `probabilities`. If no tree obeys, the search for the reason counts too. Without constraints and head scores the
    lattice answers, and the cost is 0. `root` is the set of root deprels, as numbers or names like the constraints.

    >>> [chart_cost(100, Constraints(root=1), k=k) // 100**4 for k in (1, 2, 10)]
    [3, 5, 61]
    """
    if not words or not (constraints or head_scores):
        return 0
    # Measured: the outside pass takes 2.5 times as long as filling a chart, and the log semiring twice as long.
    trees = 1 if k == 1 else 1 + 1 + 2.5 + (k - 1) + (k - 2) * (2.5 + 1 + 2.5)
    charts = trees + (2 + 5 if probabilities else 0)
    known = constraints or Constraints()
    if any(not set(root).isdisjoint(names) and not set(root).issuperset(names) for names in known.relations.values()):
        charts *= 1.75  # the root word has nodes of its own
    if known:  # a chart fails, a second one says whether it is the constraints, further ones look for the cause
        parts = len(known.parts())
        charts = max(charts, 2 + parts * can_narrow(words, parts))
    return int(charts * words**4)


def can_narrow(words: int, parts: int) -> bool:
    """Return whether a contradiction is reduced to the constraints that cause it, which takes a chart for each."""
    return words * parts <= 2000 and words**4 * parts <= 3 * SERVICE**4
