"""Results know the commit they measured, and those that are older than the code are found."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import report
import results
import stale
from conftest import ROOT

CODE = "src/code.py"


def commit(folder: Path, message: str, **texts: str) -> str:
    """Write files, commit everything, and return the commit."""
    for name, text in texts.items():
        (folder / name.replace("__", "/")).with_suffix(".py").write_text(text, encoding="utf-8")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", message], cwd=folder, check=True)
    found = results.git("rev-parse", "--short", "HEAD")
    assert found
    return found


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with a benchmark that measures one file, and let the modules work on it."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("src", "benchmarks/results"):
        (tmp_path / name).mkdir(parents=True)
    for module in (results, stale, report):
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "RESULTS", tmp_path / "benchmarks" / "results")
    (tmp_path / "Makefile").write_text("benchmark: install\n\tpython benchmarks/one.py\n\nother:\n\tpython no.py\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    commit(tmp_path, "start", benchmarks__one=f'MEASURES = ("{CODE}",)\n', src__code="1", src__other="1")
    return tmp_path


def save(monkeypatch: pytest.MonkeyPatch, figure: int) -> dict[str, object]:
    """Save a result as the benchmark does, and return it."""
    monkeypatch.setattr("sys.argv", ["/home/me/benchmarks/one.py", "--name", "two words", "/home/me/model"])
    monkeypatch.setattr(results, "_COMMIT", results.current_commit([CODE]))
    results.save("one", {"figure": figure})
    return results.load("one")


def newer() -> list[str]:
    """Return the messages of the commits that make the result old."""
    [origin] = stale.origins()
    return [line.split(" ", 2)[2] for line in stale.newer_commits(origin)]


def test_a_result_is_older_once_its_code_changes(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = commit(repository, "code", src__code="2")
    saved = save(monkeypatch, 1)
    assert saved["commit"] == head
    assert saved["command"] == "python benchmarks/one.py --name 'two words' model"
    assert newer() == []
    commit(repository, "the result")
    commit(repository, "other code", src__other="2")
    assert newer() == []
    commit(repository, "faster", src__code="3")
    commit(repository, "faster still", src__code="4")
    assert newer() == ["faster still", "faster"]


def test_committing_an_old_result_does_not_make_it_new(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(monkeypatch, 1)
    commit(repository, "faster, and the result of before", src__code="2")
    assert newer() == ["faster, and the result of before"]


def test_a_result_may_be_committed_with_its_code(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / CODE).write_text("2", encoding="utf-8")
    (repository / "src" / "other.py").write_text("2", encoding="utf-8")
    assert str(save(monkeypatch, 1)["commit"]).endswith("+")
    assert newer() == []
    commit(repository, "code and result")
    assert newer() == []
    commit(repository, "faster", src__code="3")
    assert newer() == ["faster"]


@pytest.mark.parametrize("known", [None, "", "0123abc"])  # 0123abc: of a branch that was never merged
def test_without_a_commit_the_file_s_own_counts(
    repository: Path, monkeypatch: pytest.MonkeyPatch, known: str | None
) -> None:
    saved = save(monkeypatch, 1) | {"commit": known}
    if known is None:
        del saved["commit"]
    (repository / "benchmarks" / "results" / "one.json").write_text(json.dumps(saved), encoding="utf-8")
    commit(repository, "code and result", src__code="2")
    assert newer() == []
    commit(repository, "faster", src__code="3")
    assert newer() == ["faster"]


def test_the_table_marks_what_is_older(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = save(monkeypatch, 1)
    row = f"| `one.json` | `{saved['command']}` | {saved['date']} | `{saved['commit']}` | yes |"
    assert row in report.commands()
    commit(repository, "faster", src__code="2")
    marked = row.replace(str(saved["date"]), f"{saved['date']}{report.OLDER}")
    assert marked in report.commands()
    stale.main()
    assert "1 of 1 results are older" in capsys.readouterr().out
    page = repository / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("<!-- figures: commands -->\n<!-- end -->\n", encoding="utf-8")
    (repository / "README.md").write_text("none\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["report.py"])
    report.main()
    assert marked in page.read_text(encoding="utf-8")
    # The check neither asks for marks nor forbids them: they depend on the history.
    page.write_text(page.read_text(encoding="utf-8").replace(report.OLDER, ""), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["report.py", "--check"])
    report.main()
    page.write_text(page.read_text(encoding="utf-8").replace("yes", "no"), encoding="utf-8")
    with pytest.raises(SystemExit):
        report.main()


@pytest.mark.parametrize("whole", [True, False])
def test_a_shallow_clone_cannot_tell(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    save(monkeypatch, 1)
    commit(repository, "faster", src__code="2")
    clone = tmp_path_factory.mktemp("clone")
    depth = [] if whole else ["--depth", "1"]
    subprocess.run(["git", "clone", "-q", *depth, f"file://{repository}", clone], check=True)
    for module in (results, stale):
        monkeypatch.setattr(module, "ROOT", clone)
        monkeypatch.setattr(module, "RESULTS", clone / "benchmarks" / "results")
    assert stale.can_tell() == whole
    assert (report.OLDER in report.commands()) == whole
    if not whole:
        with pytest.raises(SystemExit, match="unshallow"):
            stale.main()


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert results.git("status") is None
    assert results.current_commit([CODE]) == ""
    save(monkeypatch, 1)
    assert report.OLDER not in report.commands()


def test_every_script_says_what_it_measures() -> None:
    saving = re.compile(r"^from results import .*\bsave\b|\bresults\.save\(", re.MULTILINE)
    scripts = [path for path in ROOT.glob("benchmarks/*.py") if saving.search(path.read_text(encoding="utf-8"))]
    scripts += [ROOT / script for script in stale.MADE_BY.values()]
    assert len(scripts) > 15
    for script in scripts:
        assert re.search("^MEASURES = ", script.read_text(encoding="utf-8"), re.MULTILINE), f"{script} needs MEASURES"
        for path in results.measured(script):
            assert (ROOT / path).exists(), f"{script}: {path}"


def test_every_result_comes_from_a_script_that_is_there() -> None:
    for origin in stale.origins():
        assert (ROOT / origin.script).is_file(), origin.file
    assert {"benchmarks/model.py", "benchmarks/report.py"} <= stale.cheap_scripts()
