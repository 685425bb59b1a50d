"""Scores → tags: exact decoding, probabilities, k-best trees and constraints.

For a batch of sentences, from tag scores alone (the base system):

    best                the best sequence (Viterbi); `heads` gives the heads of sequences
    marginals           the log partition function and the probability of every tag; `log_partition` alone
    arc_probabilities   the probability of every head of every word
    kbest               the k best distinct trees with their probabilities
    candidates          the distinct trees of the best sequences with their scores, for reranking
    sample              samples from the distribution over legal sequences
    sequence_scores     scores of sequences; minus `log_partition`, log-probabilities
    tree_scores         the same for trees: all sequences of a tree together

For one sentence with `Constraints` or head scores (extensions of ours, by a chart): `best_constrained`,
`kbest_constrained` and `probabilities_given`, with their cost from `chart_cost`. All take leaf and internal scores as
`best` does.

"Tag scores plus head (pointer) scores" is one objective. The chart optimises it exactly in O(N⁴); reranking the trees
of the k best sequences (`candidates`) is its documented approximation in linear time.
"""

from hexatagger.decode.arcs import Arcs, arc_probabilities
from hexatagger.decode.chart.constraints import Constraints, check_constraints
from hexatagger.decode.chart.kbest import ConstrainedTree, best_constrained, kbest_constrained
from hexatagger.decode.chart.probabilities import Conditional, probabilities_given
from hexatagger.decode.chart.problem import chart_cost
from hexatagger.decode.heads import heads
from hexatagger.decode.kbest import RankedTree, candidates, kbest
from hexatagger.decode.marginals import Marginals, log_partition, marginals
from hexatagger.decode.sampling import sample
from hexatagger.decode.tree_scores import sequence_scores, tree_scores
from hexatagger.decode.viterbi import best

__all__ = [
    "Arcs",
    "Conditional",
    "ConstrainedTree",
    "Constraints",
    "Marginals",
    "RankedTree",
    "arc_probabilities",
    "best",
    "best_constrained",
    "candidates",
    "chart_cost",
    "check_constraints",
    "heads",
    "kbest",
    "kbest_constrained",
    "log_partition",
    "marginals",
    "probabilities_given",
    "sample",
    "sequence_scores",
    "tree_scores",
]
