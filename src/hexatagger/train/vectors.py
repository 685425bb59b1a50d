"""Given word vectors, as an input beside the n-grams of the encoder "characters" (an extension of ours).

Read from the usual text format, as fastText and GloVe publish it: a word and its numbers per line, the most frequent
word first, with or without a first line of two counts. So that a model stays small, only the first words are kept, and
only the directions in which their vectors differ most (principal components). Product quantisation (Jégou, Douze and
Schmid, 2011) then stores a vector as a few bytes, each the number of one of 256 centres.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import FormatError
from hexatagger.formats.files import name_of, read_lines

Table = NDArray[np.float32]
Codes = NDArray[np.uint8]

CENTRES = 256  # what a byte can number
_ROUNDS = 15  # of k-means


def read_vectors(path: Path, *, words: int, width: int) -> tuple[list[str], Table]:
    """Return the first words of a file, and their vectors (words, width) with a mean of 0 and a mean square of 1."""
    found: dict[str, list[float]] = {}
    size = 0
    for number, line in enumerate(read_lines(path), 1):
        parts = line.rstrip(" ").split(" ")
        if number == 1 and len(parts) == 2:  # counts of words and of numbers
            continue
        if parts == [""]:
            continue
        size = size or len(parts) - 1
        wanted = f"a line is a word and {size or 'its'} numbers"
        if not 0 < size < len(parts):
            raise FormatError(f"'{line[:40]}' is too short: {wanted}", source=name_of(path), line=number)
        word, values = " ".join(parts[:-size]), parts[-size:]  # a word may have spaces inside
        try:
            numbers = [float(each) for each in values]
        except ValueError as error:
            raise FormatError(f"{error}: {wanted}", source=name_of(path), line=number) from None
        found.setdefault(word, numbers)
        if len(found) == words:
            break
    if not found:
        raise FormatError("has no word vectors", source=name_of(path))
    table = np.array(list(found.values()), np.float32)
    if not np.isfinite(table).all():
        raise FormatError("has a number that is not finite", source=name_of(path))
    return list(found), _principal(table, width)


def _principal(table: Table, width: int) -> Table:
    """Project vectors onto their first principal components; a narrower table is padded with zeros."""
    centred = table - table.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)  # in rising order
    kept = centred @ directions[:, ::-1][:, :width]
    kept /= max(float(np.sqrt((kept**2).mean())), 1e-8)
    return np.pad(kept, ((0, 0), (0, width - kept.shape[1]))).astype(np.float32)


def compress(table: Table, size: int) -> tuple[Codes, Table]:
    """Write vectors (words, width) as codes (words, size) and centres (size · 256, width / size).

    Part p of a vector has the directions p, p + size, p + 2 · size …, so that all parts vary about as much. Byte p of a
    word's code is the number of the centre that is nearest to this part. `restore` is the inverse, but for the loss.

    >>> codes, centres = compress(np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32), 2)
    >>> codes.shape, centres.shape, restore(codes, centres).tolist()
    ((2, 2), (512, 2), [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    """
    random = np.random.default_rng(1)
    codes = np.zeros((len(table), size), np.uint8)
    centres = np.zeros((size, CENTRES, table.shape[1] // size), np.float32)
    for part in range(size):
        points = np.ascontiguousarray(table[:, part::size])
        found = points[random.permutation(len(points))[:CENTRES]]
        for _ in range(_ROUNDS):
            nearest = _nearest(points, found)
            total, count = np.zeros_like(found), np.bincount(nearest, minlength=len(found))
            np.add.at(total, nearest, points)
            used = count > 0  # a centre that lost all its points stays where it is
            found[used] = total[used] / count[used, None]
        codes[:, part], centres[part, : len(found)] = _nearest(points, found), found
    return codes, centres.reshape(size * CENTRES, -1)


def restore(codes: Codes, centres: Table) -> Table:
    """Return the vectors that `compress` wrote."""
    parts: Table = centres[codes + CENTRES * np.arange(codes.shape[1])]  # (words, size, width / size)
    return parts.transpose(0, 2, 1).reshape(len(codes), -1)


def _nearest(points: Table, centres: Table) -> NDArray[np.int64]:
    """Return the number of the centre that is nearest to each point."""
    distances: Table = (centres**2).sum(1) - 2 * points @ centres.T  # without the square of the point
    found: NDArray[np.int64] = distances.argmin(1)
    return found
