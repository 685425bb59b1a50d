"""How sure of an arc: the probability of every head of every word, exactly, over all legal sequences.

The tags of a sequence are those of a binary head tree, and this tree is drawn top down: given that a span is a node and
which child it is, where it is split and on which side its head lies depend on nothing outside, and its two parts not on
one another. So passes over the spans give everything:

1. from short to long: how probable each split of a span is;
2. from short to long: which word heads the span;
3. from long to short: how probable it is that the span is a node at all.

An arc joins the heads of the two parts of a node:

    p(h → d) = Σ p(node i…j split at k, head left) · p(h heads i…k) · p(d heads k+1…j)    and the mirror image

Splits and nodes are O(N³), heads and arcs O(N⁴), but of multiplications in matrix products and with a small constant.
Sums are kept as logs, all else are probabilities: nothing overflows. Longer sentences are sampled, and the answer says
so.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.marginals import divisions
from hexatagger.decode.sampling import sample
from hexatagger.decode.span_views import left_parts, right_parts, walk, whole
from hexatagger.decode.table import Ints, Scores, alike, by_size, checked, refuse_impossible
from hexatagger.decode.viterbi import heads
from hexatagger.errors import DecodeError

EXACT_WORDS = 100
"""Sentences of up to so many words are done exactly unless told otherwise."""
SAMPLES = 1000
"""How many sequences are drawn of a longer sentence unless told otherwise."""
_LOWEST, LEAST = float(np.finfo(np.float64).min), float(np.finfo(np.float64).tiny)
"""Instead of −inf and 0 where they would be subtracted or divided by: what is forbidden stays at 0."""
_CELLS = 1_000_000
"""How large a table over (sentence, begin, end, split) may get; sentences are taken in parts accordingly."""


@dataclass(frozen=True, slots=True)
class Arcs:
    """Probabilities of the heads of one sentence."""

    joint: Scores
    """Probability that a word has a leaf tag and a head: (words, 2, words + 1), or (words, 1, words + 1) if leaf tags
    were not asked for; head 0 is the root."""
    samples: int
    """How many sequences were drawn; 0: the probabilities are exact."""

    @property
    def exact(self) -> bool:
        """Say whether the probabilities are exact, not from samples."""
        return self.samples == 0

    @property
    def head(self) -> Scores:
        """Probability of every head: (words, words + 1); each row sums to 1."""
        # subtle: adding slices, as a sum over an axis of two is many times slower
        return self.joint[:, 0] + self.joint[:, 1] if self.joint.shape[1] == 2 else self.joint[:, 0]

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
        words, sides, size = self.joint.shape
        if scores.ndim != 3 or len(scores) != words or scores.shape[1] not in (1, 2):
            raise DecodeError(f"relation {scores.shape} must be (words, 2 or 1, relations) with {words} words")
        if scores.shape[1] > sides:
            raise DecodeError("relations of each leaf tag need the probabilities of leaf tags: leaf_tags=True")
        roots = np.isin(np.arange(scores.shape[2]), list(root))
        found = np.zeros((words, size, scores.shape[2]))
        special = roots.any() and not roots.all()
        for chosen, mask in (
            ((slice(0, 1), roots), (slice(1, None), ~roots)) if special else ((slice(None), roots | True),)
        ):
            shares = np.broadcast_to(_softmax(scores[:, :, mask]), (words, sides, int(mask.sum())))
            found[:, chosen, mask] = np.einsum("wth,wtr->whr", self.joint[:, :, chosen], shares)
        return found


def arc_probabilities(
    leaf: ArrayLike,
    internal: ArrayLike,
    lengths: ArrayLike,
    *,
    leaf_tags: bool = True,
    exact_words: int = EXACT_WORDS,
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[Arcs]:
    """Return for each sentence the probability of every head of every word; scores as for `best`.

    Exact up to `exact_words` words; of longer sentences `samples` sequences are drawn, and `Arcs.error` says how far
    the shares may be off. Without `leaf_tags` the probabilities are those of heads alone, in less time.

    >>> [arcs] = arc_probabilities(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])
    >>> arcs.head.round(3).tolist()  # 8 sequences, 7 trees: of word 2 with both others there are two sequences
    [[0.375, 0.0, 0.375, 0.25], [0.25, 0.375, 0.0, 0.375], [0.375, 0.25, 0.375, 0.0]]
    """
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    found = [Arcs(np.zeros((0, 2, 1)), 0)] * len(sizes)
    order = by_size(sizes)
    for numbers in alike(order[sizes[order] <= exact_words], sizes, cells=_CELLS, power=3, least=4, near=0.92):
        longest = int(sizes[numbers[0]])
        leaves, nodes = leaf_scores[numbers, :longest], internal_scores[numbers, : longest - 1]
        joint = _exact(leaves, nodes, sizes[numbers], numbers, width=2 if leaf_tags else 1)
        for number, size, shares in zip(numbers.tolist(), sizes[numbers].tolist(), joint, strict=True):
            found[number] = Arcs(shares[:size, :, : size + 1], 0)
    for number in order[sizes[order] > exact_words].tolist():
        size = int(sizes[number])
        [drawn] = sample(leaf_scores[[number]], internal_scores[[number]], [size], samples, seed=seed)
        joint = _shares(drawn, size)
        found[number] = Arcs(joint if leaf_tags else joint.sum(1, keepdims=True), samples)
    return found


def _shares(drawn: NDArray[np.int8], size: int) -> Scores:
    """Count leaf tags and heads in samples."""
    joint = np.zeros((size, 2, size + 1))
    words = np.tile(np.arange(size), len(drawn))
    np.add.at(joint, (words, drawn[:, ::2].reshape(-1), np.concatenate(heads(list(drawn)))), 1 / len(drawn))
    return joint


def _exact(leaf: Scores, internal: Scores, sizes: Ints, numbers: Ints, *, width: int) -> Scores:
    """Return the probabilities of leaf tag and head, or of heads alone (width 1): (batch, words, width, words + 1)."""
    batch, words = leaf.shape[:2]
    every = np.arange(batch)
    shares, totals = _split(leaf, internal)
    refuse_impossible(totals[every, sizes - 1], numbers)
    left, right = _headed(shares, batch, width)
    to_left, to_right = _nodes(shares, sizes)
    arcs = np.zeros((batch, width * words, words + 1))  # by width · dependent + leaf tag and by head
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
"""Of the spans over 2, 3, … words the probabilities of splits with the head on the left, and on the right: each (batch,
child side, begin, split); over all splits of both kinds they sum to 1."""


def _split(leaf: Scores, internal: Scores) -> tuple[_Shares, Scores]:
    """Return the probabilities of splits, and the log sums of spans that begin with the first word."""
    batch, words = leaf.shape[:2]
    lefts, rights = np.empty((2, batch, words, words))  # log sums of nodes by begin and end: left and right children
    every = np.arange(words)
    lefts[:, every, every], rights[:, every, every] = leaf[:, :, 0], leaf[:, :, 1]
    child = np.stack([np.logaddexp(internal[:, :, side], internal[:, :, side + 1]) for side in (0, 2)], axis=1)
    head_left = np.stack(divisions(leaf, internal)[1:], axis=1)  # p(head left | child side, gap)
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


def _headed(shares: _Shares, batch: int, width: int) -> tuple[Scores, Scores]:
    """Return which word heads a node: left children and right children, by begin, end and width · word + leaf tag."""
    words = len(shares) + 1
    left, right = np.zeros((2, batch, words, words, width * words))
    every = np.arange(words)
    left[:, every, every, width * every] = right[:, every, every, width * every + width - 1] = 1
    on = (1, 1, width)  # from a span to the next one
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


def _nodes(shares: _Shares, sizes: Ints) -> tuple[Scores, Scores]:
    """Return the probabilities of nodes with the head on the left, and on the right: (batch, begin, gap, end)."""
    batch, words = len(sizes), len(shares) + 1
    lefts, rights = np.zeros((2, batch, words, words))  # probabilities of left and right children by begin and end
    to_left, to_right = np.zeros((2, batch, words, max(0, words - 1), words))
    for size in range(words - 1, 0, -1):
        lefts[sizes == size + 1, 0, size] = 1  # the top
        as_left, as_right = whole(lefts, size)[..., None], whole(rights, size)[..., None]
        by_left, by_right = (by_side[:, 0] * as_left + by_side[:, 1] * as_right for by_side in shares[size - 1])
        for table, nodes in ((to_left, by_left), (to_right, by_right)):
            walk(table, (0, 0, size), ((1, 1, 1), (0, 1, 0)), (words - size, size))[...] = nodes
        by_left += by_right
        for parts in (left_parts(lefts, size), right_parts(rights, size)):
            parts += by_left
    return to_left, to_right


def _softmax(scores: Scores) -> Scores:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)  # type: ignore[no-any-return]
