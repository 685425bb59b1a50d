"""The decoders of the biaffine baseline against all trees there are."""

import itertools

import numpy as np
import pytest

from hexatagger.tree import is_projective, is_tree
from mst import best_projective, best_projective_trees, best_tree, best_trees, greedy_heads


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


def test_a_batch_gives_what_its_sentences_give() -> None:
    randomness = np.random.default_rng(3)
    lengths = [7, 0, 1, 12, 2, 5, 12, 3, 9, 4, 11]
    scores = randomness.normal(size=(len(lengths), 13, 13)).astype(np.float32)
    for row, length in enumerate(lengths):  # what lies beyond the end must not matter
        scores[row, length + 1 :], scores[row, :, length + 1 :] = 1e9, 1e9
    for many, one in ((best_trees, best_tree), (best_projective_trees, best_projective)):
        alone = [one(scores[row, : length + 1, : length + 1]) for row, length in enumerate(lengths)]
        assert many(scores, lengths) == alone


def test_greedy_heads_that_are_a_tree_are_told_from_those_that_are_not() -> None:
    randomness = np.random.default_rng(4)
    scores = randomness.normal(size=(400, 5, 5))
    lengths = randomness.integers(1, 5, 400).tolist()
    found, trees = greedy_heads(scores, lengths)
    assert [is_tree(heads) for heads in found] == trees
    assert 0 < sum(trees) < len(trees)
    for row, (heads, length) in enumerate(zip(found, lengths, strict=True)):
        square = scores[row, : length + 1, : length + 1]
        assert [
            max(set(range(length + 1)) - {word}, key=lambda head: square[word, head]) for word in range(1, length + 1)
        ] == heads
