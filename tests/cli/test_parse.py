"""`hexatagger parse` when it is interrupted: what another run continues, and what it refuses."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("onnx", reason="making a model needs the extra [train]")

import validator
from hexatagger.cli import main
from hexatagger.formats.files import lock
from hexatagger.parsing.fingerprint import input_digest
from onnx_model import write_model
from same import ids_of


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "noise")


def run(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=text)


def test_any_number_of_threads_writes_the_same(model: Path) -> None:
    text = "".join(f"Dogs bark{' at cats' * (number % 5)} .\n" for number in range(2500))  # several lists
    command = ("parse", "--model", model, "--from", "words", "--to", "conllu")
    one, three = (run(*command, "--threads", str(threads), text=text) for threads in (1, 3))
    assert one.exit_code == three.exit_code == 0
    assert one.stdout == three.stdout
    assert one.stdout.count("# text = Dogs bark") == 2500
    assert "0 is not in the range x>=1" in run(*command, "--threads", "0", text=text).stderr


def test_an_interrupted_run_is_continued(model: Path, data: Path, tmp_path: Path) -> None:
    file, target = data / "example.conllu", tmp_path / "out.conllu"
    partial, record = tmp_path / "out.conllu.partial", tmp_path / "out.conllu.partial.json"
    broken = tmp_path / "broken.conllu"
    broken.write_text(file.read_text() + "no CoNLL-U\n\n")
    whole = run("parse", "--model", model, "--from", "conllu", "-f", file).stdout
    done = whole.index("\n\n") + 2
    command: list[str | Path] = ["parse", "--model", model, "--from", "conllu", "-o", target, "--resume"]
    assert run(*command, "-f", broken).exit_code == 1  # interrupted: what it was made with is recorded
    made_with = json.loads(record.read_text())
    partial.write_text(whole[:done].replace("papers", "PAPERS") + "1\tcut o")  # one sentence, and a part of the next

    cases: list[tuple[list[str | Path], str]] = [
        (["-f", file], "is from another run, with different input: delete it, or name another output"),
        (["-f", broken, "--probabilities"], "is from another run, with different options: delete it"),
        (["-f", broken, "--to", "tags"], "is from another run, with different options: delete it"),
        (["-f", broken, "--model", write_model(tmp_path / "m", segmenter=False)], "with different model: delete it"),
    ]
    for arguments, message in cases:
        assert f"Error: {partial} " in (stderr := run(*command, *arguments).stderr)
        assert message in stderr
    with partial.open("rb+") as held:
        assert lock(held)
        assert "is being written by another process" in run(*command, "-f", broken).stderr
    record.unlink()
    assert "does not say what it was made with" in run(*command, "-f", file).stderr

    made_with["input"] = hashlib.sha256(hashlib.sha256(file.read_bytes()).digest()).hexdigest()
    record.write_text(json.dumps(made_with))
    result = run(*command, "-f", file)
    assert result.exit_code == 0, result.output
    assert target.read_text() == whole[:done].replace("papers", "PAPERS") + whole[done:]
    assert not list(tmp_path.glob("*.partial*"))


def test_ids_do_not_depend_on_how_it_runs(model: Path, tmp_path: Path) -> None:
    names = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for name in names:
        name.write_text("".join(f"Dogs bark{' at cats' * (number % 3)} .\n" for number in range(700)))
    command: list[str | Path] = ["parse", "--model", model, "--from", "words", "--to", "conllu"]
    command += ["-f", names[0], "-f", names[1]]
    whole = run(*command).stdout
    assert ids_of(whole) == [f"s{number}" for number in range(1, 1401)]
    assert validator.problems(whole, complete=True) == []
    assert run(*command, "--workers", "2").stdout == whole
    target, partial = tmp_path / "out.conllu", tmp_path / "out.conllu.partial"
    names[1].write_bytes(names[1].read_bytes() + b"\xff")
    assert run(*command, "-o", target, "--resume").exit_code == 1  # interrupted: what it was made with is recorded
    names[1].write_bytes(names[1].read_bytes()[:-1])
    record = tmp_path / "out.conllu.partial.json"
    made_with = json.loads(record.read_text()) | {"input": input_digest((), names)}
    record.write_text(json.dumps(made_with))
    partial.write_text(whole[: whole.index("# sent_id = s800\n") + 30])  # in the second file
    assert run(*command, "-o", target, "--resume").exit_code == 0
    assert target.read_text() == whole


def test_alternatives_have_ids_of_their_own(model: Path) -> None:
    made = run(
        "parse", "--model", model, "--from", "words", "--k", "2", "--to", "conllu", text="Dogs bark\nHi\n"
    ).stdout
    assert ids_of(made) == ["s1", "s1.alt2", "s2"]
    best = [tree for tree in made.split("\n\n") if "\n# alternative = " not in tree]
    assert ids_of("\n".join(best)) == ["s1", "s2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "new.conllu"], "--resume cannot read standard input a second time"),
        (["-o", ""], "--resume needs a plain output file"),
        (["-f", "a.txt", "-o", "."], "is a directory"),
        (["-f", "a.txt", "-o", "pipe"], "pipe: is a device or pipe: --resume needs a plain file"),
        (["-f", "a.txt", "-o", "a.txt/below"], "cannot be written: Not a directory"),
        (["-f", "a.txt", "-o", "x" * 250], "cannot be written: File name too long"),
        (["-f", "missing", "-o", "new.conllu"], "missing: No such file or directory"),
    ],
)
def test_what_cannot_be_resumed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Hi\n")
    os.mkfifo("pipe")
    result = run("parse", "--model", model, "--from", "words", "--resume", *arguments, text="x\n")
    assert Path("pipe").is_fifo()
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def running(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(path.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("kill", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(model: Path, kill: signal.Signals) -> None:
    command = [sys.executable, "-m", "hexatagger", "parse", "--model", str(model), "--from", "words", "--workers", "2"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for _ in range(4000):  # more than the workers take at once, so that something comes out
            process.stdin.write(b"The dogs bark\n")
        process.stdin.flush()
        assert process.stdout.readline()
        assert len(running(process.pid)) >= 3
        process.send_signal(kill)
        process.wait(30)
        deadline = time.monotonic() + 30
        while running(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert running(process.pid) == []
        os.set_blocking(process.stdout.fileno(), True)
        assert process.stdout.read() is not None  # comes to its end: nobody holds the pipe open
    finally:
        for each in running(process.pid):
            os.kill(each, signal.SIGKILL)
        process.stdin.close()
        process.stdout.close()
