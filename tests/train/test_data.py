"""Batches, optimizer and checkpoints: the parts of the training loop one by one."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")
pytest.importorskip("safetensors", reason="learning needs the extra 'train'")

import numpy as np
import torch

from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import ModelConfig, Recipe, TrainConfig
from hexatagger.parsing.pieces import Grams, Pieces, Window
from hexatagger.sentence import Sentence
from hexatagger.tags import from_heads, unlift
from hexatagger.tags.bht import BHT, heads_to_tree
from hexatagger.train.checkpoint import State, find_checkpoint, load_checkpoint, remove_checkpoints, save_checkpoint
from hexatagger.train.data import IGNORE, Example, arcs_of_gaps, batches, collate, collect_labels, encode
from hexatagger.train.encoder import load_encoder
from hexatagger.train.network import Network
from hexatagger.train.optimizer import make_optimizer, set_rates, start_average, update_average, using
from strategies import projective_trees
from tiny import make_encoder, write_treebank

CONFIG = ModelConfig(char_width=8, char_buckets=50, tasks=("upos", "feats", "lemma"))


@pytest.fixture
def treebank(tmp_path: Path) -> list[Sentence]:
    return list(read_conllu(write_treebank(tmp_path)))


def make_examples(count: int) -> list[Example]:
    lengths = np.random.default_rng(0).integers(1, 40, count)
    return [
        Example([Window(np.zeros(n, np.int64), np.zeros((n, 2), np.int64), np.zeros(n, np.int64), 0, (0, n))], {})
        for n in lengths.tolist()
    ]


@pytest.mark.parametrize("unit", ["pieces", "words", "sentences"])
def test_batches_hold_every_window_once_and_waste_little(unit: str) -> None:
    examples = make_examples(1000)
    config = Recipe.from_dict({"training": {"batch": 32 if unit == "sentences" else 300, "batch_unit": unit}}).training
    made = batches(examples, config, epoch=0)
    assert sorted(id(item[0]) for batch in made for item in batch) == sorted(map(id, examples))
    sizes = [len(batch) if unit == "sentences" else len(batch) * max(len(item[1]) for item in batch) for batch in made]
    assert max(sizes) <= config.batch
    padded = sum(len(batch) * max(len(item[1]) for item in batch) for batch in made)
    assert padded < 1.1 * sum(len(example.windows[0]) for example in examples)
    order = [[id(item[0]) for item in batch] for batch in made]
    assert order == [[id(item[0]) for item in batch] for batch in batches(examples, config, epoch=0)]
    assert order != [[id(item[0]) for item in batch] for batch in batches(examples, config, epoch=1)]


def test_a_window_longer_than_a_batch_is_a_batch() -> None:
    assert [len(batch) for batch in batches(make_examples(3), TrainConfig(batch=1, batch_unit="words"), epoch=0)] == [
        1
    ] * 3


def test_targets_spell_the_tree(treebank: list[Sentence]) -> None:
    labels = collect_labels(treebank, CONFIG)
    assert labels.roots == {"root"}
    assert len(labels.marks) > 1
    lifted = encode(treebank[6], CONFIG, labels, Grams(50), gold=True)  # What did she say happened ?
    deprels = [
        labels.relations[relation] + labels.marks[mark]
        for relation, mark in zip(lifted.targets["relation"], lifted.targets["mark"], strict=True)
    ]
    assert deprels[0] == "nsubj|ccomp"
    assert unlift([4, 4, 4, 0, 4, 4], deprels) == (treebank[6].heads, treebank[6].deprels)
    assert lifted.targets["internal"][-1] == IGNORE
    one = encode(treebank[2], CONFIG, labels, Grams(50), gold=True)
    assert one.targets["internal"].tolist() == [IGNORE]
    assert one.targets["leaf"].tolist() == [0]


def test_rare_values_and_unknown_ones_count_for_nothing(treebank: list[Sentence]) -> None:
    labels = collect_labels(treebank, CONFIG, rare=4)
    assert 0 < len(labels.tasks["lemma"]) < len(collect_labels(treebank, CONFIG).tasks["lemma"])
    assert len(labels.tasks["feats"]) < len(collect_labels(treebank, CONFIG).tasks["feats"])
    by_attributes = collect_labels(treebank, replace(CONFIG, feats="attributes"), rare=4)
    assert by_attributes.tasks["feats"] == collect_labels(treebank, CONFIG).tasks["feats"]
    assert by_attributes.tasks["lemma"] == labels.tasks["lemma"]
    strange = Sentence.from_words(["a"], heads=[0], deprels=["strange"])
    example = encode(strange, CONFIG, labels, Grams(50), gold=True)
    assert example.targets["relation"].tolist() == [IGNORE]
    assert example.targets["upos"].tolist() == [IGNORE]


def test_windows_of_a_long_sentence_count_each_word_once(tmp_path: Path, treebank: list[Sentence]) -> None:
    encoder = load_encoder(str(make_encoder(tmp_path, positions=34)))
    config = ModelConfig(encoder="tiny")
    heads = [0, *range(1, 60)]
    long = Sentence.from_words(["reads"] * 60, heads=heads, deprels=["root"] + ["obj"] * 59)
    labels = collect_labels([*treebank, long], config)
    example = encode(long, config, labels, Pieces(encoder.tokenizer, encoder.pieces), gold=True)
    assert len(example.windows) > 1
    batch = collate([(example, window) for window in example.windows])
    assert not batch.whole.any()
    assert int((batch.targets["leaf"] != IGNORE).sum()) == 60
    assert int((batch.targets["internal"] != IGNORE).sum()) == 59


@given(heads=projective_trees(), order=st.sampled_from(["left", "right"]))
def test_arcs_of_gaps_are_those_of_the_binary_head_tree(heads: list[int], order: Literal["left", "right"]) -> None:
    nodes = list(heads_to_tree(heads, order).inorder()) if heads else []
    above = {id(child): number // 2 + 1 for number, node in enumerate(nodes) for child in node.children}

    def head_of(node: BHT) -> int:
        if node.is_leaf:
            return node.word
        left, right = node.children
        return head_of(left if node.side == "L" else right)

    found = {name: values.tolist() for name, values in arcs_of_gaps(from_heads(heads, order)).items()}
    for gap, node in enumerate(nodes[1::2], 1):
        parts = [head_of(child) for child in node.children]
        governor, dependent = parts if node.side == "L" else parts[::-1]
        assert (found["governor"][gap - 1], found["dependent"][gap - 1]) == (governor, dependent)
        assert heads[dependent - 1] == governor
        assert found["above"][gap - 1] == above.get(id(node), 0)
    assert all(values[-1:] == [IGNORE] * min(1, len(heads)) for values in found.values())


def test_a_window_points_at_what_is_in_it(tmp_path: Path, treebank: list[Sentence]) -> None:
    encoder = load_encoder(str(make_encoder(tmp_path, positions=34)))
    config = ModelConfig(encoder="tiny", hidden=8, pointers=8)
    heads = [0, *range(1, 60)]
    heads[50] = 1
    long = Sentence.from_words(["reads"] * 60, heads=heads, deprels=["root"] + ["obj"] * 59)
    labels = collect_labels([*treebank, long], config)
    example = encode(long, config, labels, Pieces(encoder.tokenizer, encoder.pieces), gold=True)
    batch = collate([(example, window) for window in example.windows])
    seen = 0
    for window, targets in zip(example.windows, batch.targets["head"].tolist(), strict=True):
        for place, target in enumerate(targets, window.start):
            if target != IGNORE:
                seen += 1
                assert heads[place] == (target + window.start if target else 0)
    assert seen == 59  # the head of word 51 is outside of its window


def test_two_rates(tmp_path: Path, treebank: list[Sentence]) -> None:
    config = ModelConfig(encoder=str(make_encoder(tmp_path)), lstm_layers=1, lstm_width=8, shape=True)
    network = Network(config, collect_labels(treebank, config), load_encoder(config.encoder).module)
    training = TrainConfig(rate=1e-5, head_rate=1e-3, weight_decay=0.1, warmup=0.5)
    optimizer = make_optimizer(network, training)
    rates = {
        id(each): (group["peak"], group["weight_decay"]) for group in optimizer.param_groups for each in group["params"]
    }
    assert len(rates) == len(list(network.parameters()))
    for name, parameter in network.named_parameters():
        peak = 1e-5 if name.startswith("encoder.encoder.") else 1e-3
        assert rates[id(parameter)] == (peak, 0.1 if parameter.ndim > 1 else 0.0), name
    set_rates(optimizer, training, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [
        0.5 * group["peak"] for group in optimizer.param_groups
    ]


def test_average_and_checkpoint(tmp_path: Path, treebank: list[Sentence]) -> None:
    network = Network(CONFIG, collect_labels(treebank, CONFIG))
    optimizer = make_optimizer(network, TrainConfig())
    average = start_average(network, TrainConfig(average=0.5))
    assert average is not None
    weight = network.get_parameter("heads.leaf.weight")
    before = weight.detach().clone()
    weight.data += 1
    update_average(average, network, 0.5, steps=1000)
    assert torch.allclose(average["heads.leaf.weight"], before + 0.5)
    with using(average, network):
        assert torch.allclose(weight, before + 0.5)
    assert torch.allclose(weight, before + 1)
    optimizer.param_groups[0]["params"][0].grad = torch.ones_like(optimizer.param_groups[0]["params"][0])
    optimizer.step()
    save_checkpoint(tmp_path, State(epoch=1, steps=7), network, optimizer, average)
    drawn = torch.rand(3)
    (tmp_path / "checkpoint-9").mkdir()  # begun and never finished
    (tmp_path / ".checkpoint-12.part").mkdir()
    place = find_checkpoint(tmp_path)
    assert place == tmp_path / "checkpoint-7"
    other = Network(CONFIG, collect_labels(treebank, CONFIG))
    fresh = make_optimizer(other, TrainConfig())
    state, averaged = load_checkpoint(place, other, fresh)
    assert state == State(epoch=1, steps=7)
    assert torch.equal(torch.rand(3), drawn)
    assert averaged is not None
    assert all(torch.equal(value, average[name]) for name, value in averaged.items())
    ours, theirs = fresh.state_dict()["state"], optimizer.state_dict()["state"]
    assert ours.keys() == theirs.keys()
    assert all(
        torch.equal(value, theirs[number][name]) for number, each in ours.items() for name, value in each.items()
    )
    remove_checkpoints(tmp_path)
    assert not list(tmp_path.glob("*checkpoint*"))
