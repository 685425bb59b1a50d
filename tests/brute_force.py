"""Oracles by enumeration: slow, obvious, and independent of the code they test."""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

Sequence6 = tuple[int, ...]


def is_tree(heads: Sequence[int]) -> bool:
    """Walk up from every word: all walks end at 0, and one word is its child."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = heads[word - 1]
        if word:
            return False
    return sum(head == 0 for head in heads) == 1


def is_projective(heads: Sequence[int]) -> bool:
    """Compare all pairs of arcs; the arc from the root comes from the far left."""
    arcs = [tuple(sorted((head if head else -1, word))) for word, head in enumerate(heads, 1)]
    crossing = any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))
    root = heads.index(0) + 1
    return not crossing and not any(low < root < high for low, high in arcs if low >= 0)


def projective_trees(size: int) -> Iterator[tuple[int, ...]]:
    """Yield the heads of every projective tree with one root."""
    for heads in itertools.product(range(size + 1), repeat=size):
        if heads.count(0) == 1 and is_tree(heads) and is_projective(heads):
            yield heads


@cache
def legal_sequences(size: int) -> tuple[Sequence6, ...]:
    """Return the tags of all binary trees with `size` leaves and a head side on every node."""
    return tuple(_sequences(size, right_child=False))


@cache
def _sequences(size: int, *, right_child: bool) -> tuple[Sequence6, ...]:
    if size == 1:
        return ((int(right_child),),)
    found = []
    for left_size in range(1, size):
        for left in _sequences(left_size, right_child=False):
            for right in _sequences(size - left_size, right_child=True):
                found += [(*left, 2 + 2 * right_child + head_right, *right) for head_right in (0, 1)]
    return tuple(found)


def score(tags: Sequence[int], leaf: Sequence[Sequence[float]], internal: Sequence[Sequence[float]]) -> float:
    """Return the sum of the scores of a sequence."""
    return sum(internal[place // 2][tag - 2] if place % 2 else leaf[place // 2][tag] for place, tag in enumerate(tags))


def best(leaf: Sequence[Sequence[float]], internal: Sequence[Sequence[float]]) -> Sequence6:
    """Try every legal sequence; ties go to the first in lexicographic order."""
    return min(legal_sequences(len(leaf)), key=lambda tags: (-score(tags, leaf, internal), tags))
