"""Export a trained network as ONNX, in 32 and in 8 bits; checked against torch before anything is written.

The graph ends where parsing goes on. Outputs of the base system: log-probabilities of leaf and internal tags for the
decoder (`leaf`, `internal`), the id of the best relation (`root` for a root word, `relation` for others) and the
log-probabilities of all relations (`relations`), which are computed only on demand. Outputs of our extensions: the best
mark of the lifting scheme (`mark`) and label of each further task (`upos` …); with pointers, the log-probabilities of
heads (`head`) and the best relation given each head (`pairs`). With relations = "tree", vectors of words (`dependent`,
`governor`) leave the graph for the second network, deprels.onnx, which is run when the tree is known.
"""

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import temporary_folder
from hexatagger.model.config import CHARACTERS
from hexatagger.model.folder import DEPRELS, NETWORK, NETWORK_INT8, write_folder
from hexatagger.parsing.choose import arc_features
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.parsing.pieces import stack_windows
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.train.data import tensors
from hexatagger.train.deprels import WIDTH, Deprels
from hexatagger.train.export.int8 import quantize
from hexatagger.train.network import SCORES, output_scores, reduce_scores
from hexatagger.train.weights import Model, load_model

OPSET = 20
TOLERANCE = 1e-4  # largest allowed difference of a score in 32 bits from torch's, relative to scores beyond 1
GREATEST_LOSS = 0.3  # largest loss of dev LAS that 8 bits may cause, more if dev is so small that this is noise:
NOISE = 20.0  # divided by the square root of its words


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export."""

    difference: float  # largest difference of a score in 32 bits from torch's
    las: float | None = None  # on dev in 32 bits; None without dev sentences
    las_int8: float | None = None  # on dev in 8 bits


def export(
    folder: Path, dev: Sequence[Sentence] = (), *, report: Callable[[float], None] = lambda done: None
) -> Exported:
    """Write the network in 32 and in 8 bits into a model folder, if both do what the torch network does.

    In 32 bits every output must agree with torch (see `check_parity`); 8 bits may cost 0.3 LAS on the dev sentences,
    without which they are not made. If only 8 bits are refused, 32 bits are written all the same. `report` is
    called with the share of the work that is done.
    """
    model = load_model(folder)
    report(0.05)
    whole = to_onnx(model)
    report(0.2)
    las = las_int8 = None
    with temporary_folder(folder / NETWORK) as trial:
        write_folder(replace(model, path=trial))
        onnx.save(whole, trial / NETWORK)
        if model.network.deprels is not None:
            onnx.save(deprels_to_onnx(model.network.deprels), trial / DEPRELS)
        try:
            difference = check_parity(model, load(trial, precision="fp32"), dev)
        except (ConfigError, FormatError) as error:
            reason = error.message if isinstance(error, FormatError) else error
            raise ConfigError(f"{folder}: {reason}: nothing is written") from None
        report(0.4 if dev else 1.0)
        if dev:
            onnx.save(quantize(whole), trial / NETWORK_INT8)
            parsers = [load(trial, precision="fp32"), load(trial, precision="int8")]
            found = []
            for done, parser in zip((0.5, 0.8), parsers, strict=True):
                report(done)
                found.append(evaluate(dev, parser.parse_sentences(dev)).metrics["LAS"].f1)
            las, las_int8 = found
            report(1.0)
        (trial / NETWORK).replace(folder / NETWORK)
        if model.network.deprels is not None:
            (trial / DEPRELS).replace(folder / DEPRELS)
        if las is not None and las_int8 is not None:
            allowed = max(GREATEST_LOSS, NOISE / math.sqrt(sum(map(len, dev))))
            if las - las_int8 > allowed:
                (folder / NETWORK_INT8).unlink(missing_ok=True)  # it may be of earlier weights
                raise ConfigError(
                    f"{folder}: 8 bits cost {las - las_int8:.2f} LAS on dev ({las:.2f} → {las_int8:.2f}), more than "
                    f"{allowed:.2g}: only 32 bits are written"
                )
            (trial / NETWORK_INT8).replace(folder / NETWORK_INT8)
    return Exported(difference, las, las_int8)


def to_onnx(model: Model) -> onnx.ModelProto:
    """Return the network as an ONNX graph with free batch, pieces and words."""
    graph = _Graph(model).eval()
    inputs = _example(model)
    batch, pieces, words = (torch.export.Dim(name) for name in ("batch", "pieces", "words"))
    if model.recipe.model.encoder == CHARACTERS:
        first, free = {0: batch, 1: words, 2: pieces}, {0: batch, 1: words}
    else:
        first = free = {0: batch, 1: pieces}
    shapes = {"pieces": first, "mask": free, "shapes": free, "lengths": {0: batch}}
    shapes |= {name: {0: batch, 1: words} for name in ("spans", "pos", "known")}
    with torch.no_grad():
        names = list(reduce_scores(model.network(**inputs), graph.get_buffer("roots")))
    return _traced(graph, inputs, names, (tuple(shapes[name] for name in inputs),))


def deprels_to_onnx(deprels: Deprels) -> onnx.ModelProto:
    """Return the second network as an ONNX graph with a free number of words."""
    words = torch.export.Dim("words")
    inputs = {name: torch.zeros(3, WIDTH) for name in ("dependent", "governor")}
    inputs["features"] = torch.tensor([[0, 9, 18]] * 3)
    return _traced(deprels.eval(), inputs, ["scores"], tuple({0: words} for _ in inputs))


def _traced(
    module: nn.Module, inputs: dict[str, Tensor], outputs: list[str], shapes: tuple[Any, ...]
) -> onnx.ModelProto:
    """Return a module as an ONNX graph, without the source positions of its nodes: large, and nobody needs them."""
    # subtle: a second export in one process would unroll LSTMs for the length of the example
    torch.ops.aten.lstm.input._dispatch_cache.clear()
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            module,
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes=shapes,
            opset_version=OPSET,
            dynamo=True,
        )
    assert program is not None
    made = program.model_proto
    for each in made.graph.node:
        each.ClearField("metadata_props")
        each.ClearField("doc_string")
    return made


class _Graph(nn.Module):
    """The network with the reduction of its scores, outputs in a fixed order."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.network, self.names = model.network, list(_example(model))
        self.register_buffer("roots", torch.tensor(model.labels.root_mask))

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return what the parser needs: scores as they are, labels as 32-bit integers."""
        given = dict(zip(self.names, inputs, strict=True))
        reduced = reduce_scores(self.network(**given), self.get_buffer("roots"))
        return tuple(each if each.is_floating_point() else each.to(torch.int32) for each in reduced.values())


def _example(model: Model) -> dict[str, Tensor]:
    """Return inputs to trace the network with: two sentences of three words."""
    # subtle: sizes of 1, or equal by chance, would be taken for fixed
    windows = [model.cutter().windows(["tracing", "sentences", last])[0] for last in ("x", "y")]
    pos = [np.zeros(3, np.int64)] * 2 if model.recipe.model.pos else None
    return tensors(stack_windows(windows, pos=pos))


def check_parity(model: Model, parser: Parser, dev: Sequence[Sentence]) -> float:
    """Compare every output of ONNX with torch on some sentences; return the largest difference of a score.

    Raise ConfigError if a score differs by more than TOLERANCE, or if torch scores a label lower than its best one by
    more than that.
    """
    network, roots, cutter = model.network.eval(), torch.tensor(model.labels.root_mask), model.cutter()
    greatest = 0.0
    for sentence in dev[:64] or [Sentence.from_words(["a"]), Sentence.from_words(["one", "more", "sentence", "."] * 9)]:
        for window in cutter.windows(sentence.forms):
            arrays = parser.network.inputs([window], [sentence])
            with torch.no_grad():
                scores = network(**tensors(arrays))
                expected = {name: each.numpy() for name, each in output_scores(scores, roots).items()}
            found = parser.network.outputs(arrays, deprels=True)
            if found.keys() != expected.keys():
                raise ConfigError(f"the outputs of ONNX are {sorted(found)}, those of torch {sorted(expected)}")
            if network.deprels is not None:
                heads = np.arange(len(window))  # a chain: every word is the head of the next one
                rows = (
                    found["dependent"][0],
                    np.roll(found["governor"][0], 1, 0) * (heads > 0)[:, None],
                    arc_features(heads),
                )
                with torch.no_grad():
                    expected["deprels"] = network.deprels(*map(torch.from_numpy, rows)).numpy()
                found["deprels"] = parser.network.decide(*rows)
            for name, values in found.items():
                difference = _difference(values, expected[name], labels=name not in (*SCORES, "deprels"))
                if not difference <= TOLERANCE:
                    beyond = f"{difference:.2g}, more than {TOLERANCE:g}"
                    raise ConfigError(f"'{name}' in ONNX differs from torch by {beyond}")
                greatest = max(greatest, difference)
    return greatest


def _difference(found: NDArray[Any], expected: NDArray[Any], *, labels: bool) -> float:
    """Return the largest difference of scores; for labels, how far their scores in torch are below the best ones."""
    if found.shape != (expected.shape[:-1] if labels else expected.shape):
        return math.inf
    if not labels:
        return float((np.abs(found - expected) / np.maximum(1.0, np.abs(expected))).max(initial=0.0))
    if ((found < 0) | (found >= expected.shape[-1])).any():
        return math.inf
    best = expected.max(-1)
    chosen = np.take_along_axis(expected, found[..., None].astype(np.int64), -1)[..., 0]
    return float(((best - chosen) / np.maximum(1.0, np.abs(best))).max(initial=0.0))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's exporter."""
    nowhere = io.StringIO()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
