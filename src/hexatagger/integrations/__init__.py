"""Conversion between Sentences and the types of other libraries, one module per library.

A library is loaded only when it is used; if it is missing, PackageError names the extra to install. Conversions of one
Sentence are methods of it (`to_networkx`, `to_nltk`, …); those of several are here.
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
    """Return an Arrow table with one row per word; `.to_pandas()` converts it. See `integrations.arrow`."""
    from hexatagger.integrations import arrow

    return arrow.to_table(sentences)


def from_table(table: Any) -> Iterator[Sentence]:
    """Yield the sentences of such a table, Arrow or pandas."""
    from hexatagger.integrations import arrow

    return arrow.from_table(table)


def to_spacy(sentences: Iterable[Sentence], vocab: "Vocab | None" = None) -> "Doc":
    """Return a spaCy Doc of consecutive sentences. See `integrations.spacy`."""
    from hexatagger.integrations import spacy

    return spacy.to_spacy(sentences, vocab)


def from_spacy(doc: "Doc") -> list[Sentence]:
    """Return the sentences of a spaCy Doc."""
    from hexatagger.integrations import spacy

    return spacy.from_spacy(doc)
