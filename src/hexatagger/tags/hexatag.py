"""Projective tree ⇄ hexatags, each in one pass.

The tags of a tree are those of its binary head tree in in-order (leaf 1, internal 1, leaf 2, …, leaf N). The binary
head tree itself is not built here; `bht` has it as an object. The internal node between words k and k+1 is the node
whose left part ends with word k. Amini, Liu and Cotterell (2023), "Hexatagging: Projective Dependency Parsing as
Tagging".

Deprels are not part of this: the deprel of a word belongs to its leaf tag and is stored separately. Heads and tags can
be lists or numpy arrays, such as the functions of `hexatagger.decode` return; results are lists. Everything is O(N).
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Literal, get_args

from hexatagger.errors import TagError, check_choice
from hexatagger.tree import check_projective, plain

Order = Literal["left", "right"]


class Hexatag(IntEnum):
    """The six tags; a name gives the child side and, for internal tags, the side of the head."""

    LEAF_L = 0
    LEAF_R = 1
    L_HEAD_L = 2
    L_HEAD_R = 3
    R_HEAD_L = 4
    R_HEAD_R = 5

    def __str__(self) -> str:
        return SYMBOLS[self]


SYMBOLS = ("l", "r", "Ll", "Lr", "Rl", "Rr")
"""The written form of each tag, in numerical order."""

BY_SYMBOL = {symbol: Hexatag(number) for number, symbol in enumerate(SYMBOLS)}

DEPTH_CHANGE = (1, 0, 0, 0, -1, -1)
"""The change of the stack depth by each tag."""

_AS_RIGHT = {Hexatag.LEAF_L: Hexatag.LEAF_R, Hexatag.L_HEAD_L: Hexatag.R_HEAD_L, Hexatag.L_HEAD_R: Hexatag.R_HEAD_R}
"""The tag of a node that is a right child instead of a left one."""


def from_heads(heads: Iterable[int], order: Order = "left") -> list[Hexatag]:
    """Return the 2N−1 tags of a projective tree; `order` is the side whose dependents a word takes first.

    >>> " ".join(map(str, from_heads([2, 0, 4, 2])))  # She reads fascinating papers
    'l Lr r Ll l Rr r'
    """
    check_choice("order", order, get_args(Order))
    heads = check_projective(heads)
    size = len(heads)
    begin, end = list(range(size + 1)), list(range(size + 1))  # first and last word of every subtree
    tags = [Hexatag.LEAF_L] * (2 * size - 1)
    newest = list(range(-2, 2 * size, 2))  # place of each word's newest node: at first its leaf

    # A word takes its nearest dependents first. Each makes a new node with the newest one as a child: the right child
    # for a left dependent. In each loop, the subtree of a word is known on the side that matters when the word comes.
    for side in ("left", "right") if order == "left" else ("right", "left"):
        if side == "left":
            for word in range(size, 0, -1):
                if (head := heads[word - 1]) < word:
                    end[head] = max(end[head], end[word])
                else:
                    tags[newest[head]] = _AS_RIGHT[tags[newest[head]]]
                    newest[head] = 2 * end[word] - 1
                    tags[newest[head]] = Hexatag.L_HEAD_R
        else:
            for word in range(1, size + 1):
                if (head := heads[word - 1]) > word:
                    begin[head] = min(begin[head], begin[word])
                elif head:
                    newest[head] = 2 * begin[word] - 3
                    tags[newest[head]] = Hexatag.L_HEAD_L
    for word, head in enumerate(heads, 1):
        if 0 < head < word:  # the whole subtree is a right child
            tags[newest[word]] = _AS_RIGHT[tags[newest[word]]]
    return tags


def to_heads(tags: Iterable[int]) -> list[int]:
    """Return the heads of a legal tag sequence.

    A stack item is a complete subtree, represented by its head, or a subtree with an open slot at its right edge. For
    an open item we keep its head if known, the governor of the slot's filler (0: none yet), and the words that wait for
    the filler as their head. Every word waits at most once.

    >>> tags = [Hexatag.LEAF_L, Hexatag.L_HEAD_R, Hexatag.LEAF_R]
    >>> to_heads(tags)
    [2, 0]
    """
    tags = plain(tags)
    check_tags(tags)
    heads = [0] * ((len(tags) + 1) // 2)
    stack: list[tuple[int, int, list[int]]] = []  # open items below the top: head, governor of the slot, waiting
    item_head, governor, waiting = 0, 0, list[int]()
    leaf_l, leaf_r, l_head_l, l_head_r, r_head_l, r_head_r = map(int, Hexatag)  # numbers are compared faster
    for position, tag in enumerate(tags):
        word = position // 2 + 1
        if tag == leaf_l:
            stack.append((item_head, governor, waiting))
            item_head, governor, waiting = word, 0, []
            continue
        # A word fills the slot of the top item; an internal node joins the complete top item to what comes.
        filler = word if tag == leaf_r else item_head
        if tag >= r_head_l:
            item_head, governor, waiting = stack.pop()  # fills the slot of the item below, and opens a new one in it
        elif tag >= l_head_l:
            item_head, governor, waiting = 0, 0, []
        if tag in (l_head_r, r_head_r):
            waiting.append(filler)
            continue
        for waiter in waiting:
            heads[waiter - 1] = filler
        if governor:
            heads[filler - 1] = governor
        else:
            item_head = filler
        governor, waiting = filler, []
    return heads


def check_tags(tags: Iterable[int]) -> None:
    """Raise TagError unless the tags are legal: leaf and internal tags alternate and the stack never runs empty.

    >>> check_tags([Hexatag.LEAF_R])
    Traceback (most recent call last):
        ...
    hexatagger.errors.TagError: tag 1 (r) leaves 0 items on the stack: at least 1 is needed
    """
    tags = plain(tags)
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
        raise TagError(f"{depth} items are left on the stack: a tree leaves one")


def is_legal(tags: Iterable[int]) -> bool:
    """Return whether the tags are those of some tree."""
    try:
        check_tags(tags)
    except TagError:
        return False
    return True


def depth_needed(tags: Iterable[int]) -> int:
    """Return the greatest stack depth of a tag sequence.

    >>> depth_needed(from_heads([2, 0, 4, 2]))
    2
    """
    depth = deepest = 0
    for tag in plain(tags):
        depth += DEPTH_CHANGE[tag]
        deepest = max(deepest, depth)
    return deepest
