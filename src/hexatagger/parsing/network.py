"""The network in ONNX Runtime: sentences → Predictions.

Windows that the network reads together have the same number of pieces. So nothing is padded, and no result depends on
the other sentences of a batch. The batches of one call are spread over threads (see `model.threads`), and
`OnnxNetwork.predict` may be called by several threads at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import FormatError
from hexatagger.model.folder import DEPRELS, FITS, ModelFolder
from hexatagger.model.onnx import run_session
from hexatagger.model.threads import Threads, Work
from hexatagger.parsing.fit import read_fits
from hexatagger.parsing.pieces import Grams, Numbers, Pieces, Window, stack_windows
from hexatagger.parsing.predictions import Decide, Prediction, Vectors, stitch
from hexatagger.sentence import Sentence

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Arrays = dict[str, NDArray[Any]]

_MOST_PIECES = 512  # in a batch: with more, the arrays do not fit into the cache of a core (2,048: 12 % slower)
_MOST_PAIRS = 2**18  # of words in a batch, where the network scores the deprels of all pairs


Batch = list[tuple[int, Window]]  # windows of one size, each with the number of its sentence


@dataclass(slots=True)
class Started:
    """Sentences that the network has begun to read: see `OnnxNetwork.start`."""

    sentences: Sequence[Sentence]
    batches: list[Batch]
    work: Work[Batch, Arrays]


class OnnxNetwork:
    """A session of ONNX Runtime, with what turns sentences into its inputs and its outputs into Predictions.

    `threads` are those that call it in one `predict`, one per allowed core by default.
    """

    def __init__(
        self,
        folder: ModelFolder,
        session: "InferenceSession",
        cutter: Pieces | Grams,
        second: "InferenceSession | None" = None,
        *,
        threads: Threads | None = None,
    ) -> None:
        self.folder, self.config, self.labels = folder, folder.recipe.model, folder.labels
        self.threads = threads or Threads()
        self._fits = read_fits(folder.path / FITS, folder.labels) if (folder.path / FITS).is_file() else None
        self._session, self._cutter, self._deprels = session, cutter, second
        self._inputs = [each.name for each in session.get_inputs()]
        names = [each.name for each in session.get_outputs()]
        self._has_deprels = "relations" in names
        self._outputs = [name for name in names if name != "relations"]
        deprels, tasks = len(self.labels.relations), {task: len(each) for task, each in self.labels.tasks.items()}
        self._widths = {"leaf": 2, "internal": 4, "relations": deprels}
        self._counts = dict.fromkeys(("relation", "root", "pairs"), deprels) | {"mark": len(self.labels.marks)} | tasks
        vectors = ("dependent", "governor") if second is not None else ()
        for name in ("leaf", "internal", "relation", "root", *vectors, *self.config.tasks):
            if name not in names:
                raise FormatError(f"the network has no output '{name}'", source=str(folder.path))
        for each in session.get_outputs():
            if each.shape and isinstance(width := each.shape[-1], int):
                self._check_width(each.name, width)

    def predict(self, sentences: Sequence[Sentence], *, batch_size: int = 64, deprels: bool = True) -> list[Prediction]:
        """Run the network over sentences; with `deprels`, Predictions have the scores of all deprels."""
        return self.finish(self.start(sentences, batch_size=batch_size, deprels=deprels))

    def start(self, sentences: Sequence[Sentence], *, batch_size: int = 64, deprels: bool = True) -> Started:
        """Let the other threads begin to run the network over sentences; `finish` returns the Predictions."""
        groups: dict[tuple[int, ...], Batch] = {}
        for number, sentence in enumerate(sentences):
            for window in self._cutter.windows(sentence.forms):
                groups.setdefault(window.pieces.shape, []).append((number, window))
        batches: list[Batch] = []
        for (length, *_), members in groups.items():
            pairs = _MOST_PAIRS // length**2 if self.config.relations == "pairs" else batch_size
            most = max(1, min(batch_size, _MOST_PIECES // length, pairs))
            batches += [members[start : start + most] for start in range(0, len(members), most)]
        batches.sort(key=_size, reverse=True)  # so that no thread begins with a large one when the others are done
        return Started(sentences, batches, self.threads.start(partial(self._run, sentences, deprels), batches))

    def finish(self, started: Started) -> list[Prediction]:
        """Return the Predictions for sentences that were started; the caller runs the network too."""
        found: list[list[tuple[Window, Prediction]]] = [[] for _ in started.sentences]
        decide: Decide | None = None if self._deprels is None else self.decide
        for batch, outputs in zip(started.batches, started.work.results(), strict=True):
            for row, (number, window) in enumerate(batch):
                arrays = {name: each[row, : len(window)] for name, each in outputs.items()}
                found[number].append((window, Prediction.of(arrays, decide, self._fits)))
        return [stitch(parts) if parts else Prediction.empty(self.config, self.labels) for parts in found]

    def _run(self, sentences: Sequence[Sentence], deprels: bool, batch: Batch) -> Arrays:
        """Run the network over one batch."""
        owners = [sentences[number] for number, _ in batch]
        return self.outputs(self.inputs([window for _, window in batch], owners), deprels=deprels)

    def inputs(self, windows: Sequence[Window], sentences: Sequence[Sentence]) -> Arrays:
        """Return the inputs of the network for windows of one size; each window comes with its sentence."""
        column = self.config.pos
        if not column:
            return stack_windows(windows)
        pos = [self.labels.pos_ids([getattr(word, column) for word in sentence]) for sentence in sentences]
        return stack_windows(windows, pos=[np.array(ids, np.int64) for ids in pos])

    def outputs(self, inputs: Arrays, *, deprels: bool = False) -> Arrays:
        """Run the network; it computes the scores of all deprels only if they are asked for."""
        if deprels and not self._has_deprels:
            message = "was exported without the scores of relations: export it again with hexatagger export"
            raise FormatError(message, source=str(self.folder.path))
        names = [*self._outputs, "relations"] if deprels else self._outputs
        if absent := [name for name in self._inputs if name not in inputs]:
            message = f"the network has an input '{absent[0]}', which config.json does not provide"
            raise FormatError(message, source=str(self.folder.path))
        given = {name: inputs[name] for name in self._inputs}
        values = run_session(self._session, names, given, source=str(self.folder.path))
        for name, array in zip(names, values, strict=True):
            self._check_width(name, array.shape[-1])
            count = self._counts.get(name)
            if count is not None and array.size and not 0 <= array.min() <= array.max() < count:
                message = f"output '{name}' of the network has labels {array.min()} to {array.max()}"
                raise FormatError(f"{message}, but labels.json has {count}", source=str(self.folder.path))
        return dict(zip(names, values, strict=True))

    def decide(self, dependent: Vectors, governor: Vectors, features: Numbers) -> Vectors:
        """Run the second network, see `Decide`."""
        assert self._deprels is not None
        # subtle: a product with one row is computed in another order; with one more row, all rows are as in any batch
        rows = [np.pad(each, ((0, 1), (0, 0))) for each in (dependent, governor, features)]
        given = dict(zip(("dependent", "governor", "features"), rows, strict=True))
        source = str(self.folder.path / DEPRELS)
        found: Vectors = run_session(self._deprels, ["scores"], given, source=source)[0][:-1]
        if found.shape[1] != len(self.labels.relations):
            message = f"has {found.shape[1]} scores per word for {len(self.labels.relations)} labels"
            raise FormatError(message, source=source)
        return found

    def _check_width(self, name: str, width: int) -> None:
        """Raise FormatError if an output does not have one score per label."""
        if width != self._widths.get(name, width):
            message = f"the network's output '{name}' has {width} scores per word for {self._widths[name]} labels"
            raise FormatError(message, source=str(self.folder.path))


def _size(batch: Batch) -> int:
    """Return the number of pieces in a batch."""
    return len(batch) * len(batch[0][1].pieces)
