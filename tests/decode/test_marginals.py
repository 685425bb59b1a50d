import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import brute_force
import reference
from hexatagger.decode import log_partition, marginals, sample
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import is_legal
from lattice_cases import Problem, enumerate_all, problems, random_problem, stacked


def expected_shares(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    leaf, internal = np.zeros_like(problem[0]), np.zeros_like(problem[1])
    for tags, share in enumerate_all(problem).items():
        for place, tag in enumerate(tags):
            if place % 2:
                internal[place // 2, tag - 2] += share
            else:
                leaf[place // 2, tag] += share
    return leaf, internal


@given(st.lists(problems(), min_size=1, max_size=5))
def test_posteriors_are_those_of_enumeration(cases: list[Problem]) -> None:
    found = marginals(*stacked(cases))
    for row, problem in enumerate(cases):
        size = len(problem[0])
        leaf, internal = expected_shares(problem)
        np.testing.assert_allclose(found.leaf[row, :size], leaf, atol=1e-12)
        np.testing.assert_allclose(found.internal[row, : size - 1], internal, atol=1e-12)
        assert (found.leaf[row, size:] == 0).all()
        assert (found.internal[row, max(0, size - 1) :] == 0).all()
        expected = reference.total(problem[0].tolist(), problem[1].tolist(), reference.LOG)
        assert found.log_partition[row] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 70, 300, 2000])
@pytest.mark.parametrize("scale", [0.0, 2.0, 300.0])
def test_long_sentences_sum_to_one(size: int, scale: float) -> None:
    found = marginals(*stacked([random_problem(size, 1, scale), random_problem(3, 2)]))
    assert np.isfinite(found.log_partition).all()
    np.testing.assert_allclose(found.leaf[0, :size].sum(-1), 1, atol=1e-9)
    np.testing.assert_allclose(found.internal[0, : size - 1].sum(-1), 1, atol=1e-9)


def test_no_mass_is_lost_in_deep_sentences() -> None:
    """Scores that want the greatest depth there is, and scores that want it with half of the mass only."""
    size = 200
    leaf, internal = np.zeros((1, size, 2)), np.zeros((1, size - 1, 4))
    leaf[0, : size // 2, 0] = leaf[0, size // 2 :, 1] = 30
    internal[0, : size // 2, 0] = internal[0, size // 2 :, 3] = 30
    found = marginals(leaf, internal, [size])
    assert found.leaf[0, size // 2 - 1, 0] == pytest.approx(1, abs=1e-9)
    for lean in (0.0, 0.4, 0.8, 3.0):
        flat = random_problem(120, 5, 0.0)
        flat[0][:60, 0] += lean
        flat[0][60:, 1] += lean
        expected = reference.total(flat[0].tolist(), flat[1].tolist(), reference.LOG)
        [total] = log_partition(flat[0][None], flat[1][None], [120])
        assert total == pytest.approx(expected, rel=0, abs=1e-10)


def test_empty_and_impossible_sentences() -> None:
    found = marginals(np.zeros((2, 1, 2)), np.zeros((2, 0, 4)), [0, 1])
    assert found.log_partition.tolist() == [0, 0]
    assert found.leaf.tolist() == [[[0, 0]], [[1, 0]]]
    assert marginals(np.zeros((0, 0, 2)), np.zeros((0, 0, 4)), []).log_partition.shape == (0,)
    with pytest.raises(DecodeError, match="sentence 2 of the batch has no legal sequence"):
        marginals([[[0.0, 0.0]], [[-math.inf, 0.0]]], np.zeros((2, 0, 4)), [1, 1])


@given(st.lists(problems(), min_size=1, max_size=4), st.integers(0, 2**32))
def test_samples_are_legal_possible_and_seeded(cases: list[Problem], seed: int) -> None:
    drawn = sample(*stacked(cases), 20, seed=seed)
    for problem, tags in zip(cases, drawn, strict=True):
        [alone] = sample(*stacked([problem]), 20, seed=seed)
        np.testing.assert_array_equal(tags, alone)
        for sequence in tags.tolist():
            assert is_legal(sequence)
            assert brute_force.score(sequence, *(part.tolist() for part in problem)) > -math.inf


def test_samples_have_their_probabilities() -> None:
    problem = random_problem(5, 3)
    n = 20_000
    [drawn] = sample(*stacked([problem]), n, seed=7)
    counts = {tuple(tags): count for tags, count in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True)}
    probabilities = enumerate_all(problem)
    chi = sum((counts.get(tags, 0) - n * share) ** 2 / (n * share) for tags, share in probabilities.items())
    freedom = len(probabilities) - 1
    assert chi < freedom + 5 * math.sqrt(2 * freedom)


def test_samples_of_long_and_empty_sentences() -> None:
    problem = random_problem(300, 4)
    none, long = sample(*stacked([(np.zeros((0, 2)), np.zeros((0, 4))), problem]), 5)
    assert none.shape == (5, 0)
    assert all(is_legal(tags) for tags in long.tolist())
    with pytest.raises(DecodeError, match="n is -1"):
        sample(*stacked([problem]), -1)
