"""hexatagger: dependency parsing as tagging.

    import hexatagger
    parser = hexatagger.load()
    for sentence in parser.parse("She reads fascinating papers."): ...

Importing this package loads neither numpy nor ONNX Runtime nor torch, nor any library that trees can be converted to.
"""

import importlib
from typing import TYPE_CHECKING

from hexatagger.errors import (
    AlignmentError,
    ConfigError,
    ConstraintError,
    DecodeError,
    FormatError,
    HexataggerError,
    PackageError,
    TagError,
    TreeError,
)
from hexatagger.formats.conllu import read_conllu, write_conllu
from hexatagger.integrations import from_spacy, from_table, to_spacy, to_table
from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word

if TYPE_CHECKING:
    from hexatagger.decode import Constraints
    from hexatagger.model.language import identify
    from hexatagger.parsing.load import load
    from hexatagger.parsing.parser import Parser

__version__ = "0.1.0"

__all__ = [
    "AlignmentError",
    "ConfigError",
    "ConstraintError",
    "Constraints",
    "DecodeError",
    "EmptyNode",
    "FormatError",
    "HexataggerError",
    "Multiword",
    "PackageError",
    "Parser",
    "Sentence",
    "TagError",
    "TreeError",
    "Word",
    "__version__",
    "from_spacy",
    "from_table",
    "identify",
    "load",
    "read_conllu",
    "to_spacy",
    "to_table",
    "write_conllu",
]


def __getattr__(name: str) -> object:
    """Import what needs numpy when it is first used, so that reading files does not wait for it."""
    places = {
        "Parser": "parsing.parser",
        "load": "parsing.load",
        "identify": "model.language",
        "Constraints": "decode",
    }
    if module := places.get(name):
        return getattr(importlib.import_module(f"hexatagger.{module}"), name)
    raise AttributeError(f"module 'hexatagger' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List the public names, including those that are imported when first used."""
    return sorted(__all__)
