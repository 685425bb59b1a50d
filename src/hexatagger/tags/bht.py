"""The binary head tree as an object, with the two algorithms of the paper's appendix, for those who want to see it.

`hexatag` goes from heads to tags and back without it; here is the long way round, heads ⇄ binary head tree ⇄ tags,
which draws, teaches and serves as an oracle in the tests. Algorithm 1 of the paper pops the two items of its right
loop in the wrong order: the dependent's subtree is on top of the stack and is the right child.

Relations are no part of this. Nothing here recurses, so a tree may be 10,000 words deep.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hexatagger.errors import TreeError, check_choice
from hexatagger.tags.hexatag import Hexatag, Order, check_tags
from hexatagger.tree import check_tree, is_projective


@dataclass(slots=True, eq=False)
class BHT:
    """A node: a leaf has a `word` (1-based), an internal node two children and the `side` on which its head is."""

    word: int = 0
    side: Literal["L", "R"] | None = None
    left: "BHT | None" = None
    right: "BHT | None" = None

    @property
    def is_leaf(self) -> bool:
        """Whether this is a word."""
        return self.word > 0

    @property
    def children(self) -> "tuple[BHT, ...]":
        """The two children, none of a leaf."""
        return tuple(child for child in (self.left, self.right) if child is not None)

    def inorder(self) -> "Iterator[BHT]":
        """Yield leaf 1, internal 1, leaf 2, …, leaf N."""
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
        """Write a leaf as its number, an internal node as side and children, an open slot as `?`."""
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


def heads_to_tree(heads: Sequence[int], order: Order = "left") -> BHT:
    """Build the binary head tree of a projective tree (Algorithm 1, with its right loop mended).

    >>> str(heads_to_tree([2, 0, 4, 2])), str(heads_to_tree([2, 0, 4, 2], "right"))
    ('L(R(1 2) R(3 4))', 'R(1 L(2 R(3 4)))')
    """
    check_choice("order", order, get_args(Order))
    check_tree(heads)
    if not heads or not is_projective(heads):
        raise TreeError("a binary head tree has words and comes from a projective tree")
    lefts: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    rights: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        (lefts if word < head else rights)[head].append(word)
    stack: list[BHT] = []
    # What the recursion would do, as a list of things still to do: visit a word, or join the top two items.
    todo: list[int | Literal["L", "R"]] = [rights[0][0]]
    while todo:
        job = todo.pop()
        if isinstance(job, int):
            stack.append(BHT(job))
            jobs: list[int | Literal["L", "R"]] = []
            for side in ("left", "right") if order == "left" else ("right", "left"):
                for dependent in reversed(lefts[job]) if side == "left" else rights[job]:
                    jobs += [dependent, "R" if side == "left" else "L"]
            todo += reversed(jobs)
        elif job == "R":
            dependent_tree, node = stack.pop(), stack.pop()
            stack.append(BHT(side="R", left=dependent_tree, right=node))
        else:
            dependent_tree, node = stack.pop(), stack.pop()
            stack.append(BHT(side="L", left=node, right=dependent_tree))
    return stack.pop()


def tree_to_heads(tree: BHT) -> list[int]:
    """Read the heads off a binary head tree (Algorithm 2).

    >>> tree_to_heads(heads_to_tree([2, 0, 4, 2]))
    [2, 0, 4, 2]
    """
    nodes = list(tree.inorder())
    heads = [0] * ((len(nodes) + 1) // 2)
    stack: list[tuple[BHT, bool]] = [(tree, False)]
    headwords: list[int] = []
    while stack:
        node, done = stack.pop()
        if node.is_leaf:
            headwords.append(node.word)
        elif done:
            right, left = headwords.pop(), headwords.pop()
            head, dependent = (left, right) if node.side == "L" else (right, left)
            heads[dependent - 1] = head
            headwords.append(head)
        else:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node.children)]
    return heads


def tree_to_tags(tree: BHT) -> list[Hexatag]:
    """Read the tags off a binary head tree, in order.

    >>> [str(tag) for tag in tree_to_tags(heads_to_tree([2, 0, 4, 2]))]
    ['l', 'Lr', 'r', 'Ll', 'l', 'Rr', 'r']
    """
    rights = {id(node.right) for node in tree.inorder() if node.right}
    tags = []
    for node in tree.inorder():
        right_child = id(node) in rights
        if node.is_leaf:
            tags.append(Hexatag.LEAF_R if right_child else Hexatag.LEAF_L)
        elif node.side == "L":
            tags.append(Hexatag.R_HEAD_L if right_child else Hexatag.L_HEAD_L)
        else:
            tags.append(Hexatag.R_HEAD_R if right_child else Hexatag.L_HEAD_R)
    return tags


def tags_to_tree(tags: Sequence[int]) -> BHT:
    """Build the binary head tree of legal tags, as the left-corner shift-reduce machine of the paper does.

    >>> str(tags_to_tree(tree_to_tags(heads_to_tree([2, 0, 4, 2]))))
    'L(R(1 2) R(3 4))'
    """
    *_, stack = steps(tags)
    return stack[0]


def steps(tags: Sequence[int]) -> Iterator[list[BHT]]:
    """Yield the stack after every tag (the paper's table); an open slot is a node whose `right` is None.

    The list and its trees grow in place: look at each before asking for the next.
    """
    check_tags(tags)
    stack: list[BHT] = []
    open_nodes: list[BHT] = []  # the node with the open slot of every item that has one, the last item's last
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
