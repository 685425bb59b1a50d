"""From constraints and scores to what a chart solves: scores of leaf tags, internal tags and arcs.

Deprels of the root make a difference: what a deprel constraint adds to a leaf may depend on whether the word is the
root. A word that may have both kinds of deprels is the root in a problem of its own.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.chart.constraints import Constraints, allowed_arcs, arc_scores, check_constraints
from hexatagger.decode.heads import heads
from hexatagger.decode.lattice import Bools, Scores, Tags, check_scores
from hexatagger.decode.limits import CHART
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
    """(words + 1, words + 1) as `arc_scores` returns them: −inf for arcs that are not allowed."""
    spans: Collection[tuple[int, int]] = ()

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
    return Problem(leaf, internal, arc_scores(allowed_arcs(Constraints(), len(leaf))))


def score(problem: Problem, tags: Tags) -> float:
    """Return the score of a sequence: its tags and its arcs. O(N)."""
    leaves, nodes = tags[::2], tags[1::2] - Hexatag.L_HEAD_L
    of_tags = problem.leaf[np.arange(len(leaves)), leaves].sum() + problem.internal[np.arange(len(nodes)), nodes].sum()
    return float(of_tags + problem.arcs[heads([tags])[0], np.arange(1, len(problem.arcs))].sum())


Weigh = Callable[[Scores, list[int], list[int]], Scores]
"""Takes deprel scores (2, deprels), the deprels a word may have, and all that agree with its place in the tree."""


def best_deprel(scores: Scores, fitting: list[int], every: list[int]) -> Scores:
    """Return the score of the best allowed deprel by leaf tag."""
    return scores[:, fitting].max(1)  # type: ignore[no-any-return]


def log_share(scores: Scores, fitting: list[int], every: list[int]) -> Scores:
    """Return the log-probability of the allowed deprels by leaf tag."""
    shares: Scores = np.logaddexp.reduce(scores[:, fitting], 1) - np.logaddexp.reduce(scores[:, every], 1)
    return shares


def problems(
    leaf: ArrayLike,
    internal: ArrayLike,
    constraints: Constraints,
    weigh: Weigh,
    *,
    deprel: ArrayLike | None,
    root: Collection[int],
    head_scores: ArrayLike | None,
) -> Iterator[Problem]:
    """Check the question about a sentence, and yield disjoint problems that together cover it."""
    words = np.asarray(leaf).shape[0] if np.asarray(leaf).size else 0
    nodes = np.asarray(internal, np.float64).reshape(1, -1, 4)[:, : max(0, words - 1)]
    leaves, nodes, _ = check_scores(np.asarray(leaf, np.float64).reshape(1, words, 2), nodes, [words])
    choices = deprel_scores(deprel, words, root)
    check_constraints(constraints, words, root=root)
    pointers = None if head_scores is None else np.asarray(head_scores, np.float64)
    if pointers is not None and (pointers.shape != (words, words + 1) or not np.isfinite(pointers).all()):
        raise DecodeError(
            f"head_scores {pointers.shape} must be finite and ({words}, {words + 1}): every head of every word"
        )
    allowed = allowed_arcs(constraints, words, root=root)
    mixed = [
        word
        for word, deprels in constraints.relations.items()
        if root and not set(root).isdisjoint(deprels) and not set(root).issuperset(deprels) and allowed[0, word]
    ]
    for top in (*mixed, 0):
        free, scores = allowed.copy(), leaves[0].copy()
        if top:
            free[0] &= np.arange(len(allowed)) == top
        else:
            free[0, mixed] = False
        for word, deprels in constraints.relations.items():
            is_root = word == top or set(root).issuperset(deprels) if root else None
            allowed_deprels = fitting(deprels, is_root, root)
            if allowed_deprels and choices is not None:
                every = fitting(range(choices.shape[2]), is_root, root)
                scores[word - 1] += weigh(choices[word - 1], allowed_deprels, every)
        yield Problem(scores, nodes[0], arc_scores(free, pointers), constraints.spans)


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


def refuse_long(questions: Collection[Problem]) -> None:
    """Raise DecodeError for a sentence that is too long for charts, if it needs any."""
    words = max(len(each.leaf) for each in questions)
    if words > CHART and any(each.only_tree is None for each in questions):
        raise DecodeError(
            f"a sentence of {words} words is too long for probabilities and k-best trees under constraints "
            f"(at most {CHART} words): ask for its best tree only, or fix every head"
        )
