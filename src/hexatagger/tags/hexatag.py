"""Projective tree ⇄ hexatags, each way in one pass.

The tags of a tree are those of its binary head tree read in order (leaf 1, internal 1, leaf 2, …, leaf N), but the
binary head tree itself is never built here: see `bht` for it as an object. In order, the internal node between words
k and k+1 is the one whose left part ends with word k. Amini, Liu and Cotterell (2023), "Hexatagging: Projective
Dependency Parsing as Tagging".

Relations are no part of this: the relation of a word goes with its leaf tag and is kept beside it.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Literal, get_args

from hexatagger.errors import TagError, TreeError, check_choice
from hexatagger.tree import check_tree, is_projective

Order = Literal["left", "right"]


class Hexatag(IntEnum):
    """The six tags; the name says child side, then (internal tags) on which side the head is."""

    LEAF_L = 0
    LEAF_R = 1
    L_HEAD_L = 2
    L_HEAD_R = 3
    R_HEAD_L = 4
    R_HEAD_R = 5

    def __str__(self) -> str:
        return SYMBOLS[self]


SYMBOLS = ("l", "r", "Ll", "Lr", "Rl", "Rr")
"""How the tags are written, in their order."""

BY_SYMBOL = {symbol: Hexatag(number) for number, symbol in enumerate(SYMBOLS)}

DEPTH_CHANGE = (1, 0, 0, 0, -1, -1)
"""What each tag does to the number of items on the stack."""


def from_heads(heads: Sequence[int], order: Order = "left") -> list[Hexatag]:
    """Return the 2N−1 tags of a projective tree; `order` says which dependents of a word are taken in first.

    >>> " ".join(map(str, from_heads([2, 0, 4, 2])))  # She reads fascinating papers
    'l Lr r Ll l Rr r'
    """
    check_choice("order", order, get_args(Order))
    check_tree(heads)
    if not is_projective(heads):
        raise TreeError("the tree is not projective: lift it first (hexatagger.tags.lift, --lift on the command line)")
    size = len(heads)
    if size == 0:
        return []
    # Outermost dependents of every word: `first` on its left, `last` on its right; the word itself where it has none.
    first, last = list(range(size + 1)), list(range(size + 1))
    for word in range(size, 0, -1):
        if (head := heads[word - 1]) > word:
            first[head] = word
    for word in range(1, size + 1):
        if (head := heads[word - 1]) < word:
            last[head] = word
    # Where the subtree of a word begins and ends: it shares its first word with its first dependent, which is known.
    begin, end = list(range(size + 1)), list(range(size + 1))
    for word in range(1, size + 1):
        begin[word] = begin[first[word]]
    for word in range(size, 0, -1):
        end[word] = end[last[word]]

    def whole_is_right(word: int) -> bool:
        """Say whether the node of the word's whole subtree is a right child; the top counts as left."""
        return 0 < heads[word - 1] < word

    tags = [Hexatag.LEAF_L] * (2 * size - 1)
    for word, head in enumerate(heads, 1):
        has_left, has_right = first[word] < word, last[word] > word
        # The leaf is the right child if the next thing around it is a left dependent.
        if has_left and (order == "left" or not has_right):
            right_child = True
        elif has_right:
            right_child = False
        else:
            right_child = whole_is_right(word)
        tags[2 * word - 2] = Hexatag.LEAF_R if right_child else Hexatag.LEAF_L
        if head == 0:
            continue
        # The internal node that joins the word to its head, and what comes around that node next.
        if word < head:
            if word > first[head]:
                right_child = True
            else:
                right_child = whole_is_right(head) if order == "right" or last[head] == head else False
            tags[2 * end[word] - 1] = Hexatag.R_HEAD_R if right_child else Hexatag.L_HEAD_R
        else:
            if word < last[head]:
                right_child = False
            else:
                right_child = whole_is_right(head) if order == "left" or first[head] == head else True
            tags[2 * begin[word] - 3] = Hexatag.R_HEAD_L if right_child else Hexatag.L_HEAD_L
    return tags


def to_heads(tags: Sequence[int]) -> list[int]:
    """Return the heads that a legal tag sequence stands for.

    A stack item is what stands on a legal prefix: a finished tree, known by its `head`, or one with an open slot at its
    right edge. Of an open item we keep its head if known, the word that the slot's filler will depend on (0: none yet),
    and the words that wait for the filler as their head. Every word waits at most once, so this is linear.

    >>> tags = [Hexatag.LEAF_L, Hexatag.L_HEAD_R, Hexatag.LEAF_R]
    >>> to_heads(tags)
    [2, 0]
    """
    check_tags(tags)
    heads = [0] * ((len(tags) + 1) // 2)
    stack: list[tuple[int, int, list[int]]] = []  # open items below the top: head, governor of the slot, waiting
    item_head, governor, waiting = 0, 0, list[int]()
    for position, tag in enumerate(tags):
        if position % 2 == 0:
            word = position // 2 + 1
            if tag == Hexatag.LEAF_L:
                # A new finished item of one word on top of the open one.
                stack.append((item_head, governor, waiting))
                item_head, governor, waiting = word, 0, []
                continue
            # The word fills the slot of the top item.
            for waiter in waiting:
                heads[waiter - 1] = word
            if governor:
                heads[word - 1] = governor
            else:
                item_head = word
            waiting = []
            continue
        # An internal node over the finished top item.
        joined = item_head
        if tag in (Hexatag.R_HEAD_L, Hexatag.R_HEAD_R):
            item_head, governor, waiting = stack.pop()  # it fills the slot of the item below, and opens it anew
        else:
            item_head, governor, waiting = 0, 0, []
        if tag in (Hexatag.L_HEAD_L, Hexatag.R_HEAD_L):
            for waiter in waiting:
                heads[waiter - 1] = joined
            if governor:
                heads[joined - 1] = governor
            else:
                item_head = joined
            governor, waiting = joined, []
        else:
            waiting.append(joined)
    return heads


def check_tags(tags: Sequence[int]) -> None:
    """Raise TagError unless the tags are those of some tree: leaf and internal in turn, and the stack never runs dry.

    >>> check_tags([Hexatag.LEAF_R])
    Traceback (most recent call last):
        ...
    hexatagger.errors.TagError: tag 1 (r) leaves 0 items on the stack: at least 1 is needed
    """
    if not tags:
        return
    if len(tags) % 2 == 0:
        raise TagError(f"{len(tags)} tags: a sentence of N words has 2N-1, always an odd number")
    depth = 0
    for position, tag in enumerate(tags):
        leaf = position % 2 == 0
        if not 0 <= tag <= 5 or (tag <= 1) != leaf:
            wanted = "l or r" if leaf else "Ll, Lr, Rl or Rr"
            shown = SYMBOLS[tag] if 0 <= tag <= 5 else tag
            raise TagError(f"tag {position + 1} is {shown}: this place takes {wanted}")
        depth += DEPTH_CHANGE[tag]
        if depth < 1:
            raise TagError(
                f"tag {position + 1} ({SYMBOLS[tag]}) leaves {depth} items on the stack: at least 1 is needed"
            )
    if depth != 1:
        raise TagError(f"{depth} items are left on the stack: a tree is one")


def is_legal(tags: Sequence[int]) -> bool:
    """Say whether the tags are those of some tree."""
    try:
        check_tags(tags)
    except TagError:
        return False
    return True


def depth_needed(tags: Sequence[int]) -> int:
    """Return the greatest number of items on the stack on the way.

    >>> depth_needed(from_heads([2, 0, 4, 2]))
    2
    """
    depth = deepest = 0
    for tag in tags:
        depth += DEPTH_CHANGE[tag]
        deepest = max(deepest, depth)
    return deepest
