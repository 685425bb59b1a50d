"""Training as a whole, on ten sentences: it learns, it can be killed, it says what is wrong before it begins."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("transformers", reason="learning needs the extra 'train'")
pytest.importorskip("accelerate", reason="learning needs the extra 'train'")
pytest.importorskip("safetensors", reason="learning needs the extra 'train'")

import torch
from click.testing import CliRunner

from conftest import ROOT
from hexatagger.cli.train import train as command
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import Recipe
from hexatagger.segment.segmenter import Segmenter
from hexatagger.train.checkpoint import find_checkpoint
from hexatagger.train.job import Job, train
from hexatagger.train.preflight import read_treebank
from hexatagger.train.segmenter.network import SegmenterConfig
from hexatagger.train.weights import load_model, load_weights
from tiny import RECIPE, make_encoder, write_treebank

SCRIPT = "from hexatagger.cli.train import train\n\nif __name__ == '__main__':\n    train()\n"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # such small matrices are slower on two
    yield
    torch.set_num_threads(before)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    return write_treebank(tmp_path)


def make_job(treebank: Path, out: Path, *settings: str, **rest: Any) -> Job:
    recipe = Recipe.from_toml(RECIPE).with_settings(settings)
    return Job(recipe=recipe, train=[treebank], dev=[treebank], out=out, **({"export": False} | rest))


def test_ten_sentences_are_learnt_by_heart(treebank: Path, tmp_path: Path) -> None:
    began, events = time.monotonic(), list[dict[str, Any]]()
    state = train(make_job(treebank, tmp_path / "out"), events.append)
    assert time.monotonic() - began < 60
    best = state.history[state.best_epoch - 1]
    assert {name: best[name] for name in ("UAS", "LAS")} == {"UAS": 100, "LAS": 100}
    assert min(state.history[-1][name] for name in ("UPOS", "XPOS", "UFeats", "Lemmas")) == 100
    assert {event["event"] for event in events} == {"start", "step", "epoch", "end"}
    # The folder is a model, and nothing else.
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names - {"curve.png"} == {
        "config.json", "labels.json", "model.safetensors", "README.md", "card.json", "log.jsonl", "run.json",
        "training.json", ".lock", "lemmas.tsv.gz",
    }  # fmt: skip
    assert state.history[-1]["Inflected lemmas"] == 100
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| 100.00 | 100.00 |" in card
    assert re.search(r"Trained in \d+ minutes and \d+\.\d GB of memory", card)
    assert re.search(r"\| train \| tiny-1\.conllu \| `[0-9a-f]{64}` \|", card)
    assert str(tmp_path) not in card
    assert next(iter(json.loads((tmp_path / "out" / "config.json").read_text()))) == "format"
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert sum(line["event"] == "epoch" for line in lines) == 40
    # The same command with --resume has nothing left to do.
    assert train(make_job(treebank, tmp_path / "out", resume=True)) == state


@pytest.mark.parametrize(
    "settings",
    [
        ["training.loss=legal", "training.average=0.9", "model.relations=joint"],
        ["model.pos=upos", "model.tasks=[]", "model.order=right", "training.decay=cosine"],
    ],
    ids=["legal", "pos"],
)
def test_other_settings_learn_too(settings: list[str], treebank: Path, tmp_path: Path) -> None:
    state = train(make_job(treebank, tmp_path / "out", *settings))
    assert state.best == 100


def test_a_pretrained_encoder_is_trained(treebank: Path, tmp_path: Path) -> None:
    encoder = make_encoder(tmp_path, "mpnet", width=48)
    settings = [f"model.encoder={encoder}", "model.lstm_layers=0", "training.rate=0.003", "training.head_rate=0.003",
                "model.shape=true", "training.batch=30", "training.batch_unit=pieces", "model.layers=2"]  # fmt: skip
    state = train(make_job(treebank, tmp_path / "out", *settings))
    assert state.best > 95
    assert load_model(tmp_path / "out").recipe.model.encoder == "tiny-mpnet"


def test_one_seed_one_result(treebank: Path, tmp_path: Path) -> None:
    short = ["training.epochs=2"]
    first, second = (train(make_job(treebank, tmp_path / name, *short)) for name in ("a", "b"))
    assert [entry["LAS"] for entry in first.history] == [entry["LAS"] for entry in second.history]
    weights = [load_weights(tmp_path / name / "model.safetensors") for name in ("a", "b")]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())
    train(make_job(treebank, tmp_path / "c", *short, "training.seed=2"))
    assert not torch.equal(
        load_weights(tmp_path / "c" / "model.safetensors")["heads.leaf.weight"], weights[0]["heads.leaf.weight"]
    )


def start(arguments: list[str], **options: Any) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    return subprocess.Popen([sys.executable, *arguments], env=environment, text=True, stderr=subprocess.PIPE, **options)


def arguments(treebank: Path, folder: Path) -> list[str]:
    """Write a recipe and a script that runs the command, and return how to start it."""
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "run.py").write_text(SCRIPT)
    files = ["--train", str(treebank), "--dev", str(treebank)]
    return [str(folder / "run.py"), str(folder / "recipe.toml"), *files, "--no-export"]


def test_killed_and_resumed_is_as_if_never_killed(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    often = ["--set", "training.epochs=12", "--set", "training.checkpoint_minutes=0"]
    process = start([*arguments(treebank, tmp_path), "--out", str(out), *often])
    deadline = time.monotonic() + 100
    while (place := find_checkpoint(out)) is None or int(place.name.removeprefix("checkpoint-")) < 5:
        assert time.monotonic() < deadline, "no checkpoint was written"
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (out / "training.json").exists()
    # Without --resume nothing is touched, with it the run ends as one that was never stopped.
    with pytest.raises(ConfigError, match="in use"):
        train(make_job(treebank, out))
    settings = ["training.epochs=12", "training.checkpoint_minutes=0"]
    with pytest.raises(ConfigError, match=r"begun with model\.lstm_width = 48, not 40"):
        train(make_job(treebank, out, *settings, "model.lstm_width=40", resume=True))
    resumed = train(make_job(treebank, out, *settings, resume=True))
    whole = train(make_job(treebank, tmp_path / "whole", *settings))
    assert resumed.steps == whole.steps
    assert [entry["LAS"] for entry in resumed.history] == [entry["LAS"] for entry in whole.history]
    ours, theirs = (load_weights(folder / "model.safetensors") for folder in (out, tmp_path / "whole"))
    assert all(torch.allclose(value, theirs[name], atol=1e-6) for name, value in ours.items())
    assert find_checkpoint(out) is None


def test_two_processes_do_as_one(treebank: Path, tmp_path: Path) -> None:
    # accelerate starts several processes on CPUs by MPI; its launcher for GPUs does it without, told to use CPUs.
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    out = tmp_path / "out"
    settings = ["--set", "training.epochs=25", "--set", "model.dropout=0.0"]
    process = start([*launch, *arguments(treebank, tmp_path), "--out", str(out), *settings])
    try:
        _, errors = process.communicate(timeout=150)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, errors
    state = json.loads((out / "training.json").read_text())
    alone = train(make_job(treebank, tmp_path / "alone", "training.epochs=25", "model.dropout=0.0"))
    assert state["steps"] == alone.steps
    assert abs(state["best"] - alone.best) < 10
    assert (out / "README.md").is_file()


def test_errors_before_any_work(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def fails(message: str, *settings: str, error: type[Exception] = ConfigError, **rest: Any) -> None:
        with pytest.raises(error, match=message):
            train(make_job(rest.pop("file", treebank), rest.pop("out", out), *settings, **rest))
        assert not (out / "model.safetensors").exists()

    bare = tmp_path / "bare.conllu"
    bare.write_text("1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    fails("column UPOS is empty, but model.tasks has 'upos': take it out", file=bare)
    fails("column XPOS is empty, but model.pos is 'xpos'", "model.pos=xpos", "model.tasks=[]", file=bare)
    (tmp_path / "empty.conllu").write_text("")
    fails("has no sentence", file=tmp_path / "empty.conllu", error=FormatError)
    if not torch.cuda.is_available():
        fails("precision 'fp16' does not work here", "training.precision=fp16")
    fails("neither a folder nor", f"model.encoder={tmp_path / 'nowhere'}")
    fails("is a file: name a folder", out=bare)
    fails("has no training run", resume=True, out=tmp_path)
    with pytest.raises(ConfigError, match="no dev file"):
        train(Job(recipe=Recipe.from_toml(RECIPE), train=[treebank], dev=[], out=out))


def test_relations_that_dev_alone_has_are_a_warning(treebank: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.conllu"
    dev.write_text("1\tOh\toh\tINTJ\tIN\t_\t2\tvocative\t_\t_\n2\tHi\thi\tINTJ\tIN\t_\t0\troot\t_\t_\n\n")
    job = make_job(treebank, tmp_path / "out", "training.epochs=1")
    events = list[dict[str, Any]]()
    train(Job(recipe=job.recipe, train=[treebank], dev=[dev], out=job.out, export=False), events.append)
    [warning] = [event["message"] for event in events if event["event"] == "warning"]
    assert warning.endswith("vocative (1 word)")


def test_two_runs_cannot_share_a_folder(treebank: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="no such locks here")
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="in use by another training run"):
            train(make_job(treebank, tmp_path / "out"))


def test_a_job_trains_the_segmenter_too(treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = SegmenterConfig(embedding=4, width=8, dilations=(1,), steps=4, batch=2, window=32, checks=2)
    monkeypatch.setattr("hexatagger.train.segmenter.loop.SegmenterConfig", lambda: small)
    reads = list[tuple[Path, ...]]()

    def counted(files: Any, *, purpose: str) -> Any:
        reads.append(tuple(files))
        return read_treebank(files, purpose=purpose)

    monkeypatch.setattr("hexatagger.train.preflight.read_treebank", counted)
    events, short, out = list[dict[str, Any]](), "training.epochs=1", tmp_path / "out"
    state = train(make_job(treebank, out, short, segmenter=True), events.append)
    assert len(reads) == 2  # train and dev, once each
    by_part = {
        part: [event["event"] for event in events if event.get("part") == part] for part in ("parser", "segmenter")
    }
    assert by_part["segmenter"] == ["start", "step", "step", "epoch", "step", "step", "epoch"]
    keys = {"event", "part", "epoch", "step", "of", "done", "loss", "seconds"}
    assert all(event.keys() == keys for event in events if event["event"] == "step")
    assert Segmenter.load(out).segment("She reads .")
    # A finished run gets what it lacks, and no more.
    (out / "segmenter.json").unlink()
    again = list[dict[str, Any]]()
    assert train(make_job(treebank, out, short, segmenter=True, resume=True), again.append) == state
    assert {event.get("part") for event in again if event["event"] != "end"} == {"segmenter"}
    assert (out / "segmenter.json").is_file()
    again.clear()
    assert train(make_job(treebank, out, short, segmenter=True, resume=True), again.append) == state
    assert not again


def test_a_finished_run_says_what_differs(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    state = train(make_job(treebank, out, "training.epochs=1"))
    with pytest.raises(ConfigError, match=r"begun with training\.epochs = 1, not 2: resume with the same one"):
        train(make_job(treebank, out, "training.epochs=2", resume=True))
    with pytest.raises(ConfigError, match=r"begun with model\.lstm_width = 48, not 40"):
        train(make_job(treebank, out, "training.epochs=1", "model.lstm_width=40", resume=True))
    harmless = ["training.epochs=1", "training.checkpoint_minutes=1", 'card.title="Mine"']
    assert train(make_job(treebank, out, *harmless, resume=True)) == state
    other = write_treebank(tmp_path, 2)
    with pytest.raises(ConfigError, match=r"another train file \(tiny-1\.conllu, not tiny-2\.conllu\)"):
        train(make_job(other, out, "training.epochs=1", resume=True))
    other.replace(treebank)
    with pytest.raises(ConfigError, match=r"another train file \(tiny-1\.conllu, whose content was another\)"):
        train(make_job(treebank, out, "training.epochs=1", resume=True))


def test_early_stopping(treebank: Path, tmp_path: Path) -> None:
    state = train(make_job(treebank, tmp_path / "out", "training.patience=2", "training.head_rate=0.0"))
    assert len(state.history) < 5


def test_the_words_of_a_run_are_bounded(treebank: Path, tmp_path: Path) -> None:
    words, events = sum(map(len, read_conllu(treebank))), list[dict[str, Any]]()
    settings = ["training.epochs=40", f"training.words={5 * words + 1}"]
    state = train(make_job(treebank, tmp_path / "out", *settings), events.append)
    assert len(state.history) == 5
    assert [event["epochs"] for event in events if event["event"] == "start"] == [5]
    assert [event["done"] for event in events if event["event"] == "step"][-1] == 1.0


def test_the_command(treebank: Path, tmp_path: Path) -> None:
    given = [*arguments(treebank, tmp_path)[1:], "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(command, [*given, "--set", "training.epochs=2"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "epoch 2: loss" in result.output
    assert "dev LAS" in result.output
    wrong = CliRunner().invoke(command, [*given, "--set", "training.epoch=2"])
    assert "did you mean 'training.epochs'?" in str(wrong.exception)
    assert CliRunner().invoke(command, ["--help"]).exit_code == 0


def test_the_treebank_is_what_it_should_be(treebank: Path) -> None:
    sentences = list(read_conllu(treebank, roots="one"))
    assert len(sentences) == 10
    assert "10 000" in sentences[4].forms
