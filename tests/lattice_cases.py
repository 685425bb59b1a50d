"""Scores for the tests of the lattice, and sums over all legal sequences."""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import brute_force
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
