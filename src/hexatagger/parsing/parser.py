"""Parser: a loaded model that turns text, words or Sentences into trees. It needs ONNX Runtime, not torch.

    text ──segment──▶ Sentence ──network──▶ Prediction ──choose, probabilities──▶ Tree ──write──▶ Sentence

The result for a sentence does not depend on the other sentences, nor on the batch size (see `network`) or the number of
threads (see `model.threads`). A Parser may be used by several threads at once.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice, pairwise, repeat, takewhile
from pickle import PicklingError
from typing import Any, Literal, TypeVar, Unpack, get_args, overload

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode import Constraints
from hexatagger.decode.chart.constraints import joined
from hexatagger.errors import ConfigError, check_choice, wrong_type
from hexatagger.formats.ids import Ids
from hexatagger.model.config import ModelConfig, Task
from hexatagger.model.folder import has_segmenter
from hexatagger.model.labels import Labels
from hexatagger.parsing.network import OnnxNetwork, Started
from hexatagger.parsing.options import Origin, ParseOptions, Respected
from hexatagger.parsing.pool import parse_pooled
from hexatagger.parsing.predictions import Prediction, tag_scores
from hexatagger.parsing.probabilities import column_constraints, probable_trees
from hexatagger.parsing.write import write
from hexatagger.segment.segmenter import Segmenter
from hexatagger.sentence import Sentence

_POOL = 16  # batches' worth of sentences that are sorted by length together, so that batches are full
_PART = 2000  # words whose network outputs are kept until their trees are chosen: without this limit, 30 MB more

_TAKES = "parse takes a text, parse_words lists of words, parse_sentences Sentences, pipe a stream of any of them"

Context = TypeVar("Context")
Item = TypeVar("Item")


class Parser:
    """A model that is ready to parse: see `load`.

    `parse` takes text, `parse_words` lists of words, `parse_sentences` Sentences, and `pipe` a stream of any of these.
    They share their options; `parse_sentences` explains them.

    A Parser can be pickled and sent to other processes, as the name or path of its model and the options of `load`. A
    process loads the model when it first gets it. There it has one thread, unless `load` was told how many.
    """

    def __init__(self, network: OnnxNetwork, origin: Origin | None = None) -> None:
        self.network, self.folder, self._origin = network, network.folder, origin
        self.labels: Labels = network.labels
        """All strings that the model predicts."""
        self.config: ModelConfig = network.config
        """The configuration of the network."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the Parser was loaded from."""
        from hexatagger.parsing.load import reload

        if self._origin is None:
            raise PicklingError("only a Parser that hexatagger.load returned can be pickled")
        return reload, (self._origin,)

    @cached_property
    def segmenter(self) -> Segmenter:
        """The segmenter of the model, which cuts text into sentences and words."""
        if not has_segmenter(self.folder.path):
            raise ConfigError(
                f"model {self.folder.path} has no segmenter: give it words or CoNLL-U, or train it with --segmenter"
            )
        return Segmenter.load(self.folder.path, threads=self.network.threads)

    def parse(
        self,
        text: str,
        *,
        probabilities: bool = False,
        k: int = 1,
        constraints: Sequence[Constraints | None] = (),
        batch_size: int = 64,
    ) -> list[Sentence]:
        """Cut text into sentences and words and parse them."""
        if not isinstance(text, str):
            raise wrong_type(text, "a text", _TAKES)
        sentences = map(Ids().complete, self.segmenter.stream([text]))
        return self.parse_sentences(
            sentences, probabilities=probabilities, k=k, constraints=constraints, batch_size=batch_size
        )

    def parse_words(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        probabilities: bool = False,
        k: int = 1,
        constraints: Sequence[Constraints | None] = (),
        batch_size: int = 64,
    ) -> list[Sentence]:
        """Parse sentences that are lists of words; the words are taken as they are."""
        given = map(partial(_sentence, ids=Ids()), _several(sentences, "a list of lists of words"))
        return self.parse_sentences(
            given, probabilities=probabilities, k=k, constraints=constraints, batch_size=batch_size
        )

    def parse_sentences(
        self,
        sentences: Iterable[Sentence],
        *,
        probabilities: bool = False,
        k: int = 1,
        constraints: Sequence[Constraints | None] = (),
        keep: Sequence[Task] = (),
        respect: Sequence[Respected] = (),
        batch_size: int = 64,
    ) -> list[Sentence]:
        """Parse Sentences into new ones with everything that the model predicts.

        With `probabilities`, words have the probability of their head and sentences that of their tree. `k` trees are
        given: the first is the sentence itself, the others are its `alternatives`. `constraints` has one entry per
        sentence, None for no constraint; `respect` makes constraints of the filled HEAD ("head") and DEPREL ("deprel")
        columns. All trees obey the constraints, and probabilities are given them.

        Columns that the model does not predict are blank in the result. Those named in `keep` stay as they are where
        they are filled, predicted or not. DEPS and empty nodes go with the old tree, unless the constraints fix every
        head to the one that the sentence has. FORM, MISC, offsets, comments and multiword tokens stay.
        """
        sentences = map(_checked, _several(sentences, "a list of Sentences"))
        if constraints:
            sentences = list(sentences)
            if len(constraints) != len(sentences):
                message = f"{len(constraints)} constraints for {len(sentences)} sentences: give one each, or None"
                raise ConfigError(message)
        stream, known = iter(sentences), iter(constraints) if constraints else repeat(None)
        parts = takewhile(bool, (list(islice(stream, batch_size * _POOL)) for _ in repeat(None)))
        pools = ((part, list(islice(known, len(part)))) for part in parts)
        options = ParseOptions(probabilities=probabilities, k=k, keep=keep, respect=respect, batch_size=batch_size)
        return list(chain.from_iterable(self._parse_pools(pools, **options)))

    def parse_lists(
        self, lists: Iterable[Sequence[Sentence]], **options: Unpack[ParseOptions]
    ) -> Iterator[list[Sentence]]:
        """Parse a stream of lists of Sentences; the sentences of a list are sorted into batches together.

        With several threads, the next list is read before the results for a list are returned, so that no thread waits.
        """
        return self._parse_pools(((each, [None] * len(each)) for each in lists), **options)

    def _parse_pools(
        self,
        pools: Iterable[tuple[Sequence[Sentence], Sequence[Constraints | None]]],
        *,
        probabilities: bool = False,
        k: int = 1,
        keep: Sequence[Task] = (),
        respect: Sequence[Respected] = (),
        batch_size: int = 64,
    ) -> Iterator[list[Sentence]]:
        """Parse lists of sentences with their constraints. Other threads read one while this one finishes another."""
        for column in keep:
            check_choice("keep", column, get_args(Task))
        for respected in respect:
            check_choice("respect", respected, get_args(Respected))
        for name, number in (("batch_size", batch_size), ("k", k)):
            if number < 1:
                raise ConfigError(f"{name} {number} is too small: at least 1")

        def finish(started: Started, known: Sequence[Constraints | None]) -> list[Sentence]:
            predictions, temperature = self.network.finish(started), self.folder.temperature
            trees = probable_trees(
                predictions, self.labels, known, probabilities=probabilities, k=k, temperature=temperature
            )
            lift, lemmas = self.config.lift, self.folder.lemmas
            return write(started.sentences, predictions, trees, self.labels, lift=lift, keep=keep, lemmas=lemmas)

        waiting: deque[tuple[Started, _Part]] = deque()
        ahead, problem = self.network.threads.count > 1, None
        stream = _parts(pools)

        def finished() -> Iterator[list[Sentence]]:
            started, part = waiting.popleft()
            for place, sentence in zip(part.places, finish(started, part.known), strict=True):
                part.results[place] = sentence
            if part.is_last:
                yield part.results

        try:
            while True:
                try:
                    part = next(stream)
                except StopIteration:
                    break
                except Exception as error:  # what was read before is still given out
                    problem = error
                    break
                if respect:
                    part.known = [
                        joined([one or Constraints(), column_constraints(sentence, respect)])
                        for one, sentence in zip(part.known, part.sentences, strict=True)
                    ]
                deprels = probabilities or k > 1 or any(part.known)
                waiting.append((self.network.start(part.sentences, batch_size=batch_size, deprels=deprels), part))
                if len(waiting) > ahead:
                    yield from finished()
            while waiting:
                yield from finished()
        finally:  # of what is not asked for any more, nothing further is begun
            for started, _ in waiting:
                started.work.cancel()
        if problem:
            raise problem

    @overload
    def pipe(  # type: ignore[overload-overlap]  # a string is a sequence of strings, but here it is a text
        self, items: Iterable[str], *, as_tuples: Literal[False] = False, **options: Unpack[ParseOptions]
    ) -> Iterator[list[Sentence]]: ...
    @overload
    def pipe(
        self,
        items: Iterable[Sentence | Sequence[str]],
        *,
        as_tuples: Literal[False] = False,
        **options: Unpack[ParseOptions],
    ) -> Iterator[Sentence]: ...
    @overload
    def pipe(  # type: ignore[overload-overlap]
        self, items: Iterable[tuple[str, Context]], *, as_tuples: Literal[True], **options: Unpack[ParseOptions]
    ) -> Iterator[tuple[list[Sentence], Context]]: ...
    @overload
    def pipe(
        self,
        items: Iterable[tuple[Sentence | Sequence[str], Context]],
        *,
        as_tuples: Literal[True],
        **options: Unpack[ParseOptions],
    ) -> Iterator[tuple[Sentence, Context]]: ...
    def pipe(self, items: Iterable[Any], *, as_tuples: bool = False, **options: Unpack[ParseOptions]) -> Iterator[Any]:
        """Parse a stream in order and in constant memory.

        A text gives a list of Sentences; a Sentence or a list of words gives one Sentence. With `as_tuples`, items are
        tuples of such an item and anything, an id say, and so are the results.

        Sentences are collected into batches across items, so many short texts are as fast as one long text. With
        several threads, up to 32 batches are read before the first result.
        """
        ids = Ids()

        def read(pair: tuple[Any, Any]) -> tuple[tuple[bool, Any], list[Sentence]]:
            item, context = pair
            if isinstance(item, str):
                return (True, context), [ids.complete(sentence) for sentence in self.segmenter.segment(item)]
            return (False, context), [_sentence(item, ids)]

        stream = _several(items, "a stream of texts, Sentences or lists of words")
        given = map(read, map(_pair, stream) if as_tuples else zip(stream, repeat(None)))
        size = options.get("batch_size", 64) * _POOL
        pooled = parse_pooled(given, partial(self.parse_lists, **options), size=size)
        results = ((parsed if is_text else parsed[0], context) for (is_text, context), parsed in pooled)
        return results if as_tuples else (result for result, _ in results)

    def predict(self, sentences: Iterable[Sentence], *, batch_size: int = 64) -> list[Prediction]:
        """Return the output of the network for sentences, before decoding."""
        return self.network.predict(list(sentences), batch_size=batch_size)

    def tag_scores(
        self, sentences: Iterable[Sentence], *, temperature: float | None = None, batch_size: int = 64
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the scores of tags as the functions of `decode` take them: leaf, internal, lengths.

        They are divided by the model's temperature, or by the one given here, for marginals and samples.
        """
        predictions = self.predict(sentences, batch_size=batch_size)
        return tag_scores(predictions, self.folder.temperature.tags if temperature is None else temperature)


@dataclass(slots=True)
class _Part:
    """Sentences of similar length out of a list."""

    sentences: list[Sentence]
    known: list[Constraints | None]
    places: list[int]
    """Where they stand in the list."""
    results: list[Sentence]
    """The list with the trees, which all parts of the list share."""
    is_last: bool


def _parts(pools: Iterable[tuple[Sequence[Sentence], Sequence[Constraints | None]]]) -> Iterator[_Part]:
    """Cut lists into parts of sentences of similar length, the longest first; an empty list is one part."""
    for sentences, known in pools:
        results = list(sentences)
        order = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
        words = 0
        cuts = [0]
        for number, place in enumerate(order):
            if words > _PART:
                cuts.append(number)
                words = 0
            words += len(sentences[place])
        for start, stop in pairwise([*cuts, len(order)]):
            places = order[start:stop]
            part = [sentences[place] for place in places], [known[place] for place in places]
            yield _Part(*part, places, results, is_last=stop == len(order))


def _several(items: Iterable[Item], needed: str) -> Iterable[Item]:
    """Check that an argument holds items and is not one: a string would be a stream of characters."""
    if isinstance(items, str | bytes | Sentence) or not isinstance(items, Iterable):
        raise wrong_type(items, needed, _TAKES)
    return items


def _checked(item: Sentence) -> Sentence:
    """Check that an item is a Sentence."""
    if not isinstance(item, Sentence):
        raise wrong_type(item, "a Sentence", _TAKES)
    return item


def _sentence(item: Sequence[str] | Sentence, ids: Ids) -> Sentence:
    """Make a Sentence of words, with an id; a Sentence stays as it is."""
    return item if isinstance(item, Sentence) else ids.complete(Sentence.from_words(item))


def _pair(item: tuple[Item, Context]) -> tuple[Item, Context]:
    """Check that an item is one with a context."""
    if not isinstance(item, tuple) or len(item) != 2:
        raise wrong_type(item, "a tuple of an item and its context", "[('She reads.', 1), …]")
    return item
