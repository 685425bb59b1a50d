"""Model folders may come from anywhere: nothing in them is taken on trust."""

import copy
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx", reason="writing networks needs the extra 'train'")

import numpy as np
import onnx
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

import hexatagger
from hexatagger import write_conllu
from hexatagger.cli import main
from hexatagger.errors import ConfigError, FormatError, HexataggerError
from hexatagger.model.card import Card, read_card, write_card
from hexatagger.model.config import PieceConfig
from hexatagger.model.folder import LEMMAS, check_links, network_file, pack, read_folder, read_network
from hexatagger.model.onnx import open_session
from hexatagger.model.registry import find_model
from hexatagger.model.values import build
from hexatagger.parsing.fingerprint import model_digest
from hexatagger.segment.segmenter import Segmenter
from hexatagger.sentence import Sentence, Word
from onnx_model import write_model

VALUES: list[Any] = [None, True, 3, -1, 10**30, 1.5, float("inf"), "x", [], [None], [[]], {}, {"a": 1}]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = write_model(tmp_path_factory.mktemp("models") / "noise")
    write_card(place, Card(title="Noise"))
    return place


def places(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values in JSON, of lists only the first."""
    if path:
        yield path
    items = values.items() if isinstance(values, dict) else enumerate(values[:1]) if isinstance(values, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


@pytest.mark.parametrize("name", ["config.json", "labels.json", "segmenter.json", "card.json"])
def test_values_of_other_types_are_errors_of_ours(name: str, model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    whole = json.loads((folder / name).read_text(encoding="utf-8"))
    tried, refused = 0, list[tuple[Any, HexataggerError]]()
    for path in places(whole):
        for value in VALUES:
            values = copy.deepcopy(whole)
            inner = values
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            (folder / name).write_text(json.dumps(values), encoding="utf-8")
            tried += 1
            try:
                if name == "card.json":
                    read_card(folder)
                elif name == "segmenter.json":
                    Segmenter.load(folder, threads=1).segment("Dogs bark.")
                else:
                    hexatagger.load(folder, threads=1).parse_words([["Dogs", "bark"]])
            except HexataggerError as error:
                refused.append(((path, value), error))
    assert len(refused) > tried / 3
    assert [each for each in refused if name not in str(each[1]) and not isinstance(each[1], ConfigError)] == []


def test_pieces_are_checked() -> None:
    good = {"before": [101], "after": [102], "unknown": 100, "pad": 0, "limit": 510}
    assert build(PieceConfig, good, "pieces").before == (101,)
    for key in good:
        for value in VALUES:
            if value == 3 and key in ("unknown", "pad", "limit"):
                continue
            if value == [] and key in ("before", "after"):
                continue
            with pytest.raises(ConfigError, match=rf"pieces\.{key}"):
                build(PieceConfig, good | {key: value}, "pieces")
    with pytest.raises(ConfigError, match=r"pieces\.limit is missing"):
        build(PieceConfig, {key: value for key, value in good.items() if key != "limit"}, "pieces")


def test_lemmas_of_a_model_that_was_trained_without_a_table(model: Path, tmp_path: Path) -> None:
    forms = ["Dogs", "bark"]
    tags = list(enumerate(("NOUN", "VERB", "DET"), 1))  # whatever the network chooses
    trees = [Sentence([Word(n, form, "hound", upos, head=n - 1) for n, upos in tags]) for form in forms]
    write_conllu(trees, tmp_path / "train.conllu")
    assert read_folder(model).lemmas is None
    before = hexatagger.load(model, threads=1).parse_words([forms])[0]
    arguments = ["package", str(model), str(tmp_path / "out"), "--precision", "fp32"]
    result = CliRunner().invoke(main, [*arguments, "--train", str(tmp_path / "train.conllu")])
    assert result.exit_code == 0, result.output
    assert model_digest(tmp_path / "out") != model_digest(model)
    after = hexatagger.load(tmp_path / "out", threads=1).parse_words([forms])[0]
    assert [word.lemma for word in after] == ["hound", "hound"] != [word.lemma for word in before]
    (tmp_path / "out" / LEMMAS).write_bytes(b"broken")
    with pytest.raises(FormatError, match=rf"{LEMMAS}: cannot be decompressed"):
        hexatagger.load(tmp_path / "out", threads=1).parse_words([forms])


@pytest.mark.parametrize("name", ["task.upos", "task.lemma"])
def test_labels_that_do_not_fit_the_network(name: str, model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    labels[name] = labels[name][:1]
    (folder / "labels.json").write_text(json.dumps(labels), encoding="utf-8")
    with pytest.raises(
        FormatError, match=r"model: output '\w+' of the network has labels 0 to \d+, but labels.json has 1"
    ):
        hexatagger.load(folder, threads=1).parse_words([["Dogs", "bark", "at", "cats", "at", "night"]])


def test_sizes_are_checked_when_a_model_is_loaded(model: Path, tmp_path: Path) -> None:
    """The exporter writes the number of relations into the network, so no sentence is needed to compare it."""
    folder = Path(shutil.copytree(find_model("en"), tmp_path / "en"))
    (folder / "fits.json").unlink()  # its own check comes first
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    labels["relations"].append("more")
    (folder / "labels.json").write_text(json.dumps(labels), encoding="utf-8")
    with pytest.raises(FormatError, match=r"output 'relations' has \d+ scores per word for \d+ labels"):
        hexatagger.load(folder, threads=1)
    folder = Path(shutil.copytree(model, tmp_path / "more"))
    (folder / "model.onnx").write_bytes((model / "segmenter.onnx").read_bytes())
    with pytest.raises(FormatError, match="more: the network has no output 'leaf'"):
        hexatagger.load(folder, threads=1)


def test_ids_that_the_network_lacks(tmp_path: Path) -> None:
    for name in ("segmenter.json", "segmenter.onnx"):
        shutil.copyfile(find_model("en") / name, tmp_path / name)
    values = json.loads((tmp_path / "segmenter.json").read_text(encoding="utf-8"))
    values["settings"]["characters"] += "".join(map(chr, range(0x4E00, 0x5E00)))
    (tmp_path / "segmenter.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(FormatError, match=r"segmenter.onnx: the network does not fit the model's other files"):
        Segmenter.load(tmp_path, threads=1).segment("\u5d00\u5dff")


def external(location: str) -> bytes:
    """Return a network whose weights are in another file."""
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value=location)
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])]
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], outputs, [weights])
    return bytes(helper.make_model(graph, ir_version=8).SerializeToString())


def test_another_file_is_found_between_large_weights(tmp_path: Path) -> None:
    large = [numpy_helper.from_array(np.full(5000, value, np.float32), f"large.{value}") for value in (1, 2)]
    for place in range(3):
        network = onnx.load_from_string(external("weights.bin"))
        tensors = [*large[:place], *network.graph.initializer, *large[place:]]
        del network.graph.initializer[:]
        network.graph.initializer.extend(tensors)
        data = network.SerializeToString()
        (tmp_path / "model.onnx").write_bytes(data)
        for each in (data, tmp_path / "model.onnx", data[:-1]):
            with pytest.raises(FormatError, match="keeps data in another file"):
                open_session(each, source="model.onnx")


def test_weights_may_spell_anything() -> None:
    spelt = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[9000], raw_data=b"\x0a\x08location" * 900)
    outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [9000])]
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], outputs, [spelt])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 20)])
    assert open_session(model.SerializeToString()).get_outputs()
    with pytest.raises(FormatError, match=r"^the network: cannot be loaded"):  # its bytes are not shown
        open_session(b"no network")


@pytest.mark.parametrize("byte", [b"\xff", b"\x00", b"\x3a"])
def test_a_file_of_one_byte_is_refused_at_once(byte: bytes) -> None:
    begin = time.perf_counter()
    with pytest.raises(FormatError, match="cannot be loaded"):
        open_session(byte * 1_000_000)
    assert time.perf_counter() - begin < 10


@pytest.mark.parametrize("location", ["inside.bin", "../outside.bin", "/etc/hostname"])
def test_weights_are_not_in_other_files(location: str, model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    for place in (folder / "inside.bin", tmp_path / "outside.bin"):
        np.arange(4, dtype=np.float32).tofile(place)
    network = external(location)
    padded = network.replace(b"\x08location", b"\x88\x80\x00location")  # the same to a reader of protobuf
    for each in (network, padded, network.replace(b"\x0a\x08location", b"\x8a\x00\x08location")):
        with pytest.raises(FormatError, match="keeps data in another file"):
            open_session(each, source="model.onnx")
    for name in ("model.onnx", "segmenter.onnx"):
        shutil.copyfile(model / "model.onnx", folder / "model.onnx")
        (folder / name).write_bytes(network)
        with pytest.raises(FormatError, match=rf"{name}: keeps data in another file"):
            hexatagger.load(folder).segmenter  # noqa: B018


def test_links_are_not_followed_out_of_the_folder(model: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for name in ("README.md", "config.json", "segmenter.json", "card.json"):
        folder = Path(shutil.copytree(model, tmp_path / f"model-{name}"))
        (folder / name).unlink()
        (folder / name).symlink_to(tmp_path / "secret")
        with pytest.raises(FormatError, match=rf"{name}: is a link out of the model folder"):
            hexatagger.load(folder)
        for command in (["info", folder], ["package", folder, tmp_path / "out", "--precision", "fp32"]):
            result = CliRunner().invoke(main, list(map(str, command)))
            assert result.exit_code == 1
            assert "secret" not in result.stdout
        assert not (tmp_path / "out").exists()
    with pytest.raises(FormatError, match="is a link out"):
        Segmenter.load(tmp_path / "model-segmenter.json")
    inside = Path(shutil.copytree(model, tmp_path / "inside"))
    (inside / "model.onnx").rename(inside / "other.onnx")
    (inside / "model.onnx").symlink_to("other.onnx")
    (tmp_path / "link").symlink_to(inside)
    check_links(tmp_path / "link")
    assert hexatagger.load(tmp_path / "link").parse_words([["Dogs"]])


def test_a_small_network_is_packed_and_read_again(tmp_path: Path) -> None:
    network = tmp_path / "model.int8.onnx"
    network.write_bytes(b"\x08\x0a" * 1000)
    pack(tmp_path)
    [packed] = tmp_path.iterdir()
    assert packed.name == "model.int8.onnx.gz"
    assert network_file(tmp_path, "auto") == network_file(tmp_path, "int8") == packed
    assert read_network(packed) == b"\x08\x0a" * 1000
    pack(tmp_path)
    assert read_network(packed) == b"\x08\x0a" * 1000
    packed.write_bytes(packed.read_bytes()[:-4])
    with pytest.raises(FormatError, match=r"gz: is cut off or too large"):
        read_network(packed)
    packed.write_bytes(b"PK")
    with pytest.raises(FormatError, match=r"gz: "):
        read_network(packed)


def test_a_large_network_is_not_packed(tmp_path: Path) -> None:
    (tmp_path / "model.int8.onnx").write_bytes(bytes(4_000_001))
    pack(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.int8.onnx"]
    assert read_network(tmp_path / "model.int8.onnx") == tmp_path / "model.int8.onnx"
