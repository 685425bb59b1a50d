"""The whole network: encoder, POS embedding, BiLSTM, and one linear projection per thing that is predicted.

    pieces ──encoder──▶ words ──[+ POS]──[BiLSTM]──┬─[pointers]──[hidden]─▶ leaf · internal · relation · mark
                                                   └──────────────────────▶ upos · xpos · feats · lemma

As in Amini, Liu and Cotterell (2023): the last piece of a word stands for it, dropout after the embeddings, between
LSTM layers and before the projections. A word's internal tag is the one to its right; the last word has none. As this
tag is as much about the next word, there may be a hidden layer (ours) that sees the words on both sides. With pointers
(ours too), relations may be scored for a word with every head that it could have.

Every operation is one that ONNX has, with batch and length free: no packed sequences, no loops over the data.
"""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.model.config import CHARACTERS, ModelConfig
from hexatagger.model.labels import Labels
from hexatagger.parsing.pieces import SHAPES
from hexatagger.tree import fits_head

JOINT = "joint"
"""Name of the projection to leaf tags joined with relations: column = leaf tag × relations + relation."""
PAIRS = "pairs"
"""Name of the scores of relations for a word with every head that it could have."""
TREE = ("leaf", "internal", "relation", "mark", JOINT)
"""The heads that spell the tree; all others are further tasks."""
POINTERS = ("head", "above", "governor", "dependent")
"""What attention is taught to look at, in training: a word its head; the gap behind a word the gap above it in the
binary head tree, and the two words of its arc."""


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
        self.around: Around | Pointers | None = None
        if config.pointers:
            self.around = Pointers(width, config.pointers, config.hidden, config.dropout)
        elif config.hidden:
            self.around = Around(width, config.hidden, config.dropout)
        above = self.around.width if self.around else width
        sizes = head_sizes(config, labels)
        self.pairs = Pairs(width, sizes.pop("relation"), config.dropout) if config.relations == PAIRS else None
        self.heads = nn.ModuleDict()
        for name, size in sizes.items():
            self.heads[name] = nn.Linear(above if name in TREE else width, size)

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
        """Return the scores of every head, of word vectors, and of what words point at; in training of gaps too."""
        tree, pointed = vectors, dict[str, Tensor]()
        if isinstance(self.around, Pointers):
            tree, pointed = self.around(vectors, lengths)
        elif self.around is not None:
            tree = self.around(vectors, lengths)
        scores = {name: head(tree if name in TREE else vectors) for name, head in self.heads.items()}
        if self.pairs is not None:
            scores[PAIRS] = self.pairs(vectors, lengths)
            scores["relation"] = whatever_the_head(scores[PAIRS], pointed["head"])
        if not self.training:  # where gaps look is only taught
            pointed = {name: each for name, each in pointed.items() if name == "head"}
        return scores | pointed

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
    relations); `head` are those of heads, where words point at them, and `pairs` the best relation to each of these.
    """
    leaf, internal, relation = tree_scores(scores)
    lowest = torch.finfo(relation.dtype).min
    reduced = {"leaf": leaf, "internal": internal}
    reduced["relation"] = torch.where(fits_head(roots, False), relation, lowest).argmax(-1)
    reduced["root"] = torch.where(fits_head(roots, True), relation, lowest).argmax(-1)
    reduced["relations"] = relation if JOINT in scores else relation.log_softmax(-1)
    if "head" in scores:
        # subtle: no lower than this, or one word alone could speak against a tree
        reduced["head"] = scores["head"].log_softmax(-1).clamp(min=Pointer.LOWEST)
    if PAIRS in scores:
        to_root = (torch.arange(scores[PAIRS].shape[2], device=roots.device) == 0).unsqueeze(1)
        reduced[PAIRS] = torch.where(fits_head(roots, to_root), scores[PAIRS], lowest).argmax(-1)
    further = [name for name in scores if name not in (JOINT, "leaf", "internal", "relation", "head", PAIRS)]
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
        self.width = width
        self.hidden = nn.Linear(3 * inputs, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Map (batch, words, inputs) to (batch, words, width)."""
        hidden = functional.leaky_relu(self.hidden(_with_neighbours(vectors, lengths)), 0.1)
        return cast("Tensor", self.dropout(hidden))


def _with_neighbours(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Put the vectors of the words before and after beside every word's own: (batch, words, 3 · width)."""
    vectors = _words_only(vectors, lengths)
    return torch.cat([functional.pad(vectors[:, :-1], (0, 0, 1, 0)), vectors, _next(vectors)], dim=-1)


def _words_only(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Put zeros behind the last word of every sentence."""
    places = torch.arange(vectors.shape[1], device=vectors.device).unsqueeze(0)
    return vectors * (places < lengths.unsqueeze(1)).unsqueeze(-1)


def _next(vectors: Tensor) -> Tensor:
    """Return for every word the vector of the one after it."""
    return functional.pad(vectors[:, 1:], (0, 0, 0, 1))


class Pointers(nn.Module):
    """That hidden layer with attention below it, which is taught what to look at.

    Every word and the gap behind it see what they look at, and multiply it with what they are: so pairs of words count,
    as in a biaffine parser. Whether the node of a gap is a left or a right child is told by the side on which the gap
    above it is, and the side of its head by where its governor is: how likely each side is goes past the hidden layer.
    """

    def __init__(self, inputs: int, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.gap = perceptron(2 * inputs, width, dropout)
        sizes = {"head": (inputs, inputs), "above": (width, width)}
        pointers = {name: Pointer(*sizes.get(name, (width, inputs)), width, dropout) for name in POINTERS}
        self.each = nn.ModuleDict(pointers)
        self.around = Around(inputs + (1 + len(POINTERS)) * width, hidden, dropout)
        self.width = hidden + len(POINTERS) * (width + 3 * Pointer.SIDES)

    def forward(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Map (batch, words, inputs) to (batch, words, width); return the scores of what is looked at too."""
        vectors = _words_only(vectors, lengths)
        gaps = self.gap(torch.cat([vectors, _next(vectors)], dim=-1))
        seen, products, sides, scores = [vectors, gaps], list[Tensor](), list[Tensor](), dict[str, Tensor]()
        for name, each in self.each.items():
            pointer = cast("Pointer", each)
            places = vectors if name == "head" else gaps
            others, count = (gaps, lengths - 1) if name == "above" else (vectors, lengths)
            scores[name] = pointer.score(places, others, count, itself=name in ("governor", "dependent"))
            likely = scores[name].log_softmax(-1)
            seen.append(pointer.look(likely, others))
            products.append(pointer.own(places) * seen[-1])
            sides.append(pointer.sides(likely))
        hidden = self.around(torch.cat(seen, dim=-1), lengths)
        return torch.cat([hidden, *products, _with_neighbours(torch.cat(sides, dim=-1), lengths)], dim=-1), scores


class Pointer(nn.Module):
    """Attention with one head, biaffine as in Dozat and Manning (2017): to one of the others, or to none of them."""

    SIDES = 3
    """Left, right, nowhere."""
    LOWEST = -8.0
    """Where the logarithm of how likely a side is stops to fall."""

    def __init__(self, places: int, others: int, width: int, dropout: float) -> None:
        super().__init__()
        self.place, self.other = perceptron(places, width, dropout), perceptron(others, width, dropout)
        self.own, self.value = perceptron(places, width, dropout), perceptron(others, width, dropout)
        self.none = nn.Parameter(torch.zeros(others))
        self.form = nn.Parameter(torch.zeros(width + 1, width))

    def score(self, places: Tensor, others: Tensor, count: Tensor, *, itself: bool) -> Tensor:
        """Return the scores of none and of `count` others, (batch, places, 1 + others); a place is `itself` one."""
        places = functional.pad(self.place(places), (0, 1), value=1.0)
        scores: Tensor = places @ self.form @ self.other(self._with_none(others)).transpose(1, 2)
        numbers = torch.arange(scores.shape[2], device=scores.device)
        hidden = numbers > count.reshape(-1, 1, 1)
        return scores.masked_fill(hidden if itself else hidden | (numbers == numbers[1:].unsqueeze(1)), -1e9)

    def look(self, likely: Tensor, others: Tensor) -> Tensor:
        """Return what is seen of the others: (batch, places, width)."""
        return cast("Tensor", likely.exp() @ self.value(self._with_none(others)))

    def sides(self, likely: Tensor) -> Tensor:
        """Return how likely it is on the left (with the place itself), on the right, or nowhere: (batch, places, 3)."""
        numbers = torch.arange(likely.shape[2], device=likely.device)
        right = numbers > numbers[1:].unsqueeze(1)
        sums = [likely.masked_fill(~side, -1e9).logsumexp(-1) for side in (~right & (numbers > 0), right)]
        return torch.stack([*sums, likely[..., 0]], dim=-1).clamp(min=self.LOWEST)

    def _with_none(self, others: Tensor) -> Tensor:
        return torch.cat([self.none.expand(others.shape[0], 1, -1), others], dim=1)


class Pairs(nn.Module):
    """Scores of relations for a word with every head that it could have, as in Dozat and Manning (2017)."""

    WIDTH = 100

    def __init__(self, inputs: int, relations: int, dropout: float) -> None:
        super().__init__()
        self.word, self.head = (perceptron(inputs, self.WIDTH, dropout) for _ in range(2))
        self.root = nn.Parameter(torch.zeros(inputs))
        self.form = nn.Parameter(torch.zeros(self.WIDTH + 1, relations, self.WIDTH + 1))

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Map (batch, words, inputs) to (batch, words, 1 + words, relations); the first head is the root."""
        vectors = _words_only(vectors, lengths)
        heads = self.head(torch.cat([self.root.expand(vectors.shape[0], 1, -1), vectors], dim=1))
        words, heads = (functional.pad(each, (0, 1), value=1.0) for each in (self.word(vectors), heads))
        by_relation = (words @ self.form.flatten(1)).reshape(*words.shape[:2], *self.form.shape[1:])
        scores: Tensor = by_relation @ heads.transpose(1, 2).unsqueeze(1)
        return scores.transpose(2, 3)


def whatever_the_head(pairs: Tensor, head: Tensor) -> Tensor:
    """Return the log-probabilities of a word's relations, its head being any: (batch, words, relations)."""
    return (head.log_softmax(-1).unsqueeze(-1) + pairs.log_softmax(-1)).logsumexp(2)


def given_head(pairs: Tensor, head: Tensor) -> Tensor:
    """Return the scores of relations to given heads (batch, words), 0 being the root: (batch, words, relations)."""
    return pairs.gather(2, head[..., None, None].expand(-1, -1, 1, pairs.shape[-1])).squeeze(2)


def perceptron(inputs: int, outputs: int, dropout: float) -> nn.Sequential:
    """Return one hidden layer, as a biaffine form has it on both of its sides."""
    return nn.Sequential(nn.Linear(inputs, outputs), nn.LeakyReLU(0.1), nn.Dropout(dropout))


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
