"""What a request costs: the one place where words and chart work are counted, before any of the work is done.

The best tree takes linear time, so only words count. Constraints take charts, and so do probabilities and k-best trees
of a model with pointers: O(N⁴) time per chart (see `decode.chart`). The seconds below are estimates, measured on one
core of an ordinary server. They need not be exact: they bound what one request can take.
"""

from collections.abc import Collection, Sequence

from hexatagger.decode import Constraints
from hexatagger.decode.limits import EXACT_HEADS
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from hexatagger.server.options import ServerOptions
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseTask

_ARCS = 2.3
"""Charts that it takes to score all arcs of a chart."""
_MASS = 7.3
"""Charts that the probabilities of all heads take."""
_NARROWED = 2000
"""Up to this many words times constraints, the decoder narrows a contradiction down: one chart per constraint."""


def check_cost(task: ParseTask, sentences: Sequence[Sentence], parser: Parser, options: ServerOptions) -> float:
    """Return the estimated seconds of chart work; refuse a request that is over a limit."""
    if sum(map(len, sentences)) > options.max_words:
        message = f"more than {options.max_words} words, the limit per request: send them in parts"
        raise Refused(413, "too_many_words", message)
    if len(task.constraints) > len(sentences):
        message = f"constraints for {len(task.constraints)} sentences, but there are {len(sentences)}"
        raise Refused(422, "invalid", message, field="constraints")
    longest = max(map(len, sentences), default=0)
    if task.exact and longest > options.max_exact:
        message = (
            f"a sentence of {longest} words is too long for probabilities, k and constraints "
            f"(limit: {options.max_exact} words): ask for the best tree only"
        )
        raise Refused(413, "sentence_too_long", message)
    constraints = [*task.constraints, *[None] * (len(sentences) - len(task.constraints))]
    pairs = zip(sentences, constraints, strict=True)
    seconds = sum(_seconds(len(sentence), known, task, parser) for sentence, known in pairs)
    if seconds > options.max_work:
        message = (
            f"this takes about {seconds:.2g} seconds of work, and the limit is {options.max_work:g} per request: ask "
            "for fewer trees, send fewer or shorter sentences, or use fewer constraints"
        )
        raise Refused(413, "too_much_work", message)
    return seconds


def _seconds(words: int, known: Constraints | None, task: ParseTask, parser: Parser) -> float:
    """Estimate the chart work for one sentence."""
    k, more = task.request.k, task.request.probabilities or task.request.k > 1
    pointers = more and parser.config.pointers > 0 and words <= EXACT_HEADS
    if not words or not (known or pointers):
        return 0.0
    known = known or Constraints()
    cases = 1 + sum(_root_or_not(names, parser) for names in known.relations.values())
    charts = cases * (1 + (_ARCS + 1 + 2 * (k - 1) * (_ARCS + 1) if k > 1 else 0) + (_MASS if more else 0))
    parts = len(known.parts())
    contradiction = cases + 1 + (parts if words * parts <= _NARROWED else 0)
    chart = 2.2e-9 * words**4 + 1.1e-4 * words + len(known.spans) * words * (1.3e-5 + 1.8e-9 * words**2)
    return chart * max(charts, contradiction)


def _root_or_not(names: Collection[str], parser: Parser) -> bool:
    """Say whether a word may have deprels of the root and others: each such word takes its own charts."""
    labels = parser.labels
    root = {name for name, is_root in zip(labels.relations, labels.root_mask, strict=True) if is_root}
    return not root.isdisjoint(names) and not root.issuperset(names)
