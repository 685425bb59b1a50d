"""The examples in docstrings, README and docs are run, and figures come from results."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

SOURCE = ROOT / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in (SOURCE / "hexatagger").rglob("*.py")
    if path.name != "__main__.py"
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    if ".nn" in name:
        pytest.importorskip("torch", reason="needs the extra [train]")
    if ".server" in name:
        pytest.importorskip("starlette", reason="needs the extra [serve]")
        pytest.importorskip("uvicorn", reason="needs the extra [serve]")
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_show_what_really_happens(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for kind, block in BLOCK.findall(path.read_text(encoding="utf-8")):
        if kind == "pycon":
            example = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), 0)
            runner = doctest.DocTestRunner()
            assert runner.run(example, clear_globs=False).failed == 0
            names = example.globs  # what one block defines the next one may use
        elif kind == "console":
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                assert run(command) == expected


def run(command: str) -> str:
    """Run a line as a reader would, with `hexatagger` being the one under test."""
    script = f'hexatagger() {{ "{sys.executable}" -m hexatagger "$@"; }}; {command}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    return done.stdout


def test_figures_are_those_of_the_results() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "report.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
