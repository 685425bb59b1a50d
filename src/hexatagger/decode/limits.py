"""Sentence length limits, in words: the one table of limits for the decoder, the parser, the service and the docs.

The best tree has no limit, as it takes linear time. Every other answer grows faster and has its limit here.
"""

EXACT_HEADS = 100
"""Head probabilities are exact up to this length, O(N⁴) per sentence; longer sentences are sampled."""
CHART = 150
"""K-best trees and probabilities from a chart (constraints, head scores): O(N⁴) time and O(N³) memory."""
HEAD_TABLE = 2000
"""Head probabilities, exact or sampled: the table of every word with every head has N² entries."""
SERVICE = 120
"""Default of the service for probabilities, k-best trees and constraints: a request takes seconds at most."""
CALIBRATION_CHART = 30
"""Calibration of a model with pointers, where every sentence takes a chart."""
