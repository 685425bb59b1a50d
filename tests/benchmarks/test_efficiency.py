"""What the efficiency benchmark measures are the parsers themselves: its trees are theirs."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")
pytest.importorskip("accelerate", reason="learning needs the extra 'train'")

import torch

import efficiency
from biaffine import DECODERS, load_biaffine, train_biaffine
from efficiency import (
    Scores,
    after_biaffine,
    after_hexatagger,
    baseline,
    enlarged,
    keep_growth,
    load_base,
    make_batches,
    measure_parsers,
    predict_windows,
    sentences,
    time_parts,
)
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import Recipe
from hexatagger.parsing.choose import Tree, best_trees
from hexatagger.train.data import collate, encode
from hexatagger.train.job import Job, train
from hexatagger.train.predict import predict
from report import needed_speed
from tiny import RECIPE, make_encoder, write_treebank

linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Namespace:
    """Train both parsers for two epochs on a tiny encoder that reads 64 pieces."""
    place = tmp_path_factory.mktemp("efficiency")
    treebank = write_treebank(place)
    settings = [f"model.encoder={make_encoder(place)}", "model.lstm_layers=0", "training.epochs=2"]
    recipe = Recipe.from_toml(RECIPE).with_settings(settings)
    jobs = [
        Job(recipe=recipe, train=[treebank], dev=[treebank], out=place / name, export=False)
        for name in ("base", "other")
    ]
    train(jobs[0])
    train_biaffine(jobs[1], lambda event: None)
    return Namespace(hexatagger=jobs[0].out, biaffine=jobs[1].out, treebank=treebank)


def plain(trees: list[Tree]) -> list[tuple[list[int], list[int]]]:
    return [(tree.heads, tree.deprels.tolist()) for tree in trees]


@torch.no_grad()
def test_the_trees_are_those_of_the_parser(folders: Namespace) -> None:
    model, gold = load_base(folders.hexatagger), list(read_conllu(folders.treebank))
    [part] = make_batches(model, gold, 16)
    after = after_hexatagger(model.network, torch.tensor(model.labels.root_mask))
    found = after(model.network.layers(**part[1])[-1], part, {})
    assert plain(found) == plain(best_trees(predict(model, [example for example, _ in part[0]])))


@torch.no_grad()
def test_long_sentences_are_put_together_from_windows(folders: Namespace) -> None:
    model, gold = load_base(folders.hexatagger), list(read_conllu(folders.treebank))
    network, roots = model.network, torch.tensor(model.labels.root_mask)
    examples = [
        encode(each, model.recipe.model, model.labels, model.cutter(), gold=False) for each in sentences(gold, "100", 2)
    ]
    items = [(example, window) for example in examples for window in example.windows]
    assert len(items) > 2
    batches = [(items, collate(items, pad=model.pad).inputs)]
    vectors = [network.layers(**batches[0][1])[-1]]
    found = predict_windows(network, roots, vectors, batches, examples)
    assert plain(best_trees(found)) == plain(best_trees(predict(model, examples)))
    taken = time_parts(model, sentences(gold, "100", 2))
    assert taken["decoding"] > 0
    assert 0 < taken["after the encoder"] < taken["whole"]


@torch.no_grad()
def test_scores_of_trained_models_are_decoded_above_a_larger_encoder(folders: Namespace) -> None:
    base, other = load_base(folders.hexatagger), load_biaffine(folders.biaffine)
    gold, roots = list(read_conllu(folders.treebank)), torch.tensor(base.labels.root_mask)
    [part] = make_batches(base, gold, 16)
    network, rival = enlarged(base, width=64, layers=3)
    vectors = network.layers(**part[1])[-1]
    assert vectors.shape[-1] == 64
    small = base.network.layers(**part[1])[-1]
    tags = base.network.score(small, part[1]["lengths"])
    found, wanted = after_hexatagger(network, roots)(vectors, part, tags), after_hexatagger(base.network, roots)
    assert plain(found) == plain(wanted(small, part, {}))
    trained = baseline(other)
    small = trained.words.layers(**part[1])[-1]
    arcs = {"head": trained.score(small, part[1]["lengths"])["head"]}
    for name in DECODERS:
        heads, _ = after_biaffine(rival, roots, name)(vectors, part, arcs)
        assert heads.tolist() == after_biaffine(trained, roots, name)(small, part, {})[0].tolist()


@linux
@torch.no_grad()
def test_every_parser_has_times_and_peaks(folders: Namespace) -> None:
    model, gold = load_base(folders.hexatagger), list(read_conllu(folders.treebank))
    batches = make_batches(model, gold, 4)
    none: list[Scores] = [{}] * len(batches)
    parsers = {"hexatagger": (after_hexatagger(model.network, torch.tensor(model.labels.root_mask)), none)}
    for passes, times in ((2, 2), (0, 1)):
        figures = measure_parsers(model.network, batches, parsers, runs=2, passes=passes)["hexatagger"]
        assert len(figures["encoder"]["seconds"]) == times
        assert len(figures["after the encoder"]["seconds"]) == 2
        assert min(figures["encoder"]["seconds"]) > 0


@linux
def test_peak_memory_is_that_of_the_job() -> None:
    figures = efficiency.measure("job", lambda number: torch.ones(number + 1, 2**18), 40, 0)
    assert 39 <= figures["peak MB"] <= 44


def test_extensions_are_refused(folders: Namespace, tmp_path: Path) -> None:
    recipe = Recipe.from_toml(RECIPE).with_settings(["model.hidden=8", "training.epochs=1"])
    train(Job(recipe=recipe, train=[folders.treebank], dev=[folders.treebank], out=tmp_path / "out", export=False))
    with pytest.raises(SystemExit, match="has extensions"):
        load_base(tmp_path / "out")
    with pytest.raises(SystemExit, match="is not a biaffine model"):
        load_biaffine(tmp_path / "out")


def test_sentences_have_the_length_that_is_asked_for(folders: Namespace) -> None:
    gold = list(read_conllu(folders.treebank))
    assert [len(each) for each in sentences(gold, "64", 3)] == [64, 64, 64]
    assert [each.forms for each in sentences(gold, "overall", 99)] == [each.forms for each in gold]
    assert len(sentences(gold, "overall", 4)) == 4


def test_growth_keeps_what_was_measured_before() -> None:
    known = keep_growth({"lengths": [], "parts": {}, "spread": {}}, "64", {"whole": [2.0, 4.0]}, 2)
    known = keep_growth(known, "32", {"whole": [1.5]}, 1)
    assert known["lengths"] == [32, 64]
    assert known["parts"] == {"whole": [1.5, 3.0]}
    assert known["exponents"] == {"whole": 1.0}
    assert keep_growth(known, "64", {"whole": [6.0]}, 1)["exponents"] == {"whole": 2.0}


def test_the_encoder_speed_for_ten_times_follows_from_the_parts() -> None:
    encoder, own, other = 1000.0, 1.0, 100.0
    factor = float(needed_speed(encoder, own, other).removesuffix(" ×"))
    assert (encoder / factor + other) / (encoder / factor + own) == pytest.approx(10)
    assert needed_speed(encoder, own, 9 * own) == "never"
