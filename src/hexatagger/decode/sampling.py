"""Exact samples from the distribution over legal sequences: forward sampling from the table of `marginals`."""

import numpy as np
from numpy.typing import ArrayLike

from hexatagger.decode.lattice import Bools, Moves, Scores, Tags, check_scores
from hexatagger.decode.marginals import conditionals, log_tables
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag


def sample(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, n: int, *, seed: int = 0) -> list[Tags]:
    """Return n independent samples for each sentence: (n, 2N−1) tags; scores as for `best`. O(N · (depth + n)).

    The samples of a sentence depend on its scores, its length and the seed, not on the rest of the batch.

    >>> [drawn] = sample(np.zeros((1, 2, 2)), [[[0, 0, 9, 9]]], [2], 1000, seed=1)
    >>> np.unique(drawn, axis=0).tolist()  # half each
    [[0, 2, 1], [0, 3, 1]]
    >>> bool(470 < (drawn[:, 1] == 2).sum() < 530)
    True
    """
    if n < 0:
        raise DecodeError(f"n is {n}: the number of samples must not be negative")
    leaf_scores, internal_scores, sizes = check_scores(leaf, internal, lengths)
    found = [np.zeros((n, 0), np.int8)] * len(sizes)
    for numbers, leaves, nodes, steps, value in log_tables(leaf_scores, internal_scores, sizes):
        drawn = _draw(leaves, nodes, steps, value, n, seed)
        for number, size, tags in zip(numbers.tolist(), steps.sizes.tolist(), drawn, strict=True):
            found[number] = tags[:, : 2 * size - 1].copy()
    return found


def _draw(leaf: Scores, internal: Scores, steps: Moves, value: Scores, n: int, seed: int) -> Tags:
    """Draw n sequences of each sentence, each sentence with its own random generator: (batch, n, tags)."""
    generators = [np.random.default_rng((seed, size)) for size in steps.sizes.tolist()]
    batch, words = leaf.shape[:2]
    tags = np.zeros((batch, n, 2 * words - 1), np.int8)
    depth = np.zeros((batch, n), np.intp)
    columns = np.arange(batch)[:, None]
    stay_left, l_left, r_left = (share.T[:, :, None] for share in conditionals(leaf, internal))
    reach = steps.reach.tolist()
    for word in range(words - 1):
        going = reach[word + 1]
        here = depth[:going]
        # subtle: word by word from the sentence's own generator, so that the rest of the batch makes no difference
        # Chances of the move, the leaf tag and the head side.
        chance = np.stack([generator.random((3, n)) for generator in generators[:going]], axis=1)
        up, down = np.ones((going, n), np.bool_), np.zeros((going, n), np.bool_)  # the first word goes up
        if word:
            sums = value[word, here, columns[:going]]
            shares = [
                np.exp(value[word + 1, here + change, columns[:going]] + scores[word, :going, None] - sums)
                for change, scores in ((1, steps.up), (0, steps.stay), (-1, steps.down))
            ]
            up, down = _choose(chance[0], *shares)
        left = up | ~(down | (chance[1] >= stay_left[word, :going]))
        r_child = down | (left & ~up)
        head_left = chance[2] < np.where(r_child, r_left[word, :going], l_left[word, :going])
        tags[:going, :, 2 * word] = ~left
        tags[:going, :, 2 * word + 1] = Hexatag.L_HEAD_L + 2 * r_child + ~head_left
        here += up
        here -= down
    tags[np.arange(batch), :, 2 * steps.sizes - 2] = (steps.sizes > 1)[:, None]
    return tags


def _choose(chance: Scores, up: Scores, stay: Scores, down: Scores) -> tuple[Bools, Bools]:
    """Return which samples go up and which go down."""
    whole = up + stay + down
    # subtle: strictly below the sum even after rounding, so that a move of probability 0 is never made
    point = np.minimum(chance * whole, np.nextafter(whole, 0))
    return point < up, point >= up + stay
