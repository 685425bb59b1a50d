"""Word and Sentence: their columns, their tokens and text, and questions about their trees."""

import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given

from hexatagger import ConfigError, EmptyNode, Multiword, Sentence, TreeError, Word, read_conllu
from hexatagger.draw import draw_text
from strategies import trees


def test_text_from_the_comment_or_from_the_tokens(data: Path) -> None:
    for sentence in read_conllu(data / "example.conllu"):
        given = sentence.text
        sentence.comments = []
        assert sentence.text == given


def test_tokens_put_multiwords_in_place_of_their_words(data: Path) -> None:
    sentence = list(read_conllu(data / "example.conllu"))[1]
    assert [token.form for token in sentence.tokens] == ["He", "doesn't", ",", "but", "they", "do", "."]


def test_from_words() -> None:
    sentence = Sentence.from_words(["10 000", "papers"])
    assert sentence.forms == ["10 000", "papers"]
    assert sentence.heads == [-1, -1]
    assert [word.id for word in sentence] == [1, 2]
    sentence.set_tree([2, 0], ["nummod", "root"])
    assert (sentence.heads, sentence.deprels, len(sentence), sentence[1].head) == ([2, 0], ["nummod", "root"], 2, 0)
    with pytest.raises(ValueError, match="shorter"):
        sentence.set_tree([0], ["root"])


def test_rows_are_in_the_order_of_the_file() -> None:
    words = [Word(1, "a"), Word(2, "b")]
    empty = [EmptyNode(0, 1, ("x",) + ("_",) * 8), EmptyNode(1, 1, ("y",) + ("_",) * 8)]
    sentence = Sentence(words, [], [Multiword(1, 2, "ab")], empty)
    assert [row.columns[0] for row in sentence.rows()] == ["0.1", "1-2", "1", "1.1", "2"]


def test_comments_have_keys() -> None:
    sentence = Sentence([], ["# sent_id = s = 1", "#text=x", "# newpar"])
    assert (sentence.comment("sent_id"), sentence.comment("text"), sentence.comment("newpar")) == ("s = 1", "x", None)


# The tree


@pytest.fixture
def examples(data: Path) -> list[Sentence]:
    return list(read_conllu(data / "example.conllu"))


def numbers(words: Iterable[Word]) -> list[int]:
    return [word.id for word in words]


@given(trees())
def test_questions_about_trees_have_the_answers_of_the_definitions(heads: list[int]) -> None:
    sentence = Sentence.from_words(["x"] * len(heads), heads=heads)
    assert sentence.root.id == heads.index(0) + 1
    for word in sentence:
        above: list[int] = []
        while (number := heads[(above[-1] if above else word.id) - 1]) != 0:
            above.append(number)
        assert numbers(sentence.ancestors(word)) == above
        assert (sentence.head_of(word) or Word(0, "")).id == heads[word.id - 1]
        assert numbers(sentence.children(word)) == [each.id for each in sentence if each.head == word.id]
        inside = [each for each in sentence if word in (each, *sentence.ancestors(each))]
        assert sentence.subtree(word) == inside
        for other in sentence:
            path = sentence.path(word, other)
            assert (path[0], path[-1], len(set(numbers(path)))) == (word, other, len(path))
            assert all(one.head == two.id or two.head == one.id for one, two in itertools.pairwise(path))


def test_answers_are_right_after_a_change(examples: list[Sentence]) -> None:
    sentence = examples[0]
    she, reads, _, papers, _ = sentence
    assert sentence.children(papers) == [sentence[2]]
    she.head = 4
    assert sentence.children(papers) == [she, sentence[2]]
    assert sentence.path(she, reads) == [she, papers, reads]
    sentence.words[2:3] = []
    assert (sentence.children(reads), len(sentence)) == ([papers, sentence[3]], 4)


def test_heads_that_are_no_tree() -> None:
    unparsed = Sentence.from_words(["a", "b"])
    assert (unparsed.head_of(unparsed[0]), unparsed.subtree(unparsed[1])) == (None, [unparsed[1]])
    with pytest.raises(TreeError, match="no word has HEAD 0: parse the sentence first"):
        unparsed.root  # noqa: B018
    with pytest.raises(TreeError, match="no path from word 1 to word 2: they have different roots"):
        unparsed.path(*unparsed)
    for heads, message in (([2, 1, 0], "cycle: 1 → 2 → 1"), ([0, 7, 1], "HEAD '7' is outside the sentence")):
        sentence = Sentence.from_words(["a", "b", "c"], heads=heads)
        for ask in (sentence.subtree, sentence.ancestors, sentence.head_of):
            with pytest.raises(TreeError, match=message):
                ask(sentence[1])
    assert str(Sentence.from_words(["a", "b"], heads=[0, 7])) == "<Sentence 'a b', 2 words>"


def test_words_of_other_sentences_are_refused(examples: list[Sentence]) -> None:
    first, second, *_ = examples
    for ask in (first.children, first.subtree, first.ancestors, first.head_of, first.token_of):
        with pytest.raises(TreeError, match=r"word 7 'do' is not in the sentence 'She reads fascinating papers\.'"):
            ask(second[6])
    with pytest.raises(TreeError, match="word 1 'He' is not in the sentence"):
        first.text_of([second[0]])


def test_find(examples: list[Sentence]) -> None:
    she, reads, fascinating, papers, stop = examples[0]
    find = examples[0].find
    assert find() == [she, reads, fascinating, papers, stop]
    assert find(upos="VERB") == find(lemma="read") == find(form="reads") == find(xpos="VBZ") == [reads]
    assert find(upos=["NOUN", "PRON"], deprel="obj") == [papers]
    assert find(feats={"Number": "Sing"}) == [she, reads]
    assert find(feats={"Number": "Sing", "Case": "Nom"}, upos="PRON") == [she]
    assert find(feats={"Number": "Dual"}) == find(upos=()) == []


def test_columns_and_slices(examples: list[Sentence]) -> None:
    sentence = examples[0]
    assert sentence.lemmas == ["she", "read", "fascinating", "paper", "."]
    assert sentence.upos == ["PRON", "VERB", "ADJ", "NOUN", "PUNCT"]
    assert sentence.xpos == ["PRP", "VBZ", "JJ", "NNS", "."]
    assert sentence[1:3] == [sentence[1], sentence[2]]
    assert sentence[-1].form == "."


def test_features() -> None:
    word = Word(1, "x", feats="Case=Nom|Number=Plur,Sing|Odd")
    assert word.features == {"Case": "Nom", "Number": "Plur,Sing", "Odd": ""}
    word.features["Case"] = "Acc"
    assert (word.feats, Word(1, "x").features) == ("Case=Nom|Number=Plur,Sing|Odd", {})


def test_tokens_with_their_words(examples: list[Sentence]) -> None:
    sentence = examples[1]
    words = [[word.form for word in sentence.words_of(token)] for token in sentence.tokens]
    assert words[:3] == [["He"], ["does", "n't"], [","]]
    assert [sentence.token_of(word).form for word in sentence[:4]] == ["He", "doesn't", "doesn't", ","]


def test_text_of_some_words(examples: list[Sentence]) -> None:
    sentence = examples[1]
    assert sentence.text_of(sentence.subtree(sentence[6])) == ", but they do"
    assert sentence.text_of([sentence[3], sentence[0]]) == "He doesn't,"
    assert [sentence.text_of(sentence[start:end]) for start, end in ((0, 2), (2, 4), (2, 2))] == ["He does", "n't,", ""]
    assert sentence.text_of(sentence) == sentence.text
    words = [Word(number, form) for number, form in enumerate(["à", "côté", "de", "le", "lac"], 1)]
    french = Sentence(words, multiwords=[Multiword(3, 4, "du")])
    assert french.text_of(french[1:4]) == "côté du"
    assert [french.text_of(french[start:end]) for start, end in ((1, 3), (3, 5))] == ["côté de", "le lac"]
    three = Sentence(words[:3], multiwords=[Multiword(1, 3, "x")])
    assert three.text_of(three[:2]) == "à côté"


def test_short_repr_and_readable_str(examples: list[Sentence]) -> None:
    assert repr(examples[0]) == "<Sentence example-1: 'She reads fascinating papers.', 5 words>"
    assert repr(examples[1].tokens[1:3]) == "[<Multiword 2-3 \"doesn't\">, <Word 4 ',' PUNCT punct of 7>]"
    assert repr(examples[3].empty_nodes) == "[<EmptyNode 5.1 'drank'>]"
    assert repr(Sentence.from_words(["word"] * 50)) == f"<Sentence '{'word ' * 11}word…', 50 words>"
    assert repr(Sentence.from_words(["x"])[0]) == "<Word 1 'x'>"
    assert str(examples[0]) == draw_text(examples[0])
    long = Sentence.from_words(["word"] * 50, heads=range(50), deprels=["dep"] * 50)
    assert str(long) == draw_text(long, width=80)
    assert len(str(long).splitlines()) == 50


def test_words_are_checked() -> None:
    for given_, message in (
        ("She reads", "'She reads' is a string where a list of words is needed"),
        (b"She", "b'She' is a bytes where a list of words is needed"),
        (None, "None where a list of words is needed"),
        (7, "7 is an int where a list of words is needed"),
        (["She", None], "None where a word is needed: words are strings"),
        ([["She"]], r"\['She'\] is a list where a word is needed"),
    ):
        with pytest.raises(ConfigError, match=message):
            Sentence.from_words(given_)  # type: ignore[arg-type]
    assert Sentence.from_words(iter(("a", "b"))).forms == ["a", "b"]  # type: ignore[arg-type]
