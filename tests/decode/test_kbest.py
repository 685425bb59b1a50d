import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger.decode import best, candidates, kbest, marginals, sequence_scores
from hexatagger.decode.chart.kbest import ranked_trees
from hexatagger.decode.chart.problem import unconstrained
from hexatagger.errors import DecodeError
from hexatagger.tags import to_heads
from lattice_cases import Problem, by_tree, problems, random_problem, stacked


@given(st.lists(problems(), min_size=1, max_size=4), st.integers(1, 40))
def test_the_best_trees_are_those_of_enumeration(cases: list[Problem], k: int) -> None:
    batch = stacked(cases)
    log_partition = marginals(*batch).log_partition
    for row, (problem, trees) in enumerate(zip(cases, kbest(*batch, k), strict=True)):
        expected = by_tree(problem)
        assert len(trees) == min(k, len(expected))
        ranked = sorted((max(share for share, _ in sequences) for sequences in expected.values()), reverse=True)
        assert [math.exp(tree.score - log_partition[row]) for tree in trees] == pytest.approx(ranked[:k], rel=1e-9)
        assert len({tuple(tree.heads.tolist()) for tree in trees}) == len(trees)
        for tree in trees:
            sequences = {tags: share for share, tags in expected[tuple(tree.heads.tolist())]}
            assert math.exp(tree.log_probability) == pytest.approx(math.fsum(sequences.values()), rel=1e-9)
            assert sequences[tuple(tree.tags.tolist())] == pytest.approx(max(sequences.values()), rel=1e-9)


@given(st.lists(problems(12, forbidden=False), min_size=1, max_size=6), st.integers(1, 5))
def test_the_first_is_that_of_best(cases: list[Problem], k: int) -> None:
    batch = stacked(cases)
    for tags, trees in zip(best(*batch), kbest(*batch, k), strict=True):
        assert trees[0].tags.tolist() == tags.tolist()
        assert trees[0].heads.tolist() == to_heads(tags.tolist())
        scores = [tree.score for tree in trees]
        assert scores == pytest.approx(sorted(scores, reverse=True), rel=1e-12)  # ties may round apart


@given(st.lists(problems(), min_size=1, max_size=4), st.integers(1, 40))
def test_candidates_are_the_trees_of_the_best_sequences(cases: list[Problem], rounds: int) -> None:
    batch = stacked(cases)
    log_partition = marginals(*batch).log_partition
    for row, (problem, trees) in enumerate(zip(cases, candidates(*batch, rounds), strict=True)):
        shares = {tags: share for sequences in by_tree(problem).values() for share, tags in sequences}
        least = sorted(shares.values(), reverse=True)[:rounds][-1]
        found = {tuple(heads.tolist()) for heads, _, _ in trees}
        assert len(found) == len(trees)
        assert found >= {tuple(to_heads(tags)) for tags, share in shares.items() if share > least * (1 + 1e-9)}
        assert found <= {tuple(to_heads(tags)) for tags, share in shares.items() if share >= least * (1 - 1e-9)}
        for heads, tags, score in trees:
            assert heads.tolist() == to_heads(tags.tolist())
            assert math.exp(score - log_partition[row]) == pytest.approx(shares[tuple(tags.tolist())], rel=1e-9)


def test_candidates_of_one_tree_with_many_sequences() -> None:
    [found] = candidates(*stacked([flat(20)]), 100)
    assert [heads.tolist() for heads, _, _ in found] == [[21] * 20 + [0] + [21] * 20]


@pytest.mark.parametrize("size", [30, 60, 200])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_alone_and_in_a_batch(size: int, scale: float) -> None:
    cases = [random_problem(size - 7 * number, number, scale) for number in range(3)]
    for problem, trees in zip(cases, kbest(*stacked(cases), 5), strict=True):
        [alone] = kbest(*stacked([problem]), 5)
        assert [tree.heads.tolist() for tree in trees] == [tree.heads.tolist() for tree in alone]
        assert [tree.log_probability for tree in trees] == pytest.approx([tree.log_probability for tree in alone])


def test_deep_sentences_are_widened() -> None:
    size = 60
    leaf, internal = random_problem(size, 1, 0.1)
    leaf[: size // 2, 0] += 9
    leaf[size // 2 :, 1] += 9
    internal[: size // 2, 0] += 9
    internal[size // 2 :, 3] += 9
    [trees] = kbest(leaf[None], internal[None], [size], 3)
    [tags] = best(leaf[None], internal[None], [size])
    assert trees[0].tags.tolist() == tags.tolist()
    assert len(trees) == 3
    scores = sequence_scores([tree.tags for tree in trees], *(np.repeat(part[None], 3, 0) for part in (leaf, internal)))
    assert scores.tolist() == pytest.approx([tree.score for tree in trees])


@given(problems(5), st.integers(1, 6))
def test_listing_trees_gives_the_same(problem: Problem, k: int) -> None:
    expected = by_tree(problem)
    ranked = sorted((max(share for share, _ in sequences) for sequences in expected.values()), reverse=True)
    [first] = best(problem[0][None], problem[1][None], [len(problem[0])])
    listed = itertools.islice(ranked_trees(unconstrained(*problem), first=first), k)
    trees = [tuple(to_heads(tags.tolist())) for _, tags in listed]
    assert len(set(trees)) == len(trees)
    assert [max(share for share, _ in expected[tree]) for tree in trees] == pytest.approx(ranked[:k], rel=1e-9)


def flat(side: int) -> Problem:
    """Scores that want all words to depend on the middle one, whatever the order: C(2 · side, side) sequences."""
    leaf, internal = np.zeros((2 * side + 1, 2)), np.zeros((2 * side, 4))
    leaf[:side, 1] = leaf[side + 1 :, 0] = -50
    internal[:side, ::2] = internal[side:, 1::2] = -50
    internal += np.random.default_rng(1).normal(size=internal.shape)
    return leaf, internal


def test_one_tree_with_many_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = flat(4)
    [expected] = kbest(*stacked([problem]), 4)
    assert expected[0].heads.tolist() == [5, 5, 5, 5, 0, 5, 5, 5, 5]
    monkeypatch.setattr(sys.modules["hexatagger.decode.kbest"], "_ROUNDS", 5)
    [found] = kbest(*stacked([problem]), 4)
    assert [tree.score for tree in found] == pytest.approx([tree.score for tree in expected])
    assert [tree.heads.tolist() for tree in found] == [tree.heads.tolist() for tree in expected]
    assert found[0].tags.tolist() == expected[0].tags.tolist()


def test_one_tree_with_too_many_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 137,846,528,820 sequences not all are listed."""
    monkeypatch.setattr(sys.modules["hexatagger.decode.kbest"], "_ROUNDS", 100)
    [found] = kbest(*stacked([flat(20)]), 2)
    assert found[0].heads.tolist() == [21] * 20 + [0] + [21] * 20
    assert found[0].log_probability > -1e-6
    assert found[1].heads.tolist() != found[0].heads.tolist()


def test_a_sentence_too_long_for_a_chart_gets_the_trees_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["hexatagger.decode.kbest"], "_ROUNDS", 5)
    monkeypatch.setattr(sys.modules["hexatagger.decode.kbest"], "CHART", 8)
    [found] = kbest(*stacked([flat(4)]), 4)
    assert [tree.heads.tolist() for tree in found] == [[5, 5, 5, 5, 0, 5, 5, 5, 5]]


def test_empty_sentences_and_bad_numbers() -> None:
    none, single = kbest(np.zeros((2, 1, 2)), np.zeros((2, 0, 4)), [0, 1], 3)
    assert [(tree.heads.tolist(), tree.log_probability) for tree in none] == [([], 0)]
    assert [(tree.heads.tolist(), tree.log_probability) for tree in single] == [([0], 0)]
    assert kbest(np.zeros((0, 0, 2)), np.zeros((0, 0, 4)), [], 3) == []
    with pytest.raises(DecodeError, match="k is 0"):
        kbest(np.zeros((1, 1, 2)), [], [1], 0)
    with pytest.raises(DecodeError, match="no legal sequence"):
        kbest([[[-math.inf, 0]]], [], [1], 2)
