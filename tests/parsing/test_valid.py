"""Everything that the parser writes is valid at the levels 1 and 2 of UD's validator, as we read its rules."""

import io
import re
from pathlib import Path

import pytest

import validator
from hexatagger.formats.conllu import format_sentence, read_conllu
from hexatagger.formats.ids import Ids
from hexatagger.formats.text import words_of
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence

TEXT = "She reads  old papers.\tHe doesn't.\r\n\r\nAnna's  dog?\x0cNo!\u2029(10\u00a0000) \u200b 👍🏽\n\n#_| x\n"
_PARTS = {  # what the rules are about must be there
    "text": [r"^# newpar id = p2$", r"^\d+-\d+\tdoesn't\t", "SpaceAfter=No", "SpacesAfter="],
    "conllu": [r"^# sent_id = example-", r"^\d+-\d+\t", "SpaceAfter=No"],
    "bare": [r"^# newdoc id = d1\n# sent_id = s1\n# text = ", r"^# sent_id = s5\n# text = "],
}
WORD = "1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load("en", threads=1)


def sources(parser: Parser, data: Path) -> dict[str, list[Sentence]]:
    bare = re.sub(r"(?m)^# (?:sent_id|text) = .*\n| id = example$", "", (data / "example.conllu").read_text())
    found = {
        "text": parser.segmenter.segment(TEXT),
        "lines": list(parser.segmenter.stream([TEXT], lines=True)),
        "words": list(words_of([TEXT])),
        "lists": [Sentence.from_words(["10 000", "_", "#", "n't"]), Sentence.from_words(["x"])],
        "conllu": list(read_conllu(data / "example.conllu")),
        "bare": list(read_conllu(io.StringIO(bare))),
    }
    return {name: list(map(Ids().complete, sentences)) for name, sentences in found.items()}


@pytest.mark.parametrize("source", ["text", "lines", "words", "lists", "conllu", "bare"])
@pytest.mark.parametrize(("probabilities", "k"), [(False, 1), (True, 1), (False, 3), (True, 4)])
def test_output_is_valid(source: str, probabilities: bool, k: int, parser: Parser, data: Path) -> None:
    made = parser.parse_sentences(sources(parser, data)[source], probabilities=probabilities, k=k)
    trees = [tree for sentence in made for tree in (sentence, *sentence.alternatives)]
    assert len(trees) > len(made) or k == 1
    written = "".join(map(format_sentence, trees))
    for part in _PARTS.get(source, ()):
        assert re.search(part, written, re.MULTILINE), part
    assert validator.problems(written, complete=True, tags=True) == []


def test_python_gives_ids(parser: Parser) -> None:
    first, second = parser.parse("She reads. He sleeps.\n")
    assert first.comments == ["# newpar id = p1", "# sent_id = s1", "# text = She reads."]
    assert second.comments == ["# sent_id = s2", "# text = He sleeps."]
    [words, *_] = parser.parse_words([["She", "reads"], ["Hi"]])
    assert words.comments == ["# sent_id = s1", "# text = She reads"]
    assert words.to_conllu().startswith("# sent_id = s1\n# text = She reads\n1\tShe\t")
    texts = parser.pipe(["She reads. He sleeps.\n", "", "Hi!\n"], k=2)  # one stream, so that it may become one file
    trees = [tree for made in texts for sentence in made for tree in (sentence, *sentence.alternatives)]
    assert [tree.comment("sent_id") for tree in trees] == ["s1", "s1.alt2", "s2", "s2.alt2", "s3", "s3.alt2"]
    assert validator.problems("".join(map(format_sentence, trees[::2])), complete=True, tags=True) == []
    [given] = parser.parse_sentences([Sentence.from_words(["Hi"])])
    assert given.comments == []


def test_the_example_is_valid(data: Path) -> None:
    assert validator.problems((data / "example.conllu").read_text(encoding="utf-8"), complete=True, tags=True) == []
    assert validator.problems("") == validator.problems(WORD) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (WORD[:-1], "no empty line at the end"),
        (WORD + "\n", "an empty line without a sentence"),
        (WORD + "# sent_id = 1\n\n", "a sentence without words"),
        (WORD.replace("\t_\n", "\n"), "9 columns"),
        (WORD.replace("Hi", ""), "FORM is empty"),
        (WORD.replace("Hi", "Hi "), "spaces around"),
        (WORD.replace("INTJ", "IN TJ"), "a space inside"),
        (WORD.replace("Hi", "H  i"), "two spaces in a row"),
        (WORD.replace("1\t", "2\t"), "ID 2 where 1 is next"),
        (WORD.replace("1\t", "x\t"), "ID 'x' is none"),
        ("1-2\tHi" + "\t_" * 8 + "\n" + WORD, "a multiword token ends at 2"),
        ("1-1\tHi" + "\t_" * 8 + "\n" + WORD, "ID 1-1 is out of place"),
        ("1.1\tHi" + "\t_" * 8 + "\n" + WORD, "ID 1.1 is out of place"),
        (WORD.replace("\t0\t", "\t_\t"), "HEAD '_' is not a word"),
        (WORD.replace("\t0\t", "\t2\t"), "HEAD '2' is not a word"),
        (WORD.replace("\t0\t", "\t1\t"), "its heads form a cycle"),
        (WORD.replace("root", "dep"), "HEAD 0 with DEPREL 'dep'"),
        (WORD[:-1] + WORD.replace("1\t", "2\t"), "2 roots"),
        ("# sent_id = a\n" + WORD + "# sent_id = a\n" + WORD, "was used before"),
        ("# sent_id = a b\n" + WORD, "has a space or slash"),
        ("# sent_id = a/b\n" + WORD, "has a space or slash"),
        ("# sent_id = \n" + WORD, "is empty"),
        ("# newpar\n# newpar\n" + WORD, "newpar"),
        ("# newdoc x\n" + WORD, "newdoc"),
        (WORD[:-3] + "SpaceAfter=No\n\n# newpar\n" + WORD, "a paragraph starts after SpaceAfter=No"),
        ("# text = Ho\n" + WORD, "the tokens give 'Hi'"),
        ("# text = Hi \n" + WORD, "spaces around it"),
        (WORD[:-3] + "SpaceAfter=Yes\n\n", "SpaceAfter is"),
        (WORD[:-3] + "a||b\n\n", "an empty part"),
        (WORD.replace("root\t_", "root\t0"), "is not a list of heads"),
        (WORD.replace("root\t_", "root\t4:x"), "names a word that does not exist"),
        (WORD[:-1] + "# text = Hi\n\n", "a comment after the first word"),
    ],
)
def test_the_checker_finds(text: str, problem: str) -> None:
    assert any(problem in each for each in validator.problems(text)), validator.problems(text)
