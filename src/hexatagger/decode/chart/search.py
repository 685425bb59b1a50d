"""The best sequence whose tree has only allowed arcs, and the next best trees after it; arcs may have scores too.

To list trees, the set of all is divided (Yanover and Weiss 2003, "Finding the M most probable configurations using
loopy belief propagation", NIPS): of a set whose best tree is known, the chart says for every arc how good the best tree
with this arc is. The second best tree of the set has some arc that the best one has not, so the best such arc leads to
it, and parts the set in two: with this arc, where the second is the best, and without, where the best still is. So each
further tree takes two charts, whatever the scores and however many sequences a tree has.
"""

import heapq
from collections.abc import Collection, Iterator

import numpy as np

from hexatagger.decode.chart.chart import BEST, Chart
from hexatagger.decode.chart.constraints import Bools, obeys
from hexatagger.decode.table import Ints, Scores, Tags
from hexatagger.decode.tree_scores import best_of_tree
from hexatagger.decode.viterbi import best, heads
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag
from hexatagger.tree import is_projective, is_tree

Spans = Collection[tuple[int, int]]


def search(leaf: Scores, internal: Scores, arcs: Scores, spans: Spans = ()) -> tuple[float, Tags] | None:
    """Return the best sequence whose tree has only allowed arcs and the spans as units; None if there is none.

    `arcs` are what arcs add to the score, as `arc_scores` makes it.
    """
    words, allowed = len(leaf), arcs > -np.inf
    if not words:
        return 0.0, np.empty(0, np.int8)
    if not allowed[:, 1:].any(0).all() or not allowed[0, 1:].any():
        return None
    try:
        [tags] = best(leaf[None], internal[None], [words])
    except DecodeError:
        return None
    [tree] = heads([tags])
    if not arcs[allowed].any() and obeys(tree.tolist(), allowed, spans):
        return _score(tags, leaf, internal, arcs), tags
    if (only := only_tree(allowed)) is not None:
        if not is_tree(only) or not is_projective(only) or not obeys(only, allowed, spans):
            return None
        score, sequence = best_of_tree(only, leaf, internal)
        found = np.array(sequence, np.int8)
        return None if score == -np.inf else (_score(found, leaf, internal, arcs), found)
    traced = Chart(leaf, internal, arcs, spans, BEST).trace()
    return None if traced is None else (_score(traced, leaf, internal, arcs), traced)


def only_tree(allowed: Bools) -> list[int] | None:
    """Return the heads of all words if each has only one that is allowed."""
    return allowed[:, 1:].argmax(0).tolist() if (allowed[:, 1:].sum(0) == 1).all() else None


def ranked_trees(
    leaf: Scores, internal: Scores, arcs: Scores, spans: Spans = (), *, first: Tags | None = None
) -> Iterator[tuple[float, Tags]]:
    """Yield all trees that `search` may find, best first, each with its best sequence; `first` if that is known."""
    found = search(leaf, internal, arcs, spans) if first is None else (_score(first, leaf, internal, arcs), first)
    if found is None:
        return
    yield found
    if only_tree(arcs > -np.inf) is not None:
        return
    [tree] = heads([found[1]])
    # Sets of trees that exclude one another: how good the second best is, the best, the arc that leads to the second,
    # and what arcs add. The second entry keeps equals in order and the others from being compared.
    sets: list[tuple[float, int, Ints, tuple[int, int], Scores]] = []
    made = 0

    def push(chart: Chart, tree: Ints, arcs: Scores) -> None:
        nonlocal made
        sums = chart.arcs()
        sums[tree, np.arange(1, len(sums))] = -np.inf
        head, word = np.unravel_index(sums.argmax(), sums.shape)
        if sums[head, word] > -np.inf:
            heapq.heappush(sets, (-float(sums[head, word]), made, tree, (int(head), int(word)), arcs))
            made += 1

    push(Chart(leaf, internal, arcs, spans, BEST), tree, arcs)
    while sets:
        _, _, tree, (head, word), arcs = heapq.heappop(sets)
        with_arc, without_arc = arcs.copy(), arcs.copy()
        with_arc[np.arange(len(arcs)) != head, word] = -np.inf
        without_arc[head, word] = -np.inf
        chart = Chart(leaf, internal, with_arc, spans, BEST)
        tags = chart.trace()
        assert tags is not None  # the arc is there because a tree has it
        yield _score(tags, leaf, internal, arcs), tags
        push(chart, heads([tags])[0], with_arc)
        push(Chart(leaf, internal, without_arc, spans, BEST), tree, without_arc)


def _score(tags: Tags, leaf: Scores, internal: Scores, arcs: Scores) -> float:
    leaves, nodes = tags[::2], tags[1::2] - Hexatag.L_HEAD_L
    of_tags = leaf[np.arange(len(leaves)), leaves].sum() + internal[np.arange(len(nodes)), nodes].sum()
    return float(of_tags + arcs[heads([tags])[0], np.arange(1, len(arcs))].sum())
