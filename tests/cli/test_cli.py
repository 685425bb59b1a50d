import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hexatagger import __version__, read_conllu
from hexatagger.cli import COMMANDS, main
from hexatagger.tags import SCHEMES
from hexatagger.tree import is_projective


def run(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=text)


def ok(*arguments: str | Path, text: str | None = None) -> str:
    result = run(*arguments, text=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def trees(text: str, tmp_path: Path) -> list[tuple[list[int], list[str]]]:
    path = tmp_path / "trees.conllu"
    path.write_text(text)
    return [(sentence.heads, sentence.deprels) for sentence in read_conllu(path, roots="one")]


def test_encode_writes_a_line_a_word(data: Path) -> None:
    lines = ok("encode", data / "example.conllu").splitlines()
    assert lines[3:9] == [
        "1\tShe\tl/nsubj\tLr",
        "2\treads\tr/root\tLl",
        "3\tfascinating\tl/amod\tRr",
        "4\tpapers\tr/obj\tLl",
        "5\t.\tr/punct\t_",
        "",
    ]


def test_encode_then_decode(data: Path, tmp_path: Path) -> None:
    gold = trees((data / "example.conllu").read_text(), tmp_path)
    lifted = ok("encode", data / "example.conllu", "--lift", "head+path")
    assert trees(ok("decode", "-", text=lifted), tmp_path) == gold
    result = run("encode", data / "example.conllu")
    assert "1 of 5 sentences are not projective" in result.stderr
    plain = trees(ok("decode", text=result.stdout), tmp_path)
    assert [tree for tree in plain if tree in gold] == [tree for tree in gold if is_projective(tree[0])]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lift_then_unlift(data: Path, tmp_path: Path, scheme: str) -> None:
    lifted = ok("lift", data / "example.conllu", "--scheme", scheme)
    assert all(is_projective(heads) for heads, _ in trees(lifted, tmp_path))
    assert ok("unlift", "-", "--scheme", scheme, text=lifted) == (data / "example.conllu").read_text()


def test_treebank_round_trip(shared: Path, tmp_path: Path) -> None:
    file = shared / "ud/UD_English-EWT/en_ewt-ud-dev.conllu"
    gold = [(sentence.heads, sentence.deprels) for sentence in read_conllu(file)]
    for options, loss in (((), 39), (("--lift", "head+path"), 0)):
        found = trees(ok("decode", text=ok("encode", file, *options)), tmp_path)
        projective = [is_projective(heads) for heads, _ in gold]
        assert all(one == other for one, other, flat in zip(gold, found, projective, strict=True) if flat)
        assert sum(one != other for one, other in zip(gold, found, strict=True)) <= loss


def test_stats_as_table_and_json(data: Path) -> None:
    table = ok("stats", data / "example.conllu")
    assert "20.00 %" in table
    assert "head+path" in table
    counts = json.loads(ok("stats", "--json", data / "example.conllu"))[str(data / "example.conllu")]
    assert counts["words"] == 30
    assert counts["lift"]["head+path"]["loss"] == 0


def test_output_file(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.tags"
    assert ok("encode", data / "example.conllu", "-o", target) == ""
    assert target.read_text() == ok("encode", data / "example.conllu")


def test_bad_input_is_one_line_and_exit_code_1(data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.conllu"
    good = (data / "example.conllu").read_text()
    bad.write_text(
        good.replace("4\tpapers\tpaper\tNOUN\tNNS\tNumber=Plur\t2", "4\tpapers\tpaper\tNOUN\tNNS\tNumber=Plur\t14")
    )
    target = tmp_path / "out.tags"
    for command in ("encode", "lift", "unlift"):
        result = run(command, bad, "-o", target)
        assert result.exit_code == 1
        assert result.stderr == (
            f"Error: {bad}:7: HEAD '14' is outside the sentence (5 words): correct it, or use 0 for the root\n"
        )
        assert sorted(tmp_path.iterdir()) == [bad]
    assert run("stats", tmp_path / "missing").exit_code == 1
    assert run("decode", bad).exit_code == 1


def test_several_roots(tmp_path: Path) -> None:
    path = tmp_path / "roots.conllu"
    path.write_text("".join(f"{n}\tw\t_\t_\t_\t_\t0\troot\t_\t_\n" for n in (1, 2)) + "\n")
    result = run("encode", path)
    assert result.exit_code == 1
    assert f"{path}:2: 2 words have HEAD 0 (1, 2): a sentence has one root; --roots attach" in result.stderr
    assert ok("encode", path, "--roots", "attach") == "1\tw\tl/root\tLl\n2\tw\tr/dep\t_\n\n"


def test_conllx(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "x.conll"
    path.write_text("1\tHi\t_\tUH\tUH\t_\t0\troot\t_\t_\n\n")
    assert ok("encode", "--from", "conllx", path) == "1\tHi\tl/root\t_\n\n"
    assert run("encode", "--from", "conllx", data / "example.conllu").exit_code == 1


def test_empty_input() -> None:
    for command in ("encode", "decode", "lift", "unlift"):
        assert ok(command, "-", text="") == ""


def test_help_and_version() -> None:
    assert __version__ in ok("--version")
    for command in COMMANDS:
        assert "\n\n" in ok(command, "--help")


def test_module_and_script_are_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "hexatagger", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout


def test_a_closed_pipe_is_no_traceback(data: Path) -> None:
    endless = f"for i in $(seq 300); do cat '{data / 'example.conllu'}'; done"
    command = f"{endless} | '{sys.executable}' -m hexatagger encode - | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parse", "x", "--gz"], "No such option"),
        (["parse", "x", "--to", "parquet"], "Invalid value for '--to'"),
        (["corpus", "files"], "Missing option '-o'"),
        (["corpus", "-o", "out"], "Missing argument 'FILES...'"),
        (["corpus", "files", "-o", "out", "--to", "svg"], "Invalid value for '--to'"),
    ],
)
def test_options_of_parse_and_corpus_are_told_apart(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_importing_the_commands_is_light() -> None:
    heavy = "{'onnxruntime', 'rich', 'tokenizers', 'ray', 'torch'}"
    code = f"import hexatagger.cli, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
