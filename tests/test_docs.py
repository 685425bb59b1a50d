"""The examples in docstrings are right."""

import doctest
import importlib
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
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
