"""Trees against trees: the CoNLL 2018 metrics, error breakdowns, treebank statistics."""
