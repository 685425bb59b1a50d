from pathlib import Path

import pytest

from hexatagger import EmptyNode, Multiword, Sentence, Word, read_conllu


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
