"""hexatagger: dependency parsing as tagging.

    from hexatagger import read_conllu
    from hexatagger.tags import from_heads, to_heads
    from hexatagger.decode import best

Importing this package loads neither torch nor onnxruntime nor numpy.
"""

from hexatagger.conllu import read_conllu, write_conllu
from hexatagger.errors import (
    AlignmentError,
    ConfigError,
    DecodeError,
    FormatError,
    HexataggerError,
    TagError,
    TreeError,
)
from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word

__version__ = "0.1.0"

__all__ = [
    "AlignmentError",
    "ConfigError",
    "DecodeError",
    "EmptyNode",
    "FormatError",
    "HexataggerError",
    "Multiword",
    "Sentence",
    "TagError",
    "TreeError",
    "Word",
    "__version__",
    "read_conllu",
    "write_conllu",
]
