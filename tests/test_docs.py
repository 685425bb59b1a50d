"""The examples in docstrings, README and docs are run, and figures come from results."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import refresh_docs
from conftest import ROOT
from hexatagger.cli import COMMANDS
from hexatagger.errors import PackageError
from refresh_docs import ExampleError, documents, missing, refreshed

SOURCE = ROOT / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in (SOURCE / "hexatagger").rglob("*.py")
    if path.name != "__main__.py"
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    if ".train" in name and ".cli" not in name:
        pytest.importorskip("torch", reason="needs the extra [train]")
    if ".server" in name:
        pytest.importorskip("fastapi", reason="needs the extra [serve]")
        pytest.importorskip("uvicorn", reason="needs the extra [serve]")
    try:
        module = importlib.import_module(name)
    except PackageError as error:
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_documents_show_what_really_happens(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if absent := missing(text):
        pytest.skip(f"{path.name} needs {', '.join(absent)}")
    assert refreshed(text, exact=False) == text, "if this is as it should be: python tools/refresh_docs.py"


def test_a_section_of_every_command_is_made() -> None:
    made = refreshed("<!-- commands -->\n<!-- end -->\n")
    assert re.findall("^## (.*)$", made, re.MULTILINE) == list(COMMANDS)
    assert made.count("\nUsage: hexatagger ") == len(COMMANDS)


def test_refreshing_keeps_what_holds_and_replaces_what_does_not() -> None:
    assert doctest.testmod(refresh_docs).failed == 0
    text = (
        "```console\n$ echo one\none\n$ echo two \\\n  three\ntwo\n```\n\nand\n\n```pycon\n>>> x = 1\n>>> x\n1\n```\n"
    )
    assert refreshed(text) == text.replace("three\ntwo\n", "three\ntwo three\n")


def test_numbers_that_vary_are_refreshed_but_no_mistake() -> None:
    text = "<!-- numbers vary -->\n```console\n$ echo 1.25 words\n  8 words\n```\n"
    assert refreshed(text, exact=False) == text
    assert refreshed(text) == text.replace("  8 words", "1.25 words")
    plain = text.partition("\n")[2]
    assert refreshed(plain, exact=False) != plain


def test_output_that_varies_is_refreshed_but_no_mistake() -> None:
    text = "<!-- output varies -->\n```console\n$ printf new\nold\n```\n"
    assert refreshed(text, exact=False) == text
    assert refreshed(text) == text.replace("old", "new")
    with pytest.raises(ExampleError, match="exit code 3"):
        refreshed(text.replace("printf new", "exit 3"), exact=False)


def test_a_document_may_show_an_error_but_not_have_one() -> None:
    text = "```console\n$ hexatagger lift nothing.conllu\nError: what?\n```\n"
    assert "Error: nothing.conllu: cannot be read" in refreshed(text)
    with pytest.raises(ExampleError, match="exit code 1"):
        refreshed(text.replace("Error: what?\n", ""))
    with pytest.raises(ExampleError, match="exit code 0"):
        refreshed(text.replace("hexatagger lift nothing.conllu", "echo fine"))
    with pytest.raises(ExampleError, match="ZeroDivisionError"):
        refreshed("```pycon\n>>> 1 / 0\n0\n```\n")


def test_documents_are_left_alone_where_something_is_missing() -> None:
    assert missing("<!-- needs: numpy, no-such-thing, bash -->\n") == ["no-such-thing"]


def test_figures_are_those_of_the_results() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "report.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
