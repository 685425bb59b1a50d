"""The binary head tree (BHT) as an object, with the two algorithms of the paper's appendix.

`hexatag` converts between heads and tags without building the tree. This module takes the long way, heads ⇄ BHT ⇄ tags:
for drawings, for teaching, and as an oracle in the tests. Algorithm 1 of the paper pops the two items of its right loop
in the wrong order: the dependent's subtree is on top of the stack and becomes the right child.

Deprels are not part of this. Nothing recurses, so a tree may be 10,000 words deep. Every function is O(N).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from hexatagger.errors import TagError, TreeError, check_choice
from hexatagger.tags.hexatag import Hexatag, Order, check_tags
from hexatagger.tree import check_projective, plain


@dataclass(slots=True, eq=False)
class BHT:
    """A node: a leaf has a `word` (1-based), an internal node has two children and the `side` of its head."""

    word: int = 0
    side: Literal["L", "R"] | None = None
    left: "BHT | None" = None
    right: "BHT | None" = None

    @property
    def is_leaf(self) -> bool:
        """Whether this node is a word."""
        return self.word > 0

    @property
    def children(self) -> "tuple[BHT, ...]":
        """The two children; a leaf has none."""
        return tuple(child for child in (self.left, self.right) if child is not None)

    def inorder(self) -> "Iterator[BHT]":
        """Yield the nodes in in-order: leaf 1, internal 1, leaf 2, …, leaf N."""
        stack: list[BHT] = []
        current: BHT | None = self
        while stack or current:
            while current:
                stack.append(current)
                current = current.left
            current = stack.pop()
            yield current
            current = current.right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BHT) and tree_to_tags(self) == tree_to_tags(other)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Format a leaf as its number, an internal node as side and children, an open slot as `?`."""
        parts: list[str] = []
        stack: list[BHT | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
            elif item.left:
                stack += [")", item.right or "?", " ", item.left, f"{item.side}("]
            else:
                parts.append(str(item.word))
        return "".join(parts)


def heads_to_tree(heads: Iterable[int], order: Order = "left") -> BHT:
    """Build the binary head tree of a projective tree (Algorithm 1, with its right loop corrected).

    >>> str(heads_to_tree([2, 0, 4, 2])), str(heads_to_tree([2, 0, 4, 2], "right"))
    ('L(R(1 2) R(3 4))', 'R(1 L(2 R(3 4)))')
    """
    check_choice("order", order, get_args(Order))
    heads = check_projective(heads)
    if not heads:
        raise TreeError("an empty sentence has no binary head tree")
    lefts: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    rights: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        (lefts if word < head else rights)[head].append(word)
    stack: list[BHT] = []
    # The recursion as an agenda: visit a word, or join the top two items.
    todo: list[int | str] = [rights[0][0]]
    while todo:
        job = todo.pop()
        if isinstance(job, int):
            stack.append(BHT(job))
            left_jobs = [each for dependent in lefts[job] for each in ("R", dependent)]
            right_jobs = [each for dependent in reversed(rights[job]) for each in ("L", dependent)]
            todo += right_jobs + left_jobs if order == "left" else left_jobs + right_jobs  # the last is done first
        else:
            new, node = stack.pop(), stack.pop()
            stack.append(BHT(side="R", left=new, right=node) if job == "R" else BHT(side="L", left=node, right=new))
    return stack.pop()


def tree_to_heads(tree: BHT) -> list[int]:
    """Read the heads off a binary head tree (Algorithm 2).

    >>> tree_to_heads(heads_to_tree([2, 0, 4, 2]))
    [2, 0, 4, 2]
    """
    nodes = [tree]
    for node in nodes:  # grows during the loop: parents come before their children
        nodes += node.children
    heads = [0] * ((len(nodes) + 1) // 2)
    headwords: dict[int, int] = {}
    for node in reversed(nodes):
        headword = node.word
        if not node.is_leaf:
            left, right = (headwords[id(child)] for child in node.children)
            headword, dependent = (left, right) if node.side == "L" else (right, left)
            heads[dependent - 1] = headword
        headwords[id(node)] = headword
    return heads


def tree_to_tags(tree: BHT) -> list[Hexatag]:
    """Read the tags off a binary head tree in in-order.

    >>> [str(tag) for tag in tree_to_tags(heads_to_tree([2, 0, 4, 2]))]
    ['l', 'Lr', 'r', 'Ll', 'l', 'Rr', 'r']
    """
    rights = {id(node.right) for node in tree.inorder() if node.right}
    tags = []
    for node in tree.inorder():
        right_child = id(node) in rights
        tags.append(Hexatag(right_child if node.is_leaf else 2 + 2 * right_child + (node.side == "R")))
    return tags


def tags_to_tree(tags: Iterable[int]) -> BHT:
    """Build the binary head tree of legal tags with the paper's left-corner shift-reduce automaton.

    >>> str(tags_to_tree(tree_to_tags(heads_to_tree([2, 0, 4, 2]))))
    'L(R(1 2) R(3 4))'
    """
    tags = plain(tags)
    if not tags:
        raise TagError("an empty sentence has no binary head tree")
    *_, stack = steps(tags)
    return stack[0]


def steps(tags: Iterable[int]) -> Iterator[list[BHT]]:
    """Yield the stack after every tag, as in the paper's table; an open slot is a node whose `right` is None.

    The list and its trees are modified in place: inspect each stack before asking for the next.
    """
    tags = plain(tags)
    check_tags(tags)
    stack: list[BHT] = []
    open_nodes: list[BHT] = []  # the node with the open slot of each item that has one, topmost last
    for position, number in enumerate(tags):
        tag = Hexatag(number)
        if tag == Hexatag.LEAF_L:
            stack.append(BHT(position // 2 + 1))
        elif tag == Hexatag.LEAF_R:
            open_nodes.pop().right = BHT(position // 2 + 1)
        else:
            new = BHT(side="L" if tag in (Hexatag.L_HEAD_L, Hexatag.R_HEAD_L) else "R", left=stack.pop())
            if tag in (Hexatag.L_HEAD_L, Hexatag.L_HEAD_R):
                stack.append(new)
            else:
                open_nodes.pop().right = new
            open_nodes.append(new)
        yield stack
