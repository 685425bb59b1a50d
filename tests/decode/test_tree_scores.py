import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute_force
import strategies
from hexatagger.decode import best, heads, marginals, sequence_scores, tree_scores
from hexatagger.decode.tree_scores import best_of_tree
from hexatagger.errors import TagError, TreeError
from hexatagger.tags.hexatag import Hexatag
from lattice_cases import Problem, by_tree, enumerate_all, problems, random_problem, stacked
from reference import COUNT, LOG, tree_total


@given(problems())
def test_a_tree_is_the_sum_of_its_sequences(problem: Problem) -> None:
    leaf, internal = problem
    log_partition = marginals(leaf[None], internal[None], [len(leaf)]).log_partition[0]
    trees = by_tree(problem)
    found = tree_scores(list(trees), *(np.repeat(part[None], len(trees), 0) for part in problem))
    for score, (tree, sequences) in zip(found, trees.items(), strict=True):
        assert math.exp(score - log_partition) == pytest.approx(math.fsum(share for share, _ in sequences), rel=1e-9)
        highest, tags = best_of_tree(tree, leaf, internal)
        assert math.exp(highest - log_partition) == pytest.approx(max(share for share, _ in sequences), rel=1e-9)
        assert [share for share, sequence in sequences if sequence == tuple(tags)] == [
            pytest.approx(max(share for share, _ in sequences), rel=1e-9)
        ]


@pytest.mark.parametrize("size", range(1, 7))
def test_every_sequence_belongs_to_one_tree(size: int) -> None:
    counts = [tree_total(tree, lambda place, tag: 1, COUNT) for tree in brute_force.projective_trees(size)]
    assert sum(counts) == len(brute_force.legal_sequences(size))


@given(st.lists(strategies.projective_trees(40), max_size=6), st.integers(0, 99))
def test_slow_and_fast_agree(trees: list[list[int]], seed: int) -> None:
    cases = [random_problem(len(tree), seed + number) for number, tree in enumerate(trees)]
    leaf, internal, _ = stacked(cases)
    found = tree_scores(trees, leaf, internal)
    for (leaves, nodes), tree, score in zip(cases, trees, found, strict=True):

        def weigh(place: int, tag: Hexatag, leaves=leaves, nodes=nodes) -> float:  # type: ignore[no-untyped-def]
            return float(nodes[place // 2, tag - 2] if place % 2 else leaves[place // 2, tag])

        assert score == pytest.approx(tree_total(tree, weigh, LOG), rel=1e-10)


def test_a_flat_tree_of_many_words() -> None:
    """C(200, 100) sequences."""
    tree = [101] * 100 + [0] + [101] * 100
    [found] = tree_scores([tree], np.zeros((1, 201, 2)), np.zeros((1, 200, 4)))
    assert found == pytest.approx(math.log(math.comb(200, 100)))


@given(problems())
def test_sequence_scores(problem: Problem) -> None:
    leaf, internal = (part[None] for part in problem)
    [tags] = best(leaf, internal, [leaf.shape[1]])
    [log_partition] = marginals(leaf, internal, [leaf.shape[1]]).log_partition
    [score] = sequence_scores([tags], leaf, internal)
    assert math.exp(score - log_partition) == pytest.approx(enumerate_all(problem)[tuple(tags.tolist())], rel=1e-9)
    assert tree_scores([found.tolist() for found in heads([tags])], leaf, internal)[0] >= score - 1e-9


def test_what_is_no_tree_or_sequence() -> None:
    assert tree_scores([[]], np.zeros((1, 0, 2)), np.zeros((1, 0, 4))).tolist() == [0]
    with pytest.raises(TreeError, match="not projective"):
        tree_scores([[3, 4, 0, 3]], np.zeros((1, 4, 2)), np.zeros((1, 3, 4)))
    with pytest.raises(TreeError, match="cycle"):
        tree_scores([[2, 1, 0]], np.zeros((1, 3, 2)), np.zeros((1, 2, 4)))
    with pytest.raises(TagError):
        sequence_scores([[1]], np.zeros((1, 1, 2)), np.zeros((1, 0, 4)))
