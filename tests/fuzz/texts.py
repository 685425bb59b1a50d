"""Odd texts: segmented and restored exactly, offsets right, output valid at the levels 1 and 2 of UD's validator."""

import functools
import io
import random
import sys
from collections.abc import Iterable, Sequence

import validator
from fuzz.cases import Counts, check, run_cases
from hexatagger.formats.conllu import format_sentence, read_conllu
from hexatagger.formats.ids import Ids
from hexatagger.formats.text import restore, words_of
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from stand_ins import NOISE, ODD, RULES, SPACED

_ODD = ODD.split("~")
_PLAIN = [
    "She reads old papers. ",
    " Don't! ",
    " Mr. Smith's dog ",
    " cannot ",
    " 10,000 ",
    " (e.g.) ",
    " www.example.org ",
    " :-) ",
    ' "Yes," ',
    " ",
]


def run(seed: int, *, count: int | None = None, seconds: float | None = None) -> Counts:
    """Try texts."""
    return run_cases("texts", case, seed, count=count, seconds=seconds)


@functools.cache
def _parser() -> Parser:
    return load("en", threads=1)


def case(chance: random.Random) -> Iterable[str]:
    text = _text(chance)
    kind = chance.choices(["noise", "spaced", "rules", "words", "en", "parsed"], [3, 2, 3, 2, 1, 1])[0]
    if kind == "words":
        sentences = list(words_of(_chunks(chance, text)))
    elif kind in ("en", "parsed"):
        sentences = list(_parser().segmenter.stream(_chunks(chance, text)))
    else:
        segmenter = {"noise": NOISE, "spaced": SPACED, "rules": RULES}[kind]
        sentences = list(segmenter.stream(_chunks(chance, text), lines=chance.random() < 0.2))
    sentences = list(map(Ids().complete, sentences))
    _check_places(text, sentences)
    if kind == "parsed":
        sentences = _parser().parse_sentences(
            sentences, probabilities=chance.random() < 0.3, k=chance.choice([1, 1, 3])
        )
        _check_places(text, sentences)
        trees = [tree for sentence in sentences for tree in (sentence, *sentence.alternatives)]
        _check_valid(trees)
        return [kind]
    for sentence in sentences:
        sentence.set_tree([0] + [1] * (len(sentence) - 1), ["root"] + ["dep"] * (len(sentence) - 1))
    _check_valid(sentences)
    return [kind]


def _text(chance: random.Random) -> str:
    match chance.randrange(4):
        case 0:
            return "".join(chance.choice(_PLAIN) for _ in range(chance.randrange(12)))
        case 1:
            return "".join(map(_character, [chance] * chance.randrange(40)))
        case _:
            return "".join(chance.choice(chance.choice([_ODD, _ODD, _PLAIN])) for _ in range(chance.randrange(30)))


def _character(chance: random.Random) -> str:
    while True:
        found = chr(chance.randrange(chance.choice([0x80, 0x300, 0x3000, sys.maxunicode + 1])))
        if not "\ud800" <= found <= "\udfff":
            return found


def _chunks(chance: random.Random, text: str) -> list[str]:
    """Cut a text anywhere: the result must not depend on it."""
    places = sorted(chance.randrange(len(text) + 1) for _ in range(chance.choice([0, 0, 1, 4])))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def _check_places(text: str, sentences: Sequence[Sentence]) -> None:
    """Compare the tokens with the text at their offsets, and the restored text with the text."""
    if sentences:
        check(restore(sentences) == text, f"{restore(sentences)!r} is not {text!r}")
        again = read_conllu(io.StringIO("".join(map(format_sentence, sentences))))
        check(restore(again) == text, f"written and read again, {text!r} is different")
    place = 0
    for sentence in sentences:
        for token in sentence.tokens:
            check(token.start is not None and token.end is not None, f"{token} has no offsets")
            start, end = token.start or 0, token.end or 0
            check(place <= start < end <= len(text), f"{token} is out of order in {text!r}")
            check(" ".join(text[start:end].split()) == token.form, f"{token} is not {text[start:end]!r}")
            place = end
    check(not text[place:].isalnum(), f"{text[place:]!r} is in no token")


def _check_valid(sentences: Sequence[Sentence]) -> None:
    written = "".join(map(format_sentence, sentences))
    check(not (wrong := validator.problems(written, complete=True)), f"{wrong[:3]} in {written!r}")
