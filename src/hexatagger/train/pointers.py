"""Extensions of ours, not in the paper: a hidden layer below the tags, pointers, and relations given the head.

All of this is quadratic in the length of a sentence, except the hidden layer. The pointers' scores of heads also leave
the network, to rerank the k best tag sequences.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.train.dropout import Dropout

PAIRS = "pairs"  # name of the scores of relations given each possible head
POINTERS = ("head", "above", "governor", "dependent")
"""What pointers are trained to find: the head of a word; for the gap after a word, the gap above it in the binary head
tree and the two words of its arc."""


class HiddenLayer(nn.Module):
    """A hidden layer that sees each word with its neighbours, as an internal tag is as much about the next word."""

    def __init__(self, inputs: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.hidden = nn.Linear(3 * inputs, width)
        self.dropout = Dropout(dropout)

    def forward(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Map (batch, words, inputs) to (batch, words, width); no scores of pointers, see `Pointers`."""
        return self.dropout(functional.leaky_relu(self.hidden(_with_neighbours(vectors, lengths)), 0.1)), {}


def _with_neighbours(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Concatenate the vectors of each word and of its two neighbours: (batch, words, 3 · width)."""
    vectors = _words_only(vectors, lengths)
    return torch.cat([functional.pad(vectors[:, :-1], (0, 0, 1, 0)), vectors, _next(vectors)], dim=-1)


def _words_only(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Set everything after the last word of each sentence to zero."""
    places = torch.arange(vectors.shape[1], device=vectors.device).unsqueeze(0)
    return vectors * (places < lengths.unsqueeze(1)).unsqueeze(-1)


def _next(vectors: Tensor) -> Tensor:
    """Return the vector of the next word, for each word."""
    return functional.pad(vectors[:, 1:], (0, 0, 0, 1))


class Pointers(nn.Module):
    """The hidden layer with four supervised attention heads below it.

    What a word or a gap attends to is also multiplied with its own vector, so that pairs of words count, as in a
    biaffine parser. Whether the node of a gap is a left or a right child follows from the side of the gap above it, and
    the side of its head from the side of its governor. So the probabilities of sides bypass the hidden layer.
    """

    def __init__(self, inputs: int, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.gap = perceptron(2 * inputs, width, dropout)
        sizes = {"head": (inputs, inputs), "above": (width, width)}
        pointers = {name: Pointer(*sizes.get(name, (width, inputs)), width, dropout) for name in POINTERS}
        self.each = nn.ModuleDict(pointers)
        self.around = HiddenLayer(inputs + (1 + len(POINTERS)) * width, hidden, dropout)
        self.width = hidden + len(POINTERS) * (width + 3 * Pointer.SIDES)

    def forward(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Map (batch, words, inputs) to (batch, words, width); return the scores of the pointers too."""
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
        hidden, _ = self.around(torch.cat(seen, dim=-1), lengths)
        return torch.cat([hidden, *products, _with_neighbours(torch.cat(sides, dim=-1), lengths)], dim=-1), scores


class Pointer(nn.Module):
    """Biaffine attention with one head, as in Dozat and Manning (2017): to one of the others or to none.

    Without `looks` there are scores only: nothing is made of what is attended to.
    """

    SIDES = 3  # left, right, nowhere
    LOWEST = -8.0  # floor for log-probabilities

    def __init__(self, places: int, others: int, width: int, dropout: float, *, looks: bool = True) -> None:
        super().__init__()
        self.place, self.other = perceptron(places, width, dropout), perceptron(others, width, dropout)
        if looks:
            self.own, self.value = perceptron(places, width, dropout), perceptron(others, width, dropout)
        self.none = nn.Parameter(torch.zeros(others))
        self.form = nn.Parameter(torch.zeros(width + 1, width))

    def score(self, places: Tensor, others: Tensor, count: Tensor, *, itself: bool) -> Tensor:
        """Return the scores of none and of `count` others, (batch, places, 1 + others); `itself`: or the place."""
        places = functional.pad(self.place(places), (0, 1), value=1.0)
        scores: Tensor = places @ self.form @ self.other(self._with_none(others)).transpose(1, 2)
        numbers = torch.arange(scores.shape[2], device=scores.device)
        hidden = numbers > count.reshape(-1, 1, 1)
        return scores.masked_fill(hidden if itself else hidden | (numbers == numbers[1:].unsqueeze(1)), -1e9)

    def look(self, likely: Tensor, others: Tensor) -> Tensor:
        """Return the attended values: (batch, places, width)."""
        return cast("Tensor", likely.exp() @ self.value(self._with_none(others)))

    def sides(self, likely: Tensor) -> Tensor:
        """Return log-probabilities of left (or the place itself), right and nowhere: (batch, places, 3)."""
        numbers = torch.arange(likely.shape[2], device=likely.device)
        right = numbers > numbers[1:].unsqueeze(1)
        sums = [likely.masked_fill(~side, -1e9).logsumexp(-1) for side in (~right & (numbers > 0), right)]
        return torch.stack([*sums, likely[..., 0]], dim=-1).clamp(min=self.LOWEST)

    def _with_none(self, others: Tensor) -> Tensor:
        return torch.cat([self.none.expand(others.shape[0], 1, -1), others], dim=1)


class Pairs(nn.Module):
    """Scores of the relations of a word given each possible head, as in Dozat and Manning (2017)."""

    def __init__(self, inputs: int, relations: int, dropout: float, width: int = 100) -> None:
        super().__init__()
        self.word, self.head = (perceptron(inputs, width, dropout) for _ in range(2))
        self.root = nn.Parameter(torch.zeros(inputs))
        self.form = nn.Parameter(torch.zeros(width + 1, relations, width + 1))

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Map (batch, words, inputs) to (batch, words, 1 + words, relations); the first head is the root."""
        vectors = _words_only(vectors, lengths)
        heads = self.head(torch.cat([self.root.expand(vectors.shape[0], 1, -1), vectors], dim=1))
        words, heads = (functional.pad(each, (0, 1), value=1.0) for each in (self.word(vectors), heads))
        by_relation = (words @ self.form.flatten(1)).reshape(*words.shape[:2], *self.form.shape[1:])
        scores: Tensor = by_relation @ heads.transpose(1, 2).unsqueeze(1)
        return scores.transpose(2, 3)


def marginal_relations(pairs: Tensor, head: Tensor) -> Tensor:
    """Return log-probabilities of relations, summed over heads: (batch, words, relations)."""
    return (head.log_softmax(-1).unsqueeze(-1) + pairs.log_softmax(-1)).logsumexp(2)


def given_head(pairs: Tensor, head: Tensor) -> Tensor:
    """Return the scores of relations given heads (batch, words), 0 for the root: (batch, words, relations)."""
    return pairs.gather(2, head[..., None, None].expand(-1, -1, 1, pairs.shape[-1])).squeeze(2)


def perceptron(inputs: int, outputs: int, dropout: float) -> nn.Sequential:
    """Return the hidden layer that a biaffine form has on both sides."""
    return nn.Sequential(nn.Linear(inputs, outputs), nn.LeakyReLU(0.1), Dropout(dropout))
