"""The one definition of what a legal tag sequence is: states, moves, and how far up they can go.

A state is the number of items on the stack. Each tag changes it by `DEPTH_CHANGE`; before the first tag it is 0, after
every tag at least 1, at the end 1. Nothing else makes a sequence legal, so a path program over depth is exact.

Tags come in pairs, a leaf and the internal tag behind it, so a word makes one of four moves between the depths after
internal tags: `l L·` goes up, `l R·` and `r L·` stay, `r R·` goes down. The first word can only make the first move
(`l` then `L·`), the last word has only a leaf, `r`; a word that is alone is `l`.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hexatagger.tags.hexatag import DEPTH_CHANGE, Hexatag

LEAF_TAGS = (Hexatag.LEAF_L, Hexatag.LEAF_R)
INTERNAL_TAGS = (Hexatag.L_HEAD_L, Hexatag.L_HEAD_R, Hexatag.R_HEAD_L, Hexatag.R_HEAD_R)


def next_depth(depth: int, tag: Hexatag) -> int | None:
    """Return the depth after a tag, None where the tag is not legal.

    >>> next_depth(0, Hexatag.LEAF_L), next_depth(0, Hexatag.LEAF_R), next_depth(1, Hexatag.R_HEAD_L)
    (1, None, None)
    """
    after = depth + DEPTH_CHANGE[tag]
    return after if after >= 1 else None


def choices(position: int) -> tuple[Hexatag, ...]:
    """Return the tags that the 0-based position of a sequence takes: leaf and internal in turn."""
    return INTERNAL_TAGS if position % 2 else LEAF_TAGS


Number = TypeVar("Number", int, NDArray[np.intp])


def greatest_depth(size: Number) -> Number:
    """Return how deep the stack of `size` words can be after an internal tag: what goes up must come down in time.

    >>> [greatest_depth(size) for size in (1, 2, 3, 4, 5)]
    [0, 1, 1, 2, 2]
    """
    return size // 2
