"""The one loop that parses the sentences of many items together: many short texts are as fast as one long one."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from hexatagger.sentence import Sentence

Item = TypeVar("Item")


def parse_pooled(
    items: Iterable[tuple[Item, Sequence[Sentence]]],
    parse: Callable[[Iterator[list[Sentence]]], Iterable[Iterable[Sentence]]],
    *,
    size: int,
) -> Iterator[tuple[Item, list[Sentence]]]:
    """Yield every item with its sentences parsed, in order; about `size` sentences are parsed at once.

    `items` are pairs of anything and its sentences. `parse` takes a stream of lists of sentences and returns as many
    lists with as many sentences; it may read ahead.

    >>> texts = [("a", [Sentence.from_words(["Hi"])]), ("b", [])]
    >>> [(name, len(sentences)) for name, sentences in parse_pooled(texts, lambda pools: pools, size=64)]
    [('a', 1), ('b', 0)]
    """
    waiting: deque[list[tuple[Item, int]]] = deque()  # the items of each pool, with their numbers of sentences

    def pools() -> Iterator[list[Sentence]]:
        held: list[tuple[Item, int]] = []
        pool, count = list[Sentence](), 0
        for item, sentences in items:
            held.append((item, len(sentences)))
            pool += sentences
            count += max(1, len(sentences))  # an item without sentences takes room too
            if count >= size:
                waiting.append(held)
                yield pool
                held, pool, count = [], [], 0
        waiting.append(held)
        yield pool

    for parsed in parse(pools()):
        made = iter(parsed)
        for item, count in waiting.popleft():
            yield item, list(islice(made, count))
