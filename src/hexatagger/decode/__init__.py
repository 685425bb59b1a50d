"""Scores → tags: the best legal sequence, exactly, for a batch of sentences at once; and tags → heads for the batch."""

from hexatagger.decode.arcs import Arcs, arc_probabilities
from hexatagger.decode.batch import best, heads
from hexatagger.decode.posteriors import Posteriors, posteriors
from hexatagger.decode.sample import sample
from hexatagger.decode.trees import sequence_scores, tree_scores

__all__ = [
    "Arcs",
    "Posteriors",
    "arc_probabilities",
    "best",
    "heads",
    "posteriors",
    "sample",
    "sequence_scores",
    "tree_scores",
]
