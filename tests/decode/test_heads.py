import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger.decode import best, heads, sample, tree_scores
from hexatagger.errors import TagError
from hexatagger.sentence import Sentence
from hexatagger.tags import (
    Hexatag,
    check_tags,
    depth_needed,
    from_heads,
    is_legal,
    lift,
    tags_to_tree,
    to_heads,
    unlift,
)
from hexatagger.tree import attach_roots, check_tree, is_projective, is_tree, nonprojective_words
from strategies import projective_trees

LEAF, INTERNAL = np.zeros((1, 4, 2)), np.zeros((1, 3, 4))
LEAF[0, range(4), [0, 1, 0, 1]] = INTERNAL[0, range(3), [1, 0, 3]] = 9
SCORES = LEAF, INTERNAL, [4]
"""Scores of "She reads fascinating papers"."""


@given(st.lists(projective_trees(30), max_size=6))
def test_heads_are_the_inverse_of_tags(trees: list[list[int]]) -> None:
    assert [found.tolist() for found in heads(from_heads(tree) for tree in trees)] == trees


def test_heads_of_illegal_tags_are_an_error() -> None:
    for tags in ([1], [0, 2], [0, 2, 0], [0, 7, 1], [0, 4, 1], [0, 0, 0]):
        with pytest.raises(TagError):
            heads([np.array([0], np.int8), np.array(tags, np.int8)])


def test_tags_take_the_arrays_of_decode() -> None:
    [tags] = best(*SCORES)
    [found] = heads([tags])
    check_tags(tags)
    assert is_legal(tags)
    assert depth_needed(tags) == 2
    assert to_heads(tags) == found.tolist() == [2, 0, 4, 2]
    assert str(tags_to_tree(tags)) == "L(R(1 2) R(3 4))"
    made = from_heads(found)
    assert made == tags.tolist()
    assert all(type(tag) is Hexatag for tag in made)
    assert tree_scores([found], *SCORES[:2]) == tree_scores([[2, 0, 4, 2]], *SCORES[:2])
    [drawn] = sample(*SCORES, 3)
    assert [tree.tolist() for tree in heads(drawn)] == [to_heads(each) for each in drawn]


def test_trees_take_the_arrays_of_decode() -> None:
    [found] = heads(best(*SCORES))
    check_tree(found)
    assert is_tree(found)
    assert is_projective(found)
    assert nonprojective_words(np.array([3, 0, 2, 2])) == [1]
    deprels = ["nsubj", "root", "amod", "obj"]
    for plain in (
        attach_roots(found),
        *(change(found, deprels)[0] for change in (lift, unlift)),
        to_heads(best(*SCORES)[0]),
    ):
        assert plain == [2, 0, 4, 2]
        assert all(type(head) is int for head in plain)


def test_a_sentence_takes_the_arrays_of_decode() -> None:
    sentence = Sentence.from_words(["She", "reads", "fascinating", "papers"])
    sentence.set_tree(heads(best(*SCORES))[0], ["nsubj", "root", "amod", "obj"])
    written = json.loads(json.dumps(sentence.to_dict()))
    assert Sentence.from_dict(written).heads == [2, 0, 4, 2]


def test_empty_sentences() -> None:
    assert to_heads(np.empty(0, np.int8)) == []
    assert from_heads(np.empty(0, np.intp)) == []
    assert [found.tolist() for found in heads([[], [0]])] == [[], [0]]
    with pytest.raises(TagError, match="empty sentence"):
        tags_to_tree([])
