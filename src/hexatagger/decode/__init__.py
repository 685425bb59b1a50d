"""Scores → tags: the best legal sequence, exactly, for a batch of sentences at once; and tags → heads for the batch."""

from hexatagger.decode.arcs import Arcs, arc_probabilities
from hexatagger.decode.batch import best, heads
from hexatagger.decode.marginals import Posteriors, posteriors
from hexatagger.decode.ranking import Ranked, kbest
from hexatagger.decode.sampling import sample
from hexatagger.decode.trees import sequence_scores, tree_scores

__all__ = [
    "Arcs",
    "Posteriors",
    "Ranked",
    "arc_probabilities",
    "best",
    "heads",
    "kbest",
    "posteriors",
    "sample",
    "sequence_scores",
    "tree_scores",
]
