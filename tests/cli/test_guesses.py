"""`hexatagger parse` never guesses silently: what it recognises, what it refuses, and what it says."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("onnx", reason="making a model needs the extra [train]")

from hexatagger.cli import main
from hexatagger.model.folder import FORMAT
from onnx_model import write_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "noise")


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


def forms(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    rows = [block.split("\n") for block in result.stdout.split("\n\n") if block]
    return [[row.split("\t")[1] for row in block if not row.startswith("#")] for block in rows]


def test_words_without_quotes_are_one_text(model: Path) -> None:
    command = ("parse", "--model", model, "--from", "words")
    assert forms(run(*command, "Dogs", "bark", "--to", "conllu", "loudly")) == [["Dogs", "bark", "loudly"]]
    assert forms(run(*command, "")) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["- one item"], ["-", "one", "item"]),
        (["-5", "degrees"], ["-5", "degrees"]),
        (["--keep off the grass", "please"], ["--keep", "off", "the", "grass", "please"]),
        (["--", "--keep"], ["--keep"]),
        (["a", "-x y", "b", "--k", "1"], ["a", "-x", "y", "b"]),
    ],
)
def test_a_text_may_begin_with_a_dash(model: Path, arguments: list[str], expected: list[str]) -> None:
    if arguments[0].startswith("--keep "):
        result = run("parse", "--model", model, "--from", "words", *arguments)
        assert result.exit_code == 2  # it names an option: -- tells it apart
        arguments = ["--", *arguments]
    assert forms(run("parse", "--model", model, "--from", "words", *arguments)) == [expected]


def test_a_wrong_option_says_how_to_give_a_text(model: Path) -> None:
    result = run("parse", "--model", model, "-xyz")
    assert result.exit_code == 2
    assert "if it is a text, put -- before it" in result.stderr


def test_the_name_of_a_file_gets_a_hint(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my book.txt").write_text("Dogs bark\n")
    result = run("parse", "--model", model, "--from", "words", "my book.txt")
    assert forms(result) == [["my", "book.txt"]]
    assert result.stderr == (
        "Note: TEXT is the name of a file; to parse its content: hexatagger parse -f 'my book.txt'\n"
    )
    result = run("parse", "--model", model, "--from", "conllu", "my book.txt")
    assert result.exit_code == 1
    assert "reads files: name one with --file (hexatagger parse -f 'my book.txt')" in result.stderr
    assert run("parse", "--model", model, "--from", "words", "x" * 5000).stderr == ""


def test_conllu_is_recognised_by_its_name_and_refused_by_its_content(model: Path, data: Path, tmp_path: Path) -> None:
    file, packed, other = data / "example.conllu", tmp_path / "a.CONLLU.gz", tmp_path / "a.txt"
    whole = run("parse", "--model", model, "--from", "conllu", "-f", file)
    assert run("parse", "--model", model, "-f", file).stdout == whole.stdout
    assert run("parse", "--model", model, "--from", "conllu", "-f", file, "-o", packed, "--to", "conllu").exit_code == 0
    assert run("parse", "--model", model, "-f", packed).stdout == whole.stdout
    other.write_bytes(file.read_bytes())
    result = run("parse", "--model", model, "-f", other, "-o", tmp_path / "out.conllu")
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: {other}: is CoNLL-U: add --from conllu, or --from text to parse it as running text\n"
    )
    assert not (tmp_path / "out.conllu").exists()
    assert "<stdin>: is CoNLL-U: add --from conllu" in run("parse", "--model", model, stdin=file.read_text()).stderr
    assert "TEXT: is CoNLL-U: give it as a file" in run("parse", "--model", model, file.read_text()).stderr
    assert run("parse", "--model", model, "--from", "text", "-f", other).exit_code == 0  # as asked


@pytest.mark.parametrize("option", ["--keep=upos", "--respect=head"])
def test_columns_need_conllu(model: Path, data: Path, tmp_path: Path, option: str) -> None:
    name = option.partition("=")[0]
    message = f"Error: {name} is about the columns of CoNLL-U, but the input is text: add --from conllu\n"
    result = run("parse", "--model", model, option, "Dogs bark")
    assert (result.exit_code, result.stderr) == (1, message)
    result = run("corpus", "--model", model, option, data / "example.conllu", "-o", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (1, message)
    file = tmp_path / "a.conllu"
    file.write_text("1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n")
    assert run("parse", "--model", model, option, "-f", file).exit_code == 0


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("a.conllu", "# sent_id = s1\n"),
        ("a.json", '{"text": "Dogs bark"'),
        ("a.jsonl", '{"text": "Dogs bark"'),
        ("a.tags", "# sent_id = s1\n"),
        ("a.svg", "<svg xmlns="),
        ("a.HTML", "<!DOCTYPE html>"),
        ("a.txt", "root\n"),
        ("a", "# sent_id = s1\n"),
    ],
)
def test_the_name_of_the_output_says_what_to_write(model: Path, tmp_path: Path, name: str, beginning: str) -> None:
    assert run("parse", "--model", model, "--from", "words", "Dogs bark", "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / name).read_text().startswith(beginning)
    assert ("\t" in (tmp_path / name).read_text()) == (name in ("a.conllu", "a.tags", "a"))


def test_other_names_are_refused(model: Path, tmp_path: Path) -> None:
    result = run("parse", "--model", model, "--from", "words", "Dogs bark", "-o", tmp_path / "tree.png")
    assert result.exit_code == 1
    assert "tree.png' does not end in .conllu, " in result.stderr
    assert not list(tmp_path.iterdir())
    command = ("parse", "--model", model, "--from", "words", "Dogs bark", "-o", tmp_path / "tree.png", "--to", "svg")
    assert run(*command).exit_code == 0


def test_several_trees_are_one_svg(model: Path, tmp_path: Path) -> None:
    command = ("parse", "--model", model, "--from", "words", "--k", "2", "-o", tmp_path / "a.svg")
    assert run(*command, stdin="Dogs bark\nCats sleep\n").exit_code == 0
    root = ET.fromstring((tmp_path / "a.svg").read_text())
    assert len([each for each in root if each.tag.endswith("}svg")]) == 4
    assert run(*command, stdin="\n").exit_code == 0
    assert len(ET.fromstring((tmp_path / "a.svg").read_text())) == 2


def test_trees_show_their_probabilities() -> None:
    text = "She met a friend of her sister who studies law."
    shown = run("parse", "--to", "tree", "--k", "2", "--probabilities", text).stdout
    assert re.findall(r"^tree ([12]) of 2, probability 0\.[0-9]+$", shown, re.MULTILINE) == ["1", "2"]
    first, second = shown.split("tree 2 of 2")
    assert re.search(r"acl:relcl [0-9]+%\?", first)
    assert re.search(r"^[0-9]+%\?: how probable this head is, where that is less than 90%\.$", first, re.MULTILINE)
    assert "%?" not in second
    assert re.match(r"probability 0\.[0-9]+\n", run("parse", "--to", "tree", "--probabilities", text).stdout)
    assert "probability" not in run("parse", "--to", "tree", text).stdout


def test_trees_have_the_width_and_colours_of_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(*options: str) -> str:
        return run("parse", "--to", "tree", *options, "She reads fascinating papers.").stdout

    assert max(map(len, command("--width", "30").splitlines())) <= 30
    assert max(map(len, command("--width", "0").splitlines())) > 30
    assert "\x1b[" not in command()
    assert "\x1b[36mnsubj\x1b[0m" in command("--color", "always")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[36mnsubj\x1b[0m" in command()
    assert "\x1b[" not in command("--color", "never")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in command()


def in_terminal(*arguments: str | Path, typed: bytes = b"", tty_output: bool = True) -> tuple[str, int]:
    """Run a command with a terminal as its standard streams; return what the terminal shows, and the exit code."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "hexatagger", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    output = slave if tty_output else subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdin=slave, stdout=output, stderr=slave, env=environment | {"TERM": "xterm"}, close_fds=True
    )
    os.close(slave)
    shown = b""
    if typed:
        while b"\n" not in shown:  # the message comes before it reads
            shown += os.read(master, 1000)
        os.write(master, typed)
    try:
        while part := os.read(master, 1000):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return shown.decode().replace("\r\n", "\n"), process.wait(60)


@pytest.mark.parametrize(("command", "what"), [("parse", "text"), ("encode", "CoNLL-U")])
def test_what_is_typed_is_announced(model: Path, command: str, what: str) -> None:
    options = ("--model", model, "--from", "words") if command == "parse" else ()
    typed = b"Dogs bark\n\x04" if command == "parse" else b"\x04"
    shown, code = in_terminal(command, *options, typed=typed)
    assert shown.startswith(f"Reading {what} from the terminal; end with Ctrl-D on a new line.\n")
    assert code == 0
    if command == "parse":
        assert "Dogs" in shown.replace("Dogs bark", "", 1)


def test_no_bar_is_left_after_an_error(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"Dogs bark\n" * 3000 + b"\xff\n")
    shown, code = in_terminal(
        "parse", "--model", model, "--from", "words", "-f", file, "-o", tmp_path / "a.conllu", tty_output=False
    )
    assert code == 1
    assert " words" in shown
    assert " left" in shown
    last = shown.rstrip("\n").split("\n")[-1]
    assert re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last).lstrip("\r").startswith("Error: ")
    assert shown.count("\x1b[2K") >= 1  # the bar is wiped
    assert not (tmp_path / "a.conllu").exists()


def test_training_shows_what_part_is_running() -> None:
    pytest.importorskip("torch", reason="needs the extra [train]")
    from hexatagger.cli.options import progress_bar
    from hexatagger.cli.train import _show

    progress = progress_bar()
    bar = progress.add_task("reading", total=1.0, part="parser")
    task = progress.tasks[bar]
    step = {"event": "step", "epoch": 2, "step": 3, "of": 9, "loss": 0.5, "done": 0.7}
    _show({**step, "part": "parser"}, progress, bar)
    assert (task.description, task.completed) == ("epoch 2, step 3/9, loss 0.500", 0.7)
    _show({**step, "part": "segmenter", "done": 0.1}, progress, bar)
    assert (task.description, task.completed) == ("segmenter, epoch 2, step 3/9, loss 0.500", 0.1)
    _show({"event": "part", "part": "calibration", "done": 0.2}, progress, bar)
    assert (task.description, task.completed) == ("calibration", 0.2)


def test_a_mistyped_command_gets_a_suggestion() -> None:
    result = run("prase", "x")
    assert result.exit_code == 2
    assert "Error: there is no command 'prase': did you mean 'parse'?" in result.stderr
    assert "to parse a text: hexatagger parse TEXT" in run("She reads.").stderr


def test_the_version_names_the_format_of_models() -> None:
    assert run("--version").stdout.endswith(f" (model format {FORMAT})\n")


def test_shells_complete_commands_options_and_models() -> None:
    def completed(words: str, number: int) -> list[str]:
        environment = {**os.environ, "_HEXATAGGER_COMPLETE": "bash_complete", "COMP_WORDS": words}
        command = [sys.executable, "-c", "from hexatagger.cli import main; main(prog_name='hexatagger')"]
        environment["COMP_CWORD"] = str(number)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert completed("hexatagger pa", 1) == ["plain,parse", "plain,package"]
    assert "plain,--probabilities" in completed("hexatagger parse --p", 2)
    assert "plain,en" in completed("hexatagger parse --model e", 3)
    assert completed("hexatagger parse -f a", 3) == ["file,a"]
