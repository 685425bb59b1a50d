"""Folder = layer: a folder imports only from folders above it in the list; heavy packages stay where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

SOURCE = ROOT / "src" / "hexatagger"

LAYERS = [
    "errors",
    "tree",
    "sentence",
    "search",
    "tags",
    "formats",
    "decode",
    "scoring",
    "draw",
    "model",
    "segment",
    "parsing",
    "train",
    "server",
    "integrations",
    "cli",
    "__main__",
]

ONLY_IN = {
    "torch": "train",
    "transformers": "train",
    "accelerate": "train",
    "safetensors": "train",
    "onnxruntime": "model",
    "fastapi": "server",
    "pydantic": "server",
    "prometheus_client": "server",
    "starlette": "server",
    "uvicorn": "server",
    "networkx": "integrations",
    "nltk": "integrations",
    "pandas": "integrations",
    "pyarrow": "integrations",
    "ray": "integrations",
    "spacy": "integrations",
    "srsly": "integrations",
    "click": "cli",
}

FILES = sorted(SOURCE.rglob("*.py"))


def layer(path: Path) -> str:
    """The layer a file belongs to: its top folder, or its name."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> tuple[set[str], set[str]]:
    """The modules that a file imports when it is loaded, and those that it imports later or only for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: tuple[set[str], set[str]] = set(), set()
    for node in ast.walk(tree):
        later = node not in tree.body
        if isinstance(node, ast.Import):
            found[later].update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found[later].add(str(node.module))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = layer(path)
    now, later = imports(path)
    for module in now | later:
        package, *rest = module.split(".")
        if package in ONLY_IN:
            assert own == ONLY_IN[package] or module not in now, f"{package} is imported only in {ONLY_IN[package]}"
        if package != "hexatagger" or not rest or own == "__init__":
            continue
        # A Sentence is asked for what it can become: it imports the formats and pictures inside those methods.
        allowed = own == "sentence" and module not in now
        assert allowed or LAYERS.index(rest[0]) <= LAYERS.index(own), f"{own} must not import {module}"


def test_every_folder_is_a_layer() -> None:
    assert {layer(path) for path in FILES} == {*LAYERS, "__init__"}


@pytest.mark.parametrize("command", ["import hexatagger", "import hexatagger.cli"])
def test_import_is_light(command: str) -> None:
    heavy = ("torch", "onnxruntime", "numpy", "transformers", "networkx", "nltk", "pandas", "pyarrow", "spacy")
    program = f"{command}; import sys; print([module for module in {heavy} if module in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
