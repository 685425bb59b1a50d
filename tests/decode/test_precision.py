"""Scores so large that rounding hides differences between sequences: an error, never a wrong probability."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from hexatagger.decode import (
    Constraints,
    arc_probabilities,
    best,
    kbest,
    log_partition,
    marginals,
    probabilities_given,
    sample,
)
from hexatagger.errors import DecodeError
from lattice_cases import random_problem, stacked

SIZE = 12

PROBABILITIES: list[Callable[..., Any]] = [
    marginals,
    log_partition,
    arc_probabilities,
    partial(sample, n=3),
    partial(kbest, k=2),
    lambda leaf, internal, lengths: probabilities_given(leaf[0], internal[0], Constraints(root=2)),
]


@pytest.mark.parametrize("ask", PROBABILITIES)
@pytest.mark.parametrize("offset", [1e12, -1e12, 1e15])
def test_too_large_scores_are_refused(ask: Callable[..., Any], offset: float) -> None:
    leaf, internal, lengths = stacked([random_problem(SIZE, 1)])
    with pytest.raises(DecodeError, match=r"log-softmax.*or divide them by a temperature"):
        ask(leaf + offset, internal, lengths)
    with pytest.raises(DecodeError, match="too large"):  # sums that cancel out
        ask(leaf + offset, internal - offset, lengths)


def test_gaps_that_are_too_large_are_refused() -> None:
    """Every legal sequence has a tag far below the best of its place, so the differences between them are lost."""
    leaf, internal, lengths = stacked([random_problem(SIZE, 1)])
    leaf[0, 0, 0] -= 1e12
    with pytest.raises(DecodeError, match="sentence 1 of the batch"):
        marginals(leaf, internal, lengths)


def test_large_head_scores_are_refused() -> None:
    leaf, internal = random_problem(SIZE, 1)
    with pytest.raises(DecodeError, match="too large"):
        probabilities_given(leaf, internal, Constraints(), head_scores=np.full((SIZE, SIZE + 1), 1e12))


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_what_is_not_refused_is_right(offset: float) -> None:
    leaf, internal, lengths = stacked([random_problem(SIZE, 1)])
    expected, found = marginals(leaf, internal, lengths), marginals(leaf + offset, internal - 2 * offset, lengths)
    np.testing.assert_allclose(found.leaf, expected.leaf, atol=1e-6)
    np.testing.assert_allclose(found.internal, expected.internal, atol=1e-6)
    given = probabilities_given(leaf[0] + offset, internal[0], Constraints(root=2))
    np.testing.assert_allclose(
        given.head, probabilities_given(leaf[0], internal[0], Constraints(root=2)).head, atol=1e-6
    )


@pytest.mark.parametrize("mask", [-1e9, -1e15, -1e300, np.finfo(np.float64).min])
def test_masks_are_as_good_as_forbidding(mask: float) -> None:
    leaf, internal, lengths = stacked([random_problem(SIZE, 1)])
    for number in (mask, -np.inf):
        internal[0, 3, 1:] = leaf[0, 5, 0] = number
        if number == mask:
            masked = marginals(leaf, internal, lengths), arc_probabilities(leaf, internal, lengths)[0].head
    np.testing.assert_allclose(masked[0].leaf, marginals(leaf, internal, lengths).leaf, atol=1e-12)
    np.testing.assert_allclose(masked[1], arc_probabilities(leaf, internal, lengths)[0].head, atol=1e-12)


def test_the_best_sequence_takes_any_scores() -> None:
    leaf, internal, lengths = stacked([random_problem(SIZE, 1)])
    assert best(leaf * 1e15, internal * 1e15, lengths)[0].tolist() == best(leaf, internal, lengths)[0].tolist()


def test_scores_that_overflow_are_refused() -> None:
    leaf, internal, lengths = stacked([random_problem(SIZE, 1)])
    for ask in (best, *PROBABILITIES):
        with pytest.raises(DecodeError, match=r"a number above 1e\+300"):
            ask(leaf, np.full_like(internal, 1e305), lengths)
