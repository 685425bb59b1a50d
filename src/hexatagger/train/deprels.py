"""Extension of ours, not in the paper: a small second network that chooses deprels given the tree.

The tags do not say which word is the head, so a deprel that is predicted beside them can contradict the tree: an `nmod`
under a verb. Here the tree is decoded first. Then each word is seen together with its head and with its place in the
tree (`arc_features`). Only the arcs of the tree are scored, so the cost is linear in the length of the sentence.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.parsing.choose import FEATURES
from hexatagger.train.dropout import Dropout
from hexatagger.tree import fits_head

WIDTH = 192


class Deprels(nn.Module):
    """A hidden layer over the vectors of a word and of its head, and the projection to deprels above it."""

    def __init__(self, inputs: int, roots: list[bool], dropout: float) -> None:
        super().__init__()
        self.word, self.governor = nn.Linear(inputs, WIDTH), nn.Linear(inputs, WIDTH, bias=False)
        self.features = nn.Embedding(FEATURES, WIDTH)
        nn.init.zeros_(self.features.weight)
        self.dropout = Dropout(dropout)
        self.form = nn.Linear(WIDTH, len(roots))
        self.register_buffer("roots", torch.tensor(roots), persistent=False)

    def vectors(self, vectors: Tensor) -> dict[str, Tensor]:
        """Return what the layer needs of every word, as a `dependent` and as a `governor`: (…, WIDTH) each."""
        return {"dependent": self.word(vectors), "governor": self.governor(vectors)}

    def given(self, dependent: Tensor, governor: Tensor, heads: Tensor, features: Tensor) -> Tensor:
        """Return the scores of deprels given heads (batch, words), 0 for the root: (batch, words, deprels)."""
        place = (heads - 1).clamp(min=0).unsqueeze(-1).expand(-1, -1, WIDTH)
        return self._score(dependent, governor.gather(1, place) * (heads > 0).unsqueeze(-1), features)

    def forward(self, dependent: Tensor, governor: Tensor, features: Tensor) -> Tensor:
        """Return log-probabilities of the deprels that fit each word's head: (words, deprels), see `Decide`."""
        scores = self._score(dependent, governor, features)
        fits = fits_head(self.get_buffer("roots"), features[:, :1] == 0)
        return torch.where(fits, scores, torch.finfo(scores.dtype).min).log_softmax(-1)

    def _score(self, dependent: Tensor, governor: Tensor, features: Tensor) -> Tensor:
        # a product with ones and zeros: the sum of three embeddings takes five times as long in ONNX Runtime
        ones = features.unsqueeze(-1) == torch.arange(FEATURES, device=features.device)
        place = ones.to(dependent.dtype).sum(-2) @ self.features.weight.to(dependent.dtype)
        hidden = functional.leaky_relu(dependent + governor + place, 0.1)
        return cast("Tensor", self.form(self.dropout(hidden)))
