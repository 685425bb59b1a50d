"""Scores: equal to the official script of the CoNLL 2018 shared task, and the things that script does not have."""

import gzip
import importlib.util
import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import get_args

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from hexatagger import AlignmentError, ConfigError, FormatError, TreeError, read_conllu, write_conllu
from hexatagger.cli.evaluate import evaluate as command
from hexatagger.scoring.breakdown import Score
from hexatagger.scoring.conll18 import CONTENT_DEPRELS, FUNCTION_DEPRELS, align, common_subsequence, flatten
from hexatagger.scoring.evaluate import Metric, evaluate, evaluate_files
from hexatagger.sentence import Multiword, Sentence, Word
from served import make_parser

OFFICIAL = "HEXATAGGER_CONLL18"
NAMES = ["Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"]
NAMES += ["UAS", "LAS", "CLAS", "MLAS", "BLEX"]


@pytest.fixture
def files(data: Path) -> Path:
    return data / "evaluate"


# Making two analyses of one text


def tokens_of(*tokens: str) -> list[Sentence]:
    """A sentence from tokens; "du de le" is the multiword token "du" of the words "de" and "le"."""
    sentence = Sentence([])
    for token in tokens:
        form, *parts = token.split(" ")
        first = len(sentence) + 1
        for part in parts or [form]:
            sentence.words.append(Word(len(sentence) + 1, part, head=min(len(sentence), 1), deprel="dep"))
        if parts:
            sentence.multiwords.append(Multiword(first, len(sentence), form))
    return [sentence]


def grow_tree(size: int, rng: random.Random) -> list[int]:
    """A random tree with one root."""
    order = rng.sample(range(1, size + 1), size)
    heads = {word: rng.choice(order[:place]) if place else 0 for place, word in enumerate(order)}
    return [heads[word] for word in range(1, size + 1)]


DEPRELS = ["nsubj", "nsubj:pass", "obj", "aux", "aux:pass", "case", "det", "punct", "cc", "root", "strange"]
FEATURES = ["_", "Number=Sing", "Case=Nom|Number=Sing", "Number=Sing|Case=Nom", "Typo=Yes", "Case=Nom|Typo=Yes", "Case"]


def random_analysis(text: str, rng: random.Random) -> list[Sentence]:
    """Split a text at random into sentences, tokens and words, everything about them at random."""
    sentences = []
    position = 0
    while position < len(text):
        sentence = Sentence([])
        for _ in range(rng.randint(1, 8)):
            form = text[position : position + rng.choice([1, 1, 2, 3])]
            if not form:
                break
            position += len(form)
            parts = [form]
            if rng.random() < 0.4:
                letters = list(form) if rng.random() < 0.6 else rng.choices("abAB", k=rng.randint(1, 4))
                parts = [rng.choice([letter, letter, letter.swapcase(), f"{letter} {letter}"]) for letter in letters]
                sentence.multiwords.append(Multiword(len(sentence) + 1, len(sentence) + len(parts), form))
            elif rng.random() < 0.1:
                parts = [form[:1] + rng.choice(" \u00a0\u3000") + form[1:]]
            for part in parts:
                sentence.words.append(
                    Word(
                        len(sentence) + 1,
                        part,
                        lemma=rng.choice("ab_"),
                        upos=rng.choice(["NOUN", "NOUN", "VERB"]),
                        xpos=rng.choice(["N", "N", "V"]),
                        feats=rng.choice(FEATURES),
                    )
                )
        size = len(sentence)
        sentence.set_tree(grow_tree(size, rng), [rng.choice(DEPRELS) for _ in range(size)])
        sentences.append(sentence)
    return sentences


def disturb(sentences: list[Sentence], rng: random.Random, rate: float) -> list[Sentence]:
    """Change columns, heads, tokens, words and sentence ends of a treebank at random, but not its text."""
    # A token is its form and its words; the head of a word, another of these words, is kept beside.
    tokens: list[tuple[str, list[Word]]] = []
    head_of: dict[int, Word | None] = {}
    ends = set()
    for sentence in sentences:
        copies = [replace(word, deps="_") for word in sentence]
        head_of |= {id(word): copies[word.head - 1] if word.head else None for word in copies}
        for token in sentence.tokens:
            first, last = (token.first, token.last) if isinstance(token, Multiword) else (token.id, token.id)
            tokens.append((token.form, copies[first - 1 : last]))
        ends.add(len(tokens) - 1)
    made: list[Sentence] = []
    current: list[tuple[str, list[Word]]] = []
    merged_form, merged_words = "", list[Word]()
    for index, (form, words) in enumerate(tokens):
        form, words = merged_form + form, merged_words + words
        merged_form, merged_words = "", []
        change = rng.random() / rate
        if change < 0.4:
            column = rng.choice(["lemma", "upos", "xpos", "feats", "deprel", "head"])
            if column == "head":
                head_of[id(words[0])] = rng.choice(tokens[max(0, index - 5) : index + 5])[1][0]
            else:
                setattr(words[0], column, rng.choice(DEPRELS + FEATURES))
        elif change < 0.55 and len(form) > 1:  # split
            cut = rng.randint(1, len(form) - 1)
            if form[:cut].strip() and form[cut:].strip():
                current.append((form[:cut], [Word(0, form[:cut], deprel="dep")]))
                form, words = form[cut:], words[-1:]
                words[0].form = form
        elif change < 0.7 and index + 1 < len(tokens):  # merge with the next, of the next sentence even
            merged_form, merged_words = form, words if rng.random() < 0.7 else words[:1]
            continue
        elif change < 0.8:  # make a multiword token
            words = [Word(0, letter, deprel="dep") for letter in form[:3] if letter.strip()] + words[1:]
        elif change < 0.9:  # undo one
            words = words[:1]
            words[0].form = form
        current.append((form, words))
        if (index in ends) != (0.95 < change < 1):
            made.append(rebuild(current, head_of, rng))
            current = []
    return [*made, rebuild(current, head_of, rng)] if current else made


def rebuild(tokens: list[tuple[str, list[Word]]], head_of: dict[int, Word | None], rng: random.Random) -> Sentence:
    """Make a sentence of tokens, with the heads that are left, and others where these are no tree."""
    sentence = Sentence([])
    words: list[Word] = []
    for form, parts in tokens:
        if len(parts) > 1 or parts[0].form != form:
            sentence.multiwords.append(Multiword(len(words) + 1, len(words) + len(parts), form))
        words += parts
    sentence.words = [replace(word, id=number) for number, word in enumerate(words, 1)]
    numbers = {id(word): number for number, word in enumerate(words, 1)}
    roots = [number for number, word in enumerate(words, 1) if head_of.get(id(word), word) is None]
    root = roots[0] if roots else rng.randint(1, len(words))
    heads = [numbers.get(id(head_of.get(id(word))), root) for word in words]
    heads[root - 1] = 0
    for start in range(1, len(heads) + 1):
        seen, place = set[int](), start
        while place and place not in seen:
            seen.add(place)
            place = heads[place - 1]
        if place:  # a cycle
            heads[place - 1] = root
    sentence.set_tree(heads, [word.deprel for word in words])
    return sentence


# The official script


@pytest.fixture(scope="session")
def official() -> ModuleType:
    """The official script, where there is one."""
    path = os.environ.get(OFFICIAL)
    if not path:
        pytest.skip(f"set {OFFICIAL} to the path of conll18_ud_eval.py to compare with it")
    spec = importlib.util.spec_from_file_location("conll18_ud_eval", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def official_scores(script: ModuleType, gold: Path, system: Path) -> dict[str, dict[str, float | None]]:
    """What the official script says, in percent; works with its later versions, which score more."""
    loaded = []
    for path in (gold, system):
        with path.open(encoding="utf-8", newline="\n") as stream:
            several = script.load_conllu.__code__.co_argcount > 1
            loaded.append(script.load_conllu(stream, {}) if several else script.load_conllu(stream))
    found = script.evaluate(*loaded)
    keys = ("precision", "recall", "f1", "aligned_accuracy")
    values = {name: [getattr(found[name], key) for key in keys] for name in NAMES}
    return {
        name: {key: None if value is None else 100 * value for key, value in zip(keys, values[name], strict=True)}
        for name in NAMES
    }


def same_as_official(script: ModuleType, gold: list[Sentence], system: list[Sentence], folder: Path) -> bool:
    """Write both sides, and see whether all digits of all scores are the same."""
    paths = folder / "gold.conllu", folder / "system.conllu"
    for sentences, path in zip((gold, system), paths, strict=True):
        write_conllu(sentences, path)
    return evaluate_files(*paths).to_json()["metrics"] == official_scores(script, *paths)


@pytest.mark.parametrize("name", ["gold", "same-words", "other-words"])
def test_scores_are_those_that_the_official_script_gave(files: Path, name: str) -> None:
    # official.json holds what version 1.2 of the official script says of these files
    expected = json.loads((files / "official.json").read_text(encoding="utf-8"))[name]
    found = evaluate_files(files / "gold.conllu", files / f"{name}.conllu")
    assert list(found.metrics) == NAMES
    assert found.to_json()["metrics"] == expected


@pytest.mark.parametrize("name", ["gold", "same-words", "other-words"])
def test_recorded_scores_are_the_official_ones(official: ModuleType, files: Path, name: str) -> None:
    expected = json.loads((files / "official.json").read_text(encoding="utf-8"))[name]
    assert official_scores(official, files / "gold.conllu", files / f"{name}.conllu") == expected


def test_like_the_official_script_on_random_texts(official: ModuleType, tmp_path: Path) -> None:
    for seed in range(500):
        rng = random.Random(seed)
        text = "".join(rng.choices("abAB", k=rng.randint(1, 40)))
        gold, system = random_analysis(text, rng), random_analysis(text, rng)
        assert same_as_official(official, gold, system, tmp_path), f"seed {seed}"


def test_like_the_official_script_on_disturbed_treebanks(official: ModuleType, shared: Path, tmp_path: Path) -> None:
    for seed, path in enumerate(sorted((shared / "ud").glob("*/*-dev.conllu"))):
        gold = list(read_conllu(path))[:200]
        for rate in (0.02, 0.5):
            system = disturb(gold, random.Random(seed), rate)
            assert same_as_official(official, gold, system, tmp_path), f"{path.name} at {rate}"


def test_every_relation_of_ud_is_content_or_function_or_punctuation() -> None:
    core = (
        "nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse aux cop mark nmod appos"
    )
    other = "nummod acl amod det clf case conj cc fixed flat list parataxis compound orphan goeswith reparandum"
    relations = {*core.split(), *other.split(), "punct", "root", "dep"}
    assert len(relations) == 37
    assert CONTENT_DEPRELS | FUNCTION_DEPRELS | {"punct"} == relations
    assert not CONTENT_DEPRELS & FUNCTION_DEPRELS


# Alignment


@pytest.mark.parametrize(
    ("gold", "system", "aligned"),
    [
        (["ab", "c"], ["ab", "c"], [(0, 0), (1, 1)]),
        (["ab", "c"], ["a", "bc"], []),
        (["abc"], ["a", "b", "c"], []),
        (["x", "du de le", "y"], ["x", "du", "y"], [(0, 0), (3, 2)]),
        (["x", "du de le", "y"], ["xdu X DE le", "y"], [(0, 0), (1, 1), (2, 2), (3, 3)]),
        (["abc a b c", "de d e"], ["a", "bcd b c d", "e"], [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]),
        # a word half inside a multiword token is left out
        (["ab", "cd c d"], ["a", "bc", "d"], [(2, 2)]),
        # of several ways, the one that skips gold words first
        (["abab a b", "c"], ["abab b a", "c"], [(1, 0), (2, 2)]),
        # words before the multiword token take part if there are several: the second "b" of the system is under "bbc"
        (["bbc", "de b e"], ["b", "b", "c", "d", "e"], [(1, 1), (2, 4)]),
        # the same words in other tokens: the second is in no common span
        (["xy p", "z y"], ["x p", "y", "z q"], [(0, 0)]),
    ],
)
def test_align(gold: list[str], system: list[str], aligned: list[tuple[int, int]]) -> None:
    assert align(flatten(tokens_of(*gold), "gold"), flatten(tokens_of(*system), "system")) == aligned


def brute_force_lcs(left: str, right: str) -> int:
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + brute_force_lcs(left[1:], right[1:])
    return max(brute_force_lcs(left[1:], right), brute_force_lcs(left, right[1:]))


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_common_subsequence_is_common_and_longest(left: str, right: str) -> None:
    found = list(common_subsequence(left, right))
    assert all(left[a] == right[b] for a, b in found)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(found))
    assert len(found) == brute_force_lcs(left, right)


@given(st.integers(0, 10_000))
def test_alignment_is_ordered_and_scores_are_percentages(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choices("abAB", k=20))
    gold, system = random_analysis(text, rng), random_analysis(text, rng)
    pairs = align(flatten(gold, "gold"), flatten(system, "system"))
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    found = evaluate(gold, system).metrics
    assert all(0 <= score.f1 <= 100 and score.correct <= min(score.gold, score.system) for score in found.values())
    assert found["LAS"].correct <= found["UAS"].correct <= found["Words"].correct
    assert max(found["MLAS"].correct, found["BLEX"].correct) <= found["CLAS"].correct <= found["LAS"].correct


@given(st.integers(0, 10_000))
def test_everything_is_right_against_itself(seed: int) -> None:
    rng = random.Random(seed)
    gold = random_analysis("".join(rng.choices("abAB", k=20)), rng)
    result = evaluate(gold, gold)
    assert all(score.f1 in (100, 0) and score.correct == score.gold for score in result.metrics.values())
    assert result.breakdown is not None
    assert result.breakdown.exact.las.f1 == result.breakdown.roots.f1 == 100


# What the official script does not have


def tree(forms: str, heads: list[int], deprels: str, **columns: str) -> Sentence:
    sentence = Sentence.from_words(forms.split(), heads=heads, deprels=deprels.split())
    for name, values in columns.items():
        for word, value in zip(sentence, values.split(), strict=True):
            setattr(word, name, value)
    return sentence


@pytest.fixture
def pair() -> tuple[list[Sentence], list[Sentence]]:
    """Two sentences; the first with a wrong subtype and a comma that hangs elsewhere, the second with a wrong root."""
    tags = {"upos": "PRON AUX VERB PUNCT SYM", "xpos": "PRP VBD VBN -RRB- ,"}
    gold = [
        tree("it was seen ) -", [3, 3, 0, 3, 3], "nsubj:pass aux:pass root punct dep", **tags),
        tree("go home", [0, 1], "root obl"),
    ]
    system = [
        tree("it was seen ) -", [3, 3, 0, 1, 1], "nsubj aux:pass root punct dep"),
        tree("go home", [2, 0], "dep root"),
    ]
    return gold, system


def test_ptb_full_relations_and_punctuation_by_either_tag(pair: tuple[list[Sentence], list[Sentence]]) -> None:
    result = evaluate(*pair, metric="ptb")
    # counted: it, was, seen; go, home. The bracket is PUNCT, the dash has the tag of a comma.
    assert result.metrics == {"UAS": Score(3, 5, 5, 5), "LAS": Score(2, 5, 5, 5)}
    assert result.notes == ("2 of 7 words are punctuation and do not count",)
    assert result.breakdown is not None
    assert (result.breakdown.exact.uas.correct, result.breakdown.exact.las.correct) == (1, 0)


def test_paper_no_subtypes_and_punctuation_by_upos(pair: tuple[list[Sentence], list[Sentence]]) -> None:
    result = evaluate(*pair, metric="paper")
    # counted: it, was, seen, -; go, home
    assert result.metrics == {"UAS": Score(3, 6, 6, 6), "LAS": Score(3, 6, 6, 6)}
    assert result.breakdown is not None
    assert (result.breakdown.exact.uas.correct, result.breakdown.exact.las.correct) == (0, 0)


@pytest.mark.parametrize("tag", ["``", "''", ":", ",", ".", "PU"])
def test_ptb_punctuation(tag: str) -> None:
    gold = [tree("a b", [0, 1], "root punct", xpos=f"NN {tag}")]
    assert evaluate(gold, gold, metric="ptb").metrics["UAS"] == Score(1, 1, 1, 1)
    gold = [tree("a b", [0, 1], "root punct", upos=f"NN {tag}")]  # CPOSTAG of CoNLL-X
    assert evaluate(gold, gold, metric="ptb").metrics["UAS"] == Score(1, 1, 1, 1)


@pytest.mark.parametrize("tag", ["-LRB-", "-RRB-", "$", "#", "SYM", "NFP"])
def test_ptb_other_signs_are_words(tag: str) -> None:
    gold = [tree("a b", [0, 1], "root punct", xpos=f"NN {tag}")]
    assert evaluate(gold, gold, metric="ptb").metrics["UAS"] == Score(2, 2, 2, 2)


def test_breakdown(pair: tuple[list[Sentence], list[Sentence]]) -> None:
    found = evaluate(*pair).breakdown
    assert found is not None
    assert found.words.uas == Score(3, 7, 7)
    assert found.words.las == Score(3, 7, 7)
    assert (found.exact.uas, found.exact.las, found.roots) == (Score(0, 2, 2), Score(0, 2, 2), Score(1, 2, 2))
    assert {name: arcs.uas for name, arcs in found.by_length.items()} == {
        "root": Score(1, 2, 2),
        "1": Score(1, 3, 2),
        "2": Score(1, 2, 1),
        "3-5": Score(0, 0, 2),
    }
    assert list(found.by_deprel.items()) == [
        ("root", Score(1, 2, 2)),
        ("aux", Score(1, 1, 1)),
        ("dep", Score(0, 1, 2)),
        ("nsubj", Score(1, 1, 1)),
        ("obl", Score(0, 1, 0)),
        ("punct", Score(0, 1, 1)),
    ]


@pytest.mark.parametrize("metric", get_args(Metric))
def test_parts_sum_to_the_whole(files: Path, metric: Metric) -> None:
    result = evaluate_files(files / "gold.conllu", files / "same-words.conllu", metric=metric)
    found = result.breakdown
    assert found is not None
    for name in ("UAS", "LAS"):
        parts = [getattr(arcs, name.lower()) for arcs in found.by_length.values()]
        if name == "LAS":
            assert sum(score.correct for score in found.by_deprel.values()) == result.metrics[name].correct
        assert sum(score.correct for score in parts) == result.metrics[name].correct
        assert sum(score.gold for score in parts) == result.metrics[name].gold
        assert sum(score.system for score in parts) == result.metrics[name].system


def test_no_breakdown_where_words_differ(files: Path) -> None:
    result = evaluate_files(files / "gold.conllu", files / "other-words.conllu")
    assert result.breakdown is None
    assert "sentence 1 (kitchen-1), word 3: after 'The soup' it has 'was n't ready , …', " in result.notes[0]
    found = result.to_json()
    assert found["exact_match"] is found["root_accuracy"] is found["by_length"] is found["by_relation"] is None
    assert found["inflected_lemmas"] is None
    assert result.inflected == {}


def test_lemmas_of_inflected_words(pair: tuple[list[Sentence], list[Sentence]]) -> None:
    rows = [  # form, UPOS, lemma in gold and in the system's analysis
        ("dogs", "NOUN", "dog", "dog"),
        ("fell", "VERB", "fall", "feak"),
        ("Greater", "ADJ", "great", "Great"),
        ("Dog", "NOUN", "dog", "Dog"),  # differs in case only
        ("us", "PRON", "we", "us"),
        ("teeth", "NOUN", "_", "tooth"),
    ]
    sides = []
    for side in (2, 3):
        heads = [0, *[1] * (len(rows) - 1)]
        sides.append(Sentence.from_words([row[0] for row in rows], heads=heads, deprels=["root", *["dep"] * 5]))
        for word, row in zip(sides[-1], rows, strict=True):
            word.upos, word.lemma = row[1], row[side]
    for metric in get_args(Metric):
        found = evaluate([sides[0]], [sides[1]], metric=metric)
        assert found.inflected == {"Inflected lemmas": Score(1, 3, 3)}
        assert found.to_json()["inflected_lemmas"]["correct"] == 1  # type: ignore[index]
        assert evaluate([sides[0]], [sides[1]], metric=metric, columns=["upos"]).inflected == {}


@pytest.mark.parametrize(
    ("gold", "system"),
    [
        ([["a", "b"], ["c"]], [["a"], ["b", "c"]]),  # the same words in other sentences
        ([["a"], ["b"]], [["a", "b"]]),
    ],
)
def test_no_breakdown_where_sentences_differ(gold: list[list[str]], system: list[list[str]]) -> None:
    golds, systems = ([tokens_of(*forms)[0] for forms in side] for side in (gold, system))
    result = evaluate(golds, systems)
    assert result.metrics["Words"].f1 == 100
    assert result.breakdown is None
    assert "sentence 1" in result.notes[0]


def test_no_breakdown_where_only_tokens_differ() -> None:
    result = evaluate(tokens_of("xy p", "z y"), tokens_of("x p", "yz y"))
    assert result.breakdown is not None
    result = evaluate(tokens_of("xy p", "z y"), tokens_of("x p", "y", "z q"))
    assert result.breakdown is None
    gold, system = tokens_of("xy p", "yz y", "z z"), tokens_of("x p", "y", "yzz z")
    result = evaluate(gold, system)
    assert result.breakdown is None
    assert result.notes[0].endswith("the words belong to different tokens")


def test_spaces_inside_words_are_no_difference() -> None:
    gold, system = ([tree(f"10_000 euros {end}", [2, 0, 2], "nummod root punct")] for end in "!!")
    gold[0][0].form, system[0][0].form = "10 000", "10\u00a0000"
    assert evaluate(gold, system).breakdown is not None


def test_columns_that_are_not_predicted_are_not_scored(pair: tuple[list[Sentence], list[Sentence]]) -> None:
    everything = evaluate(*pair)
    found = evaluate(*pair, columns=["upos", "feats"])
    left_out = {"XPOS", "AllTags", "Lemmas", "BLEX"}
    assert found.metrics == {name: score for name, score in everything.metrics.items() if name not in left_out}
    assert list(evaluate(*pair, columns=[]).metrics) == ["Tokens", "Sentences", "Words", "UAS", "LAS", "CLAS"]
    assert evaluate(*pair, columns=[], metric="ptb").metrics == evaluate(*pair, metric="ptb").metrics


def test_nothing_to_score() -> None:
    result = evaluate([], [])
    assert result.metrics["LAS"].to_json() == {"precision": 0, "recall": 0, "f1": 0, "aligned_accuracy": 0}
    assert result.notes == ("there are no sentences: nothing to score",)


# Errors


def named(sentence: Sentence, name: str) -> Sentence:
    sentence.comments = [f"# sent_id = {name}"]
    return sentence


def test_texts_that_differ() -> None:
    gold = [*tokens_of("The", "same"), named(tokens_of("the", "café", "is", "open", "now")[0], "s2")]
    system = tokens_of("The", "same", "the", "cafe", "\u0301is", "open", "now")
    with pytest.raises(AlignmentError) as caught:
        evaluate(gold, system, names=("gold.conllu", "out.conllu"))
    assert str(caught.value) == (
        "the texts differ, after 'Thesamethecaf': gold.conllu, sentence 2 (s2) has 'café is open now' ('é', U+00E9); "
        "out.conllu, sentence 1 has 'cafe \u0301is open now' ('e', U+0065); apart from spaces they must be the same"
    )


def test_text_that_ends_early() -> None:
    with pytest.raises(AlignmentError, match=r"after 'ab': gold, sentence 1 has 'c' .*; system ends; apart from"):
        evaluate(tokens_of("a", "b", "c"), tokens_of("a", "b"))
    with pytest.raises(AlignmentError, match="the texts differ: gold ends; system, sentence 1 has 'a'"):
        evaluate([], tokens_of("a"))


@pytest.mark.parametrize("metric", ["ptb", "paper"])
def test_words_that_differ(metric: Metric) -> None:
    gold, system = tokens_of("a", "b", "c", "d", "e", "f", "g"), tokens_of("a", "b", "c", "d", "e", "fg")
    with pytest.raises(AlignmentError) as caught:
        evaluate(gold, system, metric=metric)
    assert str(caught.value) == (
        "the words differ in gold, sentence 1, word 6: after '… b c d e' it has 'f g', system has 'fg'; "
        f"metric '{metric}' needs the same words, 'conll18' only the same text"
    )
    with pytest.raises(AlignmentError, match="word 2: after 'a' it has 'b', system has no more words"):
        evaluate(tokens_of("a", "b"), tokens_of("a"), metric=metric)


def test_sentence_counts_that_differ() -> None:
    one, two = tokens_of("a"), [*tokens_of("a"), named(tokens_of("b", "c")[0], "s2")]
    with pytest.raises(
        AlignmentError, match=r"gold has 1 sentences, system 2: gold ends before system, sentence 2 \(s2"
    ):
        evaluate(one, two, metric="ptb")
    with pytest.raises(AlignmentError, match=r"system ends before gold, sentence 2 \(s2\), 'b c';"):
        evaluate(two, one, metric="ptb")


def test_what_is_no_tree() -> None:
    good = [tree("a b", [2, 0], "dep root")]
    for heads, message in (([2, 1], "no word has HEAD 0"), ([0, 0], "2 words have HEAD 0")):
        with pytest.raises(TreeError, match=f"system, sentence 1: {message}"):
            evaluate(good, [tree("a b", heads, "dep root")])
    with pytest.raises(TreeError, match="gold, sentence 1: word 1 has no HEAD: a tree is needed here"):
        evaluate([Sentence.from_words(["a", "b"])], good)


def test_word_of_spaces() -> None:
    good, bad = tokens_of("a"), tokens_of("a")
    bad[0][0].form = "\u00a0"
    with pytest.raises(FormatError, match="system, sentence 1: FORM '\u00a0' is only spaces"):
        evaluate(good, bad)


def test_choices(files: Path) -> None:
    with pytest.raises(ConfigError, match="metric 'f1' is not one of: conll18, ptb, paper"):
        evaluate([], [], metric="f1")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="roots 'any' is not one of: one, attach"):
        evaluate_files(files / "gold.conllu", files / "gold.conllu", roots="any")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="both '-'"):
        evaluate_files("-", "-")


def test_several_roots(tmp_path: Path) -> None:
    path = tmp_path / "two.conllu"
    write_conllu([tree("a b", [0, 0], "root root")], path)
    with pytest.raises(TreeError, match=r"two\.conllu:2: 2 words have HEAD 0 \(1, 2\)"):
        evaluate_files(path, path)
    assert evaluate_files(path, path, roots="attach").metrics["LAS"].f1 == 100


# The command


@pytest.fixture
def run(files: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run the command beside the test files; our errors come through."""
    monkeypatch.chdir(files)

    def invoke(*arguments: str, stdin: bytes | None = None) -> str:
        return CliRunner().invoke(command, list(arguments), input=stdin, catch_exceptions=False).output

    return invoke


def test_command_prints_a_table(run: Callable[..., str]) -> None:
    lines = run("gold.conllu", "other-words.conllu").splitlines()
    assert lines[0].split() == ["Precision", "Recall", "F1", "Aligned", "accuracy"]
    assert [line.split()[0] for line in lines[1:14]] == NAMES
    assert lines[10].split() == ["LAS", "60.53", "52.27", "56.10", "79.31"]
    assert lines[-1].startswith("Note: no exact match")


def test_command_leaves_out_what_the_model_does_not_predict(
    run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hexatagger.parsing.load.load", lambda model: make_parser())
    lines = run("gold.conllu", "--model", "en").splitlines()
    rows = [line.split()[0] for line in lines[1 : lines.index("")]]
    assert rows == ["Tokens", "Sentences", "Words", "UPOS", "UAS", "LAS", "CLAS"]


def test_command_prints_details(run: Callable[..., str]) -> None:
    plain = run("gold.conllu", "same-words.conllu", "--metric", "paper")
    assert plain.splitlines()[1].split() == ["UAS", "81.82"]
    assert "every head right" in plain
    assert "Arc length" not in plain
    assert "Relation" not in plain
    full = run("gold.conllu", "same-words.conllu", "--by-length", "--by-relation")
    assert "\n3-5            9      10          70.00       77.78" in full
    assert "\nadvmod        4       3         100.00       75.00  85.71" in full.replace("   85.71", "  85.71")


def test_command_prints_json(run: Callable[..., str]) -> None:
    found = json.loads(run("gold.conllu", "same-words.conllu", "--json"))
    assert found == evaluate_files("gold.conllu", "same-words.conllu").to_json()
    assert set(found["metrics"]["LAS"]) == {"precision", "recall", "f1", "aligned_accuracy"}
    parts = ["exact_match", "root_accuracy", "inflected_lemmas", "by_length", "by_relation"]
    assert list(found) == ["metric", "metrics", *parts, "notes"]


def test_command_reads_standard_input_and_packed_files(run: Callable[..., str], files: Path, tmp_path: Path) -> None:
    packed = tmp_path / "gold.conllu.gz"
    packed.write_bytes(gzip.compress((files / "gold.conllu").read_bytes()))
    system = (files / "same-words.conllu").read_bytes()
    assert run(str(packed), "-", stdin=system) == run("gold.conllu", "same-words.conllu")


def test_command_leaves_errors_to_the_group(run: Callable[..., str]) -> None:
    with pytest.raises(AlignmentError, match=r"gold\.conllu, sentence 1"):
        run("gold.conllu", "other-words.conllu", "--metric", "ptb")
    with pytest.raises(FormatError, match=r"missing\.conllu: cannot be read"):
        run("gold.conllu", "missing.conllu")


def test_command_reads_conllx(run: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "gold.conll"
    write_conllu([tree("She reads .", [2, 0, 2], "nsubj root punct", xpos="PRP VBZ .")], path, format="conllx")
    assert "1 of 3 words are punctuation" in run(str(path), str(path), "--metric", "ptb", "--from", "conllx")


def test_help_knows_every_metric(run: Callable[..., str]) -> None:
    option = next(option for option in command.params if option.name == "metric")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == get_args(Metric)
    text = run("--help")
    assert "\n    hexatagger evaluate gold.conllu parsed.conllu\n" in text
    assert "\n    ptb      UAS and LAS" in text
