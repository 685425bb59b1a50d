"""What a training job leaves in the folder besides the network."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")
pytest.importorskip("accelerate", reason="learning needs the extra 'train'")
pytest.importorskip("safetensors", reason="learning needs the extra 'train'")

from hexatagger import write_conllu
from hexatagger.model.card import read_card
from hexatagger.model.config import Recipe
from hexatagger.model.language import choose, find_foreign, read_profile
from hexatagger.model.registry import EMBEDDED_FOLDER
from hexatagger.train.data import IGNORE
from hexatagger.train.job import Job, prepare, train
from hexatagger.train.loop import make_accelerator
from hexatagger.train.preflight import drop_feats, other_treebanks, read_treebank
from hexatagger.train.weights import load_model
from invented import speak, texts
from tiny import RECIPE, write_treebank


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


def test_that_a_model_annotates_as_the_treebank_in_dev_does(tmp_path: Path) -> None:
    """Two treebanks contradict each other, and the one that is not in dev is three times as large."""
    sentences = speak(0, 260)
    for number, sentence in enumerate(sentences):
        size = len(sentence)
        own = number % 4 == 0 or number >= 240
        heads = range(size) if own else [*range(2, size + 1), 0]
        sentence.set_tree(heads, ["dep" if head else "root" for head in heads])
        sentence.comments.append(f"# treebank = {'own' if own else 'other'}")
    write_conllu(sentences[:240], tmp_path / "train.conllu")
    write_conllu(sentences[240:], tmp_path / "dev.conllu")
    job = Job(
        recipe=Recipe.from_toml(RECIPE).with_settings(["model.tasks=[]", "training.epochs=8", "training.batch=20"]),
        train=[tmp_path / "train.conllu"],
        dev=[tmp_path / "dev.conllu"],
        out=tmp_path / "without",
        export=False,
    )
    assert train(job).best < 20
    told = replace(job, recipe=job.recipe.with_settings(["model.treebanks=true"]), out=tmp_path / "with")
    assert train(told).best > 95
    model = load_model(told.out)
    assert model.labels.treebanks.strings == ("other",)
    assert not model.network.get_parameter("treebanks.weight")[0].any()


def test_an_older_release_with_other_features_teaches_none(tmp_path: Path) -> None:
    sentences = speak(0, 90)
    releases = ["UD_Own-One r2.1"] * 30 + ["UD_Own-Two"] * 30 + ["UD_Own-One r2.16"] * 30
    for sentence, release in zip(sentences, releases, strict=True):
        sentence.set_tree(range(len(sentence)), ["dep" if head else "root" for head in range(len(sentence))])
        sentence.comments.append(f"# treebank = {release}")
        for word in sentence:
            word.feats = "Old=Yes" if release.endswith("r2.1") else "New=Yes"
    older, other, dev = sentences[:30], sentences[30:60], sentences[60:]
    assert drop_feats(older, dev) == []  # there is nothing better
    write_conllu([*older, *other], tmp_path / "train.conllu")
    write_conllu(dev, tmp_path / "dev.conllu")
    job = Job(
        recipe=Recipe.from_toml(RECIPE).with_settings(['model.tasks=["feats"]', "model.treebanks=true"]),
        train=[tmp_path / "train.conllu"],
        dev=[tmp_path / "dev.conllu"],
        out=tmp_path / "out",
    )
    model, data = prepare(job, make_accelerator(job.recipe.training))
    assert model.labels.tasks["feats"].strings == ("New=Yes",)
    assert data.warnings == [
        "FEATS of UD_Own-One r2.1 are not learnt: 0% of the word forms in dev have the features that they have there, "
        "100% those of UD_Own-Two"
    ]
    targets = [set(example.targets["feats"].tolist()) for example in data.train]
    assert targets == [{IGNORE}] * 30 + [{0}] * 30


def test_folders_are_treebanks(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write_treebank(tmp_path / name)
    files = [tmp_path / name / "tiny-1.conllu" for name in ("first", "second")]
    both, second = (read_treebank(part, purpose="train") for part in (files, files[1:]))
    assert other_treebanks(both, second).strings == ("first",)
    assert other_treebanks(both, both).strings == ()
    elsewhere = [replace(each, comments=["# treebank = third"]) for each in second]
    assert other_treebanks(both, elsewhere).strings == ()  # nothing in common: nothing to tell apart


def test_a_related_language_teaches_trees_but_no_labels(tmp_path: Path) -> None:
    """A third of the trees and all of the relations are those of the treebank itself; nothing is from dev."""
    own, other = speak(0, 60), speak(1, 90)
    for sentences, name in ((own, "dep"), (other, "strange")):
        for sentence in sentences:
            sentence.set_tree(range(len(sentence)), [name if head else "root" for head in range(len(sentence))])
    for name, part in (("own/train", own[:40]), ("own/dev", own[40:]), ("other/train", other + own[40:])):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_conllu(part, tmp_path / f"{name}.conllu")
    job = Job(
        recipe=Recipe.from_toml(RECIPE).with_settings(["model.tasks=[]", "model.treebanks=true", "training.epochs=1"]),
        train=[tmp_path / "own/train.conllu"],
        dev=[tmp_path / "own/dev.conllu"],
        related=[tmp_path / "other/train.conllu"],
        out=tmp_path / "out",
        export=False,
    )
    model, data = prepare(job, make_accelerator(job.recipe.training))
    assert model.labels.relations.strings == ("dep", "root")
    assert model.labels.treebanks.strings == ("other",)
    size = sum(map(len, other)) / sum(map(len, own[:40]))
    assert len(data.train) == 40 * round(size) + 90
    assert [example.treebank for example in data.train] == [0] * 40 + [1] * 90 + [0] * 40 * (round(size) - 1)
    assert len(data.treebank) == 40  # for the segmenter
    assert data.warnings == ["20 sentences of related treebanks are in dev too and are not learnt"]
    train(job)
    card = read_card(job.out)
    assert card is not None
    assert [each.part for each in card.data] == ["train", "dev", "related"]
