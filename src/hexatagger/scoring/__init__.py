"""Trees vs trees: evaluation, the CoNLL 2018 metrics, error breakdowns, treebank statistics."""
