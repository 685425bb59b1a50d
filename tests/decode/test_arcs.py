import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hexatagger.decode import arc_probabilities, marginals
from hexatagger.errors import DecodeError
from hexatagger.tags import to_heads
from lattice_cases import Problem, enumerate_all, problems, random_problem, stacked


def expected(problem: Problem) -> NDArray[np.float64]:
    size = len(problem[0])
    joint = np.zeros((size, 2, size + 1))
    for tags, share in enumerate_all(problem).items():
        for word, head in enumerate(to_heads(tags)):
            joint[word, tags[2 * word], head] += share
    return joint


@given(st.lists(problems(), min_size=1, max_size=5))
def test_arcs_are_those_of_enumeration(cases: list[Problem]) -> None:
    both = (arc_probabilities(*stacked(cases), leaf_tags=leaf_tags) for leaf_tags in (True, False))
    for problem, arcs, alone in zip(cases, *both, strict=True):
        assert arcs.exact
        np.testing.assert_allclose(arcs.joint, expected(problem), atol=1e-12)
        np.testing.assert_allclose(arcs.head.sum(1), 1, atol=1e-12)
        np.testing.assert_allclose(alone.head, arcs.head, atol=1e-12)
        assert (arcs.error == 0).all()


@pytest.mark.parametrize(("size", "scale"), [(40, 0.0), (75, 2.0), (60, 300.0)])
def test_long_sentences(size: int, scale: float) -> None:
    """They sum to 1, and the leaf tags agree with the lattice."""
    cases = [random_problem(size, 1, scale), random_problem(size - 3, 2), random_problem(4, 3)]
    tags = marginals(*stacked(cases))
    for row, arcs in enumerate(arc_probabilities(*stacked(cases))):
        np.testing.assert_allclose(arcs.head.sum(1), 1, atol=1e-10)
        np.testing.assert_allclose(arcs.joint.sum(2), tags.leaf[row, : len(arcs.joint)], atol=1e-9)


def test_samples_come_close_and_say_how_close() -> None:
    problem = random_problem(8, 5)
    [exact] = arc_probabilities(*stacked([problem]))
    [drawn] = arc_probabilities(*stacked([problem]), exact_words=7, samples=4000, seed=3)
    assert not drawn.exact
    assert drawn.samples == 4000
    assert (abs(drawn.head - exact.head) <= 5 * drawn.error).all()
    assert (drawn.error > 0).all()
    assert (drawn.error < 0.01).all()
    np.testing.assert_allclose(drawn.head.sum(1), 1, atol=1e-12)
    [again] = arc_probabilities(*stacked([problem]), exact_words=7, samples=4000, seed=3)
    np.testing.assert_array_equal(drawn.joint, again.joint)
    [long] = arc_probabilities(*stacked([random_problem(220, 1)]), samples=100, leaf_tags=False)
    assert long.samples == 100
    assert long.joint.shape == (220, 1, 221)
    np.testing.assert_allclose(long.head.sum(1), 1, atol=1e-12)


def test_empty_and_impossible_sentences() -> None:
    none, single = arc_probabilities(np.zeros((2, 1, 2)), np.zeros((2, 0, 4)), [0, 1])
    assert none.head.shape == (0, 1)
    assert single.head.tolist() == [[1, 0]]
    assert arc_probabilities(np.zeros((0, 0, 2)), np.zeros((0, 0, 4)), []) == []
    with pytest.raises(DecodeError, match="sentence 1 of the batch has no legal sequence"):
        arc_probabilities([[[-math.inf, 0]]], [], [1])
