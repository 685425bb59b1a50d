"""Given word vectors, as an input beside the n-grams of the encoder "characters" (an extension of ours).

Read from the usual text format, as fastText and GloVe publish it: a word and its numbers per line, the most frequent
word first, with or without a first line of two counts. Only the first words are kept, and only the directions in which
their vectors differ most (principal components), so that a model stays small.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import FormatError
from hexatagger.formats.files import name_of, read_lines

Table = NDArray[np.float32]


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
