"""The gate fails when a shipped model gets worse, and its floors only rise."""

import contextlib
import doctest
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="making a model needs the extra 'train'")

import gate
from conftest import ROOT
from hexatagger.errors import FormatError
from hexatagger.model.card import read_card
from hexatagger.model.registry import EMBEDDED_FOLDER
from onnx_model import write_model
from tiny import conllu

REPEAT = 4
"""How often dev has the ten invented sentences."""
PART = 60


@dataclass(frozen=True)
class Done:
    """What a run of the gate gave."""

    code: int | str | None
    """The exit code, or a message, which stands for 1."""
    output: str


def run(folder: Path, *arguments: str) -> Done:
    """Run the gate on the models and treebanks of a folder, with a small part of dev."""
    output = io.StringIO()
    places = ["--models", str(folder / "models"), "--floors", str(folder / "floors.json")]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        for module in ("results", "language", "gate"):
            patch.setattr(f"{module}.SHARED", folder)
        patch.setattr(gate, "PART", PART)
        with contextlib.redirect_stderr(output), pytest.raises(SystemExit) as stopped:
            gate.main([*arguments, *places])
    return Done(stopped.value.code, output.getvalue())


def write_dev(path: Path, repeat: int) -> None:
    # A word of nothing but a soft hyphen cannot be found again in text.
    path.write_text(conllu(repeat).replace("\u00ad", "old"), encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make treebanks for `en` and `xx`, a model `xx` beside the embedded one, and the floors of both."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "ud" / "xx").mkdir(parents=True)
    rows = [["code", "language", "train files", "dev file"]]
    for code in ("en", "xx"):
        write_dev(folder / "ud" / "xx" / f"{code}-dev.conllu", REPEAT)
        rows.append([code, "Invented", "none.conllu", f"xx/{code}-dev.conllu"])
    table = "\n".join("\t".join(row) for row in rows) + "\n"
    (folder / "ud" / "languages.tsv").write_text(table, encoding="utf-8")
    write_model(folder / "models" / "xx")
    done = run(folder, "--record")
    assert done.code == 0, done.output
    return folder


@pytest.fixture
def copy(place: Path, tmp_path: Path) -> Path:
    """Return a copy of the place, to change."""
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    return tmp_path


def spoil_upos(folder: Path) -> None:
    """Make the model `xx` give UPOS that no gold word has: its UPOS falls, and nothing else."""
    path = folder / "models" / "xx" / "labels.json"
    labels = json.loads(path.read_text(encoding="utf-8"))
    labels["task.upos"] = [each.lower() for each in labels["task.upos"]]
    path.write_text(json.dumps(labels), encoding="utf-8")


def floors_of(folder: Path) -> tuple[gate.Floors, list[dict[str, object]]]:
    return gate.read_floors(folder / "floors.json")


def test_examples() -> None:
    assert doctest.testmod(gate).failed == 0


@pytest.mark.parametrize("mode", [[], ["--whole"]])
def test_models_that_are_as_good_as_before_pass(place: Path, mode: list[str]) -> None:
    done = run(place, *mode)
    assert done.code == 0, done.output
    assert "2 of 2 models reach their floors" in done.output
    assert ("× en" in done.output) == bool(mode)


def test_the_part_is_fixed(place: Path) -> None:
    floors, regressions = floors_of(place)
    assert floors["xx"]["part"]["words"] in range(PART, PART + 7)
    assert floors["xx"]["whole"]["words"] == 44 * REPEAT
    assert set(floors["xx"]["part"]) == {"words", *gate.FIGURES}
    assert regressions == []


@pytest.mark.parametrize("mode", [[], ["--whole"]])
def test_a_model_that_got_worse_fails(copy: Path, mode: list[str]) -> None:
    spoil_upos(copy)
    done = run(copy, *mode, "xx")
    assert done.code == 1
    where = "whole" if mode else "part"
    floor = floors_of(copy)[0]["xx"][where]["UPOS"]
    [told] = [line for line in done.output.splitlines() if f"UPOS, {where}" in line]
    assert told.split()[:6] == ["xx", "UPOS,", where, f"{floor:.2f}", "0.00", f"{floor:.2f}"]  # floor, now, fell by
    assert "; failed: xx" in done.output


def test_floors_only_rise(copy: Path) -> None:
    before = (copy / "floors.json").read_bytes()
    good = floors_of(copy)[0]["xx"]
    spoil_upos(copy)
    refused = run(copy, "--record", "xx")
    assert refused.code == 1
    assert "UPOS, part" in refused.output
    assert (copy / "floors.json").read_bytes() == before
    allowed = run(copy, "--record", "xx", "--allow-regression", "labels were turned")
    assert allowed.code == 0, allowed.output
    floors, [regression] = floors_of(copy)
    assert (regression["model"], regression["why"]) == ("xx", "labels were turned")
    assert regression["fell"] == {
        f"UPOS, {where}": [good[where]["UPOS"], floors["xx"][where]["UPOS"]] for where in ("part", "whole")
    }
    assert floors["xx"]["whole"]["UPOS"] < good["whole"]["UPOS"]
    assert run(copy).code == 0
    assert run(copy, "--allow-regression", "nothing is recorded").code == 2
    assert run(copy, "--record", "--allow-regression", " ").code == 2


def test_a_better_model_raises_its_floors(copy: Path) -> None:
    good = (copy / "floors.json").read_bytes()
    floors, regressions = floors_of(copy)
    for where in ("part", "whole"):
        floors["xx"][where]["LAS"] -= 8
    gate.write_floors(floors, regressions, copy / "floors.json")
    assert "above their floors: xx" in run(copy, "xx").output
    assert run(copy, "--record", "xx").code == 0
    assert (copy / "floors.json").read_bytes() == good


def test_floors_do_not_sink_within_the_margin() -> None:
    old = {"dev": "d", "sha256": "1", "part": {"words": 2000, "LAS": 80.0}, "whole": {"words": 9000, "LAS": 81.0}}
    new = old | {"part": {"words": 2000, "LAS": 79.9}, "whole": {"words": 9000, "LAS": 81.5}}
    made, falls = gate.raised(old, new)
    assert falls == {}
    assert (made["part"]["LAS"], made["whole"]["LAS"]) == (80.0, 81.5)


def test_floors_and_models_belong_together(copy: Path) -> None:
    (copy / "models" / "xx").rename(copy / "models" / "yy")
    done = run(copy)
    assert done.code == 1
    assert "yy: the model has no floors" in done.output
    assert "xx: there are floors, but no model" in done.output
    assert "no dev file" in str(run(copy, "--record", "yy").code)  # nor a language that has one
    assert run(copy, "--record", "xx").code == 1
    assert run(copy, "--record", "xx", "--allow-regression", "nobody speaks it").code == 0
    assert list(floors_of(copy)[0]) == ["en"]
    assert "there is no model 'zz'" in str(run(copy, "zz").code)
    assert "there is no model 'zz'" in str(run(copy, "--record", "zz").code)


def test_a_changed_dev_file_fails(copy: Path) -> None:
    write_dev(copy / "ud" / "xx" / "xx-dev.conllu", REPEAT - 1)
    done = run(copy, "xx")
    assert done.code == 1
    assert "xx/xx-dev.conllu is not the file that the floors were recorded with" in done.output
    assert run(copy, "--record", "xx").code == 1
    assert run(copy, "--record", "xx", "--allow-regression", "ten sentences were wrong").code == 0
    assert run(copy, "xx").code == 0


def test_figures_come_and_go_with_a_message(copy: Path) -> None:
    (copy / "models" / "xx" / "segmenter.onnx").unlink()
    done = run(copy, "xx")
    assert done.code == 1
    assert "xx: the model no longer gives LAS from text, part" in done.output
    assert run(copy, "--record", "xx", "--allow-regression", "its segmenter was lost").code == 0
    assert "Words from text" not in floors_of(copy)[0]["xx"]["whole"]
    write_model(copy / "again")
    (copy / "again" / "segmenter.onnx").rename(copy / "models" / "xx" / "segmenter.onnx")
    assert "xx: there is no floor for Words from text, part" in run(copy, "xx").output
    assert run(copy, "--record", "xx").code == 0
    assert run(copy, "xx").code == 0


def test_a_broken_model_fails_and_the_others_are_measured(copy: Path) -> None:
    (copy / "models" / "xx" / "model.onnx").write_bytes(b"no network")
    done = run(copy)
    assert done.code == 1
    assert "model.onnx: cannot be loaded" in done.output
    assert "1 of 2 models reach their floors on a part of dev" in done.output


def test_a_card_that_claims_too_much_fails() -> None:
    folder = EMBEDDED_FOLDER
    card = read_card(folder)
    assert card is not None
    [sha256] = [each.sha256 for each in card.data if each.part == "dev"]
    claims = gate.claimed(folder, sha256)
    assert set(claims) == set(gate.FIGURES)
    assert gate.claimed(folder, "another file") == {}
    reached = gate.Reached(25_147, claims | {"LAS": claims["LAS"] - 0.3})
    [fall] = gate.find_falls("en", claims, reached, "card")
    assert (fall.figure, round(fall.floor - fall.now, 3)) == ("LAS, card", 0.3)


def test_a_part_of_another_size_is_not_compared() -> None:
    reached = gate.Reached(3_000, {"LAS": 10.0})
    floors = {"words": 2_000, "LAS": 90.0}
    assert gate.find_falls("xx", floors, reached, "part") == []
    [problem] = gate.find_mismatches("xx", floors, reached, "part")
    assert "part has 3,000 words, but 2,000 when recorded" in problem.message


def test_floors_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "floors.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FormatError, match=r"floors\.json: is not a file of floors"):
        gate.read_floors(tmp_path / "floors.json")


def test_speed_is_recorded_for_all_models(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("results.RESULTS", copy)
    monkeypatch.setattr(gate, "MODELS", copy / "models")
    run(copy)
    run(copy, "--whole", "xx")
    assert not (copy / "gate.json").exists()  # of a part, or of some models
    run(copy, "--whole")
    models = json.loads((copy / "gate.json").read_text(encoding="utf-8"))["models"]
    assert set(models) == {"en", "xx"}
    assert all(row["speed_to_english"] > 0 for row in models.values())
    assert all(row["LAS"] == floors_of(copy)[0][name]["whole"]["LAS"] for name, row in models.items())


def test_every_shipped_model_has_floors() -> None:
    floors, _ = gate.read_floors()
    assert set(floors) == set(gate.shipped()), "for a new model: python benchmarks/gate.py --record NAME"


def test_as_a_command_without_treebanks(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "gate.py")]
    environment = os.environ | {"HEXATAGGER_SHARED": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "set HEXATAGGER_SHARED" in done.stderr
