import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import brute_force
from hexatagger.decode import Constraints, best, best_constrained
from hexatagger.errors import ConstraintError, DecodeError, HexataggerError
from hexatagger.tags import to_heads
from lattice_cases import Problem, problems, random_problem


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


def is_unit(heads: tuple[int, ...], first: int, last: int) -> bool:
    """One word of the span has its head outside, the only one that outside words may depend on."""
    inside = range(first, last + 1)
    out = [word for word in inside if heads[word - 1] not in inside]
    into = {head for word, head in enumerate(heads, 1) if word not in inside and head in inside}
    return len(out) == 1 and into <= set(out)


def fits(heads: tuple[int, ...], given: Constraints) -> bool:
    return (
        all(heads[word - 1] == head for word, head in given.heads.items())
        and all(heads[word - 1] != head for word, head in given.forbidden)
        and (given.root is None or heads[given.root - 1] == 0)
        and all(is_unit(heads, *span) for span in given.spans)
    )


def expected_score(problem: Problem, given: Constraints, relation: NDArray[np.float64] | None, root: set[int]) -> float:
    """Try every legal sequence with the best relations its words may have."""
    leaf, internal = problem[0].tolist(), problem[1].tolist()
    highest = -math.inf
    for tags in brute_force.legal_sequences(len(leaf)):
        heads = tuple(to_heads(tags))
        score = brute_force.score(tags, leaf, internal)
        if not fits(heads, given):
            continue
        for word, allowed in given.relations.items():
            fitting = [one for one in allowed if not root or (one in root) == (heads[word - 1] == 0)]
            if not fitting:
                score = -math.inf
            elif relation is not None:
                score += max(relation[word - 1, tags[2 * word - 2] % relation.shape[1], one] for one in fitting)
        highest = max(highest, score)
    return highest


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
            best_constrained(*problem, given, relation=relation, root=root)
        return
    found = best_constrained(*problem, given, relation=relation, root=root)
    assert found.score == pytest.approx(expected, abs=1e-9)
    assert fits(tuple(found.heads.tolist()), given)
    if relation is None:
        assert found.relations is None
        return
    assert found.relations is not None
    for word, (head, number) in enumerate(zip(found.heads, found.relations, strict=True), 1):
        assert number in given.relations.get(word, range(3))
        assert not root or (number in root) == (head == 0)


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
        (Constraints(heads={2: 0, 3: 0}), "two words are to be the root: 2 and 3"),
        (Constraints(heads={2: 0}, root=3), "two words are to be the root: 2 and 3"),
        (Constraints(heads={2: 1}, root=2), "word 2 is to be the root, but its head is fixed to 1"),
        (Constraints(heads={1: 3, 2: 4}), "the fixed arcs 3 → 1 and 4 → 2 cross"),
        (Constraints(heads={1: 3}, root=2), "the root 2 lies under the fixed arc 3 → 1"),
        (Constraints(heads={1: 3}, forbidden=[(1, 3)]), "head 3 of word 1 is both fixed and forbidden"),
        (Constraints(root=2, forbidden=[(2, 0)]), "head 0 of word 2 is both fixed and forbidden"),
        (Constraints(heads={7: 1}), "constrained word 7 is outside the sentence (4 words)"),
        (Constraints(heads={1: 7}), "fixed head 7 is outside the sentence (4 words)"),
        (Constraints(root=0), "root 0 is outside"),
        (Constraints(spans=[(3, 2)]), "ends before it begins"),
        (Constraints(spans=[(3, 5)]), "end of a span 5 is outside"),
        (Constraints(relations={1: []}), "word 1 may have no relation at all"),
        (Constraints(relations={1: [0]}, heads={1: 2}), "may only have a relation of the root"),
        (Constraints(relations={1: [1]}, root=1), "word 1 is the root, but may have no relation of the root"),
        (Constraints(relations={1: [0], 2: [0]}), "two words are to be the root: 1 and 2"),
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
    with pytest.raises(DecodeError, match="relation"):
        best_constrained([[0, 0]], [], Constraints(), relation=np.zeros((2, 2, 3)))


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
