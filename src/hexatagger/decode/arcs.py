"""How sure of an arc: the probability of every head of every word, exactly, over all legal sequences.

The tags of a sequence are those of a binary head tree, and this tree is drawn top down: given that a span is a node and
which child it is, where it is split and on which side its head lies depend on nothing outside, and its two parts not on
one another. So passes over the spans give everything:

1. from short to long, how probable each split of a span is: O(N³);
2. from long to short, how probable it is that the span is a node, split here or there;
3. from short to long, which word heads the node;
4. from long to short, on which word the head of the node depends: that of the whole node for the part that has its head,
   the head of the first part for the other. At the leaves these are the probabilities of arcs.

Passes 3 and 4 are O(N⁴) if every split of every span has some probability; they take O(N) for each that has. Those that
could all together not move a probability by 1e-12 are left out: of what a trained network says, all but a few for each
word. Sums are kept as logs, all else are probabilities, so nothing overflows. Longer sentences are sampled instead, and the
answer says so.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.batch import heads
from hexatagger.decode.posteriors import divisions
from hexatagger.decode.sample import sample
from hexatagger.decode.table import Ints, Scores, by_size, checked, refuse_impossible
from hexatagger.errors import DecodeError

EXACT_WORDS = 100
"""Sentences of up to so many words are done exactly unless told otherwise."""
SAMPLES = 1000
"""How many sequences are drawn of a longer sentence unless told otherwise."""
_LOST = 1e-12
"""How much probability may be left out."""
_CELLS = 1_000_000
"""How large a table over (sentence, begin, end, split) may get; sentences are taken in parts accordingly."""


@dataclass(frozen=True, slots=True)
class Arcs:
    """Probabilities of the heads of one sentence."""

    joint: Scores
    """Probability that a word has a leaf tag and a head: (words, 2, words + 1); head 0 is the root."""
    samples: int
    """How many sequences were drawn; 0: the probabilities are exact."""

    @property
    def exact(self) -> bool:
        """Say whether the probabilities are exact, not from samples."""
        return self.samples == 0

    @property
    def head(self) -> Scores:
        """Probability of every head: (words, words + 1); each row sums to 1."""
        return self.joint.sum(1)  # type: ignore[no-any-return]

    @property
    def error(self) -> Scores:
        """Standard error of every probability in `head`; 0 where they are exact."""
        head = self.head
        return np.sqrt(head * (1 - head) / self.samples) if self.samples else np.zeros_like(head)

    def labelled(self, relation: ArrayLike, *, root: Collection[int] = ()) -> Scores:
        """Return the probability of every head with every relation: (words, words + 1, relations).

        `relation` holds scores of relations for each leaf tag or for both, (words, 2 or 1, relations), normalised here.
        Only head 0 takes the relations in `root` and it takes no others, if there are any.

        >>> [arcs] = arc_probabilities(np.zeros((1, 1, 2)), [], [1])
        >>> arcs.labelled([[[3.0, 1.0]]], root=[1]).tolist()
        [[[0.0, 1.0], [0.0, 0.0]]]
        """
        scores = np.asarray(relation, np.float64)
        words, _, size = self.joint.shape
        if scores.ndim != 3 or len(scores) != words or scores.shape[1] not in (1, 2):
            raise DecodeError(f"relation {scores.shape} must be (words, 2 or 1, relations) with {words} words")
        roots = np.isin(np.arange(scores.shape[2]), list(root))
        if not roots.any() or roots.all():
            return np.einsum("wth,wtr->whr", self.joint, np.broadcast_to(_softmax(scores), (words, 2, scores.shape[2])))
        found = np.zeros((words, size, scores.shape[2]))
        for chosen, mask in ((slice(0, 1), roots), (slice(1, None), ~roots)):
            shares = np.broadcast_to(_softmax(scores[:, :, mask]), (words, 2, int(mask.sum())))
            found[:, chosen, mask] = np.einsum("wth,wtr->whr", self.joint[:, :, chosen], shares)
        return found


def arc_probabilities(
    leaf: ArrayLike,
    internal: ArrayLike,
    lengths: ArrayLike,
    *,
    exact_words: int = EXACT_WORDS,
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[Arcs]:
    """Return for each sentence the probability of every head of every word; scores as for `best`.

    Exact up to `exact_words` words; of longer sentences `samples` sequences are drawn, and `Arcs.error` says how far the
    shares may be off.

    >>> [arcs] = arc_probabilities(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])
    >>> arcs.head.round(3).tolist()  # 8 sequences, 7 trees: of word 2 with both others there are two sequences
    [[0.375, 0.0, 0.375, 0.25], [0.25, 0.375, 0.0, 0.375], [0.375, 0.25, 0.375, 0.0]]
    """
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    found = [Arcs(np.zeros((0, 2, 1)), 0)] * len(sizes)
    order = by_size(sizes)
    for numbers in _parts(order[sizes[order] <= exact_words], sizes):
        longest = int(sizes[numbers[0]])
        leaves, nodes = leaf_scores[numbers, :longest], internal_scores[numbers, : longest - 1]
        joint = _exact(leaves, nodes, sizes[numbers], numbers)
        for number, size, shares in zip(numbers.tolist(), sizes[numbers].tolist(), joint, strict=True):
            found[number] = Arcs(shares[:size, :, : size + 1], 0)
    for number in order[sizes[order] > exact_words].tolist():
        size = int(sizes[number])
        [drawn] = sample(leaf_scores[[number]], internal_scores[[number]], [size], samples, seed=seed)
        found[number] = Arcs(_shares(drawn, size), samples)
    return found


def _parts(order: Ints, sizes: Ints) -> Iterator[Ints]:
    """Cut sentences in falling order of size into parts of like sizes that do not take too much memory."""
    start = 0
    while start < len(order):
        longest = int(sizes[order[start]])
        alike = int(np.searchsorted(-sizes[order], -0.8 * longest, side="right"))
        stop = min(max(alike, start + 1), start + max(1, _CELLS // longest**3))
        yield order[start:stop]
        start = stop


def _shares(drawn: NDArray[np.int8], size: int) -> Scores:
    """Count leaf tags and heads in samples."""
    joint = np.zeros((size, 2, size + 1))
    words = np.tile(np.arange(size), len(drawn))
    np.add.at(joint, (words, drawn[:, ::2].reshape(-1), np.concatenate(heads(list(drawn)))), 1 / len(drawn))
    return joint


def _exact(leaf: Scores, internal: Scores, sizes: Ints, numbers: Ints) -> Scores:
    """Return the probabilities of leaf tag and head: (batch, words, 2, words + 1)."""
    batch, words = leaf.shape[:2]
    splits, totals = _split(leaf, internal)
    refuse_impossible(totals[np.arange(batch), sizes - 1], numbers)
    _, *left_shares = divisions(leaf, internal)
    head_left = np.stack(left_shares)  # p(head left | child side, sentence, gap)
    levels, used = _nodes(splits, head_left, sizes)

    # Only nodes that are used get a row: which word heads them, and on which word (0: the root) this head depends.
    row = np.cumsum(used.reshape(-1)) - 1
    heading, governed = np.zeros((2, int(row[-1]) + 1, words + 1))
    side, sentence, begin, size = np.nonzero(used)
    leaves = np.flatnonzero(size == 0)
    heading[leaves, begin[leaves] + 1] = 1
    for nodes in reversed(levels):
        parts = nodes.to_left[:, None] * heading[row[nodes.left]]
        parts += nodes.to_right[:, None] * heading[row[nodes.right]]
        starts = np.flatnonzero(np.diff(nodes.node, prepend=-1))
        heading[row[nodes.node[starts]]] = np.add.reduceat(parts, starts)
    tops = np.ravel_multi_index((np.zeros_like(sizes), np.arange(batch), np.zeros_like(sizes), sizes - 1), used.shape)
    governed[row[tops], 0] = 1
    for nodes in levels:
        # subtle: with all nodes of one size and child side, no two have a part in common, so `+=` adds up
        for some in (slice(0, nodes.middle), slice(nodes.middle, None)):
            left, right = row[nodes.left[some]], row[nodes.right[some]]
            above, mass = governed[row[nodes.node[some]]], nodes.mass[some]
            to_left, to_right = nodes.to_left[some], nodes.to_right[some]
            governed[left] += to_left[:, None] * above + (mass * to_right)[:, None] * heading[right]
            governed[right] += to_right[:, None] * above + (mass * to_left)[:, None] * heading[left]
    joint = np.zeros((batch, words, 2, words + 1))
    joint[sentence[leaves], begin[leaves], side[leaves]] = governed[leaves]
    return joint


def _split(leaf: Scores, internal: Scores) -> tuple[list[Scores], Scores]:
    """Return the probabilities of splits by span size, and the log sums of spans that begin with the first word.

    Entry m of the list is of the spans over m + 1 words: (batch, begin, child side, split), each row summing to 1.
    """
    batch, words = leaf.shape[:2]
    # Log sums of nodes: left children by their begin, right children by their end, both by size less 1.
    lefts, rights = np.empty((2, batch, words, words))
    lefts[:, :, 0], rights[:, :, 0] = leaf[:, :, 0], leaf[:, :, 1]
    sides = np.logaddexp(internal[:, :, ::2], internal[:, :, 1::2])  # (batch, words − 1, child side)
    splits = [np.empty(0)]
    for m in range(1, words):
        parts = lefts[:, :-m, :m] + rights[:, m:, m - 1 :: -1]
        sums = parts[:, :, None] + sliding_window_view(sides, m, axis=1)
        highest = sums.max(-1, keepdims=True)
        sums -= np.where(np.isneginf(highest), 0.0, highest)
        np.exp(sums, out=sums)
        whole = sums.sum(-1, keepdims=True)
        nothing = whole == 0
        splits.append(np.divide(sums, np.where(nothing, 1.0, whole), out=sums))
        totals = (np.log(np.where(nothing, 1.0, whole)) + highest)[..., 0]
        lefts[:, :-m, m], rights[:, m:, m] = totals[:, :, 0], totals[:, :, 1]
    return splits, lefts[:, 0]


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Splits of the nodes of one size, sorted by node; nodes are numbers in an array (child side, sentence, begin, size − 1)."""

    node: Ints
    left: Ints
    right: Ints
    mass: Scores
    """Probability of the node."""
    to_left: Scores
    """Given the node: probability of this split, with the head on the left."""
    to_right: Scores
    """And on the right."""
    middle: int
    """Where the right children begin."""


def _nodes(splits: list[Scores], head_left: Scores, sizes: Ints) -> tuple[list[_Nodes], NDArray[np.bool_]]:
    """Return what is not left out, from long to short, and which nodes are used."""
    batch, words = len(sizes), head_left.shape[2] + 1
    least = _LOST / words**3
    mass = np.zeros((2, batch, words, words))
    mass[0, np.arange(batch), 0, sizes - 1] = 1
    shape = mass.shape
    levels = []
    for m in range(words - 1, 0, -1):
        side, sentence, begin = np.nonzero(mass[:, :, :-m, m] > least)
        if not len(side):
            continue
        masses = mass[side, sentence, begin, m]
        shares = splits[m][sentence, begin, side]
        which, first = np.nonzero(masses[:, None] * shares > least)
        given, whole = shares[which, first], masses[which]
        side, sentence, begin = side[which], sentence[which], begin[which]
        ravelled = (sentence * words + begin) * words
        node = side * (batch * words * words) + ravelled + m
        left = ravelled + first
        right = np.ravel_multi_index((np.ones_like(side), sentence, begin + first + 1, m - 1 - first), shape)
        to_left = given * head_left[side, sentence, begin + first]
        middle = int(np.searchsorted(side, 1))
        flat = mass.reshape(-1)
        for some in (slice(0, middle), slice(middle, None)):
            flat[left[some]] += whole[some] * given[some]
            flat[right[some]] += whole[some] * given[some]
        levels.append(_Nodes(node, left, right, whole, to_left, given - to_left, middle))
    return levels, mass > 0


def _softmax(scores: Scores) -> Scores:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)  # type: ignore[no-any-return]
