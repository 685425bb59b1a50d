"""The network: every family of encoders, every option, and results that do not depend on the batch."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")

import torch

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import ModelConfig, Recipe
from hexatagger.model.folder import write_folder
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.pieces import stack_windows
from hexatagger.parsing.write import write
from hexatagger.sentence import Sentence
from hexatagger.train.data import collate, collect_labels, encode, tensors
from hexatagger.train.encoder import check_encoder, load_encoder
from hexatagger.train.network import (
    BiLSTM,
    Characters,
    Network,
    pool,
    reduce_scores,
    tree_scores,
)
from hexatagger.train.pointers import Pairs, given_head, marginal_relations
from hexatagger.train.predict import parse
from hexatagger.train.tasks import Attributes
from hexatagger.train.weights import Model, load_model, save_weights
from tiny import FAMILIES, make_encoder, write_treebank


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    return list(read_conllu(write_treebank(tmp_path_factory.mktemp("data"))))


def make_model(config: ModelConfig, sentences: list[Sentence], place: Path = Path("model")) -> Model:
    torch.manual_seed(0)
    labels = collect_labels(sentences, config)
    if config.encoder == "characters":
        return Model(place, Recipe(config), labels, network=Network(config, labels))
    encoder = load_encoder(config.encoder)
    network = Network(config, labels, encoder.module)
    return Model(place, Recipe(config), labels, encoder.pieces, encoder.tokenizer, encoder.config, network=network)


def run(model: Model, sentences: list[Sentence]) -> list[Sentence]:
    cutter = model.cutter()
    examples = [encode(each, model.recipe.model, model.labels, cutter, gold=False) for each in sentences]
    return parse(model, sentences, examples)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # in transformers' DeBERTa
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "above", [{}, {"hidden": 12}, {"hidden": 12, "pointers": 8}, {"hidden": 12, "pointers": 8, "relations": "pairs"}]
)
def test_every_family_alone_and_among_others(
    family: str, above: dict[str, Any], treebank: list[Sentence], tmp_path: Path
) -> None:
    encoder = str(make_encoder(tmp_path, family))
    config = ModelConfig(encoder=encoder, shape=True, tasks=("upos", "lemma"), **above)
    model = make_model(config, treebank, tmp_path / "model")
    model.network.eval()
    with torch.no_grad():
        # Scores of shape that is not zero, so that a mix-up of pieces would show.
        model.network.get_parameter("encoder.shape.weight").normal_()
        cutter = model.cutter()
        examples = [encode(each, config, model.labels, cutter, gold=True) for each in treebank]
        items = [(example, example.windows[0]) for example in examples]
        together = model.network(**collate(items, pad=model.pad).inputs)
        for row, item in enumerate(items):
            alone = model.network(**collate([item], pad=model.pad).inputs)
            for name, scores in alone.items():
                assert torch.allclose(scores[0], together[name][row, : scores.shape[1], : scores.shape[2]], atol=1e-4)
    parsed = run(model, treebank)
    assert [[word.form for word in each] for each in parsed] == [each.forms for each in treebank]
    assert all(sum(word.head == 0 for word in each) == 1 for each in parsed)
    assert all((word.deprel == "root") == (word.head == 0) for each in parsed for word in each)
    # What the folder holds gives the same again.
    write_folder(model)
    save_weights(dict(model.network.state_dict()), tmp_path / "model" / "model.safetensors")
    again = load_model(tmp_path / "model")
    assert run(again, treebank) == parsed
    assert str(tmp_path) not in (tmp_path / "model" / "config.json").read_text()


OPTIONS = [
    ModelConfig(lstm_layers=2, lstm_width=8, char_width=8, char_buckets=50),
    ModelConfig(hidden=12, char_width=8, char_buckets=50),
    ModelConfig(hidden=12, pointers=8, char_width=8, char_buckets=50),
    ModelConfig(hidden=12, pointers=8, relations="pairs", char_width=8, char_buckets=50),
    ModelConfig(relations="joint", lift="path", order="right", char_width=8, char_buckets=50),
    ModelConfig(hidden=12, head_scores=8, relations="tree", char_width=8, char_buckets=50),
    ModelConfig(pos="upos", pos_width=4, tasks=("upos", "xpos", "feats", "lemma"), char_width=8, char_buckets=50),
    ModelConfig(tasks=("upos", "feats"), feats="attributes", task_hidden=6, lstm_layers=1, lstm_width=4, char_width=8),
]


@pytest.mark.parametrize(
    "config", OPTIONS, ids=["lstm", "hidden", "pointers", "pairs", "joint", "tree", "pos", "attributes"]
)
def test_options_of_characters(config: ModelConfig, treebank: list[Sentence]) -> None:
    model = make_model(config, treebank)
    model.network.eval()
    parsed = run(model, treebank)
    assert parsed == [each for sentence in treebank for each in run(model, [sentence])]
    assert all(sum(word.head == 0 for word in each) == 1 for each in parsed)
    assert not any(mark in word.deprel for each in parsed for word in each for mark in "|%")


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
@pytest.mark.parametrize("layers", [1, 3])
def test_pooling_and_layers(pooling: str, layers: int, treebank: list[Sentence], tmp_path: Path) -> None:
    settings = {"pooling": pooling, "layers": layers, "encoder": str(make_encoder(tmp_path))}
    model = make_model(Recipe.from_dict({"model": settings}).model, treebank)
    assert len(run(model, treebank)) == len(treebank)


@pytest.mark.parametrize("shape", [False, True])
def test_hidden_pieces_change_training_only(shape: bool, treebank: list[Sentence], tmp_path: Path) -> None:
    encoder = str(make_encoder(tmp_path))
    config = ModelConfig(encoder=encoder, shape=shape, dropout=0.0, piece_dropout=0.5)
    plain, hiding = (make_model(each, treebank) for each in (replace(config, piece_dropout=0.0), config))
    example = encode(treebank[0], config, hiding.labels, hiding.cutter(), gold=False)
    inputs = collate([(example, example.windows[0])], pad=hiding.pad).inputs
    with torch.no_grad():
        expected = plain.network.eval()(**inputs)["leaf"]
        assert torch.equal(hiding.network.eval()(**inputs)["leaf"], expected)
        assert not torch.allclose(hiding.network.train()(**inputs)["leaf"], expected)


def test_pool_takes_the_right_pieces() -> None:
    hidden = torch.arange(12.0).reshape(1, 6, 2)
    spans = torch.tensor([[[1, 1], [2, 4]]])
    assert pool(hidden, spans, "first").tolist() == [[[2, 3], [4, 5]]]
    assert pool(hidden, spans, "last").tolist() == [[[2, 3], [8, 9]]]
    assert pool(hidden, spans, "mean").tolist() == [[[2, 3], [6, 7]]]


def test_bilstm_is_torchs_own() -> None:
    torch.manual_seed(0)
    ours, theirs = BiLSTM(3, 4), torch.nn.LSTM(3, 4, bidirectional=True, batch_first=True)
    for name, value in ours.right.named_parameters():
        theirs.get_parameter(name).data.copy_(value)
        theirs.get_parameter(f"{name}_reverse").data.copy_(ours.left.get_parameter(name))
    vectors, lengths = torch.randn(2, 5, 3), torch.tensor([5, 2])
    found = ours(vectors, lengths)
    assert torch.allclose(found[:1], theirs(vectors[:1])[0], atol=1e-6)
    assert torch.allclose(found[1:, :2], theirs(vectors[1:, :2])[0], atol=1e-6)


def test_the_sum_of_n_grams_is_the_same_in_training(treebank: list[Sentence]) -> None:
    model = make_model(ModelConfig(char_width=8, char_buckets=50, dropout=0.0), treebank)
    encoder = cast("Characters", model.network.encoder)
    windows = [model.cutter().windows(each.forms)[0] for each in treebank]
    inputs = tensors(stack_windows(windows))
    given = [inputs[name] for name in ("pieces", "mask", "spans", "shapes")]
    expected = encoder.eval()(*given)
    encoder.word_dropout = encoder.gram_dropout = 0.0
    assert torch.allclose(encoder.train()(*given), expected, atol=1e-5)


def test_feats_are_scored_by_their_attributes() -> None:
    strings = ["_", "Case=Gen|Number=Plur", "Number=Plur", "Case=Gen|Number=Sing"]
    head = Attributes(3, strings)
    values = ["no Case", "Case=Gen", "no Number", "Number=Plur", "Number=Sing"]
    assert head.values.out_features == len(values)
    torch.nn.init.normal_(head.prior)
    vectors = torch.randn(1, 2, 3)
    scores = dict(zip(values, head.values(vectors)[0, 1], strict=True))
    expected = {
        "_": scores["no Case"] + scores["no Number"],
        "Case=Gen|Number=Plur": scores["Case=Gen"] + scores["Number=Plur"],
        "Number=Plur": scores["no Case"] + scores["Number=Plur"],
        "Case=Gen|Number=Sing": scores["Case=Gen"] + scores["Number=Sing"],
    }
    assert torch.allclose(head(vectors)[0, 1], torch.stack([expected[each] for each in strings]) + head.prior)


def test_the_task_layer_sees_every_layer(treebank: list[Sentence]) -> None:
    config = OPTIONS[-1]
    model = make_model(config, treebank)
    example = encode(treebank[0], config, model.labels, model.cutter(), gold=False)
    network, inputs = model.network.eval(), collate([(example, example.windows[0])]).inputs
    layers = network.layers(**inputs)
    assert [each.shape[-1] for each in layers] == [config.char_width, 2 * config.lstm_width]
    for changed in range(2):
        other = [each + 1.0 if number == changed else each for number, each in enumerate(layers)]
        assert not torch.allclose(network.score_tasks(other)["upos"], network.score_tasks(layers)["upos"])


def test_long_sentences_are_parsed_in_windows(treebank: list[Sentence], tmp_path: Path) -> None:
    encoder = str(make_encoder(tmp_path, positions=40))
    model = make_model(ModelConfig(encoder=encoder, relations="tree", hidden=8), treebank)
    long = Sentence.from_words(["reads", "papers", "\u00ad"] * 60)
    [parsed] = run(model, [long])
    assert len(parsed) == 180
    cutter = model.cutter()
    example = encode(long, model.recipe.model, model.labels, cutter, gold=False)
    assert len(example.windows) > 3


def test_windows_are_short_where_every_two_words_are_looked_at(treebank: list[Sentence]) -> None:
    pairs = next(config for config in OPTIONS if config.relations == "pairs")
    plain = replace(pairs, pointers=0, relations="separate")
    long = Sentence.from_words(["reads", "papers"] * 450)
    for config, least, most in ((plain, 1, 1), (pairs, 3, 5)):
        model = make_model(config, treebank)
        assert least <= len(model.cutter().windows(long.forms)) <= most
        assert [len(each) for each in run(model, [long, treebank[0]])] == [900, len(treebank[0])]


def test_joint_scores_are_reduced_per_leaf_tag() -> None:
    joint = torch.tensor([[[0.0, 3.0, 2.0, 1.0]]])  # l root, l obj, r root, r obj
    leaf, _, relation = tree_scores({"joint": joint, "internal": torch.zeros(1, 1, 4)})
    assert torch.allclose(leaf[0, 0, 0] - leaf[0, 0, 1], torch.tensor(1.0))
    assert relation.shape == (1, 1, 2, 2)


def test_pairs_are_scored_one_by_one() -> None:
    torch.manual_seed(0)
    pairs = Pairs(5, 3, dropout=0.5).eval()
    torch.nn.init.normal_(pairs.form)
    torch.nn.init.normal_(pairs.root)
    vectors = torch.randn(2, 4, 5)
    with torch.no_grad():
        found = pairs(vectors, torch.tensor([4, 2]))
        for word, head in itertools.product(range(4), range(5)):
            own = torch.cat([pairs.word(vectors[0, word]), torch.ones(1)])
            other = torch.cat([pairs.head(vectors[0, head - 1] if head else pairs.root), torch.ones(1)])
            expected = torch.einsum("i,irj,j->r", own, pairs.form, other)
            assert torch.allclose(found[0, word, head], expected, rtol=1e-4, atol=1e-4)
        assert torch.equal(given_head(found, torch.tensor([[0, 4, 2, 1], [2, 0, 0, 0]]))[0, 1], found[0, 1, 4])


def test_a_relation_marginal_relations() -> None:
    torch.manual_seed(0)
    pairs, head = torch.randn(1, 3, 4, 2), torch.randn(1, 3, 4)
    found = marginal_relations(pairs, head).exp()
    assert torch.allclose(found, (head.softmax(-1).unsqueeze(-1) * pairs.softmax(-1)).sum(2))
    assert torch.allclose(found.sum(-1), torch.ones(1, 3))


def test_the_best_relation_to_a_head_is_a_roots_or_none_of_these() -> None:
    pairs = torch.tensor([[[[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]]]])
    scores = {"leaf": torch.zeros(1, 1, 2), "internal": torch.zeros(1, 1, 4), "head": torch.zeros(1, 1, 2)}
    for roots, expected in (([True, False, False], [0, 2]), ([False, True, False], [1, 0]), ([False] * 3, [0, 0])):
        found = reduce_scores({**scores, "pairs": pairs}, torch.tensor(roots))["pairs"]
        assert found.tolist() == [[expected]]


def test_no_sentences() -> None:
    config = ModelConfig(char_width=8, char_buckets=50)
    sentence = Sentence.from_words(["a"], heads=[0], deprels=["root"])
    assert write([], [], best_trees([]), collect_labels([sentence], config), lift="head") == []


def test_broken_folders(treebank: list[Sentence], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        load_model(tmp_path)
    write_folder(make_model(OPTIONS[0], treebank, tmp_path))
    with pytest.raises(FormatError, match="has no weights"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"format": 99}')
    with pytest.raises(FormatError, match="format 99 is newer"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(FormatError, match="is not JSON"):
        load_model(tmp_path)


def test_encoders_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match="neither a folder nor a model"):
        check_encoder("no-such/encoder-at-all")
    with pytest.raises(ConfigError, match=r"without config\.json"):
        check_encoder(str(tmp_path))
