"""Models by name on the command line: the list, the choice by language, the warning, and the same names everywhere."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="writing networks needs the extra 'train'")

from click.testing import CliRunner, Result

import hexatagger
from hexatagger import write_conllu
from hexatagger.cli import main
from hexatagger.model.card import Card, DataFile, Packaged, write_card
from hexatagger.model.registry import FOLDERS
from invented import add_profile, texts
from onnx_model import write_model
from same import ids_of, without_ids

WARNING = "Warning: the text looks like model 'qab', not like the language of the model\n"


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models of invented languages, with names; the working directory is empty."""
    place = tmp_path / "models"
    for seed, code in enumerate(("qaa", "qab")):
        add_profile(write_model(place / code), seed, code)
    scores = Packaged("fp32", {"UAS": 70.0, "LAS": 61.257}, {"LAS": 59.0})
    write_card(place / "qaa", Card(title="Noise", language="qaa", licence="CC BY 4.0, as it is", package=scores))
    files = tuple(DataFile("train", f"{name}.conllu", "0") for name in "ab")
    write_card(place / "qab", Card(scores={"LAS": 55.0}, data=files))
    monkeypatch.setenv(FOLDERS, str(place))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return place


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin)


def test_models_are_listed(models: Path) -> None:
    lines = run("models").stdout.splitlines()
    assert lines[0].split() == ["name", "MB", "LAS", "words", "LAS", "text", "language", "treebanks", "licence", "from"]
    rows = {line.split()[0]: line for line in lines[1:]}
    assert list(rows) == sorted(rows)
    assert set(rows) >= {"en", "qaa", "qab"}
    assert rows["qaa"].split() == ["qaa", "0.0", "61.26", "59.00", "Noise", "CC", "BY", "4.0", FOLDERS]
    assert rows["qab"].split() == ["qab", "0.0", "55.00", "a.conllu,", "b.conllu", FOLDERS]
    known = {each["name"]: each for each in json.loads(run("models", "--json").stdout)}
    assert known["qaa"]["licence"] == "CC BY 4.0, as it is"
    assert (known["qaa"]["las_words"], known["qaa"]["las_text"]) == (61.257, 59.0)
    assert known["qab"]["title"] is None
    assert known["qab"]["bytes"] == sum(path.stat().st_size for path in (models / "qab").iterdir())
    assert known["en"]["treebanks"].startswith("UD_English-EWT r2.")
    (models / "qab" / "card.json").write_text("{")
    assert "card.json: is not JSON" in run("models").stdout
    (models / "qab" / "card.json").unlink()
    assert run("models").stdout.splitlines()[-1].split() == ["qab", "0.0", FOLDERS]


def test_each_document_is_parsed_by_the_model_of_its_language(models: Path, tmp_path: Path) -> None:
    first, second = (f"{'. '.join(texts(seed, 40))}." for seed in (0, 1))
    files = []
    for name, text in (("a", first), ("b", first), ("c", second), ("d", first)):
        (tmp_path / f"{name}.txt").write_text(text)
        files += ["-f", tmp_path / f"{name}.txt"]
    result = run("parse", "--model", "auto", *files)
    assert (result.exit_code, result.stderr) == (0, "")
    alone = [("qaa", "a"), ("qaa", "b"), ("qab", "c"), ("qaa", "d")]
    parts = [run("parse", "--model", name, "-f", tmp_path / f"{file}.txt").stdout for name, file in alone]
    assert without_ids(result.stdout) == without_ids("".join(parts))
    assert ids_of(result.stdout) == [f"s{number}" for number in range(1, result.stdout.count("\n\n") + 1)]
    assert run("parse", "--model", "auto", stdin=second).stdout == parts[2]
    assert run("parse", "--model", "auto", *second.split(" ")).stdout == parts[2]  # words without quotes are one text
    for workers in (1, 2):
        parsed = run("parse", "--model", "auto", "--workers", workers, "--from", "words", *files)
        assert parsed.exit_code == 0, parsed.output
        assert parsed.stdout.count("\n\n") == 4
    message = "--resume needs one model for everything: name it instead of auto"
    assert message in run("parse", "--model", "auto", "--resume", "-o", tmp_path / "o.conllu", *files).stderr


def test_a_language_is_told_from_words_too(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "gold.conllu"
    write_conllu(hexatagger.load("qab").parse(f"{'. '.join(texts(1, 40))}."), path)
    chosen = run("parse", "--model", "auto", "--from", "conllu", "-f", path)
    assert chosen.stdout == path.read_text(encoding="utf-8")
    assert chosen.stderr == ""
    scores = run("evaluate", path, "--model", "auto", "--from", "text", "--json")
    assert json.loads(scores.stdout)["metrics"]["LAS"]["f1"] == 100
    assert scores.stderr == ""
    assert run("evaluate", path, "--model", "qaa").stderr == WARNING


def test_text_in_another_language_is_reported_once(models: Path, tmp_path: Path) -> None:
    foreign = f"{'. '.join(texts(1, 40))}."
    (tmp_path / "a.txt").write_text(foreign)
    result = run("parse", "--model", "qaa", "-f", tmp_path / "a.txt", "-f", tmp_path / "a.txt")
    assert (result.exit_code, result.stderr) == (0, WARNING)
    assert "Warning" not in result.stdout
    assert run("parse", "--model", "qab", foreign).stderr == ""
    assert run("parse", "--model", "qaa", "12 34").stderr == ""
    (models / "qaa" / "language.json").unlink()
    assert run("parse", "--model", "qaa", foreign).stderr == ""


def test_all_commands_take_names(models: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.conllu"
    write_conllu(hexatagger.load("qaa").parse(f"{'. '.join(texts(0, 40))}."), dev)
    assert run("info", "qaa").stdout.startswith("# Noise\n")
    result = run("calibrate", "qaa", "--dev", dev, "--no-store")
    assert (result.exit_code, result.stderr.partition(":")[0]) == (0, "qaa")
    result = run("package", "qaa", "copy", "--precision", "fp32", "--segmenter", "qab")
    assert result.exit_code == 0, result.output
    assert Path("copy/language.json").read_bytes() == (models / "qaa" / "language.json").read_bytes()
    assert run("parse", "--model", "copy", "kala").exit_code == 0
    for command in (["info", "xx"], ["calibrate", "xx", "--dev", dev], ["package", "xx", "o", "--precision", "fp32"]):
        assert "there is no model 'xx': installed: en, qaa, qab" in run(*command).stderr
    assert "model 'auto' needs a text to choose by" in run("info", "auto").stderr


def test_packaging_learns_the_language(models: Path, tmp_path: Path) -> None:
    (models / "qaa" / "language.json").unlink()
    train = tmp_path / "train.conllu"
    write_conllu(hexatagger.load("qaa").parse(f"{'. '.join(texts(0, 400))}."), train)
    result = run("package", "qaa", "copy", "--precision", "fp32", "--train", train, "--dev", train)
    assert result.exit_code == 0, result.output
    assert run("parse", "--model", "copy", f"{'. '.join(texts(0, 20))}.").stderr == ""
    assert json.loads(Path("copy/language.json").read_text())["low"] > 0


@pytest.mark.parametrize(
    ("treebanks", "shown"),
    [("UD_A-B r1", "UD_A-B r1"), ("UD_A-B, UD_A-C", "UD_A-B, UD_A-C"), ("UD_A-B, UD_A-C, UD_A-D", "UD_A-B and 2 more")],
)
def test_many_treebanks_do_not_make_the_table_wide(models: Path, treebanks: str, shown: str) -> None:
    write_card(models / "qaa", Card(title="Noise", treebanks=treebanks))
    [line] = [each for each in run("models").stdout.splitlines() if each.startswith("qaa ")]
    assert f"Noise  {shown}  " in re.sub(" {3,}", "  ", line)
