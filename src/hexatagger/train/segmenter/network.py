"""The segmenter's network: characters → four scores each; in torch, and as an ONNX graph.

A vector per character plus one per Unicode category, residual convolutions with growing dilation, and one linear
projection to the four scores. The ONNX graph is built by hand from a few operators. Its convolutions have two
dimensions with height 1, because ONNX Runtime is faster at those.
"""

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.errors import ConfigError
from hexatagger.model.values import check_range
from hexatagger.segment.alphabet import Ids
from hexatagger.train.dropout import Dropout
from hexatagger.train.segmenter.augment import Changes


@dataclass(frozen=True, kw_only=True)
class SegmenterConfig:
    """The network and how it is trained."""

    embedding: int = 32  # width of the character vectors
    width: int = 48  # width of the convolutions
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 32)  # of each convolution, which is over three characters
    dropout: float = 0.1  # after the vectors and after every convolution
    steps: int = 0  # number of batches; 0: 14 passes over the treebank, but at least 2000 and at most 3500
    batch: int = 4  # windows per batch
    window: int = 1024  # characters per window
    rate: float = 4e-3  # peak learning rate; it falls to zero
    weight_decay: float = 0.01
    changes: Changes = field(default_factory=Changes)  # how often the text is changed, and how
    checks: int = 3  # number of times that dev is scored; the best state is kept
    seed: int = 1

    def __post_init__(self) -> None:
        check_range("segmenter", self, "embedding", "width", "batch", "window", "checks", "dilations", least=1)
        if not self.dilations:
            raise ConfigError("segmenter.dilations is empty: at least one convolution is needed")

    @property
    def radius(self) -> int:
        """Number of characters on either side that a score depends on; the first convolution is over five."""
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
        self.first = nn.Conv1d(config.embedding, config.width, 5)
        self.layers = nn.ModuleList(
            nn.Conv1d(config.width, config.width, 3, dilation=each) for each in config.dilations
        )
        self.scores = nn.Conv1d(config.width, 4, 1)
        self.dropout = Dropout(config.dropout)

    def table(self) -> Tensor:
        """Return the vector of every id."""
        return self.characters.weight + cast("Tensor", self.categories(self.category))

    def forward(self, ids: Tensor) -> Tensor:
        """Map (batch, length) to (batch, length − 2 · radius, 4)."""
        vectors = self.dropout(functional.embedding(ids, self.table())).transpose(1, 2)
        vectors = torch.relu(self.first(vectors))
        for layer in self.layers:  # without padding: every convolution drops the ends that lack context
            changed = layer(self.dropout(vectors))
            margin = (vectors.shape[-1] - changed.shape[-1]) // 2
            vectors = torch.relu(vectors[..., margin : vectors.shape[-1] - margin] + changed)
        return cast("Tensor", self.scores(self.dropout(vectors))).transpose(1, 2)


def to_onnx(network: CharacterTagger) -> onnx.ModelProto:
    """Return the network as an ONNX graph: ids (batch, length) → scores (batch, length, 4).

    The first and last `radius` scores of a row are meaningless.
    """
    tensors, nodes = list[TensorProto](), list[Any]()

    def constant(name: str, values: Tensor) -> str:
        tensors.append(numpy_helper.from_array(values.detach().numpy(), name))
        return name

    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolution(layer: nn.Conv1d, inputs: str, name: str) -> str:
        weight = constant(f"{name}.weight", layer.weight.unsqueeze(2))
        bias, pad = (
            constant(f"{name}.bias", cast("Tensor", layer.bias)),
            layer.dilation[0] * (layer.kernel_size[0] // 2),
        )
        return node("Conv", [inputs, weight, bias], name, pads=[0, pad, 0, pad], dilations=[1, layer.dilation[0]])

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
    return model
