"""The options that all ways of parsing share, for code that passes them on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from hexatagger.model.config import Task

Precision = Literal["auto", "fp32", "int8"]  # of the network; "auto" is 8 bits if there is such a network
Respected = Literal["head", "deprel"]  # columns that can act as constraints where they are filled


@dataclass(frozen=True, slots=True)
class Origin:
    """What a Parser was loaded from: all that another process needs to load it again."""

    model: str
    """The name or absolute path of the model."""
    precision: Precision
    threads: int | None
    providers: tuple[str, ...]
    changed: int
    """When its files were last written, in nanoseconds: a model that is trained again is another one."""


class ParseOptions(TypedDict, total=False):
    """The keyword options of `Parser.parse`, `parse_words`, `parse_sentences` and `pipe`; see there."""

    probabilities: bool
    k: int
    keep: Sequence[Task]
    respect: Sequence[Respected]
    batch_size: int
