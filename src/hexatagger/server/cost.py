"""What a request may cost: the one place where words, sentences and charts are counted."""

from collections.abc import Sequence

from hexatagger.sentence import Sentence
from hexatagger.server.options import ServerOptions
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseTask

_CHARTS = 4
"""The charts of the longest sentence that a request with constraints may take (see `decode.chart`): seconds."""


def check_cost(task: ParseTask, sentences: Sequence[Sentence], options: ServerOptions) -> None:
    """Refuse a request that takes too much, once its words are known."""
    words = sum(map(len, sentences))
    if words > options.max_words:
        message = f"{words} words are more than the limit of {options.max_words} per request: send them in parts"
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
    k = task.request.k
    charts = 2 * k - 1 + (3 if task.request.probabilities or k > 1 else 0)
    pairs = zip(sentences, task.constraints, strict=False)
    if charts * sum(len(sentence) ** 4 for sentence, known in pairs if known) > _CHARTS * options.max_exact**4:
        message = (
            f"{k} trees that obey constraints take too much time for sentences this long (it grows with the fourth "
            "power of the words): ask for fewer trees, or put constraints on fewer or shorter sentences"
        )
        raise Refused(413, "sentence_too_long", message)
