"""Changes of the training text keep sentences and tokens apart, and what they put in is labelled as in the treebank."""

import re
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger import ConfigError
from hexatagger.formats.text import restore
from hexatagger.segment.alphabet import NEWLINE, SPACE
from hexatagger.segment.segmenter import END, MULTIWORD, SENTENCE
from hexatagger.train.segmenter.augment import Changes, change, wrap
from hexatagger.train.segmenter.data import IGNORE, Part, read_treebank
from hexatagger.train.segmenter.material import Material, collect
from segmented import sentences_of

TEXT = """
Dr. Green paid 250 for the old painting|.
Nobody saw Mr. Brown leave the building|.
Add 1|/|2 cup of sugar|, says Mrs. White|!
1|. Open the window now|, people from Rome|.
He said "|No more|" - and left|.
About 3|/|4 of them stayed in St. Louis until noon|.
She does=n't know where Prof. Black lives|?
Almost 70 people|, e.g. her brother|, came on 5/12|.
The rain – at last – began|.
Write to me@post.org soon|.
Near Fez|, from noon on|, he (|an old man|) slept|.
"""
NOTHING = dict.fromkeys(asdict(Changes()), 0.0)
SENTENCES = sentences_of(TEXT)


def material(text: str = TEXT) -> Material:
    return collect(read_treebank(sentences_of(text) * 2, radius=5))  # twice, because single characters are not learnt


MATERIAL = material()
APART = material(TEXT.replace("|.", " .").replace("|,", " ,"))  # a treebank with a space before punctuation


def text_of(part: Part, *, marked: bool = False) -> str:
    """Return the text of a part; marked: `|` after every token, `?` where that is left open, `#` after sentences."""
    alphabet = MATERIAL.treebank.alphabet
    names = {number: character for character, number in alphabet.characters.items()} | {SPACE: " ", NEWLINE: "\n"}
    names |= {number: name for name, number in alphabet.categories.items()}
    shown = ""
    for number, labels in zip(*(each.tolist() for each in part), strict=True):
        mark = {0: "", 1: "|", IGNORE: "" if number <= NEWLINE else "?"}[labels[END]]
        shown += names[number] + (mark + "#" * (labels[SENTENCE] == 1) if marked else "")
    return shown


def changed(seed: int = 0, source: Material = MATERIAL, **shares: Any) -> Part:
    """Return TEXT with the given changes only."""
    [paragraph] = source.treebank.paragraphs
    return change(paragraph[: len(SENTENCES)], source, Changes(**NOTHING | shares), np.random.default_rng(seed))


def results(source: Material = MATERIAL, **shares: Any) -> list[str]:
    """Return what many random numbers make of TEXT, marked."""
    return [text_of(changed(seed, source, **shares), marked=True) for seed in range(60)]


PLAIN = text_of(changed(), marked=True)


def test_without_changes_the_text_is_that_of_the_treebank() -> None:
    assert text_of(changed()) == restore(SENTENCES).rstrip()
    tokens = [[token.form for token in sentence.tokens] for sentence in SENTENCES]
    assert [re.sub(r"\s", "", line).split("|")[:-1] for line in PLAIN.split("#")[:-1]] == tokens


@pytest.mark.parametrize("name", sorted(NOTHING))
def test_every_change_keeps_the_sentences_and_labels_consistent(name: str) -> None:
    only: dict[str, Any] = {name: 1.0}
    source = APART if name == "attached" else MATERIAL
    plain = text_of(changed(source=source), marked=True)
    for seed in range(20):
        ids, labels = changed(seed, source, **only)
        ends = labels[:, END] == 1
        assert ids.dtype == np.int32
        assert (labels[:, SENTENCE] == 1).sum() == len(SENTENCES)
        assert labels[-1, SENTENCE] == 1
        assert (labels[ids <= NEWLINE] == IGNORE).all()
        assert ((labels[:, [SENTENCE, MULTIWORD]] != IGNORE).all(axis=1) == ends).all()
        assert not (np.diff(np.flatnonzero(ids <= NEWLINE)) == 1).any()
        again = changed(seed, source, **only)
        assert np.array_equal(ids, again[0])
        assert np.array_equal(labels, again[1])
    assert any(found != plain for found in results(source, **only))


def test_layout() -> None:
    for found in results(wrapped=1):
        assert found.replace("\n", " ") == PLAIN
        assert found.count("\n") > 2
    assert set(results(lines=1)) == {PLAIN.replace("# ", "#\n")}
    for found in results(mixed=1):
        assert set(re.split(r"(?<=#) ", found)) <= set(re.split(r"(?<=#) ", PLAIN))
    for found in results(headings=1):
        assert not re.search(r"[.!?]\|#", found)
        assert all(line.count("#") == 1 for line in found.splitlines())


def test_list_items_are_numbered_and_labelled_as_in_the_treebank() -> None:
    found = "\n".join(results(lists=1))
    lines = [line for line in found.splitlines() if line.count("#") == 1]
    assert any(line.startswith("1|.| ") and following.startswith("2|.| ") for line, following in pairwise(lines))
    assert any(line.startswith("(?1?)| ") for line in lines)  # the treebank does not tell how these are cut
    assert any(line.startswith("-| ") for line in lines)
    assert any(re.search(r"painting\|#", line) for line in lines)


def test_numbers_have_the_shapes_and_tokens_of_the_treebank() -> None:
    shapes = {re.sub(r"\d", "9", text_of(number, marked=True)) for number in MATERIAL.numbers}
    assert shapes == {"999|", "9|/|9|", "9|", "99|", "9/99|"}
    found = results(numbers=1)
    assert {re.sub(r"\d", "9", number[0]) for each in found for number in re.finditer(r"\d[\d|/]*\|", each)} == shapes
    assert any(re.search(r"paid\| \d\|/\|\d\| for", each) for each in found)
    for each in results(digits=1):
        assert re.sub(r"\d", "9", each) == re.sub(r"\d", "9", PLAIN)
    mostly = material("Take 1|/|2 or 3|/|4|, not 5/6|.")
    assert [(labels[:, END] == 1).tolist() for ids, labels in mostly.numbers if len(ids) == 3] == [[True] * 3]


def test_abbreviations_do_not_end_a_sentence() -> None:
    found = results(abbreviations=1)
    tokens = {token for each in found for token in re.findall(r"[^\s|#]+", each)}
    assert {"peop.", "peopl.", "win.", "windo."} <= tokens
    assert any(re.search(r"[a-z]\.\| \d+\| ", each) for each in found)
    assert any(re.search(r"(win|peop)[a-z]*\.\| [NF]", each) for each in found)
    assert not any(re.search(r"[a-z]\.\|#", each) for each in found)


def test_a_word_is_not_taken_for_an_abbreviation() -> None:
    assert any("wind.|" in each for each in results(abbreviations=1))
    assert "wind.|" not in "".join(results(material(TEXT + "The wind blows|.\n"), abbreviations=1))


def test_a_treebank_that_cuts_dots_off_gets_no_abbreviations() -> None:
    assert len(MATERIAL.abbreviations) == 6
    assert material(re.sub(r"(Dr|Mr|Mrs|St)\.", r"\1|.", TEXT)).abbreviations == []


def test_addresses_are_one_token() -> None:
    found = {token for each in results(addresses=1) for token in re.split(r"[\s|#]+", each)}
    found = {token for token in found if re.search(r"//|@|www", token)}
    assert len(found) > 50
    assert all(re.fullmatch(r"www\.\S+|[a-z.]+@[a-z.]+", token) for token in found)  # TEXT has no colon, so no http://


def test_emoji_belong_to_the_sentence_before() -> None:
    for each in results(emoji=1):
        assert len(re.findall(r"\| ?(?:So\?)*So\|#", each)) == len(SENTENCES)


def test_punctuation_is_attached_where_the_treebank_never_does_it() -> None:
    part = changed(source=APART, attached=1.0)
    assert np.array_equal(part[1], changed()[1])  # the labels of the text in which punctuation touches its word
    assert len(part[0]) == len(changed()[0])
    assert results(attached=1.0) == [PLAIN] * 60  # this treebank does it already


def test_characters() -> None:
    assert set(results(lower=1)) == {PLAIN.lower()}
    assert all(each.lower() == PLAIN.lower() and each != PLAIN for each in results(upper=1))
    assert "“|No| more|”|" in results(quotes=1)[0]
    assert {each.split("more|")[1][2:5] for each in results(dashes=1)} == {" -|", " –|"}


@given(st.lists(st.integers(1, 12), min_size=1, max_size=40), st.integers(5, 20))
def test_lines_are_filled(words: list[int], width: int) -> None:
    row = np.array([number for length in words for number in [*[9] * length, SPACE]][:-1], np.int32)
    before = row.copy()
    wrap(row, width, least=width, random=np.random.default_rng(0))
    assert (np.where(row == NEWLINE, SPACE, row) == before).all()
    lines = "".join({9: "x", SPACE: " ", NEWLINE: "\n"}[number] for number in row.tolist()).split("\n")
    assert all(len(line) <= width or " " not in line for line in lines)
    assert all(len(line) + 1 + len(following.split(" ")[0]) > width for line, following in pairwise(lines))


def test_impossible_shares_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"segmenter\.changes\.upper 2 is not between 0 and 1"):
        Changes(upper=2)
    with pytest.raises(ConfigError, match="greater than 1"):
        Changes(wrapped=0.5, lines=0.5, lists=0.5)
