"""The distribution hexatagger-models: its folders are its models, however many there are; each states its licence."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="building needs the extra 'dev'")
pytest.importorskip("onnx", reason="writing networks needs the extra 'train'")


from conftest import ROOT
from hexatagger import __version__
from hexatagger.model.card import Card, read_card, write_card
from hexatagger.model.config import CHARACTERS
from hexatagger.model.folder import RUNNING_FILES, read_folder
from installed import install, run_with
from onnx_model import write_model

FOLDERS = sorted(path.parent for path in (ROOT / "models").glob("*/config.json"))
LARGEST = {CHARACTERS: 3_000_000}  # bytes of a model, by encoder
LARGEST_PRETRAINED = 30_000_000


def build(place: Path) -> Path:
    """Build the wheel of the distribution as pip does, but with the hatchling that is here."""
    program = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    out = place / "dist"
    out.mkdir()
    subprocess.run([sys.executable, "-c", program, out], cwd=place, check=True, capture_output=True)
    [wheel] = out.iterdir()
    return wheel


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A copy of the distribution without models."""
    copy = tmp_path / "models"
    copy.mkdir()
    for path in (ROOT / "models").iterdir():
        if path.is_file():
            shutil.copyfile(path, copy / path.name)
    return copy


def test_every_folder_is_a_model_with_a_name(place: Path, tmp_path: Path) -> None:
    for name in ("qaa", "qaa-old"):
        write_card(write_model(place / name), Card(title=f"Noise {name}", licence=f"Licence of {name}"))
    (place / "notes").mkdir()
    (place / "notes" / "draft.txt").write_text("no model")
    wheel, site = build(place), tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = archive.read(f"hexatagger_models-{__version__}.dist-info/METADATA").decode()
    assert "hexatagger_models/qaa-old/model.onnx" in names
    assert not [name for name in names if name.endswith(("hatch_build.py", "pyproject.toml", "draft.txt"))]
    assert "License: qaa: Licence of qaa; qaa-old: Licence of qaa-old\n" in about
    assert "| qaa-old | Noise qaa-old | Licence of qaa-old |" in about
    install(wheel, site)
    listed = run_with(site, "models").stdout
    assert listed.count(f"hexatagger-models {__version__}") == 2
    parsed = run_with(site, "parse", "--model", "qaa-old", "Dogs bark.")
    assert parsed.returncode == 0, parsed.stderr


def test_all_files_of_a_model_go_along(place: Path) -> None:
    (place / "qaa").mkdir()
    for file in RUNNING_FILES:
        (place / "qaa" / file).write_text("{}")
    with zipfile.ZipFile(build(place)) as archive:
        assert {f"hexatagger_models/qaa/{file}" for file in RUNNING_FILES} <= set(archive.namelist())


def test_no_models_are_a_distribution_too(place: Path, tmp_path: Path) -> None:
    install(build(place), tmp_path / "site")
    assert "hexatagger-models" not in run_with(tmp_path / "site", "models").stdout


def test_the_version_is_that_of_the_code() -> None:
    project = tomllib.loads((ROOT / "models" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_models_can_be_passed_on(folder: Path) -> None:
    read_folder(folder)
    card = read_card(folder)
    assert card is not None
    assert card.licence
    assert folder.name == card.language or folder.name.startswith(f"{card.language}-")
    assert {path.name for path in folder.iterdir()} <= set(RUNNING_FILES)
    assert (folder / "language.json").is_file()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_models_are_small(folder: Path) -> None:
    card = read_card(folder)
    assert card is not None
    assert sum(path.stat().st_size for path in folder.iterdir()) <= LARGEST.get(card.encoder, LARGEST_PRETRAINED)
