"""Scores for the tests of the lattice, and sums over all legal sequences, with and without constraints."""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import brute_force
from hexatagger.decode import Constraints
from hexatagger.tags import to_heads

Problem = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Leaf (words, 2) and internal scores (words − 1, 4) of one sentence."""


@st.composite
def problems(draw: st.DrawFn, max_size: int = 6, *, forbidden: bool = True) -> Problem:
    """Draw scores of a sentence with at least one legal sequence; some tags may be forbidden."""
    size = draw(st.integers(1, max_size))
    values = st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5))
    row = st.lists(values, min_size=2, max_size=2)
    leaf = np.array([draw(row) for _ in range(size)])
    internal = np.array([draw(row) + draw(row) for _ in range(size - 1)]).reshape(size - 1, 4)
    if forbidden and draw(st.booleans()):
        # One sequence stays possible; any other tag may be forbidden.
        kept = draw(st.sampled_from(brute_force.legal_sequences(size)))
        for place in range(2 * size - 1):
            scores = internal[place // 2] if place % 2 else leaf[place // 2]
            for tag in range(len(scores)):
                if tag + (2 if place % 2 else 0) != kept[place] and draw(st.booleans()):
                    scores[tag] = -math.inf
    return leaf, internal


def enumerate_all(problem: Problem) -> dict[tuple[int, ...], float]:
    """Return the probability of every legal sequence."""
    leaf, internal = problem[0].tolist(), problem[1].tolist()
    sums = {tags: brute_force.score(tags, leaf, internal) for tags in brute_force.legal_sequences(len(leaf))}
    highest = max(sums.values())
    weights = {tags: math.exp(value - highest) for tags, value in sums.items()}
    z = math.fsum(weights.values())
    return {tags: weight / z for tags, weight in weights.items()}


def by_tree(problem: Problem) -> dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]]:
    """Return the possible sequences of every tree, with their probabilities."""
    found = defaultdict(list)
    for tags, share in enumerate_all(problem).items():
        if share > 0:
            found[tuple(to_heads(tags))].append((share, tags))
    return dict(found)


def stacked(cases: Sequence[Problem]) -> tuple[NDArray[np.float64], NDArray[np.float64], list[int]]:
    """Stack sentences into a batch, padded with NaN."""
    lengths = [len(leaf) for leaf, _ in cases]
    longest = max(lengths, default=0)
    leaves = np.full((len(cases), longest, 2), np.nan)
    nodes = np.full((len(cases), max(0, longest - 1), 4), np.nan)
    for row, (leaf, internal) in enumerate(cases):
        leaves[row, : len(leaf)] = leaf
        nodes[row, : len(internal)] = internal
    return leaves, nodes, lengths


def random_problem(size: int, seed: int, scale: float = 2.0) -> Problem:
    """Return normalised random scores of a sentence."""
    randomness = np.random.default_rng(seed)
    leaf = randomness.normal(size=(size, 2), scale=scale)
    internal = randomness.normal(size=(max(0, size - 1), 4), scale=scale)
    return leaf - np.logaddexp.reduce(leaf, -1, keepdims=True), internal - np.logaddexp.reduce(
        internal, -1, keepdims=True
    )


def is_unit(heads: tuple[int, ...], first: int, last: int) -> bool:
    """One word of the span has its head outside, the only one that outside words may depend on."""
    inside = range(first, last + 1)
    out = [word for word in inside if heads[word - 1] not in inside]
    into = {head for word, head in enumerate(heads, 1) if word not in inside and head in inside}
    return len(out) == 1 and into <= set(out)


def fits(heads: tuple[int, ...], given: Constraints) -> bool:
    return (
        all(heads[word - 1] == head for word, head in given.heads.items())
        and all(heads[word - 1] != head for word, head in given.forbidden)
        and (given.root is None or heads[given.root - 1] == 0)
        and all(is_unit(heads, *span) for span in given.spans)
    )


Relations = NDArray[np.float64] | None


def obeying(
    problem: Problem,
    given: Constraints,
    relation: Relations,
    root: set[int],
    head_scores: Relations = None,
    *,
    shares: bool = False,
) -> dict[tuple[int, ...], list[float]]:
    """Try every legal sequence: by tree that obeys, the scores of its sequences.

    A word with a constraint on its relations counts with the best it may have, or with the share of all it may have.
    """
    leaf, internal = problem[0].tolist(), problem[1].tolist()
    found = defaultdict(list)
    for tags in brute_force.legal_sequences(len(leaf)):
        heads = tuple(to_heads(tags))
        score = brute_force.score(tags, leaf, internal)
        if not fits(heads, given):
            continue
        if head_scores is not None:
            score += float(head_scores[np.arange(len(heads)), heads].sum())
        for word, allowed in given.relations.items():

            def right(one: int, is_root: bool = heads[word - 1] == 0) -> bool:
                return not root or (one in root) == is_root

            fitting = [one for one in allowed if right(one)]
            if not fitting:
                score = -math.inf
            elif relation is not None:
                row = relation[word - 1, tags[2 * word - 2] % relation.shape[1]]
                every = [one for one in range(len(row)) if right(one)]
                weight = math.fsum(map(math.exp, row[fitting])) / math.fsum(map(math.exp, row[every]))
                score += math.log(weight) if shares else max(row[fitting])
        if score > -math.inf:
            found[heads].append(score)
    return dict(found)
