"""Calibration: fit the temperature that makes probabilities match how often the parser is right.

A trained network is overconfident. All scores of tags are divided by one number, the temperature, before they are
renormalised over trees (Guo et al. 2017, "On Calibration of Modern Neural Networks", ICML). This changes no tree and no
order of trees. Deprels have a temperature of their own. Both are those that make gold most likely on dev; on train the
network is right about nearly everything.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode.lattice import Bools, Scores
from hexatagger.decode.limits import EXACT_HEADS
from hexatagger.errors import ConfigError
from hexatagger.model.card import update_card
from hexatagger.model.folder import store_temperature
from hexatagger.model.labels import MISSING, Labels
from hexatagger.model.temperature import Calibration, Temperature
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.parsing.predictions import Prediction
from hexatagger.parsing.probabilities import arc_probabilities
from hexatagger.parsing.write import write
from hexatagger.scoring.breakdown import universal
from hexatagger.sentence import Sentence
from hexatagger.tags import Scheme, lift
from hexatagger.tags.projective import split_mark
from hexatagger.tree import fits_head, is_tree

_LOWEST, _HIGHEST, _CLOSE = 0.2, 10.0, 0.01  # range of the search for a temperature, and its relative precision
_ENOUGH = 30_000  # words to fit a temperature on
_CHARTED_WORDS, _CHARTED = 30, 2_000
"""With pointers, where each sentence takes a chart: maximal sentence length, and words to fit a temperature on."""


_STEPS = math.ceil(math.log(math.log(_HIGHEST / _LOWEST) / _CLOSE) / math.log((math.sqrt(5) + 1) / 2)) + 2
"""How many temperatures a search tries."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Words with similar probabilities: how many, their mean probability, and the share of them that is correct."""

    words: int
    sure: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability diagram: what has a probability of 80 % should be right in 80 of 100 cases."""

    bins: tuple[Bin, ...]
    error: float  # expected calibration error: the mean distance of the two over all words


def reliability(sure: Scores, right: Bools, *, bins: int = 15) -> Reliability:
    """Compare probabilities with how often they are right, in bins of equal width; empty bins are left out.

    >>> found = reliability(np.array([0.9, 0.9, 0.9, 0.1]), np.array([True, True, False, False]), bins=2)
    >>> [(each.words, each.sure, round(each.right, 3)) for each in found.bins], round(found.error, 3)
    ([(1, 0.1, 0.0), (3, 0.9, 0.667)], 0.2)
    """
    place = np.minimum((sure * bins).astype(np.intp), bins - 1)
    words, sums, hits = (np.bincount(place, weights, bins) for weights in (None, sure, right))
    filled = np.flatnonzero(words)
    made = [Bin(int(words[n]), float(sums[n] / words[n]), float(hits[n] / words[n])) for n in filled]
    return Reliability(tuple(made), float(np.abs(sums - hits).sum() / max(1, len(sure))))


@dataclass(frozen=True, slots=True)
class Judged:
    """Parsed words: how sure the parser is, and whether it is right."""

    head: Scores  # probability of the head
    head_right: Bools
    arc: Scores
    """Probability of head and deprel together; NaN if deprels are scored given the head (see `_deprel_shares`)."""
    arc_right: Bools
    las_right: Bools  # as LAS counts it: without the subtype of the deprel


def judge(
    predictions: Sequence[Prediction],
    gold: Sequence[Sentence],
    labels: Labels,
    *,
    scheme: Scheme,
    temperature: Temperature,
) -> Judged:
    """Parse sentences and compare them with gold; the predictions must have the scores of all deprels."""
    trees = best_trees(predictions)
    arcs = arc_probabilities(predictions, temperature.tags, leaf_tags=_joint(predictions))
    roots = np.array(labels.root_mask)
    sure_heads, sure_arcs = [np.empty(0)], [np.empty(0)]
    for prediction, tree, each in zip(predictions, trees, arcs, strict=True):
        places, heads = np.arange(len(tree.heads)), np.array(tree.heads)
        chosen = each.joint[places, :, heads]  # (words, leaf tags)
        shares = _deprel_shares(prediction, heads, roots, temperature)[places, :, tree.deprels]
        sure_heads.append(chosen.sum(1))
        sure_arcs.append((chosen * shares).sum(1))
    written = itertools.chain(*write(gold, predictions, trees, labels, lift=scheme))
    pairs = list(zip(written, itertools.chain(*gold), strict=True))
    right = np.array([own.head == other.head for own, other in pairs], bool)
    same = np.array([own.deprel == other.deprel for own, other in pairs], bool)
    alike = np.array([universal(own.deprel) == universal(other.deprel) for own, other in pairs], bool)
    head, arc = (np.minimum(np.concatenate(parts), 1.0) for parts in (sure_heads, sure_arcs))
    return Judged(head, right, arc, right & same, right & alike)


def _fitted_on(predictions: Sequence[Prediction], gold: Sequence[Sentence]) -> list[int]:
    """Return the sentences to fit a temperature on; if they take charts, only short ones if there are any."""
    # a sentence of one word has only one tree
    trees = [number for number, each in enumerate(gold) if 1 < len(each) <= EXACT_HEADS and is_tree(each.heads)]
    if all(each.head is None for each in predictions):
        return _thinned(trees, gold, _ENOUGH)
    return _thinned([number for number in trees if len(gold[number]) <= _CHARTED_WORDS] or trees, gold, _CHARTED)


def _thinned(numbers: Sequence[int], gold: Sequence[Sentence], enough: int) -> list[int]:
    """Return every n-th of these sentences, so that they have about `enough` words."""
    words = sum(len(gold[number]) for number in numbers)
    return list(numbers[:: max(1, math.ceil(words / enough))])


def _joint(predictions: Sequence[Prediction]) -> bool:
    """Say whether deprels are predicted jointly with leaf tags."""
    return any(each.relations is not None and each.relations.shape[1] == 2 for each in predictions)


def _deprel_shares(
    prediction: Prediction, heads: NDArray[np.integer[Any]], roots: Bools, temperature: Temperature
) -> Scores:
    """Return the probabilities of deprels given heads, for each leaf tag or for both: (words, 2 or 1, deprels).

    All are NaN if deprels are scored given each head: the network puts out their sums over heads only.
    """
    assert prediction.relations is not None
    scores = prediction.relations.astype(np.float64)
    if prediction.pairs is not None:
        return np.full_like(scores, np.nan)
    scores /= temperature.tags if scores.shape[1] == 2 else temperature.relations
    scores = np.where(fits_head(roots, (heads == 0)[:, None])[:, None], scores, -np.inf)
    shares: Scores = np.exp(scores - np.logaddexp.reduce(scores, -1, keepdims=True))
    return shares


def fit_temperature(
    predictions: Sequence[Prediction],
    gold: Sequence[Sentence],
    labels: Labels,
    *,
    scheme: Scheme,
    tick: Callable[[], None] = lambda: None,
) -> Temperature:
    """Return the temperatures that make gold most likely; gold trees are lifted first.

    `tick` is called for each temperature of tags that is tried.
    """
    chosen = _fitted_on(predictions, gold)
    if not chosen:
        return Temperature()
    predictions = [predictions[number] for number in chosen]
    lifted = [lift(gold[number].heads, gold[number].deprels, scheme) for number in chosen]
    heads = [np.array(tree) for tree, _ in lifted]
    deprels = [np.array(labels.relations.ids([split_mark(name)[0] for name in names])) for _, names in lifted]
    roots = np.array(labels.root_mask)

    def of_heads(temperature: float) -> list[Scores]:
        tick()
        arcs = arc_probabilities(predictions, temperature, leaf_tags=False)
        return [each.joint[np.arange(len(tree)), 0, tree] for each, tree in zip(arcs, heads, strict=True)]

    def of_deprels(temperature: float) -> list[Scores]:
        found, warm = [], Temperature(relations=temperature)
        for prediction, tree, names in zip(predictions, heads, deprels, strict=True):
            known = np.flatnonzero(names != MISSING)
            found.append(_deprel_shares(prediction, tree, roots, warm)[known, 0, names[known]])
        return found

    fixed = _joint(predictions) or any(each.pairs is not None for each in predictions)
    return Temperature(_most_likely(of_heads), 1.0 if fixed else _most_likely(of_deprels))


def _most_likely(gold: Callable[[float], list[Scores]]) -> float:
    """Return the temperature at which gold probabilities are greatest: golden section search over its logarithm.

    >>> abs(_most_likely(lambda temperature: [np.exp([-((temperature - 2) ** 2)])]) - 2) < 0.02
    True
    """

    def loss(log_temperature: float) -> float:
        return -float(np.log(np.maximum(np.concatenate(gold(math.exp(log_temperature))), 1e-12)).mean())

    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    part = (high - low) * (math.sqrt(5) - 1) / 2
    left, right = high - part, low + part
    at_left, at_right = loss(left), loss(right)
    while high - low > _CLOSE:
        if at_left <= at_right:
            high, right, left = right, left, low + right - left  # the two points inside mirror each other
            at_left, at_right = loss(left), at_left
        else:
            low, left, right = left, right, left + high - right
            at_left, at_right = at_right, loss(right)
    return round(math.exp((low + high) / 2), 3)


def cross_judged(
    predictions: Sequence[Prediction],
    gold: Sequence[Sentence],
    labels: Labels,
    *,
    scheme: Scheme,
    tick: Callable[[], None] = lambda: None,
) -> tuple[Judged, tuple[Temperature, Temperature]]:
    """Judge each half of the sentences with the temperature fitted on the other half; return both temperatures too."""
    halves = [(predictions[start::2], gold[start::2]) for start in (0, 1)]
    first, second = (fit_temperature(*half, labels, scheme=scheme, tick=tick) for half in halves)
    one = judge(*halves[0], labels, scheme=scheme, temperature=second)
    other = judge(*halves[1], labels, scheme=scheme, temperature=first)
    whole = [np.concatenate([getattr(one, each.name), getattr(other, each.name)]) for each in fields(Judged)]
    return Judged(*whole), (first, second)


def calibrate(
    parser: Parser, gold: Sequence[Sentence], *, report: Callable[[float], None] = lambda done: None
) -> Calibration:
    """Fit the temperature of a model on sentences that it was not trained on; nothing is stored.

    `report` is called with the share of the work that is done.
    """
    gold = [sentence for sentence in gold if len(sentence)]
    if not gold:
        raise ConfigError("there are no sentences to calibrate with: name a file that has some")
    if parser.config.scores_heads:
        gold = [gold[number] for number in _thinned(range(len(gold)), gold, 3 * _CHARTED)]
    ticks = itertools.count(1)

    def tick() -> None:
        report(min(1.0, next(ticks) / (3 * _STEPS)))  # three searches

    predictions, labels, scheme = parser.predict(gold), parser.labels, parser.config.lift
    fitted = sum(len(gold[number]) for number in _fitted_on(predictions, gold))
    if not fitted:
        wanted = f"name a file that has some of 2 to {EXACT_HEADS} words"
        raise ConfigError(f"there is no tree to fit a temperature on: {wanted}")
    raw = judge(predictions, gold, labels, scheme=scheme, temperature=Temperature())
    crossed, _ = cross_judged(predictions, gold, labels, scheme=scheme, tick=tick)
    temperature = fit_temperature(predictions, gold, labels, scheme=scheme, tick=tick)
    return Calibration(temperature, fitted, len(raw.head), _errors(raw), _errors(crossed))


def _errors(judged: Judged) -> tuple[float, ...]:
    head = reliability(judged.head, judged.head_right).error
    return (head,) if np.isnan(judged.arc).any() else (head, reliability(judged.arc, judged.arc_right).error)


def calibrate_folder(
    model: Path, gold: Sequence[Sentence], *, report: Callable[[float], None] = lambda done: None
) -> Calibration:
    """Find the temperature of a model folder; write it into config.json and into the card if it `helps`."""
    found = calibrate(load(model), gold, report=report)
    if found.helps:
        store_temperature(model, found.temperature)
        update_card(model, calibration=found)
    return found
