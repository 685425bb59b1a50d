"""Exact draws from the distribution over legal sequences, read forwards off the table of `posteriors`."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexatagger.decode.marginals import divisions, mass
from hexatagger.decode.table import Moves, Scores, Tags, checked
from hexatagger.errors import DecodeError
from hexatagger.tags.hexatag import Hexatag


def sample(leaf: ArrayLike, internal: ArrayLike, lengths: ArrayLike, n: int, *, seed: int = 0) -> list[Tags]:
    """Return n legal sequences for each sentence, (n, 2N−1), drawn with their probabilities; scores as for `best`.

    The draws of a sentence depend on its scores, its length and the seed, not on what else is in the batch.

    >>> [drawn] = sample(np.zeros((1, 2, 2)), [[[0, 0, 9, 9]]], [2], 1000, seed=1)
    >>> np.unique(drawn, axis=0).tolist()  # half of them each
    [[0, 2, 1], [0, 3, 1]]
    >>> bool(470 < (drawn[:, 1] == 2).sum() < 530)
    True
    """
    if n < 0:
        raise DecodeError(f"n is {n}: a number of samples is not negative")
    leaf_scores, internal_scores, sizes = checked(leaf, internal, lengths)
    found = [np.zeros((n, 0), np.int8)] * len(sizes)
    for numbers, steps, value in mass(leaf_scores, internal_scores, sizes):
        words = len(value)
        chance = np.zeros((3, words, len(numbers), n))
        for column, size in enumerate(steps.sizes.tolist()):
            # subtle: words first, so that a sentence's numbers do not depend on how long the longest one is
            chance[:, :size, column] = np.random.default_rng((seed, size)).random((size, 3, n)).swapaxes(0, 1)
        drawn = _draw(leaf_scores[numbers, :words], internal_scores[numbers, : words - 1], steps, value, chance)
        for number, size, tags in zip(numbers.tolist(), steps.sizes.tolist(), drawn, strict=True):
            found[number] = tags[:, : 2 * size - 1].copy()
    return found


def _draw(leaf: Scores, internal: Scores, steps: Moves, value: Scores, chance: Scores) -> Tags:
    """Draw: `chance` is (3, words, batch, n), a number in [0, 1) for the move, the leaf and the head side of every word."""
    _, words, batch, n = chance.shape
    tags = np.zeros((batch, n, 2 * words - 1), np.int8)
    depth = np.zeros((batch, n), np.intp)
    columns = np.arange(batch)[:, None]
    stay_left, l_left, r_left = (share.T[:, :, None] for share in divisions(leaf, internal))
    for word in range(words - 1):
        going = int(steps.reach[word + 1])
        here = depth[:going]
        if word == 0:
            up = np.ones((going, n), np.bool_)
            down = ~up
        else:
            here_columns = columns[:going]
            sums = value[word, here, here_columns]
            shares = [
                np.exp(value[word + 1, here + change, here_columns] + scores[word, :going, None] - sums)
                for change, scores in ((1, steps.up), (0, steps.stay), (-1, steps.down))
            ]
            up, down = _choose(chance[0, word, :going], *shares)
        left = up | ~(down | (chance[1, word, :going] >= stay_left[word, :going]))
        r_child = down | (left & ~up)
        head_left = chance[2, word, :going] < np.where(r_child, r_left[word, :going], l_left[word, :going])
        tags[:going, :, 2 * word] = ~left
        tags[:going, :, 2 * word + 1] = Hexatag.L_HEAD_L + 2 * r_child + ~head_left
        here += up
        here -= down
    tags[np.arange(batch), :, 2 * steps.sizes - 2] = (steps.sizes > 1)[:, None]
    return tags


def _choose(chance: Scores, up: Scores, stay: Scores, down: Scores) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return who goes up and who goes down."""
    whole = up + stay + down
    # subtle: below the sum after rounding too, so that a move of probability 0 is never made
    point = np.minimum(chance * whole, np.nextafter(whole, 0))
    return point < up, point >= up + stay
