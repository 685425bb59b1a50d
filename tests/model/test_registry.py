"""A model is found by path, in HEXATAGGER_MODELS, through entry points, or inside the package: in this order."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import hexatagger
from hexatagger.errors import ConfigError
from hexatagger.model import registry
from hexatagger.model.registry import EMBEDDED_FOLDER, FOLDERS, find_elsewhere, find_model, installed


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; what is installed is looked up again."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.delenv(FOLDERS, raising=False)
    registry._distributed.cache_clear()
    yield work
    registry._distributed.cache_clear()


def make(folder: Path) -> Path:
    """Make a folder that counts as a model."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"format": 1}')
    return folder


def distribute(site: Path, monkeypatch: pytest.MonkeyPatch, *names: str, package: str = "hexatagger_some") -> None:
    """Put a distribution with models on the path."""
    for name in names:
        make(site / package / name)
    (site / package / "__init__.py").write_text("raise SystemExit('a model was imported')")
    about = site / f"{package}-2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 2.0\n")
    lines = "".join(f"{name} = {package}\n" for name in names)
    (about / "entry_points.txt").write_text(f"[hexatagger.models]\n{lines}absent = no_such_package\nbad = os.path\n")
    monkeypatch.syspath_prepend(site)
    registry._distributed.cache_clear()


def test_the_order_of_places(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_model("en") == EMBEDDED_FOLDER
    distribute(tmp_path / "site", monkeypatch, "en", "it-old")
    assert find_model("en") == tmp_path / "site" / "hexatagger_some" / "en"
    first, second = (make(tmp_path / name / "en").parent for name in ("first", "second"))
    make(second / "it-old")
    monkeypatch.setenv(FOLDERS, os.pathsep.join(["", str(first), str(tmp_path / "none"), str(second)]))
    assert find_model("en") == first / "en"
    assert find_model("it-old") == second / "it-old"
    make(place / "en")
    assert find_model("en") == Path("en")
    assert {name: each.origin for name, each in installed().items()} == {"en": FOLDERS, "it-old": FOLDERS}


def test_entry_points_are_found_without_importing_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribute(tmp_path / "site", monkeypatch, "fr", "it-old")
    found = installed()
    assert {name: each.origin for name, each in found.items()} == {
        "en": f"hexatagger {hexatagger.__version__}",
        "fr": "hexatagger-some 2.0",
        "it-old": "hexatagger-some 2.0",
    }
    assert found["it-old"].folder == tmp_path / "site" / "hexatagger_some" / "it-old"


def test_a_folder_that_is_no_model_does_not_hide_one(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribute(tmp_path / "site", monkeypatch, "fr")
    (place / "fr").mkdir()
    (place / "de").mkdir()
    assert find_model("fr").parent.name == "hexatagger_some"
    assert find_model("./fr") == Path("fr")
    with pytest.raises(ConfigError, match=r"no model 'de': the folder de here has no config.json; installed: en, fr\."):
        find_model("de")


def test_unknown_names_and_paths(place: Path) -> None:
    message = r"there is no model 'xx': installed: en\. More: pip install \./models in a checkout of hexatagger, or"
    with pytest.raises(ConfigError, match=message):
        hexatagger.load("xx")
    assert find_model("no/such/folder") == Path("no/such/folder")
    assert find_model(".") == Path()
    with pytest.raises(ConfigError, match="model 'no/such/folder' is not a folder"):
        hexatagger.load("no/such/folder")
    with pytest.raises(ConfigError, match="model 'auto' needs a text to choose by"):
        hexatagger.load("auto")


def test_what_other_processes_find_a_model_by(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribute(tmp_path / "site", monkeypatch, "fr")
    make(tmp_path / "models" / "cy")
    make(place / "mine")
    monkeypatch.setenv(FOLDERS, os.path.relpath(tmp_path / "models"))
    assert [find_elsewhere(name) for name in ("en", "fr")] == ["en", "fr"]
    assert Path(find_elsewhere("cy")).samefile(tmp_path / "models" / "cy")
    assert find_elsewhere("mine") == str(Path("mine").absolute())
    assert find_elsewhere(Path("a/b")) == str(Path("a/b").absolute())
    assert all(Path(find_elsewhere(name)).is_absolute() for name in ("cy", "mine"))
