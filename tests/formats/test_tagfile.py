import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger import FormatError, Sentence, read_conllu
from hexatagger.formats.tagfile import format_tagged, read_tagged
from hexatagger.tags import SCHEMES, Order
from hexatagger.tree import is_projective
from strategies import deprels, projective_trees, sentences


def back(text: str) -> Sentence:
    [sentence] = read_tagged(io.StringIO(text))
    return sentence


@given(projective_trees(), st.data(), st.sampled_from(["left", "right"]))
def test_projective_trees_come_back(heads: list[int], data: st.DataObject, order: Order) -> None:
    labels = data.draw(st.lists(deprels, min_size=len(heads), max_size=len(heads)))
    sentence = Sentence.from_words(["w"] * len(heads), heads=heads, deprels=labels)
    for scheme in (None, *SCHEMES):
        assert back(format_tagged(sentence, order=order, scheme=scheme)) == sentence


@given(sentences())
def test_comments_multiwords_and_empty_nodes_stay(sentence: Sentence) -> None:
    found = back(format_tagged(sentence, scheme="head+path"))
    assert found.comments == sentence.comments
    assert found.forms == sentence.forms
    assert [token.form for token in found.multiwords] == [token.form for token in sentence.multiwords]
    assert [node.columns[:2] for node in found.empty_nodes] == [node.columns[:2] for node in sentence.empty_nodes]


@given(sentences())
def test_without_a_scheme_trees_become_projective_and_keep_relations(sentence: Sentence) -> None:
    found = back(format_tagged(sentence))
    assert is_projective(found.heads)
    assert found.deprels == sentence.deprels
    if is_projective(sentence.heads):
        assert found.heads == sentence.heads


def test_example_comes_back(data: Path) -> None:
    for sentence in read_conllu(data / "example.conllu"):
        found = back(format_tagged(sentence, scheme="head+path"))
        assert (found.heads, found.deprels) == (sentence.heads, sentence.deprels)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1\tw\tl/root\n\n", 1, "3 columns instead of 4"),
        ("# x\n1\tw\tx/root\t_\n\n", 2, "word 1: 'x/root' is not a leaf tag with a relation"),
        ("1\tw\tl\t_\n\n", 1, "word 1: 'l' is not a leaf tag with a relation"),
        ("1\tw\tl/root\tLl\n\n", 1, "word 1: internal tag 'Ll' is not '_' after the last word"),
        ("1\tw\tl/root\t_\n2\tw\tr/x\t_\n\n", 1, "word 1: internal tag '_' is not one of Ll, Lr, Rl, Rr"),
        ("1\tw\tl/root\tl\n2\tw\tr/x\t_\n\n", 1, "word 1: internal tag 'l' is not one of Ll, Lr, Rl, Rr"),
        ("1\tw\tr/root\t_\n\n", 1, "tag 1 (r) leaves 0 items on the stack"),
        ("2\tw\tl/root\t_\n\n", 1, "ID '2' is out of order"),
        ("# hexatags_lift = up\n1\tw\tl/root\t_\n\n", 2, "comment hexatags_lift = 'up' is not one of: head"),
    ],
)
def test_bad_tag_files(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "bad.tags"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        list(read_tagged(path))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)
