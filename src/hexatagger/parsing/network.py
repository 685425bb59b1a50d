"""The network in ONNX Runtime: sentences → Predictions.

Windows that the network reads together have the same number of pieces. So nothing is padded, and no result depends on
the other sentences of a batch. `OnnxNetwork.predict` may be called by several threads at once.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import FormatError
from hexatagger.model.folder import DEPRELS, ModelFolder
from hexatagger.model.onnx import run_session
from hexatagger.parsing.pieces import Grams, Numbers, Pieces, Window, stack_windows
from hexatagger.parsing.predictions import Decide, Prediction, Vectors, stitch
from hexatagger.sentence import Sentence

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Arrays = dict[str, NDArray[Any]]

_MOST_PIECES = 8192  # in a batch: memory is bounded
_MOST_PAIRS = 2**18  # of words in a batch, where the network scores the deprels of all pairs


class OnnxNetwork:
    """A session of ONNX Runtime, with what turns sentences into its inputs and its outputs into Predictions."""

    def __init__(
        self,
        folder: ModelFolder,
        session: "InferenceSession",
        cutter: Pieces | Grams,
        second: "InferenceSession | None" = None,
    ) -> None:
        self.folder, self.config, self.labels = folder, folder.recipe.model, folder.labels
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
        groups: dict[tuple[int, ...], list[tuple[int, Window]]] = {}
        for number, sentence in enumerate(sentences):
            for window in self._cutter.windows(sentence.forms):
                groups.setdefault(window.pieces.shape, []).append((number, window))
        found: list[list[tuple[Window, Prediction]]] = [[] for _ in sentences]
        for (length, *_), members in groups.items():
            pairs = _MOST_PAIRS // length**2 if self.config.relations == "pairs" else batch_size
            most = max(1, min(batch_size, _MOST_PIECES // length, pairs))
            for start in range(0, len(members), most):
                batch = members[start : start + most]
                owners = [sentences[number] for number, _ in batch]
                outputs = self.outputs(self.inputs([window for _, window in batch], owners), deprels=deprels)
                for row, (number, window) in enumerate(batch):
                    arrays = {name: each[row, : len(window)] for name, each in outputs.items()}
                    found[number].append((window, Prediction.of(arrays, self._decide)))
        return [stitch(parts) if parts else Prediction.empty(self.config, self.labels) for parts in found]

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

    @property
    def _decide(self) -> Decide | None:
        return None if self._deprels is None else self.decide

    def _check_width(self, name: str, width: int) -> None:
        """Raise FormatError if an output does not have one score per label."""
        if width != self._widths.get(name, width):
            message = f"the network's output '{name}' has {width} scores per word for {self._widths[name]} labels"
            raise FormatError(message, source=str(self.folder.path))
