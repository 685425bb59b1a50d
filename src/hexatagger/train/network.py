"""The network: encoder, POS embedding, BiLSTM, and one linear projection per column that is predicted.

    pieces ──encoder──▶ words ──[+ POS]──[BiLSTM]──┬─[pointers]──[hidden]─▶ leaf · internal · relation · mark
                                                   └─[task hidden]────────▶ upos · xpos · feats · lemma

The base system is that of Amini, Liu and Cotterell (2023): the last piece of a word represents it; POS embedding and
BiLSTM are optional; linear projections to leaf tags, joined with relations, and to internal tags; dropout after the
embeddings, between LSTM layers and before the projections. The internal tag of a word is the one to its right; the last
word has none. Extensions of ours: a separate projection to relations, the word shape, the mix of encoder layers, and
everything in `pointers` (hidden layer, pointers, relations given the head) and in `tasks`.

Every operation exists in ONNX, with batch and length free: no packed sequences, no loops over the data.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.model.config import CHARACTERS, ModelConfig
from hexatagger.model.labels import Labels
from hexatagger.parsing.pieces import SHAPES
from hexatagger.train.deprels import Deprels
from hexatagger.train.dropout import Dropout
from hexatagger.train.pointers import PAIRS, HiddenLayer, Pairs, Pointer, Pointers, marginal_relations
from hexatagger.train.tasks import Attributes, TaskLayer
from hexatagger.train.vectors import CENTRES
from hexatagger.tree import fits_head

JOINT = "joint"  # name of the projection to leaf tags joined with relations: column = leaf tag · relations + relation
GIVEN = "given"  # name of the scores of relations given the tree
TREE = ("leaf", "internal", "relation", "mark", JOINT, GIVEN, PAIRS)
"""The projections that make up the tree; all others are further tasks."""


class Network(nn.Module):
    """The network; `encoder` is a Hugging Face encoder, None for "characters"."""

    def __init__(self, config: ModelConfig, labels: Labels, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.config = config
        if config.encoder == CHARACTERS:
            self.encoder: nn.Module = Characters(config, len(labels.words))
            width = config.char_width
        else:
            assert encoder is not None
            self.encoder = Pretrained(encoder, config)
            width = self.encoder.width
        self.dropout = Dropout(config.dropout)
        # subtle: number 0, the treebanks in dev, stays zero, so a network that runs need not know of them
        self.treebanks: nn.Embedding | None = None
        if len(labels.treebanks):
            self.treebanks = nn.Embedding(1 + len(labels.treebanks), width, padding_idx=0)
            nn.init.zeros_(self.treebanks.weight)
        if config.pos:
            # one more, for strings that training did not have
            self.pos = nn.Embedding(len(labels.pos) + 1, config.pos_width)
            width += config.pos_width
        self.lstm = nn.ModuleList()
        layers = width
        for _ in range(config.lstm_layers):
            self.lstm.append(BiLSTM(width, config.lstm_width))
            width = 2 * config.lstm_width
            layers += width
        self.width = width
        self.around: HiddenLayer | Pointers | None = None
        if config.pointers:
            self.around = Pointers(width, config.pointers, config.hidden, config.dropout)
        elif config.hidden:
            self.around = HiddenLayer(width, config.hidden, config.dropout)
        self.head: Pointer | None = None
        if config.head_scores:
            self.head = Pointer(width, width, config.head_scores, config.dropout, looks=False)
        above = self.around.width if self.around else width
        sizes = head_sizes(config, labels)
        self.pairs: Pairs | None = None
        if config.relations == PAIRS:
            self.pairs = Pairs(width, sizes.pop("relation"), config.dropout, config.pair_width)
        self.deprels: Deprels | None = None
        if config.relations == "tree":
            self.deprels = Deprels(width + (above if self.around else 0), labels.root_mask, config.dropout)
        self.task_layer = TaskLayer(layers, config.task_hidden, config.dropout) if config.task_hidden else None
        below = config.task_hidden or width
        heads = {name: nn.Linear(above if name in TREE else below, size) for name, size in sizes.items()}
        self.heads = nn.ModuleDict(heads)
        if config.feats == "attributes" and "feats" in heads:
            self.heads["feats"] = Attributes(below, labels.tasks["feats"])

    def forward(
        self, *, heads: Tensor | None = None, features: Tensor | None = None, **inputs: Tensor
    ) -> dict[str, Tensor]:
        """Return the scores of every projection, each (batch, words, labels); `inputs` are those of `layers`.

        With relations = "tree", training also gives `heads` (batch, words) and `features` (batch, words, 3), see
        `arc_features`, for the scores of relations given the tree.
        """
        layers = self.layers(**inputs)
        scores = self.score(layers[-1], inputs["lengths"]) | self.score_tasks(layers)
        if self.deprels is not None and heads is not None and features is not None:
            dependent, governor = scores.pop("dependent"), scores.pop("governor")
            scores[GIVEN] = self.deprels.given(dependent, governor, heads, features)
        return scores

    def score(self, vectors: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Map word vectors to the scores that make up the tree; in training also to those of all pointers."""
        tree, pointed = vectors, dict[str, Tensor]()
        if self.around is not None:
            tree, pointed = self.around(vectors, lengths)
        if self.head is not None:
            pointed = {"head": self.head.score(vectors, vectors, lengths, itself=False)}
        scores = {name: head(tree) for name, head in self.heads.items() if name in TREE}
        if self.pairs is not None:
            scores[PAIRS] = self.pairs(vectors, lengths)
        if self.deprels is not None:
            scores |= self.deprels.vectors(vectors if self.around is None else torch.cat([vectors, tree], dim=-1))
        if not self.training:  # the other pointers only help training
            pointed = {name: each for name, each in pointed.items() if name == "head"}
        return scores | pointed

    def score_tasks(self, layers: Sequence[Tensor]) -> dict[str, Tensor]:
        """Map the layers of word vectors to the scores of every further task."""
        vectors = layers[-1] if self.task_layer is None else self.task_layer(layers)
        return {name: head(vectors) for name, head in self.heads.items() if name not in TREE}

    def layers(
        self,
        pieces: Tensor,
        mask: Tensor,
        spans: Tensor,
        lengths: Tensor,
        shapes: Tensor,
        pos: Tensor | None = None,
        known: Tensor | None = None,
        treebanks: Tensor | None = None,
    ) -> list[Tensor]:
        """Return the word vectors below the BiLSTM and after each of its layers: (batch, words, width) each.

        `pieces`, `mask` and `shapes` are (batch, pieces); for "characters", `pieces` is (batch, words, n-grams) and the
        others (batch, words). `spans` is (batch, words, 2), `lengths` in words (batch,), `pos` and `known`, the numbers
        of words with a given vector, (batch, words). `treebanks` (batch,) is for training.
        """
        vectors: Tensor = self.encoder(pieces, mask, spans, shapes, *(() if known is None else (known,)))
        if treebanks is not None and self.treebanks is not None:
            vectors = vectors + self.treebanks(treebanks).unsqueeze(1)
        if pos is not None:
            vectors = torch.cat([vectors, self.pos(pos)], dim=-1)
        made = [self.dropout(vectors)]
        for layer in self.lstm:
            made.append(self.dropout(layer(made[-1], lengths)))
        return made


def head_sizes(config: ModelConfig, labels: Labels) -> dict[str, int]:
    """Return the name and the number of labels of every projection.

    >>> from hexatagger.model.labels import LabelSet
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

    k is 1, or 2 (a row per leaf tag) if both are predicted jointly; a leaf tag then has the score of its best relation.
    """
    internal = scores["internal"].log_softmax(-1)
    if JOINT in scores:
        joint = scores[JOINT].log_softmax(-1)
        relation = joint.reshape(*joint.shape[:-1], 2, -1)
        return relation.amax(-1), internal, relation
    relation = marginal_relations(scores[PAIRS], scores["head"]) if PAIRS in scores else scores["relation"]
    return scores["leaf"].log_softmax(-1), internal, relation.unsqueeze(-2)


SCORES = ("leaf", "internal", "relations", "head", "dependent", "governor")
"""Outputs of the ONNX graph that are numbers; all others are labels."""


def reduce_scores(scores: Mapping[str, Tensor], roots: Tensor) -> dict[str, Tensor]:
    """Reduce scores to what parsing needs: scores of tags for the decoder, the best label of everything else.

    `roots` says which relations are for root words: `root` is the best of these, `relation` the best of the others,
    each (…, 2 or 1). `relations` are the log-probabilities of all relations: (…, 2 or 1, relations). With pointers,
    `head` are the log-probabilities of heads and `pairs` the best relation given each head.
    """
    outputs = output_scores(scores, roots)
    return {name: each if name in SCORES else each.argmax(-1) for name, each in outputs.items()}


def output_scores(scores: Mapping[str, Tensor], roots: Tensor) -> dict[str, Tensor]:
    """Return the outputs of `reduce_scores`, labels as the scores that they are the best of: (…, labels)."""
    leaf, internal, relation = tree_scores(scores)
    lowest = torch.finfo(relation.dtype).min
    reduced = {"leaf": leaf, "internal": internal}
    reduced["relation"] = torch.where(fits_head(roots, False), relation, lowest)
    reduced["root"] = torch.where(fits_head(roots, True), relation, lowest)
    reduced["relations"] = relation if JOINT in scores else relation.log_softmax(-1)
    if "head" in scores:
        # subtle: without a floor a single word could veto a tree
        reduced["head"] = scores["head"].log_softmax(-1).clamp(min=Pointer.LOWEST)
    if PAIRS in scores:
        to_root = (torch.arange(scores[PAIRS].shape[2], device=roots.device) == 0).unsqueeze(1)
        reduced[PAIRS] = torch.where(fits_head(roots, to_root), scores[PAIRS], lowest)
    return reduced | {name: each for name, each in scores.items() if name not in (*reduced, JOINT)}


class Pretrained(nn.Module):
    """A Hugging Face encoder with its pieces pooled to words."""

    def __init__(self, encoder: nn.Module, config: ModelConfig) -> None:
        super().__init__()
        self.encoder = encoder
        hf: Any = encoder.config
        self.width = int(hf.hidden_size)
        self.pooling = config.pooling
        # zero at first, so that training starts from the pretrained encoder
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
            if hiding:  # special pieces have shape 0 and are never hidden
                seen = (torch.rand_like(vectors[..., 0]) >= self.piece_dropout) | (shapes == 0)
                vectors = vectors * seen.unsqueeze(-1)
            inputs["inputs_embeds"] = vectors if self.shape is None else vectors + self.shape(shapes)
        output = self.encoder(**inputs)
        if self.mix is None:
            return pool(output.last_hidden_state, spans, self.pooling)
        layers = torch.stack(output.hidden_states[-len(self.mix) :], dim=-1)
        return pool(layers @ self.mix.softmax(0), spans, self.pooling)


def pool(hidden: Tensor, spans: Tensor, how: str) -> Tensor:
    """Pool piece vectors (batch, pieces, width) to word vectors, given the first and last piece of every word."""

    def at(values: Tensor, places: Tensor) -> Tensor:
        return values.gather(1, places.unsqueeze(-1).expand(-1, -1, values.shape[-1]))

    first, last = spans[..., 0], spans[..., 1]
    if how != "mean":
        return at(hidden, first if how == "first" else last)
    sums = hidden.cumsum(1)
    before = at(sums - hidden, first)  # the sum of everything before the first piece
    return (at(sums, last) - before) / (last - first + 1).unsqueeze(-1)


class Characters(nn.Module):
    """Word vectors from character n-grams, learnt from the treebank alone; meant to be below a BiLSTM.

    Some words may have a given vector too (`train --vectors`), which stays as it is (see `vectors.compress`).
    """

    codes: Tensor
    centres: Tensor

    def __init__(self, config: ModelConfig, words: int = 0) -> None:
        super().__init__()
        width = config.char_width
        self.grams = nn.Embedding(config.char_buckets, width, padding_idx=0)
        nn.init.normal_(self.grams.weight, std=0.1)
        self.shape = nn.Embedding(SHAPES, width)
        nn.init.zeros_(self.shape.weight)
        self.word_dropout, self.gram_dropout, self.hashes = 0.25, 0.1, config.char_hashes
        self.hidden = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.norm = nn.LayerNorm(width)
        if words:
            size, width_of_part = config.vector_bytes, config.vector_width // config.vector_bytes
            self.register_buffer("codes", torch.zeros(1 + words, size, dtype=torch.uint8))  # the first: no given vector
            self.register_buffer("centres", torch.zeros(size * CENTRES, width_of_part))
            self.from_known = nn.Linear(config.vector_width, width, bias=False)

    def forward(
        self, pieces: Tensor, mask: Tensor, spans: Tensor, shapes: Tensor, known: Tensor | None = None
    ) -> Tensor:
        """Return word vectors: (batch, words, width)."""
        present = (pieces != 0).to(self.grams.weight.dtype)
        if self.training:
            # the whole word is the first n-gram; without it, the others must do, as for unknown words
            keep = torch.ones_like(present)
            word, grams = keep[..., : self.hashes], keep[..., self.hashes :]
            word[:] = torch.rand_like(present[..., :1]) >= self.word_dropout
            grams[:] = torch.rand_like(grams) >= self.gram_dropout
            present = present * keep
            bags, weights = pieces.flatten(0, 1), present.flatten(0, 1)
            # the same sum as below, faster; ONNX does not have it
            sums = functional.embedding_bag(bags, self.grams.weight, mode="sum", per_sample_weights=weights)
            total = sums.reshape(*pieces.shape[:2], -1)
        else:
            total = (present.unsqueeze(-2) @ self.grams(pieces)).squeeze(-2)
        vectors = total / present.sum(-1, keepdim=True).clamp(min=1.0).sqrt() + self.shape(shapes)
        if known is not None:
            if self.training:  # as for words without one
                known = known * (torch.rand_like(present[..., 0]) >= self.word_dropout)
            size = self.codes.shape[-1]
            parts = functional.embedding(known, self.codes).long() + CENTRES * torch.arange(size, device=known.device)
            given = functional.embedding(parts, self.centres).transpose(2, 3).flatten(2)
            vectors = vectors + self.from_known(given) * (known > 0).to(given.dtype).unsqueeze(-1)
        return cast("Tensor", self.norm(vectors + self.hidden(vectors)))


class BiLSTM(nn.Module):
    """One bidirectional layer that never reads padding."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.right = nn.LSTM(inputs, width, batch_first=True)
        self.left = nn.LSTM(inputs, width, batch_first=True)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Map (batch, words, inputs) to (batch, words, 2 · width)."""
        # subtle: words are reversed within their own length, so padding stays at the end in both directions
        places = torch.arange(vectors.shape[1], device=vectors.device).unsqueeze(0)
        turned = torch.where(places < lengths.unsqueeze(1), lengths.unsqueeze(1) - 1 - places, places).unsqueeze(-1)
        forward, _ = self.right(vectors)
        backward, _ = self.left(vectors.gather(1, turned.expand(-1, -1, vectors.shape[-1])))
        return torch.cat([forward, backward.gather(1, turned.expand(-1, -1, backward.shape[-1]))], dim=-1)
