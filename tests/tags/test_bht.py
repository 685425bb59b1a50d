import pytest
from hypothesis import given

import brute_force
from hexatagger.errors import TreeError
from hexatagger.tags import Order, from_heads, heads_to_tree, tags_to_tree, tree_to_heads, tree_to_tags
from hexatagger.tags.bht import steps
from strategies import projective_trees

ORDERS: tuple[Order, ...] = ("left", "right")


def test_the_papers_four_words_step_by_step() -> None:
    """The stacks of the paper's table, A to D being 1 to 4 and its open slot ∅ a question mark."""
    shown = [" ".join(map(str, stack)) for stack in steps(from_heads([2, 0, 4, 2]))]
    assert shown == [
        "1",
        "R(1 ?)",
        "R(1 2)",
        "L(R(1 2) ?)",
        "L(R(1 2) ?) 3",
        "L(R(1 2) R(3 ?))",
        "L(R(1 2) R(3 4))",
    ]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", range(1, 6))
def test_the_long_way_and_the_short_way_agree(size: int, order: Order) -> None:
    for heads in brute_force.projective_trees(size):
        tree = heads_to_tree(heads, order)
        assert tree_to_heads(tree) == list(heads)
        assert tree_to_tags(tree) == from_heads(heads, order)
        assert tags_to_tree(tree_to_tags(tree)) == tree


@given(projective_trees(30))
def test_round_trips(heads: list[int]) -> None:
    for order in ORDERS:
        tree = heads_to_tree(heads, order)
        assert tree_to_heads(tree) == heads
        assert tree_to_tags(tree) == from_heads(heads, order)
        assert str(tags_to_tree(tree_to_tags(tree))) == str(tree)


def test_equality_is_of_structure() -> None:
    assert heads_to_tree([2, 0]) == heads_to_tree([2, 0])
    assert heads_to_tree([2, 0]) != heads_to_tree([0, 1])
    assert heads_to_tree([2, 0]) != "R(1 2)"


def test_ten_thousand_words_deep() -> None:
    for heads in (list(range(10_000)), [*range(2, 10_001), 0]):
        tree = heads_to_tree(heads)
        assert tree_to_heads(tree) == heads
        assert tree_to_tags(tree) == from_heads(heads)
        assert str(tags_to_tree(from_heads(heads))) == str(tree)


def test_what_has_no_binary_head_tree() -> None:
    for heads in ([], [3, 0, 2]):
        with pytest.raises(TreeError):
            heads_to_tree(heads)
