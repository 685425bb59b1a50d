"""Strided views of span tables, so that span programs process all spans of a length in one numpy call.

A table has any first axis (batch, child side), then begin and end, perhaps more. The spans of `size` + 1 words lie on a
straight line through it, and so do all their parts: nothing is copied. Every view takes O(1).
"""

from collections.abc import Sequence
from operator import mul

import numpy as np

from hexatagger.decode.lattice import Scores


def walk(table: Scores, start: Sequence[int], steps: Sequence[Sequence[int]], shape: Sequence[int]) -> Scores:
    """View a contiguous table (any, …) from `start` on; `steps` gives the direction of each axis of the view.

    >>> table = np.arange(9.0).reshape(1, 3, 3)
    >>> walk(table, (0, 1), [(1, 1)], (2,)).tolist()  # one above the diagonal
    [[1.0, 5.0]]
    """
    axes = table.strides[1:]
    offset, *strides = (sum(map(mul, step, axes)) for step in (start, *steps))
    # numpy checks that the view does not leave the table.
    return np.ndarray((len(table), *shape), table.dtype, table, offset, (table.strides[0], *strides))


def whole(table: Scores, size: int) -> Scores:
    """View the spans of `size` + 1 words by their begin: (any, begin)."""
    return walk(table, (0, size), ((1, 1),), (table.shape[1] - size,))


def left_parts(table: Scores, size: int) -> Scores:
    """View the left parts of these spans for every split: (any, begin, split)."""
    return walk(table, (0, 0), ((1, 1), (0, 1)), (table.shape[1] - size, size))


def right_parts(table: Scores, size: int) -> Scores:
    """View the right parts of these spans for every split: (any, begin, split).

    >>> table = np.array([[[0, 1, 2], [0, 11, 12], [0, 0, 22.0]]])
    >>> left_parts(table, 2).tolist(), right_parts(table, 2).tolist()  # words 0…0 and 1…2; 0…1 and 2…2
    ([[[0.0, 1.0]]], [[[12.0, 22.0]]])
    """
    return walk(table, (1, size), ((1, 1), (1, 0)), (table.shape[1] - size, size))
