"""The whole network: encoder, POS embedding, BiLSTM, and one linear projection per thing that is predicted.

    pieces ──encoder──▶ words ──[+ POS]──[BiLSTM]──┬─[hidden]─▶ leaf · internal · relation · mark
                                                   └──────────▶ upos · xpos · feats · lemma

As in Amini, Liu and Cotterell (2023): the last piece of a word stands for it, dropout after the embeddings, between
LSTM layers and before the projections. A word's internal tag is the one to its right; the last word has none. As this
tag is as much about the next word, there may be a hidden layer (ours) that sees the words on both sides.

Every operation is one that ONNX has, with batch and length free: no packed sequences, no loops over the data.
"""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.config import CHARACTERS, ModelConfig
from hexatagger.pieces import SHAPES
from hexatagger.tags.labels import Labels

JOINT = "joint"
"""Name of the projection to leaf tags joined with relations: column = leaf tag × relations + relation."""
TREE = ("leaf", "internal", "relation", "mark", JOINT)
"""The heads that spell the tree; all others are further tasks."""


class Network(nn.Module):
    """The network; `encoder` is a Hugging Face one, None for "characters"."""

    def __init__(self, config: ModelConfig, labels: Labels, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.config = config
        if config.encoder == CHARACTERS:
            self.encoder: nn.Module = Characters(config)
            width = config.char_width
        else:
            assert encoder is not None
            self.encoder = Pretrained(encoder, config)
            width = self.encoder.width
        self.dropout = nn.Dropout(config.dropout)
        if config.pos:
            # One more than there are strings: a string that training did not see.
            self.pos = nn.Embedding(len(labels.pos) + 1, config.pos_width)
            width += config.pos_width
        self.lstm = nn.ModuleList()
        for _ in range(config.lstm_layers):
            self.lstm.append(BiLSTM(width, config.lstm_width))
            width = 2 * config.lstm_width
        self.width = width
        self.around = Around(width, config.hidden, config.dropout) if config.hidden else None
        self.heads = nn.ModuleDict()
        for name, size in head_sizes(config, labels).items():
            self.heads[name] = nn.Linear(config.hidden if config.hidden and name in TREE else width, size)

    def forward(
        self,
        pieces: Tensor,
        mask: Tensor,
        spans: Tensor,
        lengths: Tensor,
        shapes: Tensor,
        pos: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the scores of every head, each (batch, words, labels).

        `pieces`, `mask` and `shapes` are (batch, pieces), of "characters" `pieces` is (batch, words, n-grams) and the
        others (batch, words); `spans` is (batch, words, 2); `lengths` counts words, (batch,); `pos` is (batch, words).
        """
        return self.score(self.vectors(pieces, mask, spans, lengths, shapes, pos), lengths)

    def score(self, vectors: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Return the scores of every head, of word vectors."""
        tree = vectors if self.around is None else self.around(vectors, lengths)
        return {name: head(tree if name in TREE else vectors) for name, head in self.heads.items()}

    def vectors(
        self, pieces: Tensor, mask: Tensor, spans: Tensor, lengths: Tensor, shapes: Tensor, pos: Tensor | None = None
    ) -> Tensor:
        """Return what the projections see of every word: (batch, words, width)."""
        vectors: Tensor = self.encoder(pieces, mask, spans, shapes)
        if pos is not None:
            vectors = torch.cat([vectors, self.pos(pos)], dim=-1)
        vectors = self.dropout(vectors)
        for layer in self.lstm:
            vectors = self.dropout(layer(vectors, lengths))
        return vectors


def head_sizes(config: ModelConfig, labels: Labels) -> dict[str, int]:
    """Return the name and the number of labels of every projection.

    >>> from hexatagger.tags.labels import LabelSet
    >>> head_sizes(ModelConfig(relations="joint"), Labels(LabelSet(["root", "obj"])))
    {'joint': 4, 'internal': 4}
    """
    if config.relations == "joint":
        sizes = {JOINT: 2 * len(labels.relations), "internal": 4}
    else:
        sizes = {"leaf": 2, "internal": 4, "relation": len(labels.relations)}
        if len(labels.marks) > 1:
            sizes["mark"] = len(labels.marks)
    return sizes | {task: len(labels.tasks[task]) for task in config.tasks}


def tree_scores(scores: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-probabilities of leaf tags (…, 2) and of internal tags (…, 4), and relation scores (…, k, relations).

    k is 1; or 2, a row for each leaf tag, where both are predicted jointly: the score of a leaf tag is then that of its
    best relation.
    """
    internal = scores["internal"].log_softmax(-1)
    if JOINT in scores:
        joint = scores[JOINT].log_softmax(-1)
        relation = joint.reshape(*joint.shape[:-1], 2, -1)
        return relation.amax(-1), internal, relation
    return scores["leaf"].log_softmax(-1), internal, scores["relation"].unsqueeze(-2)


def reduce_scores(scores: Mapping[str, Tensor], roots: Tensor) -> dict[str, Tensor]:
    """Reduce scores to what parsing needs: scores of tags for the decoder, of everything else the best label.

    `roots` says of every relation whether it is a root word's: `relation` is the best of the others, `root` the best
    of these, each (…, 2 or 1). `relations` are the log-probabilities of all of them, for those who ask: (…, 2 or 1,
    relations).
    """
    leaf, internal, relation = tree_scores(scores)
    # subtle: where there is no relation of either kind the mask hides all of them alike, and the best is still the best
    lowest = torch.finfo(relation.dtype).min
    reduced = {"leaf": leaf, "internal": internal}
    reduced["relation"] = torch.where(roots & ~roots.all(), lowest, relation).argmax(-1)
    reduced["root"] = torch.where(~roots & roots.any(), lowest, relation).argmax(-1)
    reduced["relations"] = relation if JOINT in scores else relation.log_softmax(-1)
    further = [name for name in scores if name not in (JOINT, "leaf", "internal", "relation")]
    return reduced | {name: scores[name].argmax(-1) for name in further}


class Pretrained(nn.Module):
    """A Hugging Face encoder, its pieces pooled to words."""

    def __init__(self, encoder: nn.Module, config: ModelConfig) -> None:
        super().__init__()
        self.encoder = encoder
        hf: Any = encoder.config
        self.width = int(hf.hidden_size)
        self.pooling = config.pooling
        # Zero at first, so that training starts from what the encoder knows.
        self.shape = nn.Embedding(SHAPES, self._embeddings().embedding_dim) if config.shape else None
        if self.shape is not None:
            nn.init.zeros_(self.shape.weight)
        self.mix = nn.Parameter(torch.zeros(config.layers)) if config.layers > 1 else None
        self.piece_dropout = config.piece_dropout

    def _embeddings(self) -> nn.Embedding:
        return cast("nn.Embedding", cast("Any", self.encoder).get_input_embeddings())

    def forward(self, pieces: Tensor, mask: Tensor, spans: Tensor, shapes: Tensor) -> Tensor:
        """Return word vectors: (batch, words, width)."""
        inputs: dict[str, Any] = {"attention_mask": mask, "output_hidden_states": self.mix is not None}
        hiding = self.training and self.piece_dropout > 0
        if self.shape is None and not hiding:
            inputs["input_ids"] = pieces
        else:
            vectors = self._embeddings()(pieces)
            if hiding:  # special pieces have shape 0 and are always seen
                seen = (torch.rand_like(vectors[..., 0]) >= self.piece_dropout) | (shapes == 0)
                vectors = vectors * seen.unsqueeze(-1)
            inputs["inputs_embeds"] = vectors if self.shape is None else vectors + self.shape(shapes)
        output = self.encoder(**inputs)
        if self.mix is None:
            hidden = output.last_hidden_state
        else:
            layers = torch.stack(output.hidden_states[-len(self.mix) :], dim=-1)
            hidden = layers @ self.mix.softmax(0)
        return pool(hidden, spans, self.pooling)


def pool(hidden: Tensor, spans: Tensor, how: str) -> Tensor:
    """Pool piece vectors (batch, pieces, width) to word vectors by the first and last piece of every word."""

    def at(values: Tensor, places: Tensor) -> Tensor:
        return values.gather(1, places.unsqueeze(-1).expand(-1, -1, values.shape[-1]))

    first, last = spans[..., 0], spans[..., 1]
    if how == "first":
        return at(hidden, first)
    if how == "last":
        return at(hidden, last)
    sums = hidden.cumsum(1)
    before = at(sums - hidden, first)  # the sum up to the first piece, itself not included
    return (at(sums, last) - before) / (last - first + 1).unsqueeze(-1)


class Characters(nn.Module):
    """Word vectors from n-grams of characters, learnt from the treebank alone; give it a BiLSTM on top."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.char_width
        self.grams = nn.Embedding(config.char_buckets, width, padding_idx=0)
        nn.init.normal_(self.grams.weight, std=0.1)
        self.shape = nn.Embedding(SHAPES, width)
        nn.init.zeros_(self.shape.weight)
        self.word_dropout = 0.25
        self.hidden = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, pieces: Tensor, mask: Tensor, spans: Tensor, shapes: Tensor) -> Tensor:
        """Return word vectors: (batch, words, width)."""
        present = (pieces != 0).to(self.grams.weight.dtype)
        if self.training:
            # The whole word comes first: without it now and then, its n-grams must do, as for words not seen before.
            keep = torch.ones_like(present)
            keep[..., 0] = (torch.rand_like(present[..., 0]) >= self.word_dropout).to(present.dtype)
            keep[..., 1:] = (torch.rand_like(present[..., 1:]) >= 0.1).to(present.dtype)
            present = present * keep
        total = (present.unsqueeze(-2) @ self.grams(pieces)).squeeze(-2)
        vectors = total / present.sum(-1, keepdim=True).clamp(min=1.0).sqrt() + self.shape(shapes)
        return cast("Tensor", self.norm(vectors + self.hidden(vectors)))


class Around(nn.Module):
    """A hidden layer that sees every word with the one before and the one after it."""

    def __init__(self, inputs: int, width: int, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(3 * inputs, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Map (batch, words, inputs) to (batch, words, width)."""
        places = torch.arange(vectors.shape[1], device=vectors.device).unsqueeze(0)
        vectors = vectors * (places < lengths.unsqueeze(1)).unsqueeze(-1)  # behind the last word there is nothing
        before = functional.pad(vectors[:, :-1], (0, 0, 1, 0))
        after = functional.pad(vectors[:, 1:], (0, 0, 0, 1))
        hidden = functional.leaky_relu(self.hidden(torch.cat([before, vectors, after], dim=-1)), 0.1)
        return cast("Tensor", self.dropout(hidden))


class BiLSTM(nn.Module):
    """One bidirectional layer that never reads padding, whatever else is in the batch."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.right = nn.LSTM(inputs, width, batch_first=True)
        self.left = nn.LSTM(inputs, width, batch_first=True)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Map (batch, words, inputs) to (batch, words, 2 · width)."""
        # subtle: the words are turned around within their own length, so padding stays behind them both ways
        places = torch.arange(vectors.shape[1], device=vectors.device).unsqueeze(0)
        turned = torch.where(places < lengths.unsqueeze(1), lengths.unsqueeze(1) - 1 - places, places).unsqueeze(-1)
        forward, _ = self.right(vectors)
        backward, _ = self.left(vectors.gather(1, turned.expand(-1, -1, vectors.shape[-1])))
        return torch.cat([forward, backward.gather(1, turned.expand(-1, -1, backward.shape[-1]))], dim=-1)
