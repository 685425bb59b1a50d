"""`hexatagger find`: what it reads and writes; `tests/test_search.py` tests what matches."""

import gzip
import io
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hexatagger import read_conllu
from hexatagger.cli import main


def run(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["find", *map(str, arguments)], input=text)


def test_sentences_with_the_matched_words_in_comments(data: Path) -> None:
    result = run("upos=VERB >obj|ccomp", data / "example.conllu")
    assert result.exit_code == 0
    assert result.stderr == "3 matches in 3 of 5 sentences\n"
    found = list(read_conllu(io.StringIO(result.stdout)))
    assert [each.comment("match") for each in found] == ["2 reads, 4 papers", "4 say, 5 happened", "2 drank, 3 tea"]
    whole = {each.comment("sent_id"): each for each in read_conllu(data / "example.conllu")}
    for each in found:
        each.comments = each.comments[:-1]
        assert each == whole[each.comment("sent_id")]


def test_a_search_in_what_was_found_has_its_own_comments(data: Path) -> None:
    first = run("upos=VERB >", data / "example.conllu").stdout
    [sentence] = read_conllu(io.StringIO(run("upos=VERB > lemma=t*a", "-", text=first).stdout))
    assert [line for line in sentence.comments if "match" in line] == ["# match = 2 drank, 3 tea"]
    assert first.count("# match = ") == 12


def test_lines(data: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.conllu.gz"
    packed.write_bytes(gzip.compress((data / "example.conllu").read_bytes()))
    bare = tmp_path / "bare.conllu"
    bare.write_text("1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    target = tmp_path / "found.tsv"
    result = run("upos=VERB deprel=root !>punct", packed, bare, "--to", "lines", "-o", target)
    assert (result.stdout, result.stderr) == ("", "2 matches in 2 of 6 sentences\n")
    assert (
        target.read_text("utf-8")
        == "example-4\t2\tdrank\tAna drank tea and Bo 10 000 litres of coffee 😀\n1\t1\tGo\tGo\n"
    )
    pairs = run("upos=VERB >obj", "--to", "lines", text=(data / "example.conllu").read_text("utf-8"))
    assert pairs.stdout.splitlines()[0] == "example-1\t2 4\treads\tpapers\tShe reads fascinating papers."


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("upos=VERB obj", "Error: query, character 11: 'obj' is not a condition like upos=VERB or a link like >obj\n"),
        ("", "Error: query, character 1: a condition is missing: write upos=VERB, or * for any word\n"),
    ],
)
def test_bad_queries(query: str, message: str, tmp_path: Path) -> None:
    result = run(query, tmp_path / "is not even opened")
    assert (result.exit_code, result.stderr) == (1, message)


def write(path: Path, *heads: str) -> Path:
    rows = (f"{number}\tx\t_\t_\t_\t_\t{head}\tdep\t_\t_\n" for number, head in enumerate(heads, 1))
    path.write_text(f"# sent_id = s1\n{''.join(rows)}\n")
    return path


def test_bad_trees_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "bad.conllu", "2", "1", "0")
    result = run("*", path)
    message = f"Error: {path}: sentence s1: the heads run in a cycle: 1 → 2 → 1\n"
    assert (result.exit_code, result.stderr) == (1, message)


def test_missing_heads_and_several_roots_do_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path / "roots.conllu", "_", "0", "0", "3")
    assert run("* !<", path).stderr == "3 matches in 1 of 1 sentences\n"


def test_no_match_is_no_error(data: Path) -> None:
    result = run("lemma=nothing", data / "example.conllu")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "0 matches in 0 of 5 sentences\n")
