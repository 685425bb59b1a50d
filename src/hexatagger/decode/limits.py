"""How long a sentence may be for each kind of answer: the one table of limits, in words.

The best tree has no limit: it takes linear time. Everything else grows faster, so each answer has a limit here, and the
parser, the service and the documentation all take it from here.
"""

EXACT_HEADS = 100
"""Head probabilities are exact up to this length, O(N³) per sentence; longer sentences get sampled ones."""
CHART = 150
"""K-best trees and probabilities from a chart (constraints, pointer scores): O(N⁴) time and O(N³) memory."""
HEAD_TABLE = 2000
"""Head probabilities, exact or sampled: a table of every word with every head has N² entries."""
SERVICE = 120
"""Default of the service for probabilities, k-best trees and constraints: a request takes seconds at most."""
CALIBRATION_CHART = 30
"""Calibration of a model with pointers, where every sentence takes a chart."""
