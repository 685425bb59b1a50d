"""Calibration: fit the temperature that makes probabilities match how often the parser is right.

A trained network is overconfident. All scores of tags are divided by one number, the temperature, before they are
renormalised over trees (Guo et al. 2017, "On Calibration of Modern Neural Networks", ICML). This changes no tree and no
order of trees, since sums of scores keep their order. Relations have a temperature of their own.

The temperature is the one that makes gold heads (gold relations) most likely. It is fitted on dev, not on train, where
the network is right about nearly everything. The epoch was chosen on dev too, but nothing better is left. To measure
what the temperature is worth, no sentence is judged with a temperature that was fitted on it: dev is split in two, and
each half is judged with the temperature of the other (`cross_judged`). What is stored is then fitted on all of dev.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode.limits import EXACT_HEADS
from hexatagger.errors import ConfigError
from hexatagger.model.card import update_card
from hexatagger.model.folder import store_temperature
from hexatagger.model.labels import MISSING, Labels
from hexatagger.model.temperature import Calibration, Temperature
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.parser import Parser, load
from hexatagger.parsing.predictions import Prediction
from hexatagger.parsing.probabilities import arc_probabilities
from hexatagger.parsing.write import write
from hexatagger.sentence import Sentence
from hexatagger.tags import Scheme, lift
from hexatagger.tags.projective import split_mark
from hexatagger.tree import fits_head, is_tree

Numbers = NDArray[np.float64]
Bools = NDArray[np.bool_]

BINS = 15
_LOWEST, _HIGHEST, _CLOSE = 0.2, 10.0, 0.01
"""Range of the search for a temperature, and its relative precision."""
_ENOUGH = 30_000
"""Number of words to fit a temperature on: enough for one number."""
_CHARTED_WORDS, _CHARTED = 30, 2_000
"""The same with pointers, where each sentence takes a chart: maximal sentence length, and number of words."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Words with similar probabilities."""

    words: int
    sure: float
    """Their mean probability."""
    right: float
    """The share of them that is correct."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability diagram: what has a probability of 80 % should be right in 80 of 100 cases."""

    bins: tuple[Bin, ...]
    error: float
    """Expected calibration error: the mean distance of the two over all words."""


def reliability(sure: Numbers, right: Bools, *, bins: int = BINS) -> Reliability:
    """Compare probabilities with how often they are right, in bins of equal width; empty bins are left out.

    >>> found = reliability(np.array([0.9, 0.9, 0.9, 0.1]), np.array([True, True, False, False]), bins=2)
    >>> [(each.words, each.sure, round(each.right, 3)) for each in found.bins], round(found.error, 3)
    ([(1, 0.1, 0.0), (3, 0.9, 0.667)], 0.2)
    """
    place = np.minimum((sure * bins).astype(np.intp), bins - 1)
    words = np.bincount(place, minlength=bins)
    sums, hits = np.bincount(place, sure, bins), np.bincount(place, right, bins)
    made = tuple(
        Bin(count, total / count, hit / count)
        for count, total, hit in zip(words.tolist(), sums.tolist(), hits.tolist(), strict=True)
        if count
    )
    return Reliability(made, float(np.abs(sums - hits).sum() / max(1, len(sure))))


@dataclass(frozen=True, slots=True)
class Judged:
    """Parsed words: how sure the parser is, and whether it is right."""

    head: Numbers
    """Probability of the head."""
    head_right: Bools
    arc: Numbers
    """Probability of head and relation together; NaN if relations are scored given the head (see `_given_head`)."""
    arc_right: Bools
    las_right: Bools
    """As LAS counts it: without the subtype of the relation."""


def judge(
    predictions: Sequence[Prediction],
    gold: Sequence[Sentence],
    labels: Labels,
    *,
    scheme: Scheme,
    temperature: Temperature,
) -> Judged:
    """Parse sentences and compare them with gold; the predictions must have the scores of all relations."""
    trees = best_trees(predictions)
    arcs = arc_probabilities(predictions, temperature.tags, leaf_tags=_joint(predictions))
    roots = np.array(labels.root_mask)
    parts: list[tuple[Numbers, ...]] = [(np.empty(0),) * 5]
    written = write(gold, predictions, trees, labels, lift=scheme)
    for prediction, sentence, tree, each, parsed in zip(predictions, gold, trees, arcs, written, strict=True):
        pairs = list(zip(parsed, sentence, strict=True))
        heads = np.array(tree.heads)
        chosen = each.joint[np.arange(len(heads)), :, heads]  # (words, leaf tags)
        if _given_head([prediction]):
            shares = np.full_like(chosen, np.nan)
        else:
            shares = _relation_shares(prediction, heads, roots, temperature)[np.arange(len(heads)), :, tree.deprels]
        head_right = np.array([own.head == other.head for own, other in pairs])
        same = np.array([own.deprel == other.deprel for own, other in pairs])
        alike = np.array([own.deprel.split(":")[0] == other.deprel.split(":")[0] for own, other in pairs])
        sure = np.minimum(chosen.sum(1), 1.0), head_right, np.minimum((chosen * shares).sum(1), 1.0)
        parts.append((*sure, head_right & same, head_right & alike))
    head, head_right, arc, arc_right, las_right = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Judged(head, head_right > 0, arc, arc_right > 0, las_right > 0)


def _fitted_on(predictions: Sequence[Prediction], gold: Sequence[Sentence]) -> list[int]:
    """Return the sentences to fit a temperature on; if they take charts, only short ones if there are any."""
    # a sentence of one word has only one tree
    trees = [number for number, each in enumerate(gold) if 1 < len(each) <= EXACT_HEADS and is_tree(each.heads)]
    if all(each.head is None for each in predictions):
        return trees[:: _every(gold, trees, _ENOUGH)]
    trees = [number for number in trees if len(gold[number]) <= _CHARTED_WORDS] or trees
    return trees[:: _every(gold, trees, _CHARTED)]


def _every(gold: Sequence[Sentence], chosen: Iterable[int], enough: int) -> int:
    """Return n so that every n-th of these sentences is about `enough` words."""
    return max(1, -(-sum(len(gold[number]) for number in chosen) // enough))


def _joint(predictions: Sequence[Prediction]) -> bool:
    """Say whether relations are predicted jointly with leaf tags."""
    return any(each.relations is not None and each.relations.shape[1] == 2 for each in predictions)


def _given_head(predictions: Sequence[Prediction]) -> bool:
    """Say whether relations are scored given each head.

    The scores of relations are then summed over heads, and the probability of a relation given its head is not known.
    """
    return any(each.pairs is not None for each in predictions)


def _relation_shares(
    prediction: Prediction, heads: NDArray[np.integer[Any]], roots: Bools, temperature: Temperature
) -> Numbers:
    """Return the probabilities of relations given heads, for each leaf tag or for both: (words, 2 or 1, relations)."""
    assert prediction.relations is not None
    scores = prediction.relations.astype(np.float64)
    scores /= temperature.tags if scores.shape[1] == 2 else temperature.relations
    scores = np.where(fits_head(roots, (heads == 0)[:, None])[:, None], scores, -np.inf)
    shares: Numbers = np.exp(scores - np.logaddexp.reduce(scores, -1, keepdims=True))
    return shares


def fit_temperature(
    predictions: Sequence[Prediction], gold: Sequence[Sentence], labels: Labels, *, scheme: Scheme
) -> Temperature:
    """Return the temperatures that make gold most likely; gold trees are lifted first."""
    chosen = _fitted_on(predictions, gold)
    if not chosen:
        return Temperature()
    said = [predictions[number] for number in chosen]
    lifted = [lift(gold[number].heads, gold[number].deprels, scheme) for number in chosen]
    heads = [np.array(tree) for tree, _ in lifted]

    def of_heads(warm: float) -> list[Numbers]:
        arcs = arc_probabilities(said, warm, leaf_tags=False)
        return [each.joint[np.arange(len(tree)), 0, tree] for each, tree in zip(arcs, heads, strict=True)]

    names = [np.array(labels.relations.ids([split_mark(deprel)[0] for deprel in deprels])) for _, deprels in lifted]
    roots = np.array(labels.root_mask)

    def of_relations(warm: float) -> list[Numbers]:
        found = []
        for prediction, tree, relations in zip(said, heads, names, strict=True):
            shares = _relation_shares(prediction, tree, roots, Temperature(relations=warm))
            known = np.flatnonzero(relations != MISSING)
            found.append(shares[known, 0, relations[known]])
        return found

    return Temperature(_most_likely(of_heads), 1.0 if _joint(said) or _given_head(said) else _most_likely(of_relations))


def _most_likely(gold: Callable[[float], list[Numbers]]) -> float:
    """Return the temperature at which the gold probabilities that a function returns are greatest."""

    def loss(log_temperature: float) -> float:
        return -float(np.log(np.maximum(np.concatenate(gold(math.exp(log_temperature))), 1e-12)).mean())

    return round(math.exp(_least(loss, math.log(_LOWEST), math.log(_HIGHEST), _CLOSE)), 3)


def _least(function: Callable[[float], float], low: float, high: float, close: float) -> float:
    """Return the minimum of a unimodal function by golden section search.

    >>> abs(_least(lambda x: (x - 1) ** 2, -3.0, 4.0, 0.01) - 1) < 0.01
    True
    """
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > close:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2


def cross_judged(
    predictions: Sequence[Prediction], gold: Sequence[Sentence], labels: Labels, *, scheme: Scheme
) -> tuple[Judged, tuple[Temperature, Temperature]]:
    """Judge each half of the sentences with the temperature fitted on the other half; return both temperatures too."""
    halves = [(predictions[start::2], gold[start::2]) for start in (0, 1)]
    first, second = (fit_temperature(*half, labels, scheme=scheme) for half in halves)
    judged = [
        judge(*half, labels, scheme=scheme, temperature=temperature)
        for half, temperature in zip(halves, (second, first), strict=True)
    ]
    names = Judged.__dataclass_fields__
    whole = Judged(**{name: np.concatenate([getattr(each, name) for each in judged]) for name in names})
    return whole, (first, second)


def calibrate(parser: Parser, gold: Sequence[Sentence]) -> Calibration:
    """Fit the temperature of a model on sentences that it was not trained on; nothing is stored."""
    gold = [sentence for sentence in gold if len(sentence)]
    if not gold:
        raise ConfigError("there are no sentences to calibrate with: name a file that has some")
    labels, scheme = parser.labels, parser.config.lift
    if parser.config.pointers:
        gold = gold[:: _every(gold, range(len(gold)), 3 * _CHARTED)]
    predictions = parser.predict(gold)
    chosen = _fitted_on(predictions, gold)
    if not chosen:
        raise ConfigError(
            f"there is no tree to fit a temperature on: name a file that has some of 2 to {EXACT_HEADS} words"
        )
    raw = judge(predictions, gold, labels, scheme=scheme, temperature=Temperature())
    crossed, _ = cross_judged(predictions, gold, labels, scheme=scheme)
    temperature = fit_temperature(predictions, gold, labels, scheme=scheme)
    fitted = sum(len(gold[number]) for number in chosen)
    return Calibration(temperature, fitted, len(raw.head), _errors(raw), _errors(crossed))


def _errors(judged: Judged) -> tuple[float, ...]:
    head = reliability(judged.head, judged.head_right).error
    return (head,) if np.isnan(judged.arc).any() else (head, reliability(judged.arc, judged.arc_right).error)


def calibrate_folder(model: Path, gold: Sequence[Sentence]) -> Calibration:
    """Find the temperature of a model folder; write it into config.json and into the card if it `helps`."""
    found = calibrate(load(model), gold)
    if found.helps:
        store_temperature(model, found.temperature)
        update_card(model, calibration=found)
    return found
