import json
from pathlib import Path

import numpy as np
import pytest

import brute_force
from hexatagger import FormatError, Sentence, decode
from hexatagger.model.card import Card, write_card
from hexatagger.model.config import Recipe
from hexatagger.model.folder import read_folder, store_temperature
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.model.temperature import Calibration, Temperature
from hexatagger.parsing.calibrate import (
    _STEPS,
    Judged,
    _errors,
    _fitted_on,
    calibrate_folder,
    cross_judged,
    fit_temperature,
    judge,
    reliability,
)
from hexatagger.parsing.predictions import Prediction
from hexatagger.tags import to_heads
from lattice_cases import random_problem

LABELS = Labels(LabelSet(["root", "nsubj", "obj"]))


def drawn(count: int, *, tags: float, relations: float) -> tuple[list[Prediction], list[Sentence]]:
    """Sentences of a world as a network sees it that is too sure by these factors."""
    randomness = np.random.default_rng(5)
    predictions, gold = [], []
    for number in range(count):
        size = int(randomness.integers(1, 9))
        leaf, internal = random_problem(size, number, 1.0)
        [[sequence]] = decode.sample(leaf[None], internal[None], [size], 1, seed=number)
        [heads] = decode.heads([sequence])
        scores = randomness.normal(size=(size, 1, 3))
        shares = np.exp(scores[:, 0, 1:]) / np.exp(scores[:, 0, 1:]).sum(-1, keepdims=True)
        chosen = 1 + (randomness.random(size) > shares[:, 0])
        names = ["root" if head == 0 else LABELS.relations[one] for head, one in zip(heads, chosen, strict=True)]
        padded = np.concatenate([internal, np.zeros((1, 4))])
        best = scores[..., 1:].argmax(-1) + 1
        predictions.append(
            Prediction(
                (leaf * tags).astype(np.float32),
                (padded * tags).astype(np.float32),
                best,
                np.zeros_like(best),
                relations=(scores * relations).astype(np.float32),
            )
        )
        gold.append(Sentence.from_words(["w"] * size, heads=heads.tolist(), deprels=names))
    return predictions, gold


def test_the_temperature_is_found() -> None:
    predictions, gold = drawn(500, tags=2.0, relations=1.5)
    found = fit_temperature(predictions, gold, LABELS, scheme="head")
    assert found.tags == pytest.approx(2.0, rel=0.15)
    assert found.relations == pytest.approx(1.5, rel=0.15)
    raw = judge(predictions, gold, LABELS, scheme="head", temperature=Temperature())
    crossed, halves = cross_judged(predictions, gold, LABELS, scheme="head")
    assert len(crossed.head) == len(raw.head) == sum(map(len, gold))
    assert all(half.tags == pytest.approx(2.0, rel=0.25) for half in halves)
    for name in ("head", "arc"):
        before, after = (
            reliability(getattr(each, name), getattr(each, f"{name}_right")).error for each in (raw, crossed)
        )
        assert after < before / 2


def test_the_temperature_of_votes_is_found() -> None:
    """The world has the trees that tags and words that point say together, and less often than they say."""
    randomness = np.random.default_rng(3)
    predictions, gold = drawn(500, tags=1.0, relations=1.0)
    for place, (prediction, sentence) in enumerate(zip(predictions, gold, strict=True)):
        size = min(5, len(sentence))
        votes = randomness.normal(size=(size, size + 1), scale=2)
        leaf, internal = prediction.leaf[:size], prediction.internal[:size]
        sums = {
            tags: brute_force.score(tags, leaf.tolist(), internal.tolist())
            + votes[np.arange(size), to_heads(tags)].sum()
            for tags in brute_force.legal_sequences(size)
        }
        shares = np.exp(list(sums.values()))
        tags = list(sums)[randomness.choice(len(sums), p=shares / shares.sum())]
        assert prediction.relations is not None
        predictions[place] = Prediction(
            2 * leaf,
            2 * internal,
            prediction.relation[:size],
            prediction.root[:size],
            relations=prediction.relations[:size],
            head=(2 * votes).astype(np.float32),
        )
        gold[place] = Sentence.from_words(["w"] * size, heads=to_heads(tags), deprels=["obj"] * size)
    found = fit_temperature(predictions, gold, LABELS, scheme="head")
    assert found.tags == pytest.approx(2.0, rel=0.15)
    before, after = (
        reliability(each.head, each.head_right).error
        for each in (
            judge(predictions, gold, LABELS, scheme="head", temperature=temperature)
            for temperature in (Temperature(), found)
        )
    )
    assert after < before / 2


def test_what_is_judged() -> None:
    """The probability of the head is that of the arc, and the relation is right or wrong with it."""
    predictions, gold = drawn(40, tags=1.0, relations=1.0)
    found = judge(predictions, gold, LABELS, scheme="head", temperature=Temperature())
    arcs = [
        each.head[word, head]
        for each, prediction in zip(decode.arc_probabilities(*_stacked(predictions)), predictions, strict=True)
        for word, head in enumerate(_best(prediction))
    ]
    np.testing.assert_allclose(found.head, arcs, atol=1e-6)
    assert (found.arc <= found.head).all()
    assert not (found.arc_right & ~found.head_right).any()
    assert (found.las_right == found.arc_right).all()  # no relation has a subtype here
    assert found.head_right.mean() == pytest.approx(found.head.mean(), abs=0.15)


def _stacked(predictions: list[Prediction]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    lengths = [len(each.leaf) for each in predictions]
    leaf, internal = np.zeros((len(lengths), max(lengths), 2)), np.zeros((len(lengths), max(lengths), 4))
    for row, each in enumerate(predictions):
        leaf[row, : lengths[row]], internal[row, : lengths[row]] = each.leaf, each.internal
    return leaf, internal, lengths


def _best(prediction: Prediction) -> list[int]:
    [tags] = decode.best(prediction.leaf[None], prediction.internal[None], [len(prediction.leaf)])
    return list(decode.heads([tags])[0].tolist())


def test_short_sentences_are_enough_where_each_takes_a_chart() -> None:
    def said(*lengths: int) -> tuple[list[Prediction], list[Sentence]]:
        predictions, _ = drawn(len(lengths), tags=1.0, relations=1.0)
        for prediction in predictions:
            prediction.head = np.zeros((1, 2), np.float32)
        chains = [Sentence.from_words(["w"] * n, heads=list(range(n)), deprels=["obj"] * n) for n in lengths]
        return predictions, chains

    assert _fitted_on(*said(1, 5, 31, 30, 101)) == [1, 3]
    assert _fitted_on(*said(1, 31, 101)) == [1]
    assert _fitted_on(*said(1, 101)) == []


def test_nothing_to_fit_on() -> None:
    assert fit_temperature([], [], LABELS, scheme="head") == Temperature()
    nothing = judge([], [], LABELS, scheme="head", temperature=Temperature())
    assert isinstance(nothing, Judged)
    assert reliability(nothing.head, nothing.head_right).error == 0


def test_a_perfect_forecast_has_no_error() -> None:
    randomness = np.random.default_rng(1)
    sure = randomness.random(20_000)
    right = randomness.random(20_000) < sure
    found = reliability(sure, right)
    assert found.error < 0.02
    assert sum(each.words for each in found.bins) == 20_000
    assert reliability(sure**0.3, right).error > 0.1
    assert reliability(np.ones(3), np.ones(3, bool)).error == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model without a network."""
    (tmp_path / "config.json").write_text(json.dumps({"format": 1, **Recipe().to_dict(), "extra": "Ψ"}))
    (tmp_path / "labels.json").write_text(LABELS.to_json())
    return tmp_path


def test_temperatures_are_in_the_folder(folder: Path) -> None:
    assert read_folder(folder).temperature == Temperature(1.0, 1.0)
    store_temperature(folder, Temperature(tags=1.25, relations=1.5))
    assert read_folder(folder).temperature == Temperature(1.25, 1.5)
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (values["extra"], values["format"]) == ("Ψ", 1)
    store_temperature(folder, Temperature(tags=2.0))
    assert read_folder(folder).temperature == Temperature(2.0, 1.0)


@pytest.mark.parametrize("value", [2, {"tags": 0}, {"tags": -1.0}, {"tags": "warm"}, {"tags": True}, {"words": 1}])
def test_temperatures_that_are_none(folder: Path, value: object) -> None:
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | {"temperature": value}))
    with pytest.raises(FormatError, match=r"config\.json: .*temperature"):
        read_folder(folder)


def test_relations_given_the_head_are_not_judged() -> None:
    """The scores of relations are then sums over heads: times the probability of a head they would mean nothing."""
    predictions, gold = drawn(60, tags=2.0, relations=1.5)
    for prediction in predictions:
        size = len(prediction.leaf)
        prediction.pairs = np.ones((size, size + 1), np.int64)
    found = fit_temperature(predictions, gold, LABELS, scheme="head")
    assert found.relations == 1.0
    assert found.tags > 1.2
    judged = judge(predictions, gold, LABELS, scheme="head", temperature=found)
    assert np.isnan(judged.arc).all()
    assert len(_errors(judged)) == 1


@pytest.mark.parametrize(("after", "stored"), [((0.01, 0.02), True), ((0.05, 0.09), False)])
def test_only_a_temperature_that_helps_is_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch, after: tuple[float, float], stored: bool
) -> None:
    found = Calibration(Temperature(1.5, 1.25), 789, 1234, (0.04, 0.06), after)
    monkeypatch.setattr("hexatagger.parsing.calibrate.calibrate", lambda parser, gold, report: found)
    monkeypatch.setattr("hexatagger.parsing.calibrate.load", lambda model: None)
    write_card(folder, Card())
    assert calibrate_folder(folder, []).helps == stored
    assert read_folder(folder).temperature == (found.temperature if stored else Temperature())
    assert ("## Probabilities" in (folder / "README.md").read_text()) == stored


def test_a_search_tells_every_step() -> None:
    predictions, gold = drawn(30, tags=2.0, relations=1.0)
    told: list[None] = []
    fit_temperature(predictions, gold, LABELS, scheme="head+path", tick=lambda: told.append(None))
    assert len(told) == _STEPS
