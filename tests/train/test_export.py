"""The export, of networks that were never trained: every output is compared with torch, train and run agree."""

from pathlib import Path
from typing import cast

import pytest

pytest.importorskip("torch", reason="exporting needs the extra 'train'")
pytest.importorskip("onnx", reason="exporting needs the extra 'train'")

import numpy as np
import onnx
import torch

import hexatagger
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import ModelConfig, Recipe
from hexatagger.model.folder import write_folder
from hexatagger.model.onnx import open_session
from hexatagger.sentence import Sentence
from hexatagger.train.data import collect_labels, encode
from hexatagger.train.deprels import Deprels
from hexatagger.train.export.int8 import quantize, store
from hexatagger.train.export.onnx import check_parity, deprels_to_onnx, export, to_onnx
from hexatagger.train.network import Network
from hexatagger.train.weights import Model, save_weights
from tiny import spoil, write_treebank

SETTINGS = {"char_width": 8, "char_buckets": 50, "hidden": 12, "pointers": 8, "relations": "pairs", "pos": "upos"}
OUTPUTS = [
    "leaf",
    "internal",
    "relation",
    "root",
    "relations",
    "head",
    "pairs",
    "mark",
    "upos",
    "xpos",
    "feats",
    "lemma",
]


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    sentences = list(read_conllu(write_treebank(tmp_path_factory.mktemp("data"))))
    sentences[0].words[1].upos = "_"  # a gap in a column that is given
    return sentences


@pytest.fixture(scope="module")
def model(gold: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Model:
    torch.manual_seed(0)
    config = ModelConfig(**SETTINGS, tasks=("upos", "xpos", "feats", "lemma"))  # type: ignore[arg-type]
    labels = collect_labels(gold, config)
    made = Model(tmp_path_factory.mktemp("model"), Recipe(config), labels, network=Network(config, labels))
    for parameter in made.network.parameters():  # some begin at zero, and all scores with them
        torch.nn.init.normal_(parameter, std=0.5)
    write_folder(made)
    save_weights(dict(made.network.state_dict()), made.path / "model.safetensors")
    return made


@pytest.fixture(scope="module")
def graph(model: Model, gold: list[Sentence]) -> onnx.ModelProto:
    made = to_onnx(model)
    onnx.save(made, model.path / "model.onnx")
    assert check_parity(model, hexatagger.load(model.path), gold) < 1e-4
    assert [output.name for output in made.graph.output] == OUTPUTS
    return made


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_output_is_compared(
    name: str,
    graph: onnx.ModelProto,
    model: Model,
    gold: list[Sentence],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = onnx.ModelProto()
    copy.CopyFrom(graph)
    monkeypatch.setattr("hexatagger.train.export.onnx.to_onnx", lambda _: spoil(copy, name))
    before = (model.path / "model.onnx").read_bytes()
    with pytest.raises(
        ConfigError, match=f"'{name}' (in ONNX differs|of the network has labels -1) .*: nothing is written"
    ):
        export(model.path, gold)
    assert (model.path / "model.onnx").read_bytes() == before


def test_training_and_running_read_the_same_column(graph: onnx.ModelProto, model: Model, gold: list[Sentence]) -> None:
    sentence = gold[0]
    example = encode(sentence, model.recipe.model, model.labels, model.cutter(), gold=False)
    arrays = hexatagger.load(model.path).network.inputs(example.windows, [sentence])
    assert example.pos is not None
    assert arrays["pos"][0].tolist() == example.pos.tolist()
    assert max(example.pos.tolist()) < len(model.labels.pos)  # nothing in it is new


@pytest.mark.parametrize("broken", ["", "dependent", "scores"])
def test_the_second_network_is_compared(
    broken: str, gold: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ModelConfig(char_width=8, char_buckets=50, hidden=12, head_scores=8, relations="tree")
    labels = collect_labels(gold, config)
    made = Model(tmp_path, Recipe(config), labels, network=Network(config, labels))
    for parameter in made.network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    write_folder(made)
    save_weights(dict(made.network.state_dict()), made.path / "model.safetensors")
    if broken:
        name = "to_onnx" if broken == "dependent" else "deprels_to_onnx"
        graph = to_onnx(made) if broken == "dependent" else deprels_to_onnx(cast("Deprels", made.network.deprels))
        monkeypatch.setattr(f"hexatagger.train.export.onnx.{name}", lambda _: spoil(graph, broken))
        with pytest.raises(ConfigError, match=r"in ONNX differs from torch by .*: nothing is written"):
            export(made.path, gold)
        assert not (made.path / "deprels.onnx").exists()
        return
    shares: list[float] = []
    assert export(made.path, gold, report=shares.append).difference < 1e-4
    assert shares == sorted(shares)
    assert shares[-1] == 1
    parser = hexatagger.load(made.path)
    together = parser.parse_sentences([Sentence([]), *gold])
    assert together[1:] == [parser.parse_sentences([each])[0] for each in gold]
    roots = [(word.head == 0) == (word.deprel in labels.roots) for sentence in together for word in sentence]
    assert all(roots)
    (first,) = parser.parse_sentences(gold[:1], k=3)
    assert len({tuple(each.heads) for each in (first, *first.alternatives)}) == 3
    (made.path / "deprels.onnx").unlink()
    with pytest.raises(FormatError, match=r"deprels\.onnx"):
        hexatagger.load(made.path)


def test_an_lstm_is_stored_in_8_bits(gold: list[Sentence], tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = ModelConfig(
        lstm_layers=2, lstm_width=40, char_width=40, char_buckets=100, hidden=40, pointers=32, relations="pairs",
        tasks=("upos", "feats"), feats="attributes", task_hidden=32,
    )  # fmt: skip
    labels = collect_labels(gold, config)
    model = Model(tmp_path, Recipe(config), labels, network=Network(config, labels))
    for parameter in model.network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    write_folder(model)
    whole = to_onnx(model)
    small = quantize(whole)
    onnx.save(whole, tmp_path / "model.onnx")
    onnx.save(small, tmp_path / "model.int8.onnx")
    matrices = [each for each in small.graph.initializer if np.prod(each.dims) >= 1024]
    matrices = [each for each in matrices if len(each.dims) > 1 and each.dims[-1] > 1 and np.prod(each.dims[:-1]) > 1]
    assert len(matrices) > 20
    assert {each.data_type for each in matrices} == {onnx.TensorProto.INT8}
    assert len(small.SerializeToString()) < 0.45 * len(whole.SerializeToString())  # the nodes are the rest
    fp32, int8 = (hexatagger.load(tmp_path, precision=precision).network for precision in ("fp32", "int8"))
    words = [Sentence.from_words(["She", "reads", "old", "papers", last]) for last in ("loudly", "today", ".", "x")]
    together = int8.predict(words)
    for sentence, exact, near in zip(words, fp32.predict(words), together, strict=True):
        assert abs(exact.leaf - near.leaf).max() < 0.1 * abs(exact.leaf).max()
        [alone] = int8.predict([sentence])
        for name in ("leaf", "internal", "head", "pairs"):
            assert (getattr(alone, name) == getattr(near, name)).all(), name
        assert {name: each.tolist() for name, each in alone.tasks.items()} == {
            name: each.tolist() for name, each in near.tasks.items()
        }


def run(model: onnx.ModelProto, values: np.ndarray) -> np.ndarray:
    session = open_session(model.SerializeToString(), source="test")
    (found,) = session.run(None, {"x": values})
    return np.asarray(found)


def single(kind: str, matrix: np.ndarray, shape: list[int | str]) -> onnx.ModelProto:
    """Return the network x → kind(x, matrix)."""
    inputs = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    outputs = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None] * len(shape))
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(kind, ["x", "matrix"], ["y"])], "single", [inputs], [outputs],
        [onnx.numpy_helper.from_array(matrix, "matrix")],
    )  # fmt: skip
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize("columns", [64, 101])
def test_zeros_and_ones_take_a_bit_and_stay_exact(columns: int) -> None:
    random = np.random.default_rng(1)
    matrix = (random.random((80, columns)) < 0.1).astype(np.float32)
    whole = single("MatMul", matrix, ["rows", 80])
    small = quantize(whole)
    values = random.normal(size=(3, 80)).astype(np.float32)
    assert (run(whole, values) == run(small, values)).all()
    assert len(small.SerializeToString()) < len(whole.SerializeToString()) / 8


def test_a_stored_convolution_is_a_quarter_of_its_size() -> None:
    random = np.random.default_rng(1)
    whole = single("Conv", random.normal(size=(48, 48, 1, 5)).astype(np.float32), ["rows", 48, 1, "length"])
    small = store(whole)
    values = random.normal(size=(2, 48, 1, 30)).astype(np.float32)
    exact, near = run(whole, values), run(small, values)
    assert abs(exact - near).max() < 0.02 * abs(exact).max()
    assert len(small.SerializeToString()) < 0.27 * len(whole.SerializeToString())
