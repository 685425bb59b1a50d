"""The parser as a component of spaCy pipelines: `nlp.add_pipe("hexatagger")`.

It sets heads, relations, sentence starts, and everything else its model predicts on a tokenised Doc; it never changes
the tokens. `integrations.spacy` describes how trees are written into a Doc.

By default the tokens are those of the pipeline's tokenizer. With `tokens = "model"`, the component replaces the
tokenizer of the pipeline by the segmenter of its model, so that the tokens are the words that the model was trained on,
those of multiword tokens included, and its sentence starts are set.

Sentence starts are determined as in spaCy's own parser: those set by an earlier component are kept, and for tokens
without a decision the segmenter of the model reads `doc.text`; a sentence that starts inside a token starts at the next
one. `sentences = "segment"` uses the segmenter only. `sentences = "given"` needs no segmenter: a token without a
decision does not start a sentence.

The model is loaded with the first Doc, and again in every process. A saved pipeline contains the files of its model, so
it can be moved; of the model inside this package only the name is saved.

Extra `spacy`; spaCy finds the component through an entry point.
"""

import os
import shutil
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast, get_args

from hexatagger.errors import ConfigError, FormatError, check_choice, needs
from hexatagger.integrations.spacy import Range, annotate, make_doc, noun_chunks, read_columns, set_starts, word_places
from hexatagger.model.config import Task
from hexatagger.model.folder import RUNNING_FILES
from hexatagger.model.registry import EMBEDDED, EMBEDDED_FOLDER, find_model
from hexatagger.parsing.load import load
from hexatagger.parsing.options import ParseOptions, Precision
from hexatagger.parsing.parser import Parser
from hexatagger.parsing.pool import parse_pooled
from hexatagger.sentence import Sentence

with needs("spacy"):
    import srsly
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import DummyTokenizer, raise_error
    from spacy.vocab import Vocab

_NAME, _FOLDER = "model.json", "model"
_POOL = 1024  # sentences that are parsed together


@Language.factory(
    "hexatagger",
    assigns=[
        *("token.head", "token.dep", "token.pos", "token.tag", "token.morph", "token.lemma"),
        *("token.is_sent_start", "doc.sents"),
    ],
)
class HexataggerPipe:
    """The component.

    The options are those of `hexatagger.load` and `Parser.parse_sentences`; `tokens` and `sentences`: see above.
    """

    # subtle: spaCy checks a config against these types, and would report a wrong name without its remedy
    def __init__(
        self,
        nlp: Language | None = None,
        name: str = "hexatagger",
        *,
        model: str = EMBEDDED,
        precision: str = "auto",
        threads: int | None = None,
        tokens: str = "given",
        sentences: str = "auto",
        probabilities: bool = False,
        keep: Sequence[str] = (),
        batch_size: int = 64,
    ) -> None:
        check_choice("precision", precision, get_args(Precision))
        check_choice("tokens", tokens, ("given", "model"))
        check_choice("sentences", sentences, ("auto", "segment", "given"))
        for column in keep:
            check_choice("keep", column, get_args(Task))
        self.name, self.model, self.threads, self.sentences = name, model, threads, sentences
        self.precision = cast("Precision", precision)
        self.options = ParseOptions(probabilities=probabilities, keep=cast("list[Task]", keep), batch_size=batch_size)
        self._error_handler: Callable[..., Any] = raise_error
        self._home = os.getpid()
        self._loaded: tuple[int, Parser] | None = None
        if nlp is not None:
            # Docs that come back from other processes have the iterator of the vocabulary.
            nlp.vocab.get_noun_chunks = cast("Any", noun_chunks)
            if tokens == "model":
                nlp.tokenizer = ModelTokenizer(nlp.vocab, self)

    @property
    def parser(self) -> Parser:
        """The parser; loaded when it is first needed, and again in each process."""
        here = os.getpid()
        if self._loaded is None or self._loaded[0] != here:
            # subtle: a lock of ONNX Runtime may be held during a fork; parallel processes need one thread each
            threads = self.threads if here == self._home else 1
            self._loaded = here, load(self.model, precision=self.precision, threads=threads)
        return self._loaded[1]

    def __call__(self, doc: Doc) -> Doc:
        """Parse one Doc."""
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse a stream of Docs, `batch_size` at a time; their sentences are pooled."""
        waiting = iter(stream)
        while docs := list(islice(waiting, batch_size)):
            try:
                self._parse(docs)
            except Exception as error:
                self._error_handler(self.name, self, docs, error)
            else:
                yield from docs

    def set_error_handler(self, error_handler: Callable[..., Any]) -> None:
        """Set the handler for Docs that cannot be parsed; spaCy calls this."""
        self._error_handler = error_handler

    def _parse(self, docs: Sequence[Doc]) -> None:
        """Parse the sentences of several Docs together."""
        parse = partial(self.parser.parse_lists, **self.options)
        found = [(doc, list(self._ranges(doc))) for doc in docs]
        items = (
            ((doc, ranges), [_sentence(doc, places) for span in ranges if (places := word_places(doc, *span))])
            for doc, ranges in found
        )
        for (doc, ranges), sentences in parse_pooled(items, parse, size=_POOL):
            annotate(doc, ranges, sentences, self.parser.labels.tasks)

    def _ranges(self, doc: Doc) -> Iterator[Range]:
        """Yield the start and end of each sentence of a Doc."""
        if not len(doc):
            return iter(())
        said = [None if self.sentences == "segment" else token.is_sent_start for token in doc]
        if self.sentences != "given" and None in said[1:]:
            found = self._found(doc)
            said = [place in found if each is None else each for place, each in enumerate(said)]
        starts = [place for place, begins in enumerate(said) if begins or place == 0]
        return zip(starts, [*starts[1:], len(doc)], strict=True)

    def _found(self, doc: Doc) -> set[int]:
        """Return the tokens that start a sentence for the segmenter, except the first word: spaces may precede it."""
        try:
            segmenter = self.parser.segmenter
        except ConfigError as error:
            remedy = "or set sentence starts first, with nlp.add_pipe('sentencizer'), or use sentences = 'given'"
            raise ConfigError(f"{error}; {remedy}") from None
        places = word_places(doc, 0, len(doc))
        offsets = [doc[place].idx for place in places]
        begins = (bisect_left(offsets, sentence[0].start or 0) for sentence in segmenter.segment(doc.text))
        return {places[number] for number in begins if 0 < number < len(places)}

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the files of the model, or its name."""
        place, files = Path(path), self._files()
        folder = place / _FOLDER
        (folder if files else place).mkdir(parents=True, exist_ok=True)
        srsly.write_json(place / _NAME, {"model": None if files else self.model})
        for name in RUNNING_FILES if files else ():
            if name in files:
                (folder / name).write_bytes(files[name])
            else:
                (folder / name).unlink(missing_ok=True)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "HexataggerPipe":
        """Load the saved model."""
        place = Path(path)
        try:
            name = srsly.read_json(place / _NAME)["model"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FormatError(f"names no model: {error}", source=str(place / _NAME)) from None
        self.model, self._loaded = name or str(place / _FOLDER), None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of the model, or its name."""
        files = self._files()
        return cast("bytes", srsly.msgpack_dumps({"files": files} if files else {"model": self.model}))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "HexataggerPipe":
        """Load the saved model; its files stay in a temporary folder as long as this component exists."""
        values = srsly.msgpack_loads(data)
        self.model, self._loaded = values.get("model") or mkdtemp(prefix="hexatagger-"), None
        if "files" in values:
            weakref.finalize(self, _remove, self.model, os.getpid())
            for name in set(RUNNING_FILES).intersection(values["files"]):
                (Path(self.model) / name).write_bytes(values["files"][name])
        return self

    def _files(self) -> dict[str, bytes]:
        """Return the files to save with the component; none if the name of the model is enough."""
        folder = find_model(self.model)
        if folder == EMBEDDED_FOLDER:
            return {}
        return {name: (folder / name).read_bytes() for name in RUNNING_FILES if (folder / name).is_file()}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_loaded": None}


class ModelTokenizer(DummyTokenizer):
    """A tokenizer for a pipeline with this component: the words and sentences that the segmenter of its model finds."""

    def __init__(self, vocab: Vocab, component: HexataggerPipe) -> None:
        self.vocab, self.component = vocab, component

    def __call__(self, text: str) -> Doc:
        """Make a Doc of a text."""
        sentences = self.component.parser.segmenter.segment(text)
        if not sentences:  # nothing to see: one token, as spaCy does it
            return Doc(self.vocab, words=[text] if text else [], spaces=[False] if text else [])
        doc, ranges = make_doc(sentences, self.vocab)
        set_starts(doc, ranges)
        return doc


create = HexataggerPipe
"""What the entry point of the package names."""


def _remove(folder: str, home: int) -> None:
    """Remove a temporary folder, but not from a forked process."""
    if os.getpid() == home:
        shutil.rmtree(folder, ignore_errors=True)


def _sentence(doc: Doc, places: Sequence[int]) -> Sentence:
    """Make a Sentence of tokens, with their annotation; spaces inside a token are as in the forms of a segmenter."""
    sentence = Sentence.from_words([" ".join(doc[place].text.split()) for place in places])
    read_columns(doc, places, sentence.words)
    return sentence
