"""A wheel of a model: valid, the same every time, installed by pip and found by name."""

import base64
import csv
import hashlib
import io
import os
import shutil
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="writing networks needs the extra 'train'")

from click.testing import CliRunner

import hexatagger
from hexatagger.cli import main
from hexatagger.errors import ConfigError
from hexatagger.formats.conllu import format_sentence
from hexatagger.model.card import Card, Packaged, read_card, write_card
from hexatagger.model.wheel import build_wheel
from installed import install, run_with
from onnx_model import write_model

CARD = Card(
    title="Noise",
    language="qaa",
    licence="CC BY-SA 4.0,\n from nothing",
    package=Packaged("fp32", {"LAS": 12.5}, {"LAS": 10.25}, "make noise"),
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    place = write_model(tmp_path / "noise")
    write_card(place, CARD)
    (place / "model.safetensors").write_bytes(b"not needed to run")
    return place


def test_a_wheel_is_valid_and_the_same_every_time(model: Path, tmp_path: Path) -> None:
    wheel = build_wheel(model, tmp_path / "out", name="qaa-x", version="1.2.post3")
    assert wheel.name == "hexatagger_qaa_x-1.2.post3-py3-none-any.whl"
    for path in model.iterdir():
        os.utime(path, (0, 0))
    assert build_wheel(model, tmp_path / "again", name="qaa-x", version="1.2.post3").read_bytes() == wheel.read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name) for name in archive.namelist()}
    about = "hexatagger_qaa_x-1.2.post3.dist-info/"
    folder = "hexatagger_qaa_x/qaa-x/"
    inside = {name.removeprefix(folder) for name in files if name.startswith(folder)}
    assert inside == {path.name for path in model.iterdir()} - {"model.safetensors"}
    for name, digest, size in csv.reader(io.StringIO(files[f"{about}RECORD"].decode())):
        if name.endswith("RECORD"):
            continue
        content = files[name]
        packed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={packed}", str(len(content)))
    assert list(files)[-1] == f"{about}RECORD"
    assert files[f"{about}entry_points.txt"] == b"[hexatagger.models]\nqaa-x = hexatagger_qaa_x\n"
    metadata = files[f"{about}METADATA"].decode()
    assert "\nName: hexatagger-qaa-x\nVersion: 1.2.post3\n" in metadata
    assert "\nLicense: CC BY-SA 4.0, from nothing\n" in metadata
    assert metadata.endswith((model / "README.md").read_text(encoding="utf-8"))


def test_pip_installs_it_and_the_name_is_found(model: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = CliRunner().invoke(main, ["package", str(model), str(tmp_path), "--wheel", "--precision", "fp32"])
    assert done.exit_code == 0, done.output
    wheel = tmp_path / f"hexatagger_qaa-{hexatagger.__version__}-py3-none-any.whl"
    assert f"{wheel}: 0.0 MB" in done.stderr
    install(wheel, site)
    listed = run_with(site, "models")
    assert [line.split()[:4] for line in listed.stdout.splitlines()[1:]][-1] == ["qaa", "0.0", "12.50", "10.25"]
    assert f"hexatagger-qaa {hexatagger.__version__}" in listed.stdout
    parsed = run_with(site, "parse", "--model", "qaa", "Dogs bark.")
    assert parsed.returncode == 0, parsed.stderr
    [expected] = hexatagger.load(model).parse("Dogs bark.")
    assert format_sentence(expected) == parsed.stdout
    assert run_with(site, "info", "qaa").stdout.startswith("# Noise\n")


def test_a_model_without_licence_or_name_is_not_published(model: Path, tmp_path: Path) -> None:
    for name in ("auto", "FR", "../x", "a_b", "a--b", "fr\n"):
        with pytest.raises(ConfigError, match="cannot be the name of a model"):
            build_wheel(model, tmp_path, name=name)
    for version in ("", "v1", "1.0-2", "1.0 "):
        with pytest.raises(ConfigError, match=r"is not like 1\.0"):
            build_wheel(model, tmp_path, name="qaa", version=version)
    write_card(model, Card(title="Noise", licence="None"))
    with pytest.raises(ConfigError, match="'' cannot be the name of a model: use a-z, 0-9 and '-', or choose one with"):
        build_wheel(model, tmp_path)
    write_card(model, Card(title="Noise"))
    with pytest.raises(ConfigError, match="states no licence, and a wheel is for others"):
        build_wheel(model, tmp_path, name="qaa")
    (model / "card.json").unlink()
    with pytest.raises(ConfigError, match="states no licence"):
        build_wheel(model, tmp_path, name="qaa")
    assert not list(tmp_path.glob("*.whl"))


def test_scores_of_a_package_stay_with_its_networks(model: Path, tmp_path: Path) -> None:
    other = shutil.copytree(model, tmp_path / "segmenter")
    for out, more, kept in (("same", [], True), ("other", ["--segmenter", str(other)], False)):
        done = CliRunner().invoke(main, ["package", str(model), str(tmp_path / out), "--precision", "fp32", *more])
        assert done.exit_code == 0, done.output
        card = read_card(tmp_path / out)
        assert card is not None
        assert (card.package == CARD.package) is kept
    result = CliRunner().invoke(main, ["package", str(model)])
    assert "OUT is missing: name the folder to make, or make a wheel with --wheel" in result.stderr
