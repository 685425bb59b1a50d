"""The notebook runs from top to bottom, and is committed without what it shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

NOTEBOOK = ROOT / "docs" / "tour.ipynb"
MODEL = ROOT / "src" / "hexatagger" / "models" / "en"


def code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_is_committed_without_output() -> None:
    for cell in code(json.loads(NOTEBOOK.read_text(encoding="utf-8"))):
        assert (cell["outputs"], cell["execution_count"]) == ([], None), "clear all outputs before you commit"


@pytest.mark.filterwarnings("default")  # of the packages that run notebooks
def test_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="running the notebook needs the extra [docs]")
    pytest.importorskip("ipykernel", reason="running the notebook needs the extra [docs]")
    pytest.importorskip("torch", reason="training in the notebook needs the extra [train]")
    if not MODEL.is_dir():
        pytest.skip("the notebook needs the embedded model")
    import nbformat

    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # tiny networks are faster so
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in code(notebook) for output in cell["outputs"]]
    assert not [output for output in shown if output["output_type"] == "error"]
    pictures = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert len(pictures) == 5
    assert all("<svg" in picture for picture in pictures)
    assert "granda" in pictures[-1]
