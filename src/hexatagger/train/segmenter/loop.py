"""Train the segmenter of `segment` from a treebank, and write it as ONNX.

The network: a vector per character, plus one per Unicode category, then residual convolutions with growing dilation,
then one linear projection to the four scores. A few minutes on one core.

The graph is put together by hand from a few kinds of operation. Convolutions are two-dimensional there with a height of
1: ONNX Runtime is faster at those.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.formats.files import replacing
from hexatagger.formats.text import restore
from hexatagger.model.onnx import open_session
from hexatagger.scoring.evaluate import evaluate
from hexatagger.segment.alphabet import Ids, SegmenterSettings
from hexatagger.segment.multiword import Rewrites, learn_rewrites
from hexatagger.segment.segmenter import END, JSON, ONNX, Segmenter, to_json
from hexatagger.sentence import Sentence
from hexatagger.train.segmenter.data import IGNORE, Treebank, read_treebank, usable, windows

Report = Callable[[dict[str, Any]], None]
"""Is told what happens: a dictionary with the key "event" (start, step, epoch, end)."""
_TOLERANCE = 1e-4  # between torch and ONNX Runtime
_THRESHOLDS = (0.0, 0.5, -0.5, -1.0, -2.0)  # of sentence ends: the best on dev is kept


@dataclass(frozen=True, kw_only=True)
class SegmenterConfig:
    """What the network is and how it learns."""

    embedding: int = 32
    """Width of the character vectors."""
    width: int = 48
    """Width of the convolutions."""
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """One convolution each, over three characters so far apart."""
    dropout: float = 0.1
    """After the vectors and every convolution."""
    steps: int = 0
    """How many batches; 0: eight times through the treebank, but at least 2000 and at most 3000."""
    batch: int = 8
    """Windows in a batch."""
    window: int = 512
    """Characters in a window."""
    rate: float = 4e-3
    """Greatest learning rate; it falls to zero."""
    weight_decay: float = 0.01
    """Weight decay of AdamW."""
    checks: int = 3
    """How often dev is scored; the best is kept."""
    seed: int = 1
    """Seed of everything random."""

    def __post_init__(self) -> None:
        for name in ("embedding", "width", "batch", "window", "checks"):
            if getattr(self, name) < 1:
                raise ConfigError(f"segmenter {name} {getattr(self, name)} is too small: at least 1")
        if not self.dilations or min(self.dilations) < 1:
            raise ConfigError(f"segmenter dilations {self.dilations} are not all at least 1")

    @property
    def radius(self) -> int:
        """How many characters on either side a score depends on; the first convolution is over five."""
        return 2 + sum(self.dilations)


class CharacterTagger(nn.Module):
    """Character ids → four scores each."""

    def __init__(self, config: SegmenterConfig, category: Ids) -> None:
        super().__init__()
        self.characters = nn.Embedding(len(category), config.embedding)
        self.categories = nn.Embedding(len(category), config.embedding)
        nn.init.normal_(self.characters.weight, std=0.3)
        nn.init.zeros_(self.categories.weight)
        self.category: Tensor
        self.register_buffer("category", torch.from_numpy(category.astype(np.int64)))
        self.first = nn.Conv1d(config.embedding, config.width, 5, padding=2)
        self.layers = nn.ModuleList(
            nn.Conv1d(config.width, config.width, 3, padding=each, dilation=each) for each in config.dilations
        )
        self.scores = nn.Conv1d(config.width, 4, 1)
        self.dropout = nn.Dropout(config.dropout)
        self.radius = config.radius

    def table(self) -> Tensor:
        """Return the vector of every id."""
        return self.characters.weight + cast("Tensor", self.categories(self.category))

    def forward(self, ids: Tensor) -> Tensor:
        """Map (batch, length) to (batch, length − 2 · radius, 4)."""
        vectors = self.dropout(functional.embedding(ids, self.table())).transpose(1, 2)
        vectors = torch.relu(self.first(vectors))
        for layer in self.layers:
            vectors = torch.relu(vectors + layer(self.dropout(vectors)))
        inner = vectors[..., self.radius : vectors.shape[-1] - self.radius]
        return cast("Tensor", self.scores(self.dropout(inner))).transpose(1, 2)


def train_segmenter(
    train_files: Sequence[Path],
    dev_files: Sequence[Path],
    out: Path,
    *,
    config: SegmenterConfig | None = None,
    report: Report | None = None,
) -> dict[str, float]:
    """Train on treebanks and write `segmenter.onnx` and `segmenter.json` into a folder; return the scores on dev.

    What is kept is best on dev by the mean of Words and Sentences F1 from raw text, as in the CoNLL 2018 shared task.
    """
    config, tell = config or SegmenterConfig(), report or (lambda event: None)
    train, dev = _read(train_files), _read(dev_files)
    treebank = read_treebank(train, radius=config.radius)
    rewrites = learn_rewrites(treebank.multiwords)
    text = restore(dev)
    torch.manual_seed(config.seed)
    network = CharacterTagger(config, treebank.category)
    best, settings, best_scores = network.state_dict(), treebank.settings, dict[str, float]()
    began = time.monotonic()
    for scored in _fit(network, treebank, config, tell):
        tried = []
        for threshold in _THRESHOLDS:
            changed = replace(treebank.settings, threshold=threshold)
            tried.append((score_segmenter(build(network, changed, rewrites), dev, text), changed))
        scores, changed = max(tried, key=lambda each: _mean(each[0]))
        tell({"event": "epoch", **scored, "seconds": round(time.monotonic() - began, 1), "scores": scores})
        if not best_scores or _mean(scores) > _mean(best_scores):
            best, settings, best_scores = copy.deepcopy(network.state_dict()), changed, scores
    network.load_state_dict(best)
    save_segmenter(network, settings, rewrites, best_scores, out)
    tell({"event": "end", "seconds": round(time.monotonic() - began, 1), "scores": best_scores})
    return best_scores


def _fit(
    network: CharacterTagger, treebank: Treebank, config: SegmenterConfig, tell: Report
) -> Iterator[dict[str, Any]]:
    """Train; yield every now and then."""
    random = np.random.default_rng(config.seed)
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.rate, weight_decay=config.weight_decay)
    plan = _batches(treebank, config, random)
    characters = sum(len(sentence.ids) for paragraph in treebank.paragraphs for sentence in paragraph)
    steps = config.steps or min(3000, max(2000, 8 * characters // (config.batch * config.window)))
    tell({"event": "start", "steps": steps, "characters": characters})
    total = 0.0
    for step in range(1, steps + 1):
        network.train()
        ids, labels = next(plan)
        done = step / steps
        for group in optimizer.param_groups:
            group["lr"] = config.rate * min(1.0, done / 0.05, (1 - done) / 0.95 + 1e-3)
        loss = _loss(network(ids), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        tell({"event": "step", "step": step, "steps": steps})
        if step * config.checks // steps > (step - 1) * config.checks // steps:
            yield {"step": step, "loss": round(total / steps * config.checks, 5)}
            total = 0.0


def _batches(
    treebank: Treebank, config: SegmenterConfig, random: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches without end, in another order and changed every time through the treebank."""
    while True:
        ids, labels = windows(treebank, size=config.window, random=random)
        order = random.permutation(len(ids))
        for start in range(0, len(order), config.batch):
            chosen = order[start : start + config.batch]
            yield torch.from_numpy(ids[chosen].astype(np.int64)), torch.from_numpy(labels[chosen])


def _loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the negative log-likelihood of all labels, per character."""
    counts = labels != IGNORE
    each = functional.binary_cross_entropy_with_logits(scores, labels.clamp(min=0).float(), reduction="none")
    return (each * counts).sum() / counts[..., END].sum().clamp(min=1)


def score_segmenter(segmenter: Segmenter, gold: Sequence[Sentence], text: str) -> dict[str, float]:
    """Score what is made of the raw text of gold sentences: Tokens, Sentences and Words F1."""
    made = segmenter.segment(text)
    metrics = evaluate([_flat(each) for each in gold], [_flat(each) for each in made]).metrics
    return {name: round(metrics[name].f1, 3) for name in ("Tokens", "Sentences", "Words")}


def _flat(sentence: Sentence) -> Sentence:
    """Give a sentence some tree, as scoring wants one."""
    words = [replace(word, head=int(word.id > 1), deprel="dep") for word in sentence]
    return replace(sentence, words=words)


def _mean(scores: dict[str, float]) -> float:
    return (scores["Words"] + scores["Sentences"]) / 2


def build(network: CharacterTagger, settings: SegmenterSettings, rewrites: Rewrites) -> Segmenter:
    """Make a Segmenter of a network, in memory; raise FormatError if it does not give what torch gives."""
    session = open_session(to_onnx(network), threads=torch.get_num_threads(), source=ONNX)
    segmenter = Segmenter(session, settings, rewrites)
    random = np.random.default_rng(0)
    ids = random.integers(0, segmenter.alphabet.size, 3000).astype(np.int32)
    network.eval()
    with torch.no_grad():
        expected = network(torch.from_numpy(ids.astype(np.int64))[None])[0].numpy()
    if (difference := float(np.abs(segmenter.score(ids) - expected).max())) > _TOLERANCE * max(
        1, np.abs(expected).max()
    ):
        raise FormatError(f"ONNX Runtime and torch differ by {difference}", source=ONNX)
    return segmenter


def save_segmenter(
    network: CharacterTagger, settings: SegmenterSettings, rewrites: Rewrites, scores: dict[str, float], out: Path
) -> None:
    """Write both files, after checking that ONNX Runtime gives what torch gives."""
    build(network, settings, rewrites)
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / ONNX) as temporary:
        temporary.write_bytes(to_onnx(network))
    with replacing(out / JSON) as temporary:
        temporary.write_text(to_json(settings, rewrites, scores), encoding="utf-8")


def to_onnx(network: CharacterTagger) -> bytes:
    """Return the network as an ONNX file: ids (batch, length) → scores (batch, length, 4).

    The first and last `radius` scores of a row mean nothing.
    """
    tensors, nodes = list[TensorProto](), list[Any]()

    def constant(name: str, values: Tensor) -> str:
        tensors.append(numpy_helper.from_array(values.detach().numpy(), name))
        return name

    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolution(layer: nn.Conv1d, inputs: str, name: str) -> str:
        weights = [
            constant(f"{name}.weight", layer.weight.unsqueeze(2)),
            constant(f"{name}.bias", cast("Tensor", layer.bias)),
        ]
        pad, dilation = int(layer.padding[0]), layer.dilation[0]
        return node("Conv", [inputs, *weights], name, pads=[0, pad, 0, pad], dilations=[1, dilation])

    height = constant("height", torch.tensor([2]))
    vectors = node("Gather", [constant("table", network.table()), "ids"], "vectors")
    turned = node("Unsqueeze", [node("Transpose", [vectors], "turned", perm=[0, 2, 1]), height], "flat")
    hidden = node("Relu", [convolution(network.first, turned, "first")], "hidden")
    for number, layer in enumerate(network.layers):
        added = node("Add", [convolution(cast("nn.Conv1d", layer), hidden, f"layer.{number}"), hidden], f"sum.{number}")
        hidden = node("Relu", [added], f"hidden.{number}")
    flat = node("Squeeze", [convolution(network.scores, hidden, "last"), height], "flat.scores")
    node("Transpose", [flat], "scores", perm=[0, 2, 1])
    ids = helper.make_tensor_value_info("ids", TensorProto.INT32, ["batch", "length"])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", "length", 4])
    graph = helper.make_graph(nodes, "segmenter", [ids], [scores], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return cast("bytes", model.SerializeToString())


def _read(files: Sequence[Path]) -> list[Sentence]:
    """Read all sentences that can be learnt from."""
    sentences = usable([sentence for file in files for sentence in read_conllu(file)])
    if not sentences:
        raise FormatError("holds no sentence to learn from", source=", ".join(map(str, files)) or "treebank")
    return sentences
