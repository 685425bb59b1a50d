"""Exact decoders of arc scores for the biaffine baseline: the best projective tree and the best tree, with one root.

Eisner (1996) for projective trees, O(N³); Chu and Liu (1965) and Edmonds (1967) for all trees, O(N³). Scores are
(words + 1, words + 1): row = dependent, column = head, 0 = root; row 0 is ignored. Both are exact for trees with one
root: every tree has an arc from the root, so with a penalty on these arcs larger than all differences the best has one.
"""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def one_root(scores: Scores) -> Scores:
    """Return scores with the penalty on arcs from the root, and −inf for self-loops and row 0."""
    size = len(scores)
    made = np.array(scores, np.float64)
    made[np.arange(size), np.arange(size)] = -np.inf
    made[0] = -np.inf
    possible = made[np.isfinite(made)]
    made[:, 0] -= (float(np.ptp(possible)) + 1.0) * size if possible.size else 0.0
    return made


def best_tree(scores: Scores) -> list[int]:
    """Return the heads of the best tree, projective or not."""
    made = one_root(scores)
    return _edmonds(made)[1:] if len(made) > 1 else []


def _edmonds(scores: Scores) -> list[int]:
    """Return the best head of every node; that of node 0 is undefined."""
    heads = np.argmax(scores, axis=1)
    heads[0] = 0
    cycle = _cycle(heads.tolist())
    if cycle is None:
        return [int(head) for head in heads]
    # Contract the cycle to one node, solve the rest, and break the cycle where the solution enters it.
    inside = np.zeros(len(scores), bool)
    inside[cycle] = True
    rest = np.flatnonzero(~inside)
    members = np.array(cycle)
    size = len(rest) + 1
    smaller = np.full((size, size), -np.inf)
    smaller[:-1, :-1] = scores[np.ix_(rest, rest)]
    out = scores[np.ix_(rest, members)]  # scores of outside words as dependents of the cycle
    leaving = out.argmax(1)
    smaller[:-1, -1] = out.max(1)
    into = scores[np.ix_(members, rest)] - scores[members, heads[members]][:, None]
    entering = into.argmax(0)
    smaller[-1, :-1] = into.max(0)
    smaller[0] = -np.inf
    solved = _edmonds(smaller)
    result = [int(head) for head in heads]
    for place, node in enumerate(rest.tolist()):
        head = solved[place]
        result[node] = int(members[leaving[place]]) if head == size - 1 else int(rest[head])
    enter = solved[size - 1]
    result[int(members[entering[enter]])] = int(rest[enter])
    return result


def _cycle(heads: list[int]) -> list[int] | None:
    """Return the nodes of a cycle, or None if there is none."""
    state = [0] * len(heads)
    state[0] = 2
    for start in range(1, len(heads)):
        path, node = [], start
        while state[node] == 0:
            state[node] = 1
            path.append(node)
            node = heads[node]
        if state[node] == 1:
            return path[path.index(node) :]
        for done in path:
            state[done] = 2
    return None


def best_projective(scores: Scores) -> list[int]:
    """Return the heads of the best projective tree."""
    made = one_root(scores)
    size = len(made)
    # Spans i..j: `opened` are incomplete (an arc between i and j), `closed` complete; 0: head right, 1: head left.
    closed = np.full((2, size, size), -np.inf)
    closed[:, np.arange(size), np.arange(size)] = 0.0
    opened = np.full((2, size, size), -np.inf)
    open_cut = np.zeros((size, size), np.int64)
    closed_cut = np.zeros((2, size, size), np.int64)
    for width in range(1, size):
        i = np.arange(size - width)
        j = i + width
        cuts = i[:, None] + np.arange(width)[None, :]
        halves = closed[1, i[:, None], cuts] + closed[0, cuts + 1, j[:, None]]
        chosen = halves.argmax(1)
        best = halves[np.arange(len(i)), chosen]
        open_cut[i, j] = i + chosen
        opened[0, i, j] = best + made[i, j]
        opened[1, i, j] = best + made[j, i]
        halves = closed[0, i[:, None], cuts] + opened[0, cuts, j[:, None]]
        chosen = halves.argmax(1)
        closed[0, i, j], closed_cut[0, i, j] = halves[np.arange(len(i)), chosen], i + chosen
        halves = opened[1, i[:, None], cuts + 1] + closed[1, cuts + 1, j[:, None]]
        chosen = halves.argmax(1)
        closed[1, i, j], closed_cut[1, i, j] = halves[np.arange(len(i)), chosen], i + chosen + 1
    heads = [0] * size
    todo: list[tuple[int, int, int, bool]] = [(1, 0, size - 1, True)]
    while todo:
        side, first, last, is_closed = todo.pop()
        if first == last:
            continue
        if not is_closed:
            heads[last if side else first] = first if side else last
            cut = int(open_cut[first, last])
            todo += [(1, first, cut, True), (0, cut + 1, last, True)]
        elif side:
            cut = int(closed_cut[1, first, last])
            todo += [(1, first, cut, False), (1, cut, last, True)]
        else:
            cut = int(closed_cut[0, first, last])
            todo += [(0, first, cut, True), (0, cut, last, False)]
    return heads[1:]
