"""Comparison of sentences in everything they have: `==` ignores probabilities, alternatives and offsets."""

import re
from collections.abc import Iterable
from typing import Any

from hexatagger.sentence import Sentence


def everything(sentence: Sentence, digits: int = 9) -> Any:
    """Return all that a sentence has as plain values, its probabilities rounded."""
    return _rounded(sentence.to_dict(), digits)


def all_of(sentences: Iterable[Sentence], digits: int = 9) -> list[Any]:
    """Return all that sentences have."""
    return [everything(sentence, digits) for sentence in sentences]


def ids_of(conllu: str) -> list[str]:
    """Return the ids of the sentences of a file."""
    return re.findall(r"^# sent_id = (.*)$", conllu, re.MULTILINE)


def without_ids(conllu: str) -> str:
    """Return a file without the ids that sentences, paragraphs and documents are given."""
    bare = re.sub(r"^# sent_id = .*\n", "", conllu, flags=re.MULTILINE)
    return re.sub(r"^(# new(?:par|doc)) id = (?:\S+-)?[pd][0-9]+$", r"\1", bare, flags=re.MULTILINE)


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each, digits) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each, digits) for each in value]
    return round(value, digits) if isinstance(value, float) else value
