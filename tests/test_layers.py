"""The arrows between modules go one way, and heavy packages are imported only where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

SOURCE = ROOT / "src" / "hexatagger"

LAYERS = [
    ["errors"],
    ["files", "sentence", "plain", "tree", "runtime"],
    ["conllu", "tags", "config", "rawtext"],
    ["decode", "pieces", "evaluate", "analysis", "stats", "tagfile", "draw", "segment"],
    ["annotate", "folder"],
    ["answers"],
    ["parser", "workers", "package", "calibrate", "nn"],
    ["server", "integrations", "cli", "__main__"],
]
"""A module imports from its own layer or those above it in this list."""

INSIDE_FUNCTIONS = {
    ("sentence", f"hexatagger.{name}")
    for name in ("conllu", "draw", "integrations.networkx", "integrations.nltk", "integrations.spacy", "plain")
}
"""Arrows against the layers, allowed inside a function only: a sentence itself is asked for what it can become."""

ONLY_IN = {
    "torch": ["nn"],
    "transformers": ["nn"],
    "accelerate": ["nn"],
    "safetensors": ["nn"],
    "onnxruntime": ["runtime", "parser", "segment"],
    "starlette": ["server"],
    "uvicorn": ["server"],
    "networkx": ["integrations"],
    "nltk": ["integrations"],
    "pandas": ["integrations"],
    "pyarrow": ["integrations"],
    "ray": ["integrations"],
    "spacy": ["integrations"],
    "srsly": ["integrations"],
    "click": ["cli"],
    "rich": ["cli"],
}

FILES = sorted(SOURCE.rglob("*.py"))


def stage(path: Path) -> str:
    """The stage a file belongs to: its top folder, or its name."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    """Every module a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(str(node.module))
    return found


def imports_at_the_top(path: Path) -> set[str]:
    """The modules that are imported along with the file."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {str(node.module) for node in body if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    rank = {name: level for level, names in enumerate(LAYERS) for name in names}
    own = stage(path)
    for module in imports(path):
        package, *rest = module.split(".")
        if package in ONLY_IN:
            assert own in ONLY_IN[package], f"{package} is imported only in {ONLY_IN[package]}"
        if (own, module) in INSIDE_FUNCTIONS:
            assert module not in imports_at_the_top(path), f"{own} must import {module} inside a function"
        elif package == "hexatagger" and rest and own != "__init__":
            assert rank[rest[0]] <= rank[own], f"{own} must not import {module}"


def test_every_stage_has_its_layer() -> None:
    known = {name for names in LAYERS for name in names} | {"__init__"}
    assert {stage(path) for path in FILES} <= known


@pytest.mark.parametrize("command", ["import hexatagger", "import hexatagger.cli"])
def test_import_is_light(command: str) -> None:
    heavy = ("torch", "onnxruntime", "numpy", "transformers", "networkx", "nltk", "pandas", "pyarrow", "spacy")
    program = f"{command}; import sys; print([module for module in {heavy} if module in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
