import contextlib
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force
from hexatagger.decode import (
    Constraints,
    arc_probabilities,
    best,
    best_constrained,
    chart_cost,
    kbest,
    kbest_constrained,
    probabilities_given,
)
from hexatagger.decode.chart import problem as chart_problem
from hexatagger.decode.chart.chart import Chart
from hexatagger.errors import ConstraintError, DecodeError, HexataggerError
from hexatagger.tags import to_heads
from lattice_cases import Problem, Relations, fits, is_unit, obeying, problems, random_problem


@st.composite
def constraints(draw: st.DrawFn, size: int, relations: int = 0) -> Constraints:
    word, head = st.integers(1, size), st.integers(0, size)
    span = st.tuples(word, word).map(lambda pair: (min(pair), max(pair)))
    few = 2
    return Constraints(
        heads=draw(st.dictionaries(word, head, max_size=few)),
        forbidden=draw(st.lists(st.tuples(word, head), max_size=2 * few)),
        relations=draw(
            st.dictionaries(word, st.sets(st.integers(0, relations - 1), min_size=1), max_size=few)
            if relations
            else st.just({})
        ),
        root=draw(st.one_of(st.none(), word)),
        spans=draw(st.lists(span, max_size=few)),
    )


def expected_score(problem: Problem, given: Constraints, relation: Relations, root: set[int]) -> float:
    return max(itertools.chain.from_iterable(obeying(problem, given, relation, root).values()), default=-math.inf)


@given(st.data())
@settings(max_examples=400)
def test_the_best_tree_that_obeys_is_that_of_enumeration(data: st.DataObject) -> None:
    problem = data.draw(problems(6))
    given = data.draw(constraints(len(problem[0])))
    expected = expected_score(problem, given, None, set())
    if expected == -math.inf:
        with pytest.raises(HexataggerError) as caught:
            best_constrained(*problem, given)
        possible = any(fits(heads, given) for heads in brute_force.projective_trees(len(problem[0])))
        assert isinstance(caught.value, DecodeError if possible else ConstraintError)
        return
    found = best_constrained(*problem, given)
    assert found.score == pytest.approx(expected, abs=1e-9)
    assert brute_force.score(found.tags.tolist(), *(part.tolist() for part in problem)) == pytest.approx(
        expected, abs=1e-9
    )
    assert fits(tuple(found.heads.tolist()), given)
    assert found.heads.tolist() == to_heads(found.tags.tolist())


@given(st.data())
@settings(max_examples=200)
def test_relations_too(data: st.DataObject) -> None:
    problem = data.draw(problems(5))
    size = len(problem[0])
    given = data.draw(constraints(size, 3))
    root = data.draw(st.sampled_from([set(), {0}]))
    relation = None
    if data.draw(st.booleans()):
        relation = random_problem(size * 3, data.draw(st.integers(0, 9)))[0].reshape(size, 2, 3)
        relation = relation[:, : data.draw(st.integers(1, 2))]
    expected = expected_score(problem, given, relation, root)
    if expected == -math.inf:
        with pytest.raises(HexataggerError):
            best_constrained(*problem, given, deprel=relation, root=root)
        return
    found = best_constrained(*problem, given, deprel=relation, root=root)
    assert found.score == pytest.approx(expected, abs=1e-9)
    assert fits(tuple(found.heads.tolist()), given)
    if relation is None:
        assert found.deprels is None
        return
    assert found.deprels is not None
    for word, (head, number) in enumerate(zip(found.heads, found.deprels, strict=True), 1):
        assert number in given.relations.get(word, range(3))
        assert not root or (number in root) == (head == 0)


Asked = tuple[Problem, Constraints, Relations, set[int], Relations]


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    """A sentence with constraints, its relations, those of the root, and what its words say of their heads."""
    problem = draw(problems(5))
    size = len(problem[0])
    relation = None
    if draw(st.booleans()):
        relation = random_problem(size * 3, draw(st.integers(0, 9)))[0].reshape(size, 2, 3)[
            :, : draw(st.integers(1, 2))
        ]
    head_scores = None
    if draw(st.booleans()):
        head_scores = np.random.default_rng(draw(st.integers(0, 9))).normal(size=(size, size + 1), scale=3)
    return problem, draw(constraints(size, 3)), relation, draw(st.sampled_from([set(), {0}])), head_scores


@given(questions(), st.integers(1, 12))
@settings(max_examples=300)
def test_the_k_best_trees_that_obey_are_those_of_enumeration(asked: Asked, k: int) -> None:
    problem, given, relation, root, head_scores = asked
    expected = {heads: max(scores) for heads, scores in obeying(*asked).items()}
    if not expected:
        with pytest.raises(HexataggerError):
            kbest_constrained(*problem, given, k, deprel=relation, root=root, head_scores=head_scores)
        return
    found = kbest_constrained(*problem, given, k, deprel=relation, root=root, head_scores=head_scores)
    assert len(found) == min(k, len(expected)) == len({tuple(tree.heads) for tree in found})
    ranked = sorted(expected.values(), reverse=True)
    assert [tree.score for tree in found] == pytest.approx(ranked[:k], abs=1e-9)
    assert [expected[tuple(tree.heads.tolist())] for tree in found] == pytest.approx(ranked[:k], abs=1e-9)


@given(questions())
@settings(max_examples=300)
def test_probabilities_given_constraints_are_those_of_enumeration(asked: Asked) -> None:
    problem, given, relation, root, head_scores = asked
    weights = {heads: math.fsum(map(math.exp, scores)) for heads, scores in obeying(*asked, shares=True).items()}
    if not weights:
        with pytest.raises(HexataggerError):
            probabilities_given(*problem, given, deprel=relation, root=root, head_scores=head_scores)
        return
    trees = list(brute_force.projective_trees(len(problem[0])))
    found = probabilities_given(*problem, given, trees, deprel=relation, root=root, head_scores=head_scores)
    z = math.fsum(weights.values())
    assert np.exp(found.trees) == pytest.approx([weights.get(tree, 0.0) / z for tree in trees], abs=1e-12)
    head = np.zeros((len(problem[0]), len(problem[0]) + 1))
    for heads, weight in weights.items():
        head[np.arange(len(heads)), heads] += weight / z
    np.testing.assert_allclose(found.head, head, atol=1e-12)


@pytest.mark.parametrize("scale", [0.5, 3.0, 200.0])
def test_without_constraints_everything_is_that_of_the_lattice(scale: float) -> None:
    problem = random_problem(17, 3, scale)
    batch = problem[0][None], problem[1][None], [17]
    [trees], [arcs] = kbest(*batch, 6), arc_probabilities(*batch)
    found = kbest_constrained(*problem, Constraints(), 6)
    assert [tree.heads.tolist() for tree in found] == [tree.heads.tolist() for tree in trees]
    given = probabilities_given(*problem, Constraints(), [tree.heads.tolist() for tree in trees])
    np.testing.assert_allclose(given.head, arcs.head, atol=1e-9)
    np.testing.assert_allclose(given.trees, [tree.log_probability for tree in trees], atol=1e-9)


@pytest.fixture
def charts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of words of every chart that is filled."""
    filled: list[int] = []
    fill = Chart.__init__

    def count(self: Chart, problem: Any, semiring: Any) -> None:
        filled.append(len(problem.leaf))
        fill(self, problem, semiring)

    monkeypatch.setattr(Chart, "__init__", count)
    return filled


@pytest.mark.parametrize("sides", [1, 2])
def test_one_chart_for_words_that_may_be_the_root_or_not(sides: int, charts: list[int]) -> None:
    size = 12
    problem = random_problem(size, 1)
    deprel = random_problem(size * 3, 2)[0].reshape(size, 2, 3)[:, :sides]
    known = Constraints(relations={word: [0, 1] for word in range(1, size + 1)})
    found = best_constrained(*problem, known, deprel=deprel, root=[0])
    probabilities_given(*problem, known, [found.heads], deprel=deprel, root=[0])
    assert len(charts) <= 2


def test_more_spans_than_there_are(charts: list[int]) -> None:
    """All spans of 30 words, 100 times each: not more work than once."""
    size = 30
    spans = [(first, last) for first in range(1, size + 1) for last in range(first, size + 1)] * 100
    with pytest.raises(ConstraintError, match="words 1 to 2 are one span"):
        best_constrained(*random_problem(size, 1), Constraints(spans=spans))
    assert len(charts) <= 2
    [nested] = kbest_constrained(*random_problem(size, 1), Constraints(spans=[(3, 9), (4, 7)] * 1000), 1)
    assert is_unit(tuple(nested.heads.tolist()), 3, 9)
    assert is_unit(tuple(nested.heads.tolist()), 4, 7)


@pytest.mark.parametrize(
    ("given", "k", "probabilities"),
    [
        (Constraints(root=2), 1, False),
        (Constraints(root=2), 1, True),
        (Constraints(heads={3: 1}, relations={2: [0, 1]}), 4, True),
        (Constraints(spans=[(1, 2)], heads={1: 3, 2: 3}), 3, True),
        (Constraints(forbidden=[(3, head) for head in range(9) if head != 3]), 1, False),
    ],
)
def test_the_cost_covers_the_charts(given: Constraints, k: int, probabilities: bool, charts: list[int]) -> None:
    size = 8
    problem = random_problem(size, 1)
    deprel = random_problem(size * 3, 2)[0].reshape(size, 2, 3)
    with contextlib.suppress(ConstraintError):
        kbest_constrained(*problem, given, k, deprel=deprel, root=[0])
        if probabilities:
            probabilities_given(*problem, given, deprel=deprel, root=[0])
    cost = chart_cost(size, given, k=k, probabilities=probabilities, root=[0])
    assert 0 < len(charts) * size**4 <= cost


def test_the_cost_of_what_takes_no_chart() -> None:
    assert chart_cost(100) == chart_cost(100, Constraints(), k=5, probabilities=True) == 0
    assert chart_cost(0, Constraints(root=1)) == 0
    assert chart_cost(100, head_scores=True) == 100**4
    names = Constraints(relations={1: ["root", "nsubj"]})
    assert chart_cost(100, names, k=2, root=["root"]) > chart_cost(100, names, k=2)


def test_sentences_too_long_for_more_than_the_best_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_problem, "CHART", 5)
    problem = random_problem(6, 1)
    known = Constraints(root=2)
    tree = best_constrained(*problem, known).heads.tolist()
    with pytest.raises(DecodeError, match="a sentence of 6 words is too long for probabilities and k-best trees"):
        kbest_constrained(*problem, known, 2)
    with pytest.raises(DecodeError, match="ask for its best tree only, or fix every head"):
        probabilities_given(*problem, known)
    whole = Constraints(heads=dict(enumerate(tree, 1)))
    assert len(kbest_constrained(*problem, whole, 2)) == 1
    assert probabilities_given(*problem, whole, [tree]).trees.tolist() == [0]


@given(problems(9))
def test_without_constraints_it_is_the_best(problem: Problem) -> None:
    [tags] = best(problem[0][None], problem[1][None], [len(problem[0])])
    assert best_constrained(*problem, Constraints()).tags.tolist() == tags.tolist()


@pytest.mark.parametrize("size", [25, 60])
def test_longer_sentences(size: int) -> None:
    problem = random_problem(size, 1)
    [tags] = best(problem[0][None], problem[1][None], [size])
    tree = to_heads(tags.tolist())
    free = best_constrained(*problem, Constraints())
    changed = best_constrained(*problem, Constraints(forbidden=[(5, tree[4])], spans=[(7, 12)]))
    assert changed.heads[4] != tree[4]
    assert is_unit(tuple(changed.heads.tolist()), 7, 12)
    assert changed.score <= free.score
    whole = best_constrained(*problem, Constraints(heads=dict(enumerate(changed.heads.tolist(), 1))))
    assert whole.heads.tolist() == changed.heads.tolist()
    assert whole.score == pytest.approx(changed.score)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Constraints(heads={2: 3, 3: 2}), "cycle: 2 → 3 → 2"),
        (Constraints(heads={2: 2}), "cycle: 2 → 2"),
        (Constraints(heads={1: 2, 2: 3, 3: 2}), "cycle: 2 → 3 → 2"),
        (Constraints(heads={2: 0, 3: 0}), "two words must be the root: 2 and 3"),
        (Constraints(heads={2: 0}, root=3), "two words must be the root: 2 and 3"),
        (Constraints(heads={2: 1}, root=2), "word 2 must be the root, but its head is fixed to 1"),
        (Constraints(heads={1: 3, 2: 4}), "the fixed arcs 3 → 1 and 4 → 2 cross"),
        (Constraints(heads={1: 3}, root=2), "the root 2 lies under the fixed arc 3 → 1"),
        (Constraints(heads={1: 3}, forbidden=[(1, 3)]), "head 3 of word 1 is both fixed and forbidden"),
        (Constraints(root=2, forbidden=[(2, 0)]), "head 0 of word 2 is both fixed and forbidden"),
        (Constraints(heads={7: 1}), "constrained word 7 is outside the sentence (4 words)"),
        (Constraints(heads={1: 7}), "fixed head 7 is outside the sentence (4 words)"),
        (Constraints(root=0), "root 0 is outside"),
        (Constraints(spans=[(3, 2)]), "ends before it begins"),
        (Constraints(spans=[(3, 5)]), "end of a span 5 is outside"),
        (Constraints(relations={1: []}), "the list of allowed deprels of word 1 is empty"),
        (Constraints(relations={1: [0]}, heads={1: 2}), "only root deprels are allowed for it"),
        (Constraints(relations={1: [1]}, root=1), "word 1 is the root, but no root deprel is allowed for it"),
        (Constraints(relations={1: [0], 2: [0]}), "two words must be the root: 1 and 2"),
        (
            Constraints(spans=[(1, 2)], heads={1: 3, 2: 4, 4: 0}),
            "the fixed arcs 3 → 1 and 4 → 2 cross",
        ),
        (
            Constraints(spans=[(1, 2)], heads={1: 3, 2: 3}, forbidden=[(4, 1)]),
            "obeys all of these: the head of word 1 is 3; the head of word 2 is 3; words 1 to 2 are one span",
        ),
        (
            Constraints(forbidden=[(3, head) for head in (0, 1, 2, 4)] + [(1, 2)]),
            "the head of word 3 is not 0; the head of word 3 is not 1; the head of word 3 is not 2; "
            "the head of word 3 is not 4",
        ),
    ],
)
def test_contradictions_are_named(given: Constraints, message: str) -> None:
    with pytest.raises(ConstraintError, match=re.escape(message)):
        best_constrained(np.zeros((4, 2)), np.zeros((3, 4)), given, root=[0])


def test_short_sentences_and_bad_shapes() -> None:
    assert best_constrained(np.zeros((0, 2)), np.zeros((0, 4)), Constraints()).heads.tolist() == []
    assert best_constrained([[0, 0]], [], Constraints(root=1, spans=[(1, 1)])).heads.tolist() == [0]
    with pytest.raises(ConstraintError):
        best_constrained([[0, 0]], [], Constraints(forbidden=[(1, 0)]))
    assert probabilities_given(np.zeros((0, 2)), np.zeros((0, 4)), Constraints(), [[]]).head.shape == (0, 1)
    with pytest.raises(DecodeError, match="k is 0"):
        kbest_constrained([[0, 0]], [], Constraints(), 0)
    with pytest.raises(DecodeError, match="deprel"):
        best_constrained([[0, 0]], [], Constraints(), deprel=np.zeros((2, 2, 3)))
    for head_scores in (np.zeros((1, 3)), [[0, -np.inf]]):
        with pytest.raises(DecodeError, match=r"must be finite and \(1, 2\)"):
            probabilities_given([[0, 0]], [], Constraints(), head_scores=head_scores)


def test_constraints_are_true_when_they_say_something() -> None:
    makers: list[Callable[[], Constraints]] = [
        lambda: Constraints(heads={1: 0}),
        lambda: Constraints(forbidden=[(1, 0)]),
        lambda: Constraints(relations={1: [0]}),
        lambda: Constraints(root=1),
        lambda: Constraints(spans=[(1, 1)]),
    ]
    assert not Constraints()
    assert all(make() for make in makers)
    assert len(makers) == sum(len(make().parts()) for make in makers)
