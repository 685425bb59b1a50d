"""The options that all ways of parsing share, for code that passes them on."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from hexatagger.model.config import Task

Precision = Literal["auto", "fp32", "int8"]
"""The network to load; "auto" is the 8-bit one if there is one."""
Respected = Literal["head", "deprel"]
"""Columns that can act as constraints where they are filled."""


class ParseOptions(TypedDict, total=False):
    """The keyword options of `Parser.parse`, `parse_words`, `parse_sentences` and `pipe`; see there."""

    probabilities: bool
    k: int
    keep: Sequence[Task]
    respect: Sequence[Respected]
    batch_size: int
