"""Empty sentences and batches without sentences, in every shape that a program may make of them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from hexatagger.decode import (
    Constraints,
    arc_probabilities,
    best,
    best_constrained,
    candidates,
    heads,
    kbest,
    kbest_constrained,
    log_partition,
    marginals,
    probabilities_given,
    sample,
    sequence_scores,
    tree_scores,
)
from hexatagger.errors import DecodeError

BATCHED: list[Callable[..., Any]] = [
    best,
    log_partition,
    arc_probabilities,
    partial(arc_probabilities, leaf_tags=False),
    partial(arc_probabilities, exact_words=0),
    partial(candidates, rounds=4),
    partial(kbest, k=4),
    partial(sample, n=3),
    partial(sample, n=0),
    lambda *batch: marginals(*batch).log_partition,
]


@pytest.mark.parametrize("ask", BATCHED)
@pytest.mark.parametrize(
    ("leaf", "internal", "lengths"),
    [
        ([], [], []),
        (np.zeros((0, 0, 2)), np.zeros((0, 0, 4)), []),
        (np.zeros((0, 5, 2)), np.zeros((0, 4, 4)), []),
        (np.zeros((0, 1, 2)), np.zeros((0, 1, 4)), np.zeros(0, int)),
        ([[], []], [[], []], [0, 0]),
        (np.zeros((2, 0, 2)), np.zeros((2, 0, 4)), [0, 0]),
        (np.zeros((2, 0, 2)), np.zeros((2, 1, 4)), [0, 0]),
        (np.full((2, 3, 2), np.nan), np.full((2, 2, 4), np.nan), [0, 0]),
    ],
)
def test_nothing_gives_nothing(ask: Callable[..., Any], leaf: Any, internal: Any, lengths: Any) -> None:
    assert len(ask(leaf, internal, lengths)) == len(lengths)


def test_the_answers_for_an_empty_sentence() -> None:
    batch = np.zeros((2, 1, 2)), np.zeros((2, 0, 4)), [0, 1]
    for sides in (1, 2):
        none, single = arc_probabilities(*batch, leaf_tags=sides == 2)
        assert none.joint.shape == (0, sides, 1)
        assert none.head.shape == none.error.shape == (0, 1)
        assert single.joint.shape == (1, sides, 2)
    assert [[len(tree) for tree, _, _ in trees] for trees in candidates(*batch, 3)] == [[0], [1]]
    assert [drawn.shape for drawn in sample(*batch, 5)] == [(5, 0), (5, 1)]


def test_no_trees_and_no_sequences() -> None:
    nothing = np.zeros((0, 0, 2)), np.zeros((0, 0, 4))
    assert heads([]) == []
    assert tree_scores([], *nothing).tolist() == sequence_scores([], *nothing).tolist() == []
    assert tree_scores([], [], []).tolist() == sequence_scores([], [], []).tolist() == []
    assert tree_scores([[]], [[]], [[]]).tolist() == sequence_scores([[]], [[]], [[]]).tolist() == [0]


@pytest.mark.parametrize("deprel", [None, np.zeros((0, 2, 3))])
@pytest.mark.parametrize("head_scores", [None, np.zeros((0, 1)), []])
def test_the_chart_of_an_empty_sentence(deprel: Any, head_scores: Any) -> None:
    shapes: list[tuple[Any, Any]] = [([], []), (np.zeros((0, 2)), np.zeros((0, 4)))]
    for scores in shapes:
        assert best_constrained(*scores, Constraints(), deprel=deprel, root=[0]).heads.tolist() == []
        [only] = kbest_constrained(*scores, Constraints(), 3, deprel=deprel, root=[0], head_scores=head_scores)
        assert only.tags.tolist() == only.heads.tolist() == []
        given = probabilities_given(*scores, Constraints(), [[]], deprel=deprel, root=[0], head_scores=head_scores)
        assert given.trees.tolist() == [0]
        assert given.head.shape == (0, 1)


def test_numbers_of_samples() -> None:
    with pytest.raises(DecodeError, match="samples is 0"):
        arc_probabilities(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3], exact_words=2, samples=0)
    assert sample(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3], 0)[0].shape == (0, 5)
