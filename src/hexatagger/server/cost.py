"""What a request costs: the one place where words and chart work are checked, before any of the work is done.

The best tree takes linear time, so only words count. Constraints take charts, and so do probabilities and k-best trees
of a model with pointers: `decode.chart_cost` counts them. The seconds are estimates, measured on one core of an
ordinary server; they bound what one request can take.
"""

from collections.abc import Sequence

from hexatagger.decode import chart_cost
from hexatagger.decode.limits import CHART, EXACT_HEADS
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from hexatagger.server.options import ServerOptions
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseTask


def check_cost(task: ParseTask, sentences: Sequence[Sentence], parser: Parser, options: ServerOptions) -> float:
    """Return the estimated seconds of chart work; refuse a request that is over a limit."""
    request, constraints = task.request, task.constraints
    if sum(map(len, sentences)) > options.max_words:
        message = f"more than {options.max_words} words, the limit per request: send them in parts"
        raise Refused(413, "too_many_words", message)
    if len(constraints) > len(sentences):
        message = f"constraints for {len(constraints)} sentences, but there are {len(sentences)}"
        raise Refused(422, "invalid", message, field="constraints")
    longest = max(map(len, sentences), default=0)
    limit = min(options.max_exact, CHART) if any(constraints) else options.max_exact
    if longest > limit and (request.probabilities or request.k > 1 or any(constraints)):
        message = (
            f"a sentence of {longest} words is too long for probabilities, k and constraints "
            f"(limit: {limit} words): ask for the best tree only"
        )
        raise Refused(413, "sentence_too_long", message)
    seconds = _seconds(task, sentences, parser)
    if seconds > options.max_work:
        message = (
            f"this takes about {seconds:.2g} seconds of work, and the limit is {options.max_work:g} per request: ask "
            "for fewer trees, send fewer or shorter sentences, or use fewer constraints"
        )
        raise Refused(413, "too_much_work", message)
    return seconds


def _seconds(task: ParseTask, sentences: Sequence[Sentence], parser: Parser) -> float:
    """Estimate the chart work of a request.

    K-best trees of the tags alone count nothing: they rarely take a chart, and `max_k` and `max_exact` bound them.
    """
    k, more, labels = task.request.k, task.request.probabilities or task.request.k > 1, parser.labels
    root = [name for name, is_root in zip(labels.relations, labels.root_mask, strict=True) if is_root]
    seconds = 0.0
    for sentence, known in task.pairs(sentences):
        words, spans = len(sentence), len(known.spans) if known else 0
        pointers = more and parser.config.scores_heads and words <= EXACT_HEADS
        work = chart_cost(words, known, k=k, probabilities=more, head_scores=pointers, root=root)
        if work:  # measured: seconds per unit, per chart and word, and per chart, word and span
            seconds += work * (2.2e-9 + (1.1e-4 + spans * (1.3e-5 + 1.8e-9 * words**2)) / words**3)
    return seconds
