"""Parser: a loaded model that turns text, words or Sentences into trees. It needs ONNX Runtime, not torch.

    text ──segment──▶ Sentence ──network──▶ Prediction ──choose, probabilities──▶ Tree ──write──▶ Sentence

The result for a sentence does not depend on the other sentences, nor on the batch size (see `network`). A Parser may be
used by several threads at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Unpack, get_args, overload

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode import Constraints
from hexatagger.decode.chart.constraints import joined
from hexatagger.errors import ConfigError, check_choice
from hexatagger.model.config import ModelConfig, Task
from hexatagger.model.folder import has_segmenter, network_file, read_folder
from hexatagger.model.labels import Labels
from hexatagger.model.onnx import open_session
from hexatagger.model.registry import EMBEDDED, find_model
from hexatagger.parsing.network import OnnxNetwork
from hexatagger.parsing.options import ParseOptions, Precision, Respected
from hexatagger.parsing.pieces import make_cutter
from hexatagger.parsing.pool import parse_pooled
from hexatagger.parsing.predictions import Prediction, tag_scores
from hexatagger.parsing.probabilities import column_constraints, probable_trees
from hexatagger.parsing.write import write
from hexatagger.segment.segmenter import Segmenter
from hexatagger.sentence import Sentence

_POOL = 16  # batches' worth of sentences that are sorted into batches together


def load(
    model: str | Path = EMBEDDED,
    *,
    precision: Precision = "auto",
    threads: int | None = None,
    providers: Sequence[str] | None = None,
) -> "Parser":
    """Load a model: the folder of a trained one, or `en`, the one inside the package.

    `precision` "auto" takes the 8-bit network if the folder has one. `threads` is the number of threads for one call
    of the network, all cores by default. `providers` are those of ONNX Runtime, for example
    `["CUDAExecutionProvider", "CPUExecutionProvider"]`.
    """
    check_choice("precision", precision, get_args(Precision))
    folder = read_folder(find_model(model))
    file = network_file(folder.path, precision)
    with ThreadPoolExecutor(1) as pool:  # the tokenizer is built while the network is opened
        session = pool.submit(open_session, file, threads=threads, providers=providers)
        cutter = make_cutter(folder.recipe.model, folder.tokenizer, folder.piece_config, folder.labels.words)
    return Parser(OnnxNetwork(folder, session.result(), cutter), threads=threads)


class Parser:
    """A model that is ready to parse: see `load`.

    `parse` takes text, `parse_words` lists of words, `parse_sentences` Sentences, and `pipe` a stream of any of these.
    They share their options; `parse_sentences` explains them.
    """

    def __init__(self, network: OnnxNetwork, *, threads: int | None = None) -> None:
        self.network, self.folder, self._threads = network, network.folder, threads
        self.labels: Labels = network.labels
        """All strings that the model predicts."""
        self.config: ModelConfig = network.config
        """The configuration of the network."""

    @cached_property
    def segmenter(self) -> Segmenter:
        """The segmenter of the model, which cuts text into sentences and words."""
        if not has_segmenter(self.folder.path):
            raise ConfigError(
                f"model {self.folder.path} has no segmenter: give it words or CoNLL-U, or train it with --segmenter"
            )
        return Segmenter.load(self.folder.path, threads=self._threads)

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
        sentences = self.segmenter.segment(text)
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
        given = map(_sentence, sentences)
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
        sentences = list(sentences)
        for column in keep:
            check_choice("keep", column, get_args(Task))
        for respected in respect:
            check_choice("respect", respected, get_args(Respected))
        for name, number in (("batch_size", batch_size), ("k", k)):
            if number < 1:
                raise ConfigError(f"{name} {number} is too small: at least 1")
        known = list(constraints) or [None] * len(sentences)
        if len(known) != len(sentences):
            raise ConfigError(f"{len(known)} constraints for {len(sentences)} sentences: give one each, or None")
        if respect:
            known = [
                joined([one or Constraints(), column_constraints(sentence, respect)])
                for one, sentence in zip(known, sentences, strict=True)
            ]
        made, temperature = list[Sentence](), self.folder.temperature
        for start in range(0, len(sentences), batch_size * _POOL):
            part = slice(start, start + batch_size * _POOL)
            deprels = probabilities or k > 1 or any(known[part])
            predictions = self.network.predict(sentences[part], batch_size=batch_size, deprels=deprels)
            trees = probable_trees(
                predictions, self.labels, known[part], probabilities=probabilities, k=k, temperature=temperature
            )
            made += write(sentences[part], predictions, trees, self.labels, lift=self.config.lift, keep=keep)
        return made

    @overload
    def pipe(  # type: ignore[overload-overlap]  # a string is a sequence of strings, but here it is a text
        self, items: Iterable[str], **options: Unpack[ParseOptions]
    ) -> Iterator[list[Sentence]]: ...
    @overload
    def pipe(
        self, items: Iterable[Sentence | Sequence[str]], **options: Unpack[ParseOptions]
    ) -> Iterator[Sentence]: ...
    def pipe(
        self, items: Iterable[str | Sentence | Sequence[str]], **options: Unpack[ParseOptions]
    ) -> Iterator[list[Sentence] | Sentence]:
        """Parse a stream in order and in constant memory.

        A text gives a list of Sentences; a Sentence or a list of words gives one Sentence. Sentences are collected
        into batches across items, so many short texts are as fast as one long text.
        """
        given = (
            (isinstance(item, str), self.segmenter.segment(item) if isinstance(item, str) else [_sentence(item)])
            for item in items
        )
        size = options.get("batch_size", 64) * _POOL
        for is_text, parsed in parse_pooled(given, partial(self.parse_sentences, **options), size=size):
            yield parsed if is_text else parsed[0]

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


def _sentence(item: Sequence[str] | Sentence) -> Sentence:
    """Make a Sentence of words; a Sentence stays as it is."""
    if isinstance(item, Sentence):
        return item
    if isinstance(item, str):
        raise ConfigError(f"'{item[:40]}' is a string where a list of words is needed: [['She', 'reads'], …]")
    return Sentence.from_words(item)
