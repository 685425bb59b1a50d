"""Functions on heads: tree and projectivity checks, non-projective arcs, multiple roots, the root rule for deprels.

The convention of the whole package: words are numbered from 1, `heads[i - 1]` is the head of word `i`, and head 0 is
the root, which is not a word. `[2, 0, 4, 2]` is "She reads fascinating papers". Heads can be a list, a tuple or a numpy
array, such as `hexatagger.decode.heads` returns; results are lists of int.

Nothing here recurses. Every function is O(N).
"""

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from hexatagger.errors import TreeError


def plain(numbers: Iterable[int]) -> list[int]:
    """Return integers of any kind, numpy's included, as a list of int."""
    return list(map(index, numbers))


def check_tree(heads: Iterable[int], *, single_root: bool = True) -> None:
    """Raise TreeError unless every word is a descendant of the root (and, by default, exactly one is its child).

    >>> check_tree([2, 0, 4, 2])
    >>> check_tree([2, 1, 0])
    Traceback (most recent call last):
        ...
    hexatagger.errors.TreeError: the heads run in a cycle: 1 → 2 → 1
    """
    heads = plain(heads)
    size = len(heads)
    roots = []
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= size:
            raise TreeError(f"HEAD '{head}' is outside the sentence ({size} words)", word=word)
        if head == 0:
            roots.append(word)
    if size and not roots:
        raise TreeError("no word has HEAD 0: the sentence has no root")
    if cycle := find_cycle(heads):
        shown = cycle if len(cycle) <= 8 else [*cycle[:6], "…", cycle[-1]]
        raise TreeError(f"the heads run in a cycle: {' → '.join(map(str, shown))}", word=cycle[0])
    if single_root and len(roots) > 1:
        listed = ", ".join(map(str, roots[:5])) + (", …" if len(roots) > 5 else "")
        raise TreeError(f"{len(roots)} words have HEAD 0 ({listed}): a sentence has one root", word=roots[1])


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Return a cycle, with its first word once more at the end; empty if there is none."""
    reached = [0] * (len(heads) + 1)  # 0: not visited, otherwise the word whose upward walk visited it first
    reached[0] = -1
    for start in range(1, len(heads) + 1):
        word = start
        while reached[word] == 0:
            reached[word] = start
            word = heads[word - 1]
        if reached[word] == start:
            cycle = [word, heads[word - 1]]
            while cycle[-1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return cycle
    return []


def check_projective(heads: Iterable[int]) -> list[int]:
    """Raise TreeError unless the heads form a projective tree with one root; return them as a list of int.

    >>> check_projective([3, 0, 2, 2])
    Traceback (most recent call last):
        ...
    hexatagger.errors.TreeError: the tree is not projective: lift it first (hexatagger.tags.lift or --lift)
    """
    heads = plain(heads)
    check_tree(heads)
    if not is_projective(heads):
        raise TreeError("the tree is not projective: lift it first (hexatagger.tags.lift or --lift)")
    return heads


def is_tree(heads: Iterable[int], *, single_root: bool = True) -> bool:
    """Return whether the heads form a tree.

    >>> is_tree([2, 0, 2]), is_tree([2, 1, 0]), is_tree([0, 0]), is_tree([0, 0], single_root=False)
    (True, False, False, True)
    """
    try:
        check_tree(heads, single_root=single_root)
    except TreeError:
        return False
    return True


def attach_roots(heads: Iterable[int]) -> list[int]:
    """Attach every root but the first to the first.

    >>> attach_roots([0, 1, 0, 3])
    [0, 1, 1, 3]
    """
    heads = plain(heads)
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    return [roots[0] if head == 0 and word != roots[0] else head for word, head in enumerate(heads, 1)]


def nonprojective_words(heads: Iterable[int]) -> list[int]:
    """Return the words whose arc is not projective: it covers a word that is not a descendant of the arc's head.

    Arcs from the root always count as projective, as in MaltParser: the arcs that they cross are reported instead.

    >>> nonprojective_words([3, 0, 2, 2])  # 3 → 1 covers the root word 2
    [1]
    """
    heads = plain(heads)
    if is_projective(heads):
        return []
    check_tree(heads, single_root=False)
    start, end = runs(dependents_of(heads))
    return [word for word, head in enumerate(heads, 1) if not start[head] <= word <= end[head]]


def dependents_of(heads: Sequence[int]) -> list[list[int]]:
    """Return the dependents of the root and of every word, in order."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        dependents[head].append(word)
    return dependents


def subtree(node: int, dependents: Sequence[Sequence[int]]) -> list[int]:
    """Return a node and its descendants, depth first."""
    found, stack = [], [node]
    while stack:
        found.append(stack.pop())
        stack.extend(dependents[found[-1]])
    return found


def runs(dependents: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return the start and end of every node's run: the contiguous descendants around the node.

    >>> runs(dependents_of([5, 4, 4, 0, 4]))  # 5 heads 1, but 2 to 4 are not descendants of 5
    ([0, 1, 2, 3, 1, 5], [5, 1, 2, 3, 5, 5])
    """
    size = len(dependents)
    order = subtree(0, dependents)
    number = [0] * size
    for position, node in enumerate(order):
        number[node] = position
    last = list(number)  # in depth-first order, the descendants of a node have the numbers up to its `last`
    for node in reversed(order):
        last[node] = max([last[node], *(last[dependent] for dependent in dependents[node])])

    # If the neighbour is a descendant, so is its whole run: skip it. No run is skipped twice, so this is linear.
    start, end = list(range(size)), list(range(size))
    for node in range(1, size):
        while number[node] <= number[start[node] - 1] <= last[node]:
            start[node] = start[start[node] - 1]
    for node in reversed(range(size)):
        while end[node] + 1 < size and number[node] <= number[end[node] + 1] <= last[node]:
            end[node] = end[end[node] + 1]
    return start, end


def is_projective(heads: Iterable[int]) -> bool:
    """Return whether no two arcs of a tree cross, counting the arc from the root, which lies left of the first word.

    >>> is_projective([2, 0, 4, 2]), is_projective([3, 0, 2, 2])
    (True, False)
    """
    # Every subtree of a projective tree is an interval, so a stack of subtrees suffices: reading from left to right,
    # merge the top two whenever one is complete and the other contains its head.
    heads = plain(heads)
    missing = [0] * (len(heads) + 1)
    for head in heads:
        missing[head] += 1
    stack: list[int] = []
    for word in range(1, len(heads) + 1):
        stack.append(word)
        while len(stack) > 1:
            left, right = stack[-2], stack[-1]
            if missing[left] == 0 and heads[left - 1] == right:
                del stack[-2]
                missing[right] -= 1
            elif missing[right] == 0 and heads[right - 1] == left:
                stack.pop()
                missing[left] -= 1
            else:
                break
    return all(heads[word - 1] == 0 for word in stack)


def fits_head(roots: Any, at_root: Any) -> Any:
    """Say which deprels go with a head: head 0 takes root deprels and no others, and no other head takes them.

    This is the one rule that `root` and head 0 go together. `roots` says which deprels are root deprels, `at_root`
    whether a head is 0: boolean arrays of numpy or torch that broadcast. If all deprels are root deprels, or none is,
    everything fits.

    >>> import numpy as np
    >>> roots = np.array([True, False, False])  # root, nsubj, obj
    >>> fits_head(roots, np.array([[True], [False]])).tolist()
    [[True, False, False], [False, True, True]]
    """
    return (roots == at_root) | roots.all() | ~roots.any()
