"""Random score tables against enumeration: best, k-best, marginals, arcs, constraints; with −∞, ties, huge values."""

import functools
import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import brute_force
import reference
from fuzz.cases import Counts, check, run_cases
from hexatagger import decode
from hexatagger.decode import Constraints
from hexatagger.errors import ConstraintError, DecodeError
from hexatagger.tags import to_heads
from lattice_cases import Problem, by_tree, enumerate_all, fits, obeying

_SIZES = range(9)
_WEIGHTS = [1, 4, 8, 16, 16, 12, 4, 0.5, 0.1]  # long sentences have very many sequences


def run(seed: int, *, count: int | None = None, seconds: float | None = None) -> Counts:
    """Try score tables."""
    return run_cases("decoder", case, seed, count=count, seconds=seconds)


def case(chance: random.Random) -> Iterable[str]:
    size = chance.choices(_SIZES, _WEIGHTS)[0]
    problem, scale = _problem(chance, size)
    batch: tuple[Any, Any, list[int]] = (problem[0][None], problem[1][None], [size])
    if size == 0:
        check([each.tolist() for each in decode.best(*batch)] == [[]], "an empty sentence has no tags")
        check([len(tree.heads) for tree in decode.kbest(*batch, 3)[0]] == [0], "an empty sentence has one tree")
        return ["empty"]
    leaf, internal = problem[0].tolist(), problem[1].tolist()
    expected = brute_force.best(leaf, internal)
    highest = brute_force.score(expected, leaf, internal)
    if highest == -math.inf:
        for ask in (decode.best, decode.marginals, decode.arc_probabilities, functools.partial(decode.kbest, k=2)):
            check(_refuses(ask, *batch), "everything is forbidden, and nothing is refused")
        return ["forbidden"]
    near = max(1.0, scale) * 1e-12 * size
    [tags] = decode.best(*batch)
    found = brute_force.score(tags.tolist(), leaf, internal)
    check(abs(found - highest) <= near, f"best {found} instead of {highest} for {problem}")
    if scale == 1:  # small whole numbers: sums are exact, and ties go to the first
        check(tuple(tags.tolist()) == expected == tuple(reference.best(leaf, internal)), f"{tags} not {expected}")
    kinds = ["best", _constrained(chance, problem, scale)]
    try:
        marginals = decode.marginals(*batch)
        [arcs] = decode.arc_probabilities(*batch)
        k = chance.randrange(1, 12)
        [trees] = decode.kbest(*batch, k)
    except DecodeError as error:
        check(scale >= 1e9 and "too large" in str(error), error)
        return [*kinds, "too large"]
    shares, close = enumerate_all(problem), 1e-9 if scale < 1e3 else 1e-16 * scale * 1e3 + 1e-9
    own, joint = [np.zeros_like(each) for each in problem], np.zeros((size, size + 1))
    for sequence, share in shares.items():
        for place, tag in enumerate(sequence):
            own[place % 2][place // 2, tag - 2 * (place % 2)] += share
        joint[np.arange(size), to_heads(sequence)] += share
    np.testing.assert_allclose(marginals.leaf[0], own[0], atol=close)
    np.testing.assert_allclose(marginals.internal[0], own[1], atol=close)
    np.testing.assert_allclose(arcs.head, joint, atol=close)
    by_heads = by_tree(problem)
    check(len({tuple(tree.heads.tolist()) for tree in trees}) == len(trees), "a tree twice")
    if scale < 1e3:  # else the probability of a possible tree may round to 0
        ranked = sorted((max(share for share, _ in each) for each in by_heads.values()), reverse=True)[:k]
        best = [max(share for share, _ in by_heads[tuple(tree.heads.tolist())]) for tree in trees]
        np.testing.assert_allclose(best, ranked, rtol=1e-6)
        total = [math.fsum(share for share, _ in by_heads[tuple(tree.heads.tolist())]) for tree in trees]
        np.testing.assert_allclose([math.exp(tree.log_probability) for tree in trees], total, atol=1e-9)
    return [*kinds, "probabilities"]


def _problem(chance: random.Random, size: int) -> tuple[Problem, float]:
    """Return scores and their scale; 1 means small whole numbers with ties."""
    scale = chance.choice([1, 1, 3.0, 30.0, 1e4, 1e6, 1e9, 1e12, 1e15])

    def value() -> float:
        return float(chance.randrange(-3, 4)) if scale == 1 else chance.gauss(0, 1) * scale

    forbidden = chance.choice([0, 0, 0.05, 0.3, 0.7])
    shapes = ((size, 2), (max(0, size - 1), 4))
    leaf, internal = (
        np.array([-math.inf if chance.random() < forbidden else value() for _ in range(rows * width)]).reshape(
            rows, width
        )
        for rows, width in shapes
    )
    return (leaf, internal), scale


def _constrained(chance: random.Random, problem: Problem, scale: float) -> str:
    """Compare the best tree, the k best and probabilities under random constraints."""
    size = len(problem[0])
    if size > 6 or scale > 30:
        return "not constrained"

    def word() -> int:
        return chance.randrange(1, size + 1)

    def head() -> int:
        return chance.randrange(size + 1)

    spans = [tuple(sorted((word(), word()))) for _ in range(chance.randrange(3))]
    known = Constraints(
        heads={word(): head() for _ in range(chance.randrange(3))},
        forbidden=[(word(), head()) for _ in range(chance.randrange(4))],
        root=chance.choice([None, None, word()]),
        spans=[(first, last) for first, last in spans],
    )
    expected = obeying(problem, known, None, set())
    if not expected:
        check(_refuses(decode.best_constrained, *problem, known), f"{known} contradict, but are not refused")
        return "contradiction"
    k = chance.randrange(1, 6)
    ranked = sorted((max(scores) for scores in expected.values()), reverse=True)
    best = decode.best_constrained(*problem, known)
    check(fits(tuple(best.heads.tolist()), known), f"{best} does not obey {known}")
    np.testing.assert_allclose(best.score, ranked[0], atol=1e-9)
    trees = decode.kbest_constrained(*problem, known, k)
    np.testing.assert_allclose([tree.score for tree in trees], ranked[:k], atol=1e-9)
    top = ranked[0]
    weights = {heads: math.fsum(math.exp(score - top) for score in scores) for heads, scores in expected.items()}
    total, given = math.fsum(weights.values()), decode.probabilities_given(*problem, known)
    shares = np.zeros((size, size + 1))
    for heads, weight in weights.items():
        shares[np.arange(size), heads] += weight / total
    np.testing.assert_allclose(given.head, shares, atol=1e-9)
    return "constrained"


def _refuses(ask: Callable[..., Any], *arguments: Any) -> bool:
    try:
        ask(*arguments)
    except (DecodeError, ConstraintError):
        return True
    return False
