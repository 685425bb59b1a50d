"""Tree ⇄ tags in pure Python: what the network learns to predict, and how predictions become trees.

Arguments can be lists or numpy arrays, such as the functions of `hexatagger.decode` return.
"""

from hexatagger.tags.bht import BHT, heads_to_tree, tags_to_tree, tree_to_heads, tree_to_tags
from hexatagger.tags.hexatag import Hexatag, Order, check_tags, depth_needed, from_heads, is_legal, to_heads
from hexatagger.tags.projective import SCHEMES, Scheme, base, lift, unlift

__all__ = [
    "BHT",
    "SCHEMES",
    "Hexatag",
    "Order",
    "Scheme",
    "base",
    "check_tags",
    "depth_needed",
    "from_heads",
    "heads_to_tree",
    "is_legal",
    "lift",
    "tags_to_tree",
    "to_heads",
    "tree_to_heads",
    "tree_to_tags",
    "unlift",
]
