"""Learning from larger models: labels are made, kept in files, and learnt."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("onnx", reason="a teacher is an exported model")

from click.testing import CliRunner

import hexatagger
from hexatagger.cli.label import label as command
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import ModelConfig, Recipe
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.parsing.parser import Parser
from hexatagger.parsing.predictions import Prediction
from hexatagger.sentence import Sentence
from hexatagger.tags import from_heads
from hexatagger.train.data import Example
from hexatagger.train.job import Job, train
from hexatagger.train.label import Progress, ask, label
from hexatagger.train.labels import Labelled, read_label_folder, read_labels, read_shard, teach, write_shard
from tiny import RECIPE, write_treebank


def make_job(treebank: Path, out: Path, *settings: str, **rest: Any) -> Job:
    recipe = Recipe.from_toml(RECIPE).with_settings(["training.epochs=40", *settings])
    return Job(recipe=recipe, train=[treebank], dev=[treebank], out=out, **rest)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two teachers and the treebank that they know by heart, without and with its trees."""
    place = tmp_path_factory.mktemp("teachers")
    treebank = write_treebank(place)
    train(make_job(treebank, place / "one"))
    train(make_job(treebank, place / "two", "training.seed=2"))
    words = [" ".join(form.replace(" ", "\u00a0") for form in each.forms) for each in read_conllu(treebank)]
    (place / "words.txt").write_text("".join(f"{line}\n" for line in words))
    return place


def test_a_student_learns_from_labels_alone(place: Path, tmp_path: Path) -> None:
    treebank, labels = place / "tiny-1.conllu", tmp_path / "labels"
    done = label([place / "one", place / "two"], [treebank], labels, source="conllu")
    assert done == Progress(1, sum(map(len, [each for each in read_conllu(treebank) if len(each) > 1])))
    # The treebank of the student has other words and no relation in common with the labels.
    other = tmp_path / "other.conllu"
    other.write_text("1\tHi\thi\tINTJ\tIN\tA=b\t0\troot\t_\t_\n\n")
    settings = ["model.relations=tree", "model.hidden=32", "training.gold_epochs=0"]
    job = make_job(treebank, tmp_path / "student", *settings, labels=[labels])
    state = train(Job(recipe=job.recipe, train=[other], dev=[treebank], out=job.out, labels=[labels]))
    assert state.best > 85
    assert state.history[-1]["Lemmas"] > 85
    card = (tmp_path / "student" / "README.md").read_text()
    assert "| without trees, for the teacher | tiny-1.conllu |" in card
    assert "| teacher's network | one |" in card
    assert "| teacher's network | two |" in card
    parser = hexatagger.load(tmp_path / "student")  # its relations come from the second network
    assert (tmp_path / "student" / "deprels.onnx").is_file()
    gold = [each for each in read_conllu(treebank) if len(each) > 1]
    together, alone = parser.parse_sentences(gold), [parser.parse_sentences([each])[0] for each in gold]
    assert together == alone
    pairs = [(mine.deprels, theirs.deprels) for mine, theirs in zip(together, gold, strict=True)]
    right = sum(one == other for pair in pairs for one, other in zip(*pair, strict=True))
    assert right > 0.85 * sum(map(len, gold))


def test_gold_sentences_learn_both(place: Path, tmp_path: Path) -> None:
    treebank, labels = place / "tiny-1.conllu", tmp_path / "labels"
    label([place / "one"], [treebank], labels, source="conllu")
    seen = list[dict[str, Any]]()
    job = make_job(treebank, tmp_path / "out", "training.epochs=1", labels=[labels], export=False)
    train(job, seen.append)
    assert next(event for event in seen if event["event"] == "start")["sentences"] == 10  # none is there twice


def test_the_last_epochs_see_gold_alone(place: Path, tmp_path: Path) -> None:
    treebank, labels = place / "tiny-1.conllu", tmp_path / "labels"
    label([place / "one"], [place / "words.txt"], labels, source="words")
    other = tmp_path / "other.conllu"
    other.write_text("1\tHi\thi\tINTJ\tIN\tA=b\t0\troot\t_\t_\n\n" * 5)
    seen = list[dict[str, Any]]()
    job = make_job(other, tmp_path / "out", "training.epochs=3", "training.gold_epochs=1", "training.batch=2")
    train(
        Job(recipe=job.recipe, train=[other], dev=[treebank], out=job.out, labels=[labels], export=False), seen.append
    )
    steps = {event["epoch"]: event["of"] for event in seen if event["event"] == "step"}
    assert steps[1] == steps[2] > steps[3] == 3


def test_a_teacher_can_be_named(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXATAGGER_MODELS", str(place))
    args = ["--out", str(tmp_path / "labels"), "--from", "words", str(place / "words.txt")]
    assert CliRunner().invoke(command, ["--teacher", "one", *args]).exit_code == 0
    with pytest.raises(ConfigError, match="'three'"):
        CliRunner().invoke(command, ["--teacher", "three", *args], catch_exceptions=False)


def test_labelling_goes_on_where_it_stopped(place: Path, tmp_path: Path) -> None:
    args = ["--teacher", str(place / "one"), "--out", str(tmp_path / "labels"), "--from", "words"]
    result = CliRunner().invoke(command, [*args, str(place / "words.txt")])
    assert result.exit_code == 0, result.output
    shard = tmp_path / "labels" / "00000.npz"
    first = shard.read_bytes()
    described = json.loads((tmp_path / "labels" / "teachers.json").read_text())
    del described["shards"], described["words"]
    (tmp_path / "labels" / "teachers.json").write_text(json.dumps(described))
    with pytest.raises(FormatError, match="labelling did not finish"):
        read_label_folder(tmp_path / "labels")
    stamp = shard.stat().st_mtime_ns
    assert CliRunner().invoke(command, [*args, str(place / "words.txt")]).exit_code == 0
    assert (shard.read_bytes(), shard.stat().st_mtime_ns) == (first, stamp)
    with pytest.raises(ConfigError, match="made with other files"):
        label([place / "one"], [place / "tiny-1.conllu"], tmp_path / "labels", source="words")
    with pytest.raises(ConfigError, match="made with other teachers"):
        label([place / "two"], [place / "words.txt"], tmp_path / "labels", source="words")
    shard.unlink()
    with pytest.raises(FormatError, match=r"00000\.npz: is missing"):
        read_label_folder(tmp_path / "labels")


def test_heads_are_averaged_and_rerank_the_trees() -> None:
    """Three words: the tags of both teachers prefer the head 1 of the last word, the heads of both the head 2."""

    def prediction(head: float) -> Prediction:
        heads = np.log(np.array([[0.98, 0.0, 0.01, 0.01], [0.01, 0.98, 0.0, 0.01], [0.01, 1 - head, head, 0.0]]) + 1e-4)
        relations = np.log(np.array([[[0.8, 0.1, 0.1]], [[0.1, 0.8, 0.1]], [[0.1, 0.1, 0.8]]]))
        leaf = np.log(np.array([[0.99, 0.01], [0.4, 0.6], [0.01, 0.99]]))
        internal = np.log(np.array([[0.97, 0.01, 0.01, 0.01], [0.49, 0.01, 0.49, 0.01], [0.25, 0.25, 0.25, 0.25]]))
        none = np.zeros((3, 1), np.int64)
        return Prediction(leaf, internal, none, none, relations=relations, head=heads)

    teacher = cast("Parser", SimpleNamespace(labels=Labels(LabelSet(["root", "a", "b"]))))

    def asked(*predictions: Prediction) -> list[int]:
        teachers = []
        for each in predictions:
            teachers.append(SimpleNamespace(labels=teacher.labels, predict=lambda _, each=each: [each]))
        [found] = ask(cast("list[Parser]", teachers), [Sentence.from_words(["x", "y", "z"])])
        assert found.arrays["relation"].tolist() == [0, 1, 2]
        return list(found.arrays["head"].tolist())

    sure, unsure = prediction(0.99), prediction(0.3)
    assert asked(sure, sure) == [0, 1, 2]
    assert asked(unsure, unsure) == [0, 1, 1]
    assert asked(sure, unsure) == [0, 1, 2]  # the mean of both is 0.645


def test_a_sample_is_random_and_the_same_each_time(place: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = label([place / "one"], [place / "words.txt"], tmp_path / name, source="words", words=12)
        assert 12 <= done.words < 20
    first, second = ([each.forms for each in read_shard(tmp_path / name / "00000.npz")] for name in "ab")
    assert first == second
    every = [tuple(line.split()) for line in (place / "words.txt").read_text().splitlines()]
    assert first != every[: len(first)]


def test_a_shard_is_what_was_written(tmp_path: Path) -> None:
    arrays = {"head": np.array([0, 1], np.int16)}
    sentences = [Labelled(("a b", "ü"), arrays), Labelled(("c", "\u2028"), arrays)]
    write_shard(tmp_path / "s.npz", sentences)
    again = read_shard(tmp_path / "s.npz")
    assert [each.forms for each in again] == [each.forms for each in sentences]
    assert all((each.arrays["head"] == [0, 1]).all() for each in again)
    assert [len(each.forms) for each in read_labels([tmp_path / "s.npz"] * 2, words=5)] == [2, 2, 2]
    (tmp_path / "broken.npz").write_bytes(b"PK")
    with pytest.raises(FormatError, match=r"broken\.npz: is not a shard of labels"):
        read_shard(tmp_path / "broken.npz")


def test_targets_mix_tree_and_probabilities(place: Path) -> None:
    teacher = hexatagger.load(place / "one")
    [sentence] = [each for each in read_conllu(place / "tiny-1.conllu") if len(each) == 7]
    [labelled] = ask([teacher], [sentence])
    tags = [int(tag) for tag in from_heads(labelled.arrays["head"].tolist(), "left")]
    config = ModelConfig(relations="tree")
    for trees in (0.0, 0.4, 1.0):
        example = Example([], {})
        teach(example, labelled, config, heads=["leaf", "internal", "relation", "upos"], trees=trees)
        assert set(example.soft) == {"leaf", "internal", "relation", "upos"}
        for name, (ids, shares) in example.soft.items():
            rows = shares.astype(float).sum(1)
            assert np.allclose(rows[:-1] if name == "internal" else rows, 1.0, atol=2e-3), (name, ids)
        leaf = example.soft["leaf"][1].astype(float)
        expected = (1 - trees) * labelled.arrays["leaf"].astype(float) + trees * (np.array(tags[::2]) == 0)
        assert np.allclose(leaf[:, 0], expected, atol=2e-3)
        assert example.targets["head"].tolist() == labelled.arrays["head"].tolist()
    assert example.soft["internal"][1][-1].sum() == 0  # the last word has none


def test_a_student_must_fit_its_teachers(place: Path, tmp_path: Path) -> None:
    treebank, labels = place / "tiny-1.conllu", tmp_path / "labels"
    label([place / "one"], [place / "words.txt"], labels, source="words")
    with pytest.raises(ConfigError, match=r"model\.order is 'right', but the teacher has 'left'"):
        train(make_job(treebank, tmp_path / "out", "model.order=right", labels=[labels]))
    with pytest.raises(ConfigError, match="'joint', which cannot learn from a teacher"):
        train(make_job(treebank, tmp_path / "out", "model.relations=joint", labels=[labels]))
    (tmp_path / "small.txt").write_text("a\n")
    with pytest.raises(ConfigError, match="no sentence of 2 to 100 words"):
        label([place / "one"], [tmp_path / "small.txt"], tmp_path / "none", source="words")
    assert not (tmp_path / "none").exists()
    with pytest.raises(ConfigError, match=r"small\.txt is a file: name a folder"):
        label([place / "one"], [place / "words.txt"], tmp_path / "small.txt", source="words")
    train(make_job(treebank, tmp_path / "poor", "training.epochs=1", "model.tasks=['upos']"))
    with pytest.raises(ConfigError, match="poor has other labels than"):
        label([place / "one", tmp_path / "poor"], [place / "words.txt"], tmp_path / "none", source="words")
    label([tmp_path / "poor"], [place / "words.txt"], tmp_path / "few", source="words")
    with pytest.raises(ConfigError, match="the teacher does not predict xpos, feats, lemma"):
        train(make_job(treebank, tmp_path / "out", labels=[tmp_path / "few"]))
