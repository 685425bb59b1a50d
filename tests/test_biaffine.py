"""The biaffine baseline learns in our training loop."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")
pytest.importorskip("accelerate", reason="learning needs the extra 'train'")

from conftest import ROOT
from test_nn_train import RECIPE
from tiny import write_treebank

sys.path.append(str(ROOT / "benchmarks"))
from biaffine import train_biaffine
from hexatagger.config import Recipe
from hexatagger.nn.train import Job


def test_the_baseline_learns_ten_sentences(tmp_path: Path) -> None:
    treebank = write_treebank(tmp_path)
    recipe = Recipe.from_toml(RECIPE).with_settings(["training.epochs=30", "training.head_rate=0.005"])
    events = list[dict[str, Any]]()
    job = Job(recipe=recipe, train=[treebank], dev=[treebank], out=tmp_path / "out")
    state = train_biaffine(job, events.append)
    assert state.best > 95
    # One of the ten trees is not projective.
    assert 90 < max(entry["projective LAS"] for entry in state.history) < 100
