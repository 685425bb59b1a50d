"""Arc probabilities: the exact probability of every head of every word, over all legal sequences.

A tag sequence is a binary head tree, and the tree is generated top down by a PCFG-like process. Given that a span is a
node, and which child it is, its split and head side are independent of everything outside, and its two parts are
independent of each other. So three passes over the spans (inside and outside) give everything:

1. from short to long: the probability of each split of a span;
2. from short to long: the probability of each word to head the span;
3. from long to short: the probability that the span is a node at all.

An arc joins the heads of the two parts of a node:

    p(h → d) = Σ p(node i…j split at k, head left) · p(h heads i…k) · p(d heads k+1…j)    and the mirror image

Splits and nodes take O(N³), heads and arcs O(N⁴) in matrix products with a small constant. Sums are logarithms and
everything else is a probability, so nothing overflows. Longer sentences are sampled; `Arcs.samples` says so.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.heads import heads
from hexatagger.decode.lattice import (
    Ints,
    Scores,
    Tags,
    check_scores,
    highest_scores,
    longest_first,
    refuse_impossible,
    refuse_imprecise,
    size_batches,
)
from hexatagger.decode.limits import EXACT_HEADS
from hexatagger.decode.marginals import conditionals
from hexatagger.decode.sampling import sample
from hexatagger.decode.span_views import left_parts, right_parts, walk, whole
from hexatagger.errors import DecodeError

SAMPLES = 1000
"""Default number of samples for sentences that are too long to be exact."""
_LOWEST, LEAST = float(np.finfo(np.float64).min), float(np.finfo(np.float64).tiny)
"""Replace −inf in subtractions and 0 in divisions: forbidden events keep probability 0."""
_CELLS = 1_000_000
"""Maximum size of a table over (sentence, begin, end, split); the batch is split accordingly."""


@dataclass(frozen=True, slots=True)
class Arcs:
    """Head probabilities of one sentence."""

    joint: Scores
    """Joint probability of leaf tag and head: (words, 2, words + 1), or (words, 1, words + 1) without leaf tags;
    head 0 is the root."""
    samples: int
    """Number of samples the probabilities are estimated from; 0 if they are exact."""

    @property
    def exact(self) -> bool:
        """Whether the probabilities are exact, not estimated from samples."""
        return self.samples == 0

    @property
    def head(self) -> Scores:
        """Probability of every head: (words, words + 1); each row sums to 1."""
        # subtle: adding slices, as a sum over an axis of two is many times slower
        return self.joint[:, 0] + self.joint[:, 1] if self.joint.shape[1] == 2 else self.joint[:, 0]

    @property
    def error(self) -> Scores:
        """Standard error of every probability in `head`: (words, words + 1); 0 if they are exact.

        Estimated from the frequencies with one sample more of each outcome, so that it is not 0 for a head that is in
        none or all of the samples.
        """
        if self.exact:
            return np.zeros_like(self.head)
        share = (self.head * self.samples + 1) / (self.samples + 2)
        return np.sqrt(share * (1 - share) / self.samples)


def arc_probabilities(
    leaf: ArrayLike,
    internal: ArrayLike,
    lengths: ArrayLike,
    *,
    leaf_tags: bool = True,
    exact_words: int = EXACT_HEADS,
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[Arcs]:
    """Return the probability of every head of every word of each sentence; scores as for `best`.

    Sentences of up to `exact_words` words are exact, in O(N⁴). For longer ones `samples` sequences are drawn, in
    O(N · samples + N²), and `Arcs.error` gives the standard errors. Without `leaf_tags`, only heads are computed, which
    is faster.

    >>> [arcs] = arc_probabilities(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])
    >>> arcs.head.round(3).tolist()  # 8 sequences, 7 trees: [2, 0, 2] has two sequences
    [[0.375, 0.0, 0.375, 0.25], [0.25, 0.375, 0.0, 0.375], [0.375, 0.25, 0.375, 0.0]]
    """
    leaf_scores, internal_scores, sizes = check_scores(leaf, internal, lengths)
    if samples < 1:
        raise DecodeError(f"samples is {samples}: at least 1 is needed")
    width = 2 if leaf_tags else 1
    found = [Arcs(np.zeros((0, width, 1)), 0)] * len(sizes)
    order = longest_first(sizes)
    for numbers in size_batches(order[sizes[order] <= exact_words], sizes, cells=_CELLS, power=3, least=4, near=0.92):
        longest = int(sizes[numbers[0]])
        leaves, nodes = leaf_scores[numbers, :longest], internal_scores[numbers, : longest - 1]
        joint = _exact(leaves, nodes, sizes[numbers], numbers, width=width)
        for number, size, shares in zip(numbers.tolist(), sizes[numbers].tolist(), joint, strict=True):
            found[number] = Arcs(shares[:size, :, : size + 1], 0)
    for number in order[sizes[order] > exact_words].tolist():
        size = int(sizes[number])
        [drawn] = sample(leaf_scores[[number]], internal_scores[[number]], [size], samples, seed=seed)
        joint = _frequencies(drawn, size)
        found[number] = Arcs(joint if leaf_tags else joint.sum(1, keepdims=True), samples)
    return found


def _frequencies(drawn: Tags, size: int) -> Scores:
    """Return the relative frequencies of leaf tags and heads in samples."""
    joint = np.zeros((size, 2, size + 1))
    words = np.tile(np.arange(size), len(drawn))
    np.add.at(joint, (words, drawn[:, ::2].reshape(-1), np.concatenate(heads(drawn))), 1 / len(drawn))
    return joint


def _exact(leaf: Scores, internal: Scores, sizes: Ints, numbers: Ints, *, width: int) -> Scores:
    """Return the joint probabilities of leaf tag (width 2) and head: (batch, words, width, words + 1)."""
    batch, words = leaf.shape[:2]
    every = np.arange(batch)
    shares, totals = _split_probabilities(leaf, internal)
    refuse_impossible(totals[every, sizes - 1], numbers)
    refuse_imprecise(highest_scores(leaf, internal), totals[every, sizes - 1], sizes, numbers)
    left, right = _head_probabilities(shares, batch, width)
    to_left, to_right = _node_probabilities(shares, sizes)
    arcs = np.zeros((batch, width * words, words + 1))  # by width · dependent + leaf tag, and by head
    arcs[:, :, 0] = left[every, 0, sizes - 1]
    for gap in range(words - 1):
        middle = gap + 1
        ends, begins = left[:, :middle, gap, : width * middle], right[:, middle, middle:, width * middle :]
        end_heads, begin_heads = ends, begins
        if width == 2:
            end_heads, begin_heads = ends[..., ::2] + ends[..., 1::2], begins[..., ::2] + begins[..., 1::2]
        from_left, from_right = (nodes[:, :middle, gap, middle:] for nodes in (to_left, to_right))
        arcs[:, width * middle :, 1 : middle + 1] += begins.swapaxes(1, 2) @ (from_left.swapaxes(1, 2) @ end_heads)
        arcs[:, : width * middle, middle + 1 :] += ends.swapaxes(1, 2) @ (from_right @ begin_heads)
    return arcs.reshape(batch, words, width, words + 1)


_Shares = list[tuple[Scores, Scores]]
"""For spans of 2, 3, … words the probabilities of splits with the head on the left, and on the right: each (batch,
child side, begin, split). Together they sum to 1 over the splits."""


def _split_probabilities(leaf: Scores, internal: Scores) -> tuple[_Shares, Scores]:
    """Return the probabilities of splits, and the inside scores of spans that begin with the first word."""
    batch, words = leaf.shape[:2]
    lefts, rights = np.empty((2, batch, words, words))  # inside scores by begin and end, as left and right child
    every = np.arange(words)
    lefts[:, every, every], rights[:, every, every] = leaf[:, :, 0], leaf[:, :, 1]
    child = np.stack([np.logaddexp(internal[:, :, side], internal[:, :, side + 1]) for side in (0, 2)], axis=1)
    head_left = np.stack(conditionals(leaf, internal)[1:], axis=1)  # p(head left | child side, gap)
    shares: _Shares = []
    for size in range(1, words):
        spans = words - size
        windows = (0, 0), ((1, 0), (0, 1), (0, 1)), (2, spans, size)
        parts = left_parts(lefts, size) + right_parts(rights, size)
        sums = walk(child, *windows) + parts[:, None]
        highest = sums.max(-1, keepdims=True)
        sums -= np.maximum(highest, _LOWEST)
        np.exp(sums, out=sums)
        weight = np.maximum(sums.sum(-1, keepdims=True), LEAST)
        sums /= weight
        by_left = sums * walk(head_left, *windows)
        sums -= by_left
        shares.append((by_left, sums))
        totals = (np.log(weight) + highest)[..., 0]
        whole(lefts, size)[...], whole(rights, size)[...] = totals[:, 0], totals[:, 1]
    return shares, lefts[:, 0]


def _head_probabilities(shares: _Shares, batch: int, width: int) -> tuple[Scores, Scores]:
    """Return the probability of each word to head a left and a right child: by begin, end, width · word + leaf tag."""
    words = len(shares) + 1
    left, right = np.zeros((2, batch, words, words, width * words))
    every = np.arange(words)
    left[:, every, every, width * every] = right[:, every, every, width * every + width - 1] = 1
    on = (1, 1, width)  # the step from a span to the next one
    for size, (by_left, by_right) in enumerate(shares, 1):
        spans = words - size
        node = np.zeros((batch, spans, 2, width * (size + 1)))
        parts = walk(left, (0, 0, 0), (on, (0, 1, 0), (0, 0, 1)), (spans, size, width * size))
        node[..., :-width] = by_left.swapaxes(1, 2) @ parts
        parts = walk(right, (1, size, width), (on, (1, 0, 0), (0, 0, 1)), (spans, size, width * size))
        node[..., width:] += by_right.swapaxes(1, 2) @ parts
        for side, table in enumerate((left, right)):
            walk(table, (0, size, 0), (on, (0, 0, 1)), (spans, width * (size + 1)))[...] = node[:, :, side]
    return left, right


def _node_probabilities(shares: _Shares, sizes: Ints) -> tuple[Scores, Scores]:
    """Return the probabilities of nodes with the head on the left, and on the right: (batch, begin, gap, end)."""
    batch, words = len(sizes), len(shares) + 1
    lefts, rights = np.zeros((2, batch, words, words))  # outside probabilities as left and right child
    to_left, to_right = np.zeros((2, batch, words, max(0, words - 1), words))
    for size in range(words - 1, 0, -1):
        lefts[sizes == size + 1, 0, size] = 1  # the top node
        as_left, as_right = whole(lefts, size)[..., None], whole(rights, size)[..., None]
        by_left, by_right = (by_side[:, 0] * as_left + by_side[:, 1] * as_right for by_side in shares[size - 1])
        for table, nodes in ((to_left, by_left), (to_right, by_right)):
            walk(table, (0, 0, size), ((1, 1, 1), (0, 1, 0)), (words - size, size))[...] = nodes
        by_left += by_right
        for parts in (left_parts(lefts, size), right_parts(rights, size)):
            parts += by_left
    return to_left, to_right
