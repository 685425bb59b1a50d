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
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.batch import heads
from hexatagger.decode.marginals import divisions
from hexatagger.decode.sampling import sample
from hexatagger.decode.table import Ints, Scores, alike, by_size, checked, refuse_impossible
from hexatagger.errors import DecodeError

EXACT_WORDS = 100
"""Sentences of up to so many words are done exactly unless told otherwise."""
SAMPLES = 1000
"""How many sequences are drawn of a longer sentence unless told otherwise."""
_LOWEST, _LEAST = float(np.finfo(np.float64).min), float(np.finfo(np.float64).tiny)
"""Instead of −inf and 0 where they would be subtracted or divided by: what is forbidden stays at 0."""
_CELLS = 400_000
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
        found = np.zeros((words, size, scores.shape[2]))
        special = roots.any() and not roots.all()
        for chosen, mask in (
            ((slice(0, 1), roots), (slice(1, None), ~roots)) if special else ((slice(None), roots | True),)
        ):
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

    Exact up to `exact_words` words; of longer sentences `samples` sequences are drawn, and `Arcs.error` says how far
    the shares may be off.

    >>> [arcs] = arc_probabilities(np.zeros((1, 3, 2)), np.zeros((1, 2, 4)), [3])
    >>> arcs.head.round(3).tolist()  # 8 sequences, 7 trees: of word 2 with both others there are two sequences
    [[0.375, 0.0, 0.375, 0.25], [0.25, 0.375, 0.0, 0.375], [0.375, 0.25, 0.375, 0.0]]
    """
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    found = [Arcs(np.zeros((0, 2, 1)), 0)] * len(sizes)
    order = by_size(sizes)
    for numbers in alike(order[sizes[order] <= exact_words], sizes, cells=_CELLS, power=3, least=4):
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
    head_left = _windows(np.stack(left_shares, axis=1))  # p(head left | child side, gap)
    from_begin, from_end = _headed(splits, head_left)
    to_left, to_right = _nodes(splits, head_left, sizes)

    arcs = np.zeros((batch, words + 1, 2 * words))  # by head and by 2 · dependent + leaf tag
    for row, size in enumerate(sizes.tolist()):
        arcs[row, 0, : 2 * size] = from_begin[0, row, 0, size - 1, : 2 * size]
    for k in range(words - 1):
        left, right = k + 1, words - 1 - k  # so many nodes end with word k, so many begin with word k + 1
        ends = from_end[0, :, k, :left, : 2 * left]
        begins = from_begin[1, :, k + 1, :right, : 2 * right]
        # subtle: adding slices, as a sum over an axis of two is many times slower
        end_heads, begin_heads = ends[..., ::2] + ends[..., 1::2], begins[..., ::2] + begins[..., 1::2]
        found = end_heads.swapaxes(1, 2) @ (to_left[:, k, :left, :right] @ begins)
        arcs[:, 1 : k + 2, 2 * left :] += found[:, ::-1]
        found = begin_heads.swapaxes(1, 2) @ (to_right[:, k, :left, :right].swapaxes(1, 2) @ ends)
        arcs[:, k + 2 :, : 2 * left] += found[..., ::-1]
    return arcs.reshape(batch, words + 1, words, 2).transpose(0, 2, 3, 1)


def _split(leaf: Scores, internal: Scores) -> tuple[list[Scores], Scores]:
    """Return the probabilities of splits by span size, and the log sums of spans that begin with the first word.

    Entry m of the list is of the spans over m + 1 words: (batch, child side, begin, split), each row summing to 1.
    """
    batch, words = leaf.shape[:2]
    # Log sums of nodes: left children by their begin, right children by their end, both by size less 1.
    lefts, rights = np.empty((2, batch, words, words))
    lefts[:, :, 0], rights[:, :, 0] = leaf[:, :, 0], leaf[:, :, 1]
    sides = _windows(
        np.stack([np.logaddexp(internal[:, :, side], internal[:, :, side + 1]) for side in (0, 2)], axis=1)
    )
    splits = [np.empty(0)]
    for m in range(1, words):
        parts = lefts[:, :-m, :m] + rights[:, m:, m - 1 :: -1]
        sums = sides[:, :, : words - m, :m] + parts[:, None]
        highest = sums.max(-1, keepdims=True)
        sums -= np.maximum(highest, _LOWEST)
        np.exp(sums, out=sums)
        whole = np.maximum(sums.sum(-1, keepdims=True), _LEAST)
        sums /= whole
        splits.append(sums)
        totals = (np.log(whole) + highest)[..., 0]
        lefts[:, :-m, m], rights[:, m:, m] = totals[:, 0], totals[:, 1]
    return splits, lefts[:, 0]


def _windows(gaps: Scores) -> Scores:
    """View the gaps (batch, child side, gap) by the begin of a span and a gap counted from there."""
    size = gaps.shape[2]
    padded = np.concatenate([gaps, np.zeros_like(gaps)], axis=2)
    return sliding_window_view(padded, size, axis=2) if size else gaps[:, :, :, None]


def _headed(splits: list[Scores], head_left: Scores) -> tuple[Scores, Scores]:
    """Return which word heads a node, with its leaf tag: (child side, batch, place, size less 1, 2 · words).

    Twice: by the place of the begin, where the last axis is 2 · words on from it + leaf tag; and by the place of the
    end, where it is the same row backwards: 2 · words back from it + 1 − leaf tag.
    """
    batch, words = len(head_left), len(splits)
    from_begin, from_end = np.zeros((2, 2, batch, words, words, 2 * words))
    for side in (0, 1):
        from_begin[side, :, :, 0, side] = from_end[side, :, :, 0, 1 - side] = 1
    for m in range(1, words):
        by_left = splits[m] * head_left[:, :, : words - m, :m]
        by_right = np.subtract(splits[m][..., ::-1], by_left[..., ::-1])
        node = np.zeros((batch, words - m, 2, 2 * m + 2))
        node[..., :-2] = by_left.swapaxes(1, 2) @ from_begin[0, :, :-m, :m, : 2 * m]
        node[..., 2:] += (np.ascontiguousarray(by_right).swapaxes(1, 2) @ from_end[1, :, m:, :m, : 2 * m])[..., ::-1]
        for side in (0, 1):
            from_begin[side, :, :-m, m, : 2 * m + 2] = node[:, :, side]
            from_end[side, :, m:, m, : 2 * m + 2] = node[:, :, side, ::-1]
    return from_begin, from_end


def _nodes(splits: list[Scores], head_left: Scores, sizes: Ints) -> tuple[Scores, Scores]:
    """Return the probabilities of nodes: (batch, gap, words of the left part less 1, of the right part less 1).

    Twice: with the head on the left, and on the right.
    """
    batch, words = len(sizes), len(splits)
    lefts, rights = np.zeros((2, batch, words, words))  # as in `_split`
    to_left, to_right = np.zeros((2, batch, words - 1, words - 1, words - 1))
    for m in range(words - 1, 0, -1):
        lefts[sizes == m + 1, 0, m] = 1  # the top
        as_left = splits[m][:, 0] * lefts[:, :-m, m, None]
        as_right = splits[m][:, 1] * rights[:, m:, m, None]
        both = as_left + as_right
        lefts[:, :-m, :m] += both
        rights[:, m:, :m] += both[..., ::-1]
        window = head_left[:, :, : words - m, :m]
        by_left = as_left * window[:, 0] + as_right * window[:, 1]
        first = np.arange(m)
        gap = np.arange(words - m)[:, None] + first
        to_left[:, gap, first, m - 1 - first] = by_left
        to_right[:, gap, first, m - 1 - first] = both - by_left
    return to_left, to_right


def _softmax(scores: Scores) -> Scores:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)  # type: ignore[no-any-return]
