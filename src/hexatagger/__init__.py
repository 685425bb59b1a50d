"""hexatagger: dependency parsing as tagging.

    import hexatagger
    parser = hexatagger.load()
    for sentence in parser.parse("She reads fascinating papers."): ...

Importing this package loads neither torch nor onnxruntime nor numpy, nor any package that trees can be handed to.
"""

from typing import TYPE_CHECKING

from hexatagger.errors import (
    AlignmentError,
    ConfigError,
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
    from hexatagger.parsing.parser import Parser, load

__version__ = "0.1.0"

__all__ = [
    "AlignmentError",
    "ConfigError",
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
    "load",
    "read_conllu",
    "to_spacy",
    "to_table",
    "write_conllu",
]


def __getattr__(name: str) -> object:
    """Load the parser when it is first asked for: reading files should not wait for numpy."""
    if name in ("Parser", "load"):
        from hexatagger.parsing import parser

        return getattr(parser, name)
    raise AttributeError(f"module 'hexatagger' has no attribute '{name}'")
