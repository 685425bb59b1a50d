import itertools
import math

import pytest
from hypothesis import given

import brute_force
from hexatagger.errors import ConfigError, TagError, TreeError
from hexatagger.tags import Hexatag, Order, check_tags, depth_needed, from_heads, is_legal, to_heads
from hexatagger.tags.hexatag import BY_SYMBOL
from hexatagger.tree import is_projective, is_tree
from strategies import projective_trees

ORDERS: tuple[Order, ...] = ("left", "right")


def tags_of(symbols: str) -> list[Hexatag]:
    return [BY_SYMBOL[symbol] for symbol in symbols.split()]


def test_the_enumeration_has_its_order() -> None:
    assert [str(Hexatag(number)) for number in range(6)] == ["l", "r", "Ll", "Lr", "Rl", "Rr"]
    assert [int(tag) for tag in Hexatag] == list(range(6))


def test_the_papers_four_words() -> None:
    # A ← B → D → C: the table in the paper gives these seven actions.
    assert from_heads([2, 0, 4, 2]) == tags_of("l Lr r Ll l Rr r")
    assert to_heads(tags_of("l Lr r Ll l Rr r")) == [2, 0, 4, 2]


def test_the_papers_example_sentence() -> None:
    """She reads fascinating papers: ⟨l, nsubj⟩ Lr ⟨r, root⟩ Ll ⟨l, amod⟩ Rr ⟨r, obj⟩."""
    assert [str(tag) for tag in from_heads([2, 0, 4, 2])] == ["l", "Lr", "r", "Ll", "l", "Rr", "r"]
    assert [str(tag) for tag in from_heads([2, 0, 4, 2], "right")] == ["l", "Lr", "l", "Rl", "l", "Rr", "r"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", range(1, 8))
def test_every_projective_tree_comes_back_and_no_two_share_tags(size: int, order: Order) -> None:
    seen = set()
    for heads in _all_projective(size):
        tags = from_heads(heads, order)
        assert len(tags) == 2 * size - 1
        assert to_heads(tags) == list(heads)
        seen.add(tuple(tags))
    assert len(seen) == len(_all_projective(size))


def _all_projective(size: int) -> list[tuple[int, ...]]:
    """All of them; beyond five words from the legal sequences, which reach every tree, as trying all takes long."""
    if size <= 5:
        return list(brute_force.projective_trees(size))
    return sorted({tuple(to_heads(tags)) for tags in brute_force.legal_sequences(size)})


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 2), (3, 7), (4, 30), (5, 143), (6, 728), (7, 3876)])
def test_the_number_of_projective_trees(size: int, count: int) -> None:
    assert len(_all_projective(size)) == count == math.comb(3 * size - 2, size - 1) // size


@pytest.mark.parametrize("size", range(1, 8))
def test_every_legal_sequence_is_a_tree_and_their_number_is_known(size: int) -> None:
    sequences = brute_force.legal_sequences(size)
    catalan = math.comb(2 * (size - 1), size - 1) // size
    assert len(set(sequences)) == len(sequences) == catalan * 2 ** (size - 1)
    for tags in sequences:
        check_tags(tags)
        heads = to_heads(tags)
        assert is_tree(heads)
        assert is_projective(heads)


@pytest.mark.parametrize("size", range(1, 6))
def test_legal_means_a_tree_has_it(size: int) -> None:
    places = [range(6)] * (2 * size - 1) if size <= 3 else [(0, 1), (2, 3, 4, 5)] * (size - 1) + [(0, 1)]
    legal = set(brute_force.legal_sequences(size))
    assert {tags for tags in itertools.product(*places) if is_legal(tags)} == legal


@given(projective_trees(40))
def test_round_trip(heads: list[int]) -> None:
    for order in ORDERS:
        assert to_heads(from_heads(heads, order)) == heads


@pytest.mark.parametrize(
    "heads",
    [
        pytest.param(list(range(10_000)), id="chain to the right"),
        pytest.param([*range(2, 10_001), 0], id="chain to the left"),
        pytest.param([0] + [1] * 9_999, id="star on the first word"),
        pytest.param([10_000] * 9_999 + [0], id="star on the last word"),
        pytest.param([5_000] * 4_999 + [0] + [5_000] * 5_000, id="star in the middle"),
    ],
)
def test_ten_thousand_words(heads: list[int]) -> None:
    for order in ORDERS:
        tags = from_heads(heads, order)
        assert to_heads(tags) == heads
        assert depth_needed(tags) <= 5_000


def test_one_word_and_none() -> None:
    assert from_heads([0]) == [Hexatag.LEAF_L]
    assert to_heads([0]) == [0]
    assert from_heads([]) == []
    assert to_heads([]) == []


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ("r", "tag 1 (r) leaves 0 items on the stack"),
        ("l Rl r", "tag 2 (Rl) leaves 0 items on the stack"),
        ("l Ll l", "2 items are left on the stack"),
        ("l Ll", "2 tags: a sentence of N words has 2N-1"),
        ("l l r", "tag 2 is l: this place takes Ll, Lr, Rl or Rr"),
        ("Ll", "tag 1 is Ll: this place takes l or r"),
    ],
)
def test_illegal_tags_are_told(symbols: str, message: str) -> None:
    with pytest.raises(TagError) as caught:
        to_heads(tags_of(symbols))
    assert message in str(caught.value)
    assert not is_legal(tags_of(symbols))


def test_numbers_that_are_no_tags() -> None:
    with pytest.raises(TagError, match="tag 1 is 6"):
        to_heads([6])
    with pytest.raises(TagError, match="tag 1 is -1"):
        to_heads([-1])


def test_what_cannot_be_encoded() -> None:
    with pytest.raises(TreeError, match="not projective: lift it first"):
        from_heads([3, 0, 2])
    with pytest.raises(TreeError, match="one root"):
        from_heads([0, 0])
    with pytest.raises(ConfigError, match="order 'up' is not one of: left, right"):
        from_heads([0], "up")  # type: ignore[arg-type]
