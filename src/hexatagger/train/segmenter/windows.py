"""Paragraphs → windows of characters with their labels, as the segmenter is trained on them.

Every pass over the treebank changes the text (`augment`), cuts long paragraphs, replaces rare characters by their
category, and cuts windows elsewhere.
"""

from collections.abc import Iterator

import numpy as np

from hexatagger.segment.alphabet import Ids, mark_breaks
from hexatagger.train.segmenter.augment import Changes, change
from hexatagger.train.segmenter.data import CharacterLabels, Tagged, blank
from hexatagger.train.segmenter.material import Material

_LONG = 20  # longer paragraphs are cut, in sentences


def windows(
    material: Material, changes: Changes, *, size: int, random: np.random.Generator
) -> tuple[Ids, CharacterLabels]:
    """Return the changed text in random windows: ids (windows, size + 2 · radius), labels (windows, size, 4)."""
    treebank = material.treebank
    radius = treebank.settings.radius
    # the first window begins at a random place, so that every pass cuts windows elsewhere
    rows = [blank(radius + int(random.integers(size)))]
    for number in random.permutation(len(treebank.paragraphs)).tolist():
        for part in _cut(treebank.paragraphs[number], random):
            rows += [change(part, material, changes, random), blank(radius)]
    length = sum(len(ids) for ids, _ in rows)
    rows.append(blank(radius + -(length - radius) % size + radius))
    row, labels = (np.concatenate(each) for each in zip(*rows, strict=True))
    dropped = random.random(len(row)) < treebank.drop[row]
    row[dropped] = treebank.category[row[dropped]]
    views = np.lib.stride_tricks.sliding_window_view(mark_breaks(row), size + 2 * radius)[::size]
    return views, labels[radius : radius + len(views) * size].reshape(len(views), size, 4)


def _cut(paragraph: list[Tagged], random: np.random.Generator) -> Iterator[list[Tagged]]:
    """Cut a long paragraph at random."""
    start = 0
    while start < len(paragraph):
        length = int(random.integers(1, _LONG)) if len(paragraph) > _LONG else len(paragraph)
        yield paragraph[start : start + length]
        start += length
