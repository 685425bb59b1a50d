"""Constraints on the tree of a sentence, the arcs they allow, and contradictions between them.

Words are numbered from 1, head 0 is the root, and deprels are the caller's numbers. A constraint on heads restricts the
arcs. A constraint on deprels can do so too, as the root word, and no other, has a root deprel. A span is a unit: one of
its words has its head outside or is the root, the heads of the others are inside, and outside words can depend only on
that one word. In "I saw [the man] with the telescope" this holds whatever "with" depends on.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hexatagger.decode.lattice import Bools
from hexatagger.errors import ConstraintError
from hexatagger.tree import find_cycle


@dataclass(frozen=True, slots=True)
class Constraints:
    """Conditions on a tree; none by default."""

    heads: Mapping[int, int] = field(default_factory=dict)
    """Word → its head."""
    forbidden: Collection[tuple[int, int]] = ()
    """Pairs of a word and a head that it must not have."""
    relations: Mapping[int, Collection[Any]] = field(default_factory=dict)
    """Word → the deprels it may have: numbers here, names for a Parser."""
    root: int | None = None
    """The root word: the same as head 0."""
    spans: Collection[tuple[int, int]] = ()
    """First and last word of each span."""

    def parts(self) -> list[tuple[str, "Constraints"]]:
        """Return every single constraint with a description."""
        found = [(_describe(word, head), Constraints(heads={word: head})) for word, head in sorted(self.heads.items())]
        found += [
            (f"the head of word {word} is not {head}", Constraints(forbidden=[(word, head)]))
            for word, head in sorted(set(self.forbidden))
        ]
        found += [
            (f"the deprel of word {word} is one of {sorted(allowed)}", Constraints(relations={word: allowed}))
            for word, allowed in sorted(self.relations.items())
        ]
        if self.root is not None:
            found.append((_describe(self.root, 0), Constraints(root=self.root)))
        found += [
            (f"words {first} to {last} are one span", Constraints(spans=[(first, last)]))
            for first, last in sorted(set(self.spans))
        ]
        return found

    def __bool__(self) -> bool:
        return bool(self.heads or self.forbidden or self.relations or self.spans) or self.root is not None


def joined(parts: Sequence[Constraints]) -> Constraints:
    """Return the conjunction of constraints.

    >>> joined([Constraints(heads={1: 2}), Constraints(root=2), Constraints(spans=[(1, 2)])])
    Constraints(heads={1: 2}, forbidden=[], relations={}, root=2, spans=[(1, 2)])
    """
    roots = [part.root for part in parts if part.root is not None]
    return Constraints(
        heads={word: head for part in parts for word, head in part.heads.items()},
        forbidden=[pair for part in parts for pair in part.forbidden],
        relations={word: deprels for part in parts for word, deprels in part.relations.items()},
        root=roots[-1] if roots else None,
        spans=[span for part in parts for span in part.spans],
    )


def check_constraints(constraints: Constraints, size: int, *, root: Collection[int] = ()) -> None:
    """Raise ConstraintError for constraints that contradict each other or a sentence of `size` words, O(size²).

    Not every contradiction is found here; the chart finds the rest. `root` is the set of root deprels, which the root
    word has and no other; empty if no deprel is special.

    >>> check_constraints(Constraints(heads={1: 3, 2: 4}), 4)
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConstraintError: the fixed arcs 3 → 1 and 4 → 2 cross
    """
    for name, word, lowest in _numbers(constraints):
        if not lowest <= word <= size:
            raise ConstraintError(f"{name} {word} is outside the sentence ({size} words)")
    for first, last in constraints.spans:
        if first > last:
            raise ConstraintError(f"the span from word {first} to word {last} ends before it begins")
    fixed = dict(constraints.heads)
    if constraints.root is not None:
        if head := fixed.get(constraints.root):
            raise ConstraintError(f"word {constraints.root} must be the root, but its head is fixed to {head}")
        fixed[constraints.root] = 0
    for word, head in sorted(constraints.forbidden):
        if fixed.get(word) == head:
            raise ConstraintError(f"head {head} of word {word} is both fixed and forbidden")
    _check_relations(constraints, fixed, frozenset(root))
    _check_fixed(fixed, size)


def _check_relations(constraints: Constraints, fixed: Mapping[int, int], root: frozenset[int]) -> None:
    """Refuse deprels that do not agree with the fixed heads."""
    only_root = []
    for word, allowed in sorted(constraints.relations.items()):
        if not allowed:
            raise ConstraintError(f"the list of allowed deprels of word {word} is empty")
        if not root:
            continue
        if root.issuperset(allowed):
            only_root.append(word)
            if fixed.get(word, 0) != 0:
                raise ConstraintError(f"word {word} has head {fixed[word]}, but only root deprels are allowed for it")
        if root.isdisjoint(allowed) and fixed.get(word) == 0:
            raise ConstraintError(f"word {word} is the root, but no root deprel is allowed for it")
    roots = sorted({word for word, head in fixed.items() if head == 0}.union(only_root))
    if len(roots) > 1:
        raise ConstraintError(f"two words must be the root: {roots[0]} and {roots[1]}")


def _check_fixed(fixed: Mapping[int, int], size: int) -> None:
    """Refuse fixed heads that contain a cycle or crossing arcs."""
    if cycle := find_cycle([fixed.get(word, 0) for word in range(1, size + 1)]):
        raise ConstraintError(f"the fixed heads contain a cycle: {' → '.join(map(str, cycle))}")
    arcs = sorted((min(word, head), max(word, head), word) for word, head in fixed.items() if head)
    roots = [word for word, head in fixed.items() if head == 0]
    for place, (low, high, word) in enumerate(arcs):
        for other_low, other_high, other in itertools.islice(arcs, place + 1, None):
            if other_low >= high:
                break
            if low < other_low and high < other_high:
                raise ConstraintError(f"the fixed arcs {fixed[word]} → {word} and {fixed[other]} → {other} cross")
        for root in roots:
            if low < root < high:
                raise ConstraintError(f"the root {root} lies under the fixed arc {fixed[word]} → {word}")


def allowed_arcs(constraints: Constraints, size: int, *, root: Collection[int] = ()) -> Bools:
    """Return which arcs the constraints allow: (head, word), where head 0 is the root and column 0 is unused. O(N²).

    >>> allowed_arcs(Constraints(heads={1: 2}), 2)[:, 1:].astype(int).tolist()
    [[0, 1], [0, 1], [1, 0]]
    """
    allowed = ~np.eye(size + 1, dtype=np.bool_)
    fixed = {**constraints.heads, **({} if constraints.root is None else {constraints.root: 0})}
    for word, relations in constraints.relations.items() if root else ():
        if set(root).issuperset(relations):
            fixed[word] = 0
        elif set(root).isdisjoint(relations):
            allowed[0, word] = False
    for word, head in constraints.forbidden:
        allowed[head, word] = False
    for word, head in fixed.items():
        allowed[:, word] &= np.arange(size + 1) == head
        if head == 0:
            allowed[0] &= np.arange(size + 1) == word
    return allowed


def obeys(heads: Sequence[int], allowed: Bools, spans: Collection[tuple[int, int]] = ()) -> bool:
    """Return whether a tree has only allowed arcs and all spans are units of it. O(N) per span.

    >>> everything = allowed_arcs(Constraints(), 3)
    >>> [obeys(heads, everything, [(1, 2)]) for heads in ([2, 0, 2], [2, 3, 0], [3, 3, 0])]
    [True, True, False]
    """
    if not allowed[list(heads), range(1, len(heads) + 1)].all():
        return False
    for first, last in spans:
        out = [word for word in range(first, last + 1) if not first <= heads[word - 1] <= last]
        outside = [*heads[: first - 1], *heads[last:]]
        if len(out) != 1 or any(first <= head <= last and head != out[0] for head in outside):
            return False
    return True


def _numbers(constraints: Constraints) -> list[tuple[str, int, int]]:
    """Return every word number with a description and its minimum."""
    found = [("constrained word", word, 1) for word in (*constraints.heads, *constraints.relations)]
    found += [("fixed head", head, 0) for head in constraints.heads.values()]
    for word, head in constraints.forbidden:
        found += [("constrained word", word, 1), ("forbidden head", head, 0)]
    found += [("root", constraints.root, 1)] if constraints.root is not None else []
    return found + [("end of a span", word, 1) for span in constraints.spans for word in span]


def _describe(word: int, head: int) -> str:
    return f"the head of word {word} is {head}" if head else f"word {word} is the root"
