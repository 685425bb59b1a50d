"""Parser: a model folder, and with it text, words or Sentences → trees. ONNX Runtime only.

    text ──segment──▶ Sentence ──pieces──▶ windows ──network──▶ scores ──decode──▶ tags ──▶ columns of the Sentence

Sentences that the network reads together have the same number of pieces, so nothing is padded and no result depends
on the company: alone or among others, batches of 1 or of 64, it is the same. Sentences too long for the encoder are
read in overlapping windows. A Parser may be used by several threads at once.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode import Constraints
from hexatagger.errors import ConfigError, FormatError, check_choice
from hexatagger.model.config import ModelConfig, Task
from hexatagger.model.folder import ModelFolder, has_segmenter, network_file, read_folder
from hexatagger.model.labels import Labels
from hexatagger.model.onnx import open_session
from hexatagger.model.registry import EMBEDDED, find_model
from hexatagger.parsing.pieces import Grams, Pieces, Window, make_cutter
from hexatagger.parsing.probabilities import Question, answer, known_columns, merged, tag_scores
from hexatagger.parsing.write import Prediction, stitch
from hexatagger.segment.segmenter import Segmenter
from hexatagger.sentence import Sentence

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Arrays = dict[str, NDArray[Any]]
Item = str | Sequence[str] | Sentence
"""What can be parsed: text, words, or a Sentence."""
Precision = Literal["auto", "fp32", "int8"]

_POOL = 16  # batches' worth of sentences that are grouped by length together
_MOST_PIECES = 8192  # in a batch: memory is bounded however long the sentences are
_MOST_PAIRS = 2**18  # of them in a batch, where every two are looked at with every relation


def load(
    model: str | Path = EMBEDDED,
    *,
    precision: Precision = "auto",
    threads: int | None = None,
    providers: Sequence[str] | None = None,
) -> "Parser":
    """Load a model: the folder of a trained one, or `en`, the one inside the package.

    `precision` takes 8 bits where the folder has them; `threads` is for one call of the network (all cores if not
    given); `providers` are those of ONNX Runtime, `["CUDAExecutionProvider", "CPUExecutionProvider"]` say.
    """
    folder = read_folder(find_model(model))
    check_choice("precision", precision, get_args(Precision))
    network = network_file(folder.path, precision)
    with ThreadPoolExecutor(1) as pool:  # the tokenizer is made while the network is opened
        session = pool.submit(open_session, network, threads=threads, providers=providers)
        cutter = make_cutter(folder.recipe.model, folder.tokenizer, folder.piece_config)
    return Parser(folder, session.result(), cutter, threads=threads)


class Parser:
    """A model that is ready to parse; see `load`."""

    def __init__(
        self, folder: ModelFolder, session: "InferenceSession", cutter: Pieces | Grams, *, threads: int | None = None
    ) -> None:
        self.folder = folder
        self._threads = threads
        self._session = session
        self._cutter = cutter
        self._inputs = [each.name for each in session.get_inputs()]
        names = [each.name for each in session.get_outputs()]
        self._has_relations = "relations" in names
        self._outputs = [name for name in names if name != "relations"]

    @property
    def labels(self) -> Labels:
        """All strings that the model predicts."""
        return self.folder.labels

    @property
    def config(self) -> ModelConfig:
        """What the network is."""
        return self.folder.recipe.model

    def parse(self, text: str, **options: Any) -> list[Sentence]:
        """Cut text into sentences and words and parse them; options as for `parse_sentences`."""
        return self.parse_sentences(self.segmenter.segment(text), **options)

    def pipe(self, items: Iterable[Item], *, batch_size: int = 64, **options: Any) -> Iterator[Any]:
        """Parse a stream, in order and in constant memory: of a text a list of Sentences, of all else one Sentence.

        Sentences are collected to batches across items, so many short texts are as fast as one long one. Options as for
        `parse_sentences`.
        """
        waiting: list[tuple[Item, list[Sentence]]] = []
        count = 0
        for item in items:
            sentences = self.segmenter.segment(item) if isinstance(item, str) else [_sentence(item)]
            waiting.append((item, sentences))
            count += max(1, len(sentences))
            if count >= batch_size * _POOL:
                yield from self._emptied(waiting, batch_size=batch_size, **options)
                waiting, count = [], 0
        yield from self._emptied(waiting, batch_size=batch_size, **options)

    def _emptied(self, waiting: list[tuple[Item, list[Sentence]]], **options: Any) -> Iterator[Any]:
        """Parse what waits and hand it out as it came."""
        parsed = iter(self.parse_sentences([each for _, part in waiting for each in part], **options))
        for item, part in waiting:
            made = [next(parsed) for _ in part]
            yield made if isinstance(item, str) else made[0]

    @cached_property
    def segmenter(self) -> Segmenter:
        """What cuts text into sentences and words."""
        if not has_segmenter(self.folder.path):
            raise ConfigError(
                f"model {self.folder.path} has no segmenter: give it words or CoNLL-U, or train it with --segmenter"
            )
        return Segmenter.load(self.folder.path, threads=self._threads)

    def parse_words(self, sentences: Iterable[Sequence[str]], **options: Any) -> list[Sentence]:
        """Parse sentences that are lists of words, which are taken as they are; options as for `parse_sentences`."""
        return self.parse_sentences([_sentence(words) for words in sentences], **options)

    def parse_sentences(
        self,
        sentences: Sequence[Sentence],
        *,
        probabilities: bool = False,
        k: int = 1,
        constraints: Sequence[Constraints | None] = (),
        keep: Sequence[Task] = (),
        respect: Sequence[str] = (),
        batch_size: int = 64,
    ) -> list[Sentence]:
        """Parse Sentences: new ones with all that the model predicts; what it does not predict stays.

        With `probabilities`, words say how probable their head is and sentences how probable their tree; `k` trees are
        given, the first being the sentence itself and the others its `alternatives`. `constraints` say what is known of
        each sentence, and `respect` that its HEAD ("head") or DEPREL ("deprel") column does where it is filled: all
        trees obey them, and probabilities are given them. Columns named in `keep` stay as they are where they are
        filled.
        """
        for column in keep:
            check_choice("keep", column, get_args(Task))
        for name in respect:
            check_choice("respect", name, ("head", "deprel"))
        for name, number in (("batch_size", batch_size), ("k", k)):
            if number < 1:
                raise ConfigError(f"{name} {number} is too small: at least 1")
        known = list(constraints) or [None] * len(sentences)
        if len(known) != len(sentences):
            raise ConfigError(f"{len(known)} constraints for {len(sentences)} sentences: give one each, or None")
        if respect:
            known = [
                merged(one, known_columns(sentence, respect)) for one, sentence in zip(known, sentences, strict=True)
            ]
        question = Question(probabilities=probabilities, k=k, temperature=self.folder.temperature)
        made: list[Sentence] = []
        for start in range(0, len(sentences), batch_size * _POOL):
            chosen = [
                number
                for number in range(start, min(len(sentences), start + batch_size * _POOL))
                if len(sentences[number])
            ]
            part, facts = [sentences[number] for number in chosen], [known[number] for number in chosen]
            predictions = self._predict(part, batch_size, relations=bool(question) or any(facts))
            made += answer(part, predictions, self.labels, question, facts, lift=self.config.lift)
        if len(made) < len(sentences):  # a sentence without words has nothing to predict
            parsed = iter(made)
            made = [next(parsed) if len(sentence) else sentence for sentence in sentences]
        for old, new in zip(sentences, made, strict=True) if keep else ():
            for other in (new, *new.alternatives):
                for word, predicted in zip(old, other, strict=True):
                    for column in keep:
                        if getattr(word, column) != "_":
                            setattr(predicted, column, getattr(word, column))
        return made

    def tag_scores(
        self, sentences: Sequence[Sentence], *, temperature: float | None = None, batch_size: int = 64
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the scores of tags as the functions of `decode` take them, for posteriors and samples: see there.

        They are divided by the temperature of the model, unless another one is named.
        """
        predictions = self.predict(sentences, batch_size=batch_size)
        return tag_scores(predictions, self.folder.temperature.tags if temperature is None else temperature)

    def predict(self, sentences: Sequence[Sentence], *, batch_size: int = 64) -> list[Prediction]:
        """Return all that the network says about sentences, before decoding."""
        return self._predict(sentences, batch_size, relations=True)

    def stream(self, sentences: Iterable[Sentence], *, batch_size: int = 64, **options: Any) -> Iterator[Sentence]:
        """Parse a stream of Sentences, in order and in constant memory; options as for `parse_sentences`."""
        stream = iter(sentences)
        while part := list(itertools.islice(stream, batch_size * _POOL)):
            yield from self.parse_sentences(part, batch_size=batch_size, **options)

    def _predict(self, sentences: Sequence[Sentence], batch_size: int, *, relations: bool) -> list[Prediction]:
        """Run the network over the windows of all sentences, those of one length together."""
        windows = [self._cutter.windows(sentence.forms) for sentence in sentences]
        groups: dict[tuple[int, ...], list[tuple[int, Window]]] = {}
        for number, parts in enumerate(windows):
            for window in parts:
                groups.setdefault(_size(window), []).append((number, window))
        found: list[list[tuple[Window, Prediction]]] = [[] for _ in sentences]
        for size, members in groups.items():
            most = max(1, min(batch_size, _MOST_PIECES // size[0]))
            if self.config.relations == "pairs":
                most = max(1, min(most, _MOST_PAIRS // size[0] ** 2))
            for start in range(0, len(members), most):
                batch = members[start : start + most]
                owners = [sentences[number] for number, _ in batch]
                predictions = self._run([window for _, window in batch], owners, relations=relations)
                for (number, window), prediction in zip(batch, predictions, strict=True):
                    found[number].append((window, prediction))
        return [stitch(parts) for parts in found]

    def inputs(self, windows: Sequence[Window], sentences: Sequence[Sentence]) -> Arrays:
        """Return what the network reads for windows of one size, each of its sentence."""
        arrays = feed(windows)
        if self.config.pos:
            arrays["pos"] = self._pos(windows, sentences)
        return arrays

    def outputs(self, inputs: Arrays, *, relations: bool = False) -> Arrays:
        """Run the network; it puts out the scores of all relations only if they are asked for."""
        if relations and not self._has_relations:
            message = "was exported without the scores of relations, which this needs: hexatagger export makes it again"
            raise FormatError(message, source=str(self.folder.path))
        names = [*self._outputs, "relations"] if relations else self._outputs
        values = self._session.run(names, {name: inputs[name] for name in self._inputs})
        return dict(zip(names, values, strict=True))

    def _run(self, windows: Sequence[Window], sentences: Sequence[Sentence], *, relations: bool) -> list[Prediction]:
        """Run the network over windows of one size."""
        outputs = self.outputs(self.inputs(windows, sentences), relations=relations)
        return [
            Prediction.of({name: each[row, : len(window)] for name, each in outputs.items()})
            for row, window in enumerate(windows)
        ]

    def _pos(self, windows: Sequence[Window], sentences: Sequence[Sentence]) -> NDArray[np.int64]:
        """Return the column that the network wants as input; an unseen string has a number of its own."""
        numbers = np.zeros((len(windows), max(map(len, windows))), np.int64)
        for row, window, sentence in zip(numbers, windows, sentences, strict=True):
            words = sentence.words[window.start : window.start + len(window)]
            row[: len(words)] = self.labels.pos_ids([getattr(word, self.config.pos) for word in words])
        return numbers


def _sentence(item: Sequence[str] | Sentence) -> Sentence:
    """Make a sentence of words; a Sentence is one already."""
    if isinstance(item, Sentence):
        return item
    if isinstance(item, str):
        raise ConfigError(f"'{item[:40]}' is a string where a list of words is needed: [['She', 'reads'], …]")
    return Sentence.from_words(item)


def _size(window: Window) -> tuple[int, ...]:
    """Return what windows must share to be read together: the number of pieces, or of words and (about) n-grams."""
    if window.pieces.ndim == 1:
        return window.pieces.shape
    return (len(window), -(-window.pieces.shape[1] // 16) * 16)


def feed(windows: Sequence[Window]) -> Arrays:
    """Lay windows of one size side by side, as the network reads them."""
    size = _size(windows[0])
    batch, words = len(windows), max(map(len, windows))
    pieces = np.zeros((batch, *size), np.int64)
    spans = np.zeros((batch, words, 2), np.int64)
    for row, window in enumerate(windows):
        pieces[row, ..., : window.pieces.shape[-1]] = window.pieces
        spans[row, : len(window)] = window.spans
    return {
        "pieces": pieces,
        "mask": np.ones((batch, size[0]), np.int64),
        "spans": spans,
        "lengths": np.array([len(window) for window in windows], np.int64),
        "shapes": np.stack([window.shapes for window in windows]),
    }
