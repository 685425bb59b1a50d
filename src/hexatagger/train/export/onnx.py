"""A trained network as ONNX, in 32 and in 8 bits, checked against torch before anything is written.

The graph goes from pieces to what is needed after it and no further: log-probabilities of leaf and internal tags for
the decoder, and the number of the best relation (for a root word and for others), mark and label of every further
task. So nothing as wide as a label set leaves it.
"""

import contextlib
import io
import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from hexatagger.errors import ConfigError
from hexatagger.model.config import CHARACTERS
from hexatagger.parsing.parser import Parser, load
from hexatagger.parsing.pieces import stack_windows
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.train.export.int8 import quantize
from hexatagger.train.network import reduce_scores
from hexatagger.train.weights import Model, load_model

OPSET = 20
TOLERANCE = 1e-4
"""How far a score in 32 bits may be from torch's."""
GREATEST_LOSS = 0.3
"""How much dev LAS 8 bits may cost,"""
FEWEST_LOST = 2
"""or how many words, where dev is so small that this is more."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export found."""

    difference: float
    """Greatest difference of a score in 32 bits from torch's."""
    las: float | None = None
    """LAS on dev in 32 bits; None without dev sentences."""
    las_int8: float | None = None
    """LAS on dev in 8 bits."""


def export(folder: Path, dev: Sequence[Sentence] = ()) -> Exported:
    """Write model.onnx and model.int8.onnx into a model folder, if they do what the network does.

    In 32 bits every score must be within 1e-4 of torch's; 8 bits may cost 0.3 LAS on the dev sentences, which are
    needed for them. Where only 8 bits are refused, 32 bits are written all the same.
    """
    model = load_model(folder)
    whole = to_onnx(model)
    las = las_int8 = None
    with tempfile.TemporaryDirectory(dir=folder) as place:
        trial = Path(place)
        for name in ("config.json", "labels.json", "tokenizer.json"):
            if (folder / name).exists():
                (trial / name).write_bytes((folder / name).read_bytes())
        onnx.save(whole, trial / "model.onnx")
        difference = greatest_difference(model, load(trial, precision="fp32"), dev)
        if not difference <= TOLERANCE:
            raise ConfigError(
                f"{folder}: scores in ONNX differ from torch's by {difference:.2g}, more than {TOLERANCE:g}: "
                "nothing is written"
            )
        if dev:
            onnx.save(quantize(whole), trial / "model.int8.onnx")
            las, las_int8 = (_las(load(trial, precision=each), dev) for each in ("fp32", "int8"))
        (trial / "model.onnx").replace(folder / "model.onnx")
        if las is not None and las_int8 is not None:
            allowed = max(GREATEST_LOSS, 100 * FEWEST_LOST / sum(map(len, dev)))
            if las - las_int8 > allowed:
                (folder / "model.int8.onnx").unlink(missing_ok=True)  # of earlier weights
                raise ConfigError(
                    f"{folder}: 8 bits cost {las - las_int8:.2f} LAS on dev ({las:.2f} → {las_int8:.2f}), more than "
                    f"{allowed:.2g}: only 32 bits are written"
                )
            (trial / "model.int8.onnx").replace(folder / "model.int8.onnx")
    return Exported(difference, las, las_int8)


def to_onnx(model: Model) -> onnx.ModelProto:
    """Return the network as an ONNX graph, batch, pieces and words free."""
    graph = _Graph(model).eval()
    inputs = _example(model)
    with torch.no_grad():
        names = list(graph.named(**inputs))
    batch, pieces, words = (torch.export.Dim(name) for name in ("batch", "pieces", "words"))
    if model.recipe.model.encoder == CHARACTERS:
        shapes = {
            "pieces": {0: batch, 1: words, 2: pieces},
            "mask": {0: batch, 1: words},
            "shapes": {0: batch, 1: words},
        }
    else:
        shapes = {name: {0: batch, 1: pieces} for name in ("pieces", "mask", "shapes")}
    shapes |= {"spans": {0: batch, 1: words}, "lengths": {0: batch}, "pos": {0: batch, 1: words}}
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            graph,
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=names,
            dynamic_shapes=(tuple(shapes[name] for name in inputs),),
            opset_version=OPSET,
            dynamo=True,
        )
    assert program is not None
    made = program.model_proto
    for each in made.graph.node:
        each.ClearField("metadata_props")  # where in our source a node comes from: nobody's business, and not small
        each.ClearField("doc_string")
    return made


class _Graph(nn.Module):
    """The network and the reduction of its scores, with everything in a fixed order."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.network = model.network
        self.register_buffer("roots", torch.tensor(model.labels.root_mask))

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return what the parser needs: scores as they are, labels as small numbers."""
        reduced = reduce_scores(self.network(*inputs), self.get_buffer("roots"))
        return tuple(each if each.is_floating_point() else each.to(torch.int32) for each in reduced.values())

    def named(self, **inputs: Tensor) -> dict[str, Tensor]:
        """Return the same by name."""
        return reduce_scores(self.network(**inputs), self.get_buffer("roots"))


def _example(model: Model) -> dict[str, Tensor]:
    """Return inputs to trace the network with: two sentences of two words."""
    # subtle: sizes that are 1 or equal to each other by chance would be taken for fixed
    windows = [
        model.cutter().windows(words)[0] for words in (["tracing", "sentences", "x"], ["tracing", "sentences", "y"])
    ]
    pos = [np.zeros(3, np.int64)] * 2 if model.recipe.model.pos else None
    arrays = stack_windows(windows, pos=pos)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def greatest_difference(model: Model, parser: Parser, dev: Sequence[Sentence]) -> float:
    """Compare the tag scores of torch and ONNX on some sentences."""
    graph = _Graph(model).eval()
    words = [sentence.forms for sentence in dev[:64]] or [["a"], ["one", "more", "sentence", "."] * 9]
    greatest = 0.0
    for forms in words:
        for window in model.cutter().windows(forms):
            sentence = Sentence.from_words(forms)
            arrays = parser.network.inputs([window], [sentence])
            with torch.no_grad():
                expected = graph.named(**{name: torch.from_numpy(array) for name, array in arrays.items()})
            found = parser.network.outputs(arrays)
            for name in [name for name in ("leaf", "internal", "head") if name in found]:
                greatest = max(greatest, float(np.abs(found[name] - expected[name].numpy()).max()))
    return greatest


def _las(parser: Parser, dev: Sequence[Sentence]) -> float:
    return evaluate(dev, parser.parse_sentences(dev)).metrics["LAS"].f1


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch's exporter from talking."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
