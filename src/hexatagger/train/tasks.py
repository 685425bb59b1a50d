"""Extensions of ours, not in the paper: a hidden layer below the further tasks, FEATS scored by their attributes."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.sentence import split_feats
from hexatagger.train.dropout import Dropout


class TaskLayer(nn.Module):
    """A hidden layer below the projections of further tasks; it sees every layer of the network up to the last.

    A tag is about the word itself more than a tree is, and the lower layers know more about that (Søgaard and Goldberg
    2016).
    """

    def __init__(self, inputs: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.hidden = nn.Linear(inputs, width)
        self.dropout = Dropout(dropout)

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Map all layers, each (batch, words, …), to (batch, words, width)."""
        hidden: Tensor = self.dropout(functional.leaky_relu(self.hidden(torch.cat([*layers], dim=-1)), 0.1))
        return hidden


class Attributes(nn.Module):
    """Scores of FEATS strings: the sum of the scores of their attributes' values, and a score of their own.

    Every value of every attribute is scored from the vector of the word, the absence of an attribute too. What a value
    looks like is learnt from all strings that have it, and only strings of the treebank are ever predicted. As each
    string has one value of each attribute, the sum of log-probabilities per attribute would give the same order.
    """

    strings: Tensor

    def __init__(self, inputs: int, strings: Iterable[str]) -> None:
        super().__init__()
        table = value_table(list(strings))
        self.values = nn.Linear(inputs, len(table))
        self.prior = nn.Parameter(torch.zeros(table.shape[1]))
        self.register_buffer("strings", table, persistent=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map (batch, words, inputs) to (batch, words, strings)."""
        scores: Tensor = self.values(vectors) @ self.strings + self.prior
        return scores


def value_table(strings: Sequence[str]) -> Tensor:
    """Say which value of which attribute, or its absence, is in which FEATS string: (values, strings), 0 or 1.

    >>> value_table(["_", "Case=Gen|Number=Plur", "Number=Plur"]).tolist()  # no Case, Gen; no Number, Plur
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """
    split = [split_feats(string) for string in strings]
    rows = [[float(each.get(name) == value) for each in split] for name, value in attribute_values(strings)]
    return torch.tensor(rows).reshape(len(rows), len(strings))


def attribute_values(strings: Iterable[str]) -> list[tuple[str, str | None]]:
    """Return the values of every attribute in FEATS strings, None where some string does not have it.

    >>> attribute_values(["Case=Gen|Number=Plur", "Number=Sing"])
    [('Case', None), ('Case', 'Gen'), ('Number', 'Plur'), ('Number', 'Sing')]
    """
    split = [split_feats(string) for string in strings]
    names = sorted({name for each in split for name in each})
    found = {(name, each.get(name)) for name in names for each in split}
    return sorted(found, key=lambda pair: (pair[0], pair[1] is not None, pair[1] or ""))
