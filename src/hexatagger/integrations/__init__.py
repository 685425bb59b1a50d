"""Sentences handed to other libraries, and taken back: a module for each, which only that module imports.

None of them is loaded before it is asked for; where one is missing, PackageError names the extra to install. What is
about one Sentence is a method of it (`to_networkx`, `to_nltk`, …); what is about many is here.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hexatagger.sentence import Sentence

if TYPE_CHECKING:
    from pyarrow import Table
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

__all__ = ["from_spacy", "from_table", "to_spacy", "to_table"]


def to_table(sentences: Iterable[Sentence]) -> "Table":
    """Return an Arrow table, a row a word; `.to_pandas()` makes a data frame of it: see `integrations.arrow`."""
    from hexatagger.integrations import arrow

    return arrow.to_table(sentences)


def from_table(table: Any) -> Iterator[Sentence]:
    """Yield the sentences of such a table, of Arrow or pandas."""
    from hexatagger.integrations import arrow

    return arrow.from_table(table)


def to_spacy(sentences: Iterable[Sentence], vocab: "Vocab | None" = None) -> "Doc":
    """Return a spaCy Doc of sentences that follow one another: see `integrations.spacy`."""
    from hexatagger.integrations import spacy

    return spacy.to_spacy(sentences, vocab)


def from_spacy(doc: "Doc") -> list[Sentence]:
    """Return the sentences of a spaCy Doc."""
    from hexatagger.integrations import spacy

    return spacy.from_spacy(doc)
