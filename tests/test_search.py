"""Searching trees, compared with a search that tries every assignment of words to terms, and with spaCy's."""

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger import ConfigError, Sentence, TreeError, Word, read_conllu
from hexatagger.search import read_query
from strategies import trees


@dataclass
class Node:
    """A term for the slow search: columns with their values, and links (arrow, negated, relation, term)."""

    wanted: list[tuple[str, str, str]]
    links: "list[tuple[str, bool, str | None, Node]]"

    def text(self) -> str:
        conditions = " ".join(f"{key}{sign}{value}" for key, sign, value in self.wanted) or "*"
        links = (f"{'!' * none}{arrow}{label or ''} ({node.text()})" for arrow, none, label, node in self.links)
        return " ".join([conditions, *links])

    def positive(self) -> "list[Node]":
        return [self, *(each for _, none, _, node in self.links if not none for each in node.positive())]


def above(word: Word, sentence: Sentence) -> list[int]:
    found, number = [], word.head
    while number:
        found.append(number)
        number = sentence[number - 1].head
    return found


def linked(arrow: str, label: str | None, word: Word, other: Word, sentence: Sentence) -> bool:
    lower, upper = (other, word) if ">" in arrow else (word, other)
    heads = above(lower, sentence)[: 1 if len(arrow) == 1 else None]
    return upper.id in heads and (label is None or lower.deprel in label.split("|"))


def fits(node: Node, word: Word) -> bool:
    value = {"upos": word.upos, "deprel": word.deprel, "Number": word.features.get("Number", "_")}
    return all((value[key] in values.split("|")) == (sign == "=") for key, sign, values in node.wanted)


def slow(node: Node, sentence: Sentence) -> list[tuple[int, ...]]:
    """Try every word for every term."""

    def holds(node: Node, chosen: dict[int, Word]) -> bool:
        word = chosen[id(node)]
        return fits(node, word) and all(
            not any(linked(arrow, label, word, sentence[match[0] - 1], sentence) for match in slow(other, sentence))
            if none
            else linked(arrow, label, word, chosen[id(other)], sentence) and holds(other, chosen)
            for arrow, none, label, other in node.links
        )

    nodes = node.positive()
    return [
        tuple(word.id for word in words)
        for words in itertools.product(sentence, repeat=len(nodes))
        if holds(node, {id(each): word for each, word in zip(nodes, words, strict=True)})
    ]


conditions = st.sampled_from(
    [
        ("upos", "=", "NOUN"),
        ("upos", "!=", "NOUN"),
        ("deprel", "=", "a|b"),
        ("Number", "=", "Plur"),
        ("Number", "=", "_"),
    ]
)


def nodes(depth: int) -> st.SearchStrategy[Node]:
    links: st.SearchStrategy[Any] = st.just([])
    if depth:
        labels = st.sampled_from([None, "a", "b|root"])
        link = st.tuples(st.sampled_from([">", "<", ">>", "<<"]), st.booleans(), labels, nodes(depth - 1))
        links = st.lists(link, max_size=2)
    return st.builds(Node, st.lists(conditions, max_size=2), links)


@st.composite
def tagged(draw: st.DrawFn) -> Sentence:
    heads = draw(trees(5))
    sentence = Sentence.from_words([str(number) for number in range(len(heads))], heads=heads)
    for word in sentence:
        word.deprel = draw(st.sampled_from(["a", "b"])) if word.head else "root"
        word.upos, word.feats = draw(st.sampled_from(["NOUN", "VERB"])), draw(st.sampled_from(["_", "A=b|Number=Plur"]))
    return sentence


def numbers(matches: Any) -> list[tuple[int, ...]]:
    return [tuple(word.id for word in match) for match in matches]


@given(nodes(2).filter(lambda node: len(node.positive()) <= 4), tagged())
def test_the_same_as_trying_everything(node: Node, sentence: Sentence) -> None:
    found = numbers(sentence.search(node.text()))
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(slow(node, sentence))


@pytest.fixture
def examples(data: Path) -> list[Sentence]:
    return list(read_conllu(data / "example.conllu"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("upos=VERB >obj lemma=paper", ["reads papers"]),
        ("upos=VERB >obj", ["reads papers", "drank tea"]),
        ("  upos=VERB>nsubj>obj(*)  ", ["reads She papers", "drank Ana tea"]),
        ("upos=VERB >obj (upos=NOUN >amod)", ["reads papers fascinating"]),
        ("upos=VERB !>obj", ["say", "happened"]),
        ("upos=VERB !>obj (* >amod)", ["say", "happened", "drank"]),
        ("upos=PRON <nsubj upos=AUX", ["He does", "they do"]),
        ("deprel=case << upos=PROPN|VERB", ["of Bo", "of drank"]),
        ("upos=VERB >>amod|nummod *", ["reads fascinating", "drank 10 000"]),
        ("lemma=*ea* Number=Sing", ["reads", "tea"]),
        ("form=*ap*r*", ["papers"]),
        ("upos=NOUN form!=*s", ["tea", "coffee"]),
        ('form="10 000"', ["10 000"]),
        ('form="10 "*|"Y"es', ["10 000", "Yes"]),
        ('lemma="*"', []),
        ("upos=PROPN Case=_ Number!=_", ["Ana", "Bo"]),
        ("upos=INTJ Number=*", []),
        ("upos=INTJ Number!=*", ["Yes"]),
        ("form=n't|😀", ["n't", "😀"]),
        ("deprel=root !> upos=PUNCT", ["drank", "Yes"]),
    ],
)
def test_queries(examples: list[Sentence], query: str, expected: list[str]) -> None:
    found = [" ".join(word.form for word in match) for each in examples for match in each.search(query)]
    assert found == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "character 1: a condition is missing: write upos=VERB, or * for any word"),
        (">obj", "character 1: a condition is missing"),
        ("upos=VERB >obj (", "character 17: a condition is missing"),
        ("upos=VERB  obj", "character 12: 'obj' is not a condition like upos=VERB or a link like >obj"),
        ("upos=VERB >lemma=x", "character 11: '>lemma=x' is not"),
        ("upos=", "character 1: 'upos=' is not"),
        ('form="x', "character 1: 'form=\"x' is not"),
        ("upos=VERB >obj (upos=NOUN lemma=x", "character 16: '(' is not closed"),
        ("upos=VERB >obj)", "character 15: ')' is out of place"),
        ("* >obj (*) lemma=x", "character 12: 'lemma=x' is out of place: conditions come before links"),
        (
            "* pos=VERB",
            "character 3: there is no column 'pos': known are form, lemma, upos, xpos, deprel, or a feature",
        ),
        ("* > (" * 60, "more than 50 parentheses inside one another"),
    ],
)
def test_bad_queries_say_where(examples: list[Sentence], query: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        list(examples[0].search(query))


def test_trees_that_are_none() -> None:
    assert numbers(Sentence([]).search("*")) == []
    assert numbers(Sentence.from_words(["a", "b"]).search("* !< !>")) == [(1,), (2,)]
    assert numbers(Sentence.from_words(["a", "b", "c"], heads=[0, 0, 2]).search("* >")) == [(2, 3)]
    with pytest.raises(TreeError, match="cycle"):
        list(Sentence.from_words(["a", "b", "c"], heads=[2, 1, 0]).search("*"))


def test_time_is_linear_in_the_sentence() -> None:
    query = "form=1 >> (form=3 << form=2) !>> form=no"

    def seconds(size: int) -> float:
        heads = list(range(size))  # the deepest tree: a quadratic search takes a hundred times as long for ten times N
        sentence = Sentence.from_words([str(number) for number in range(size)], heads=heads)
        start = time.process_time()
        assert len(list(sentence.search(query))) == 1
        return time.process_time() - start

    read_query(query)
    assert min(seconds(20_000) for _ in range(3)) < 40 * min(seconds(2_000) for _ in range(3))


PATTERNS: list[tuple[str, Sequence[tuple[str, str, dict[str, Any]]]]] = [
    ("upos=VERB >obj upos=NOUN", [("", "", {"POS": "VERB"}), ("a", ">", {"DEP": "obj", "POS": "NOUN"})]),
    ("upos=VERB >> upos=NOUN|PRON", [("", "", {"POS": "VERB"}), ("a", ">>", {"POS": {"IN": ["NOUN", "PRON"]}})]),
    ("upos=PRON < upos=VERB", [("", "", {"POS": "PRON"}), ("a", "<", {"POS": "VERB"})]),
    (
        "upos=ADP << (upos=VERB >nsubj)",
        [("", "", {"POS": "ADP"}), ("a", "<<", {"POS": "VERB"}), ("b", ">", {"DEP": "nsubj"})],
    ),
    ("Number=Plur > *", [("", "", {"MORPH": {"IS_SUPERSET": ["Number=Plur"]}}), ("a", ">", {})]),
]


@pytest.mark.parametrize(("query", "pattern"), PATTERNS, ids=[query for query, _ in PATTERNS])
def test_the_same_as_spacy(query: str, pattern: Sequence[tuple[str, str, dict[str, Any]]], shared: Path) -> None:
    pytest.importorskip("spacy", reason="needs the extra 'spacy'")
    from spacy.matcher import DependencyMatcher
    from spacy.vocab import Vocab

    vocab = Vocab()
    matcher = DependencyMatcher(vocab)
    names = "abc"
    matcher.add(
        "x",
        [
            [
                {"RIGHT_ID": name, "RIGHT_ATTRS": attributes} | ({"LEFT_ID": left, "REL_OP": arrow} if left else {})
                for name, (left, arrow, attributes) in zip(names, pattern, strict=False)
            ]
        ],
    )
    path = shared / "ud/UD_English-EWT/en_ewt-ud-dev.conllu"
    total = 0
    for sentence in itertools.islice(read_conllu(path), 300):
        doc = sentence.to_spacy(vocab)
        found = [tuple(place + 1 for place in places) for _, places in matcher(doc)]
        assert sorted(numbers(sentence.search(query))) == sorted(set(found)), sentence
        total += len(found)
    assert total > 10
