"""What a training job leaves in the folder besides the network."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")
pytest.importorskip("accelerate", reason="learning needs the extra 'train'")
pytest.importorskip("safetensors", reason="learning needs the extra 'train'")

from hexatagger import write_conllu
from hexatagger.model.config import Recipe
from hexatagger.model.language import choose, find_foreign, read_profile
from hexatagger.model.registry import EMBEDDED_FOLDER
from hexatagger.train.job import Job, train
from invented import speak, texts
from tiny import RECIPE


def test_training_learns_what_the_language_looks_like(tmp_path: Path) -> None:
    sentences = speak(0, 900)
    for sentence in sentences:
        sentence.set_tree(range(len(sentence)), ["root", *["dep"] * (len(sentence) - 1)])
    for name, part in (("train", sentences[:700]), ("dev", sentences[700:])):
        write_conllu(part, tmp_path / f"{name}.conllu")
    settings = ["model.tasks=[]", "training.epochs=1", "training.batch=50", 'card.language="qaa"']
    out = tmp_path / "out"
    recipe = Recipe.from_toml(RECIPE).with_settings(settings)
    train(Job(recipe=recipe, train=[tmp_path / "train.conllu"], dev=[tmp_path / "dev.conllu"], out=out, export=False))
    profile = read_profile(out)
    assert profile is not None
    assert profile.language == "qaa"
    for text in texts(0, 20):
        assert choose(text, {"en": EMBEDDED_FOLDER, "qaa": out}) == "qaa"
        assert find_foreign(text, out, {}) == ""
