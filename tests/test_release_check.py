"""What a release is checked with finds what it should; the checks themselves are `make release-check`."""

import doctest
import tarfile
from pathlib import Path

import pytest

import release_check
from conftest import ROOT


def test_examples() -> None:
    assert doctest.testmod(release_check).failed == 0


def test_first_command_of_readme_installs_and_shows_something() -> None:
    command = release_check.first_command((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "pip install" in command
    assert "hexatagger" in command


def test_strays_and_losses_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hexatagger-0.tar.gz"
    (tmp_path / "note.txt").write_text("private")
    with tarfile.open(path, "w:gz") as archive:
        for name in ("README.md", "note.txt", "PKG-INFO"):
            archive.add(tmp_path / "note.txt", f"hexatagger-0/{name}")
    release_check.failures = 0
    release_check.check_sdist(path, ["README.md", "LICENSE", ".ci/run"])
    assert release_check.failures == 2
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("FAIL the sdist holds tracked files only")
    assert (told[1].strip(), told[3].strip()) == ("note.txt", "LICENSE")
