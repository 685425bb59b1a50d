"""The one loop that parses the sentences of many items together: many short texts are as fast as one long one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from hexatagger.sentence import Sentence

Item = TypeVar("Item")


def parse_pooled(
    items: Iterable[tuple[Item, Sequence[Sentence]]],
    parse: Callable[[list[Sentence]], Iterable[Sentence]],
    *,
    size: int,
) -> Iterator[tuple[Item, list[Sentence]]]:
    """Yield every item with its sentences parsed, in order; about `size` sentences are parsed at once.

    `items` are pairs of anything and its sentences; `parse` returns as many sentences as it is given.

    >>> texts = [("a", [Sentence.from_words(["Hi"])]), ("b", [])]
    >>> [(name, len(sentences)) for name, sentences in parse_pooled(texts, lambda pool: pool, size=64)]
    [('a', 1), ('b', 0)]
    """
    waiting: list[tuple[Item, Sequence[Sentence]]] = []

    def parsed() -> Iterator[tuple[Item, list[Sentence]]]:
        made = iter(parse([sentence for _, sentences in waiting for sentence in sentences]))
        for item, sentences in waiting:
            yield item, [next(made) for _ in sentences]

    count = 0
    for item, sentences in items:
        waiting.append((item, sentences))
        count += max(1, len(sentences))  # an item without sentences takes room too
        if count >= size:
            yield from parsed()
            waiting, count = [], 0
    yield from parsed()
