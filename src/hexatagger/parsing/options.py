"""The options that every way of parsing shares, for code that passes them on."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from hexatagger.model.config import Task

Respected = Literal["head", "deprel"]
"""Columns that can act as constraints where they are filled."""


class ParseOptions(TypedDict, total=False):
    """The keyword options of `Parser.parse`, `parse_words`, `parse_sentences` and `pipe`; see there."""

    probabilities: bool
    k: int
    keep: Sequence[Task]
    respect: Sequence[Respected]
    batch_size: int
