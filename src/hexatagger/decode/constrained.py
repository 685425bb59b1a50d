"""The best legal tree that obeys constraints, exactly.

What constraints need more than the depth lattice? Restricted relations change the scores of leaf tags and stay in it,
in O(N · depth). Heads do not: the lattice does not know them. So, in this order:

1. the best sequence of the lattice, if its tree obeys: nothing that does can be better;
2. if every head is fixed, the best sequence of that tree (see `trees`): O(N²);
3. a chart over the nodes of binary head trees with the words that head them, where every arc is seen when it is made:
   O(N⁴) time in O(N²) numpy calls, O(N³) memory.

A span is a unit of the tree (see `constraints`) just if, in every sequence of the tree, a node that crosses the span is
headed by a word of the span and is not yet a whole dependent: that word then is the one with its head outside. So spans
are constraints on nodes and cost the chart nothing.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.batch import best, heads
from hexatagger.decode.constraints import Bools, Constraints, allowed_arcs, check_constraints, joined, obeys
from hexatagger.decode.table import Ints, Scores, Tags, checked
from hexatagger.decode.trees import best_of_tree
from hexatagger.errors import ConstraintError, DecodeError
from hexatagger.tags.hexatag import Hexatag
from hexatagger.tree import is_projective, is_tree

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
    words = np.asarray(leaf).shape[0] if np.asarray(leaf).size else 0
    nodes = np.asarray(internal, np.float64).reshape(1, -1, 4)[:, : max(0, words - 1)]
    leaves, nodes, _ = checked(np.asarray(leaf, np.float64).reshape(1, words, 2), nodes, [words])
    choices = _relations(relation, words, root)
    check_constraints(constraints, words, root=root)
    found: tuple[float, Tags] | None = None
    for scores, allowed in _cases(leaves[0], constraints, choices, root):
        one = search(scores, nodes[0], allowed, constraints.spans)
        if one is not None and (found is None or one[0] > found[0]):
            found = one
    if found is None:
        _explain(constraints, words, root)
        raise DecodeError("no legal sequence obeys the constraints: too much is forbidden (-inf)")
    score, tags = found
    [tree] = heads([tags])
    return Constrained(tags, tree, _choose(constraints, choices, tags[::2], tree, root), score)


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


def _cases(
    leaf: Scores, constraints: Constraints, relation: Scores | None, root: Collection[int]
) -> Iterator[tuple[Scores, Bools]]:
    """Yield problems without relations, the best of whose answers is the answer: leaf scores and allowed arcs.

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
        arcs, scores = allowed.copy(), leaf.copy()
        if top:
            arcs[0] &= np.arange(len(allowed)) == top
        else:
            arcs[0, mixed] = False
        for word, relations in constraints.relations.items():
            is_root = word == top or set(root).issuperset(relations) if root else None
            fitting = _fitting(relations, is_root, root)
            if fitting and relation is not None:
                scores[word - 1] += relation[word - 1][:, fitting].max(1)
        yield scores, arcs


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


def search(
    leaf: Scores, internal: Scores, allowed: Bools, spans: Collection[tuple[int, int]] = ()
) -> tuple[float, Tags] | None:
    """Return the best sequence whose tree has only allowed arcs and the spans as units; None if there is none."""
    words = len(leaf)
    if not words:
        return 0.0, np.empty(0, np.int8)
    if not allowed[:, 1:].any(0).all() or not allowed[0, 1:].any():
        return None
    try:
        [tags] = best(leaf[None], internal[None], [words])
    except DecodeError:
        return None
    [tree] = heads([tags])
    if obeys(tree.tolist(), allowed, spans):
        return _score(tags, leaf, internal), tags
    if (allowed[:, 1:].sum(0) == 1).all():
        fixed = allowed[:, 1:].argmax(0).tolist()
        if not is_tree(fixed) or not is_projective(fixed) or not obeys(fixed, allowed, spans):
            return None
        score, sequence = best_of_tree(fixed, leaf, internal)
        return None if score == -np.inf else (score, np.array(sequence, np.int8))
    chart = _Chart(leaf, internal, allowed, spans)
    return None if (traced := chart.trace()) is None else (_score(traced, leaf, internal), traced)


def _score(tags: Tags, leaf: Scores, internal: Scores) -> float:
    leaves, nodes = tags[::2], tags[1::2] - Hexatag.L_HEAD_L
    return float(leaf[np.arange(len(leaves)), leaves].sum() + internal[np.arange(len(nodes)), nodes].sum())


class _Chart:
    """Best sums of nodes by begin, end and head, for both child sides; and of nodes hung under a word outside."""

    def __init__(self, leaf: Scores, internal: Scores, allowed: Bools, spans: Collection[tuple[int, int]]) -> None:
        words = len(leaf)
        self.internal = internal
        self.arcs = np.where(allowed, 0.0, -np.inf)[:, 1:]  # (head, word): heads from 1 on, words from 0 on
        self.node = np.full((2, words, words, words), -np.inf)  # child side, begin, end, head
        self.hung = np.full((2, words, words, words), -np.inf)  # child side, begin, end, the word it depends on
        for begin in range(words - 1, -1, -1):
            for end in range(begin, words):
                both = self.node[:, begin, end, begin : end + 1]
                if begin == end:
                    both[:, 0] = leaf[begin]
                else:
                    by_left, by_right = self._ways(begin, end)
                    both[:, :-1] = by_left.max(1)
                    np.maximum(both[:, 1:], by_right.max(1), out=both[:, 1:])
                crossed = [
                    (a - 1, b - 1) for a, b in spans if a - 1 < begin <= b - 1 < end or begin < a - 1 <= end < b - 1
                ]
                for first, last in crossed:
                    both[:, : max(0, first - begin)] = -np.inf
                    both[:, last + 1 - begin :] = -np.inf
                if crossed:
                    continue
                # A left child depends on a word behind it, a right child on one before it.
                inside = self.arcs[:, begin : end + 1]
                self.hung[0, begin, end, end + 1 :] = (inside[end + 2 :] + both[0]).max(1)
                self.hung[1, begin, end, :begin] = (inside[1 : begin + 1] + both[1]).max(1)

    def _ways(self, begin: int, end: int) -> tuple[Scores, Scores]:
        """Return the sums of a span by child side, split and head: with the head in the left and in the right part."""
        gaps = self.internal[begin:end].reshape(-1, 2, 2)  # split, child side, head side
        left = self.node[0, begin, begin:end, begin:end] + self.hung[1, begin + 1 : end + 1, end, begin:end]
        right = (
            self.node[1, begin + 1 : end + 1, end, begin + 1 : end + 1]
            + self.hung[0, begin, begin:end, begin + 1 : end + 1]
        )
        return left + gaps[:, :, 0].T[..., None], right + gaps[:, :, 1].T[..., None]

    def trace(self) -> Tags | None:
        """Return the best sequence, None if there is none."""
        words = self.node.shape[1]
        tops = self.node[0, 0, words - 1] + self.arcs[0]
        if np.isneginf(tops.max()):
            return None
        tags = np.zeros(2 * words - 1, np.int8)
        todo = [(0, 0, words - 1, int(tops.argmax()))]
        while todo:
            side, begin, end, head = todo.pop()
            if begin == end:
                tags[2 * begin] = side
                continue
            by_left, by_right = self._ways(begin, end)
            left = by_left[side, :, head - begin] if head < end else np.full(end - begin, -np.inf)
            right = by_right[side, :, head - begin - 1] if head > begin else np.full(end - begin, -np.inf)
            head_right = bool(right.max() > left.max())
            gap = begin + int((right if head_right else left).argmax())
            tags[2 * gap + 1] = Hexatag.L_HEAD_L + 2 * side + head_right
            parts = [(0, begin, gap), (1, gap + 1, end)]
            other_side, first, last = parts[not head_right]
            hanging = self.arcs[head + 1, first : last + 1] + self.node[other_side, first, last, first : last + 1]
            todo.append((other_side, first, last, first + int(hanging.argmax())))
            todo.append((*parts[head_right], head))
        return tags


def _explain(constraints: Constraints, words: int, root: Collection[int]) -> None:
    """Raise ConstraintError that names constraints which no tree obeys together, if there are such."""

    def possible(parts: Sequence[tuple[str, Constraints]]) -> bool:
        some = joined([part for _, part in parts])
        allowed = allowed_arcs(some, words, root=root)
        return search(np.zeros((words, 2)), np.zeros((max(0, words - 1), 4)), allowed, some.spans) is not None

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
