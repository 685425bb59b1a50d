"""The decoders of the biaffine baseline against all trees there are."""

import itertools

import numpy as np
import pytest

from hexatagger.tree import is_projective, is_tree
from mst import best_projective, best_tree


def total(scores: np.ndarray, heads: list[int]) -> float:
    return float(sum(scores[word, head] for word, head in enumerate(heads, 1)))


@pytest.mark.parametrize("size", range(1, 6))
@pytest.mark.parametrize("peak", [1.0, 1e6])
def test_best_trees_are_the_best_of_all_trees(size: int, peak: float) -> None:
    randomness = np.random.default_rng(size)
    trees = [heads for heads in itertools.product(range(size + 1), repeat=size) if is_tree(heads)]
    for _ in range(20):
        scores = randomness.normal(size=(size + 1, size + 1)) * peak
        for decoder, allowed in (
            (best_tree, trees),
            (best_projective, [each for each in trees if is_projective(each)]),
        ):
            found = decoder(scores)
            best = max(total(scores, list(heads)) for heads in allowed)
            assert tuple(found) in set(allowed)
            assert np.isclose(total(scores, found), best)


def test_long_sentences() -> None:
    scores = np.random.default_rng(0).normal(size=(121, 121))
    projective, free = best_projective(scores), best_tree(scores)
    assert is_tree(projective)
    assert is_projective(projective)
    assert is_tree(free)
    assert total(scores, free) >= total(scores, projective)
