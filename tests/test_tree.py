import itertools

import pytest
from hypothesis import given

import brute_force
from hexatagger.errors import TreeError
from hexatagger.tree import attach_roots, check_tree, is_projective, is_tree, nonprojective_words
from strategies import trees


@pytest.mark.parametrize("size", range(1, 6))
def test_every_small_assignment_of_heads(size: int) -> None:
    for heads in itertools.product(range(size + 1), repeat=size):
        assert is_tree(heads) == brute_force.is_tree(heads)
        if is_tree(heads):
            assert is_projective(heads) == brute_force.is_projective(heads)


@given(trees())
def test_nonprojective_words_by_definition(heads: list[int]) -> None:
    def chain(word: int) -> list[int]:
        return [] if word == 0 else [word, *chain(heads[word - 1])]

    expected = [
        word
        for word, head in enumerate(heads, 1)
        if head and any(head not in chain(between) for between in range(min(word, head) + 1, max(word, head)))
    ]
    assert nonprojective_words(heads) == expected
    assert is_projective(heads) == (not expected)


@pytest.mark.parametrize(
    ("heads", "message", "word"),
    [
        ([2, 3], "HEAD '3' is outside the sentence (2 words)", 2),
        ([-1], "HEAD '-1' is outside the sentence (1 words)", 1),
        ([2, 1], "no word has HEAD 0", 0),
        ([0, 3, 2], "the heads run in a cycle: 2 → 3 → 2", 2),
        ([0, 2], "the heads run in a cycle: 2 → 2", 2),
        ([0, 1, 0], "2 words have HEAD 0 (1, 3)", 3),
    ],
)
def test_what_is_no_tree(heads: list[int], message: str, word: int) -> None:
    with pytest.raises(TreeError) as caught:
        check_tree(heads)
    assert message in str(caught.value)
    assert caught.value.word == word


def test_a_long_cycle_is_told_in_short() -> None:
    with pytest.raises(TreeError, match=r"2 → 3 → 4 → 5 → 6 → 7 → … → 2"):
        check_tree([0, *range(3, 101), 2])


def test_empty_and_large() -> None:
    check_tree([])
    assert is_projective([])
    chain = list(range(10_000))
    assert is_tree(chain)
    assert is_projective(chain)
    assert nonprojective_words(chain) == []


def test_attach_roots() -> None:
    assert attach_roots([2, 0, 0, 3, 0]) == [2, 0, 2, 3, 2]
    assert is_tree(attach_roots([2, 0, 0, 3, 0]))
