"""Scores → tags, exactly: the best legal sequence, how sure it is, what else there is, and what obeys constraints.

For a batch of sentences at once:

    best                the best sequence, and `heads` of sequences
    posteriors          log Z over legal sequences and the probability of every tag; `log_z` alone
    arc_probabilities   the probability of every head of every word
    candidates          the trees of the best sequences; their scores
    kbest               the k best different trees with their probabilities
    sample              draws from the distribution over legal sequences
    sequence_scores     sums of scores; less log Z, log-probabilities
    tree_scores         the same for trees: all sequences of a tree together

For one sentence with `Constraints`: `best_constrained`, `kbest_constrained`, and `probabilities_given` them. All take
leaf and internal scores as `best` does.
"""

from hexatagger.decode.arcs import Arcs, arc_probabilities
from hexatagger.decode.chart.constraints import Constraints, check_constraints
from hexatagger.decode.chart.probabilities import (
    Constrained,
    Given,
    best_constrained,
    kbest_constrained,
    probabilities_given,
)
from hexatagger.decode.kbest import Ranked, candidates, kbest
from hexatagger.decode.marginals import Posteriors, log_z, posteriors
from hexatagger.decode.sampling import sample
from hexatagger.decode.tree_scores import sequence_scores, tree_scores
from hexatagger.decode.viterbi import best, heads

__all__ = [
    "Arcs",
    "Constrained",
    "Constraints",
    "Given",
    "Posteriors",
    "Ranked",
    "arc_probabilities",
    "best",
    "best_constrained",
    "candidates",
    "check_constraints",
    "heads",
    "kbest",
    "kbest_constrained",
    "log_z",
    "posteriors",
    "probabilities_given",
    "sample",
    "sequence_scores",
    "tree_scores",
]
