"""The biaffine baseline learns in our training loop."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")
pytest.importorskip("accelerate", reason="learning needs the extra 'train'")

from biaffine import load_biaffine, parse, train_biaffine
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import Recipe
from hexatagger.scoring.evaluate import evaluate
from hexatagger.train.data import encode
from hexatagger.train.job import Job
from hexatagger.train.loop import Data
from mst import best_trees
from tiny import RECIPE, write_treebank


def test_the_baseline_learns_ten_sentences(tmp_path: Path) -> None:
    treebank = write_treebank(tmp_path)
    recipe = Recipe.from_toml(RECIPE).with_settings(["training.epochs=30", "training.head_rate=0.005"])
    events = list[dict[str, Any]]()
    job = Job(recipe=recipe, train=[treebank], dev=[treebank], out=tmp_path / "out")
    state = train_biaffine(job, events.append)
    assert state.best > 95
    # One of the ten trees is not projective.
    assert 90 < max(entry["projective LAS"] for entry in state.history) < 100
    # The folder has what was trained.
    model, gold = load_biaffine(job.out), list(read_conllu(treebank))
    examples = [encode(each, model.recipe.model, model.labels, model.cutter(), gold=False) for each in gold]
    parsed = parse(model, Data([], examples, gold, [], []), best_trees)
    assert evaluate(gold, parsed).metrics["LAS"].f1 == pytest.approx(state.best, abs=0.001)
