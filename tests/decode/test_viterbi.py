import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force
import reference
from hexatagger.decode import best, heads
from hexatagger.errors import DecodeError
from hexatagger.tags import to_heads

INF = math.inf
whole = st.integers(-3, 3).map(float)
"""Small whole numbers: sums are exact, ties abound."""


@st.composite
def scores(
    draw: st.DrawFn, values: st.SearchStrategy[float] = whole, max_size: int = 7
) -> tuple[list[list[float]], list[list[float]]]:
    size = draw(st.integers(1, max_size))
    leaf = [[draw(values) for _ in range(2)] for _ in range(size)]
    internal = [[draw(values) for _ in range(4)] for _ in range(size - 1)]
    return leaf, internal


def one(leaf: Sequence[Sequence[float]], internal: Sequence[Sequence[float]], **options: int) -> list[int]:
    [tags] = best(np.array([leaf]), np.array([internal]).reshape(1, len(leaf) - 1, 4), [len(leaf)], **options)
    return tags.tolist()  # type: ignore[no-any-return]


@given(scores())
@settings(max_examples=300)
def test_brute_force_reference_and_batch_agree(problem: tuple[list[list[float]], list[list[float]]]) -> None:
    expected = list(brute_force.best(*problem))
    assert reference.best(*problem) == expected
    assert one(*problem) == expected
    assert one(*problem, levels=1) == expected


@given(scores(st.floats(-1e6, 1e6), 7))
def test_any_finite_scores_give_a_best_tree(problem: tuple[list[list[float]], list[list[float]]]) -> None:
    found = brute_force.score(one(*problem), *problem)
    assert found == pytest.approx(brute_force.score(brute_force.best(*problem), *problem), rel=1e-12, abs=1e-6)
    assert found == pytest.approx(brute_force.score(reference.best(*problem), *problem), rel=1e-12, abs=1e-6)


@given(scores(st.one_of(whole, st.just(-INF)), 5))
@settings(max_examples=300)
def test_forbidden_tags_are_never_used(problem: tuple[list[list[float]], list[list[float]]]) -> None:
    expected = brute_force.best(*problem)
    if brute_force.score(expected, *problem) == -INF:
        with pytest.raises(DecodeError, match="sentence 1 of the batch has no legal sequence"):
            one(*problem)
    else:
        assert one(*problem) == list(expected)
        assert reference.best(*problem) == list(expected)


@given(st.lists(scores(max_size=30), max_size=8), st.sampled_from([1, 2, 3, 12]))
def test_alone_and_in_a_batch_with_any_number_of_levels(
    problems: list[tuple[list[list[float]], list[list[float]]]], levels: int
) -> None:
    lengths = [len(leaf) for leaf, _ in problems]
    longest = max(lengths, default=0)
    leaf_batch = np.full((len(problems), longest, 2), np.nan)  # what lies behind the end must not matter
    internal_batch = np.full((len(problems), max(0, longest - 1), 4), np.nan)
    for row, (leaf, internal) in enumerate(problems):
        leaf_batch[row, : len(leaf)] = leaf
        if internal:
            internal_batch[row, : len(internal)] = internal
    together = best(leaf_batch, internal_batch, lengths, levels=levels)
    assert [tags.tolist() for tags in together] == [one(*problem) for problem in problems]
    assert [found.tolist() for found in heads(together)] == [to_heads(tags.tolist()) for tags in together]


def test_deep_sentences_are_widened_not_failed() -> None:
    """Scores that want to go up for half the sentence and down for the rest need the greatest depth there is."""
    size = 400
    leaf = np.zeros((1, size, 2))
    internal = np.zeros((1, size - 1, 4))
    leaf[0, : size // 2, 0] = leaf[0, size // 2 :, 1] = 1
    internal[0, : size // 2, 0] = internal[0, size // 2 :, 3] = 1
    [tags] = best(leaf, internal, [size])
    depth = np.cumsum(np.array([1, 0, 0, 0, -1, -1])[tags])
    assert depth.max() == size // 2
    assert brute_force.score(tags.tolist(), leaf[0].tolist(), internal[0].tolist()) == 2 * size - 1


def test_ten_thousand_words() -> None:
    randomness = np.random.default_rng(1)
    size = 10_000
    [tags] = best(randomness.normal(size=(1, size, 2)), randomness.normal(size=(1, size - 1, 4)), [size])
    [found] = heads([tags])
    assert found.tolist() == to_heads(tags.tolist())


def test_ties_go_to_the_first_in_dictionary_order() -> None:
    for size in range(1, 7):
        zeros = [[0.0] * 2] * size, [[0.0] * 4] * (size - 1)
        assert one(*zeros) == list(min(brute_force.legal_sequences(size)))


def test_empty_sentences_and_batches() -> None:
    assert best(np.zeros((0, 0, 2)), np.zeros((0, 0, 4)), []) == []
    assert heads([]) == []
    none, single = best(np.zeros((2, 1, 2)), np.zeros((2, 0, 4)), [0, 1])
    assert (none.tolist(), single.tolist()) == ([], [0])
    assert [found.tolist() for found in heads([none, single])] == [[], [0]]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_errors(bad: float) -> None:
    leaf, internal = np.zeros((1, 3, 2)), np.zeros((1, 2, 4))
    leaf[0, 1, 0] = bad
    with pytest.raises(DecodeError, match="leaf scores contain NaN"):
        best(leaf, internal, [3])
    leaf[0, 1, 0], internal[0, 1, 2] = 0, bad
    with pytest.raises(DecodeError, match="internal scores contain NaN"):
        best(leaf, internal, [3])
    assert len(best(leaf, internal, [2])[0]) == 3  # behind the end it does not matter


@pytest.mark.parametrize(
    ("leaf", "internal", "lengths"),
    [
        (np.zeros((1, 3)), np.zeros((1, 2, 4)), [3]),
        (np.zeros((1, 3, 2)), np.zeros((1, 1, 4)), [3]),
        (np.zeros((1, 3, 2)), np.zeros((1, 2, 3)), [3]),
        (np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [4]),
        (np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3, 3]),
        (np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [-1]),
    ],
)
def test_shapes_that_do_not_fit(leaf: np.ndarray, internal: np.ndarray, lengths: list[int]) -> None:
    with pytest.raises(DecodeError):
        best(leaf, internal, lengths)


def test_levels_must_be_positive() -> None:
    with pytest.raises(DecodeError, match="levels is 0"):
        best(np.zeros((1, 1, 2)), np.zeros((1, 0, 4)), [1], levels=0)


@pytest.mark.parametrize("size", range(1, 8))
def test_other_semirings(size: int) -> None:
    randomness = np.random.default_rng(size)
    leaf, internal = randomness.normal(size=(size, 2)).tolist(), randomness.normal(size=(size - 1, 4)).tolist()
    sequences = brute_force.legal_sequences(size)
    sums = [brute_force.score(tags, leaf, internal) for tags in sequences]
    assert reference.total(leaf, internal, reference.COUNT) == len(sequences)
    assert reference.total(leaf, internal, reference.LOG) == pytest.approx(math.log(sum(map(math.exp, sums))))


@pytest.mark.parametrize("size", [8, 12, 20])
def test_the_number_of_legal_sequences(size: int) -> None:
    zeros = [[0.0] * 2] * size, [[0.0] * 4] * (size - 1)
    catalan = math.comb(2 * (size - 1), size - 1) // size
    assert reference.total(*zeros, reference.COUNT) == catalan * 2 ** (size - 1)
