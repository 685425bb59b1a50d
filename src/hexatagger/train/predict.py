"""Sentences → predictions with the torch network: for scores on dev, and for the soft tags of a teacher."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hexatagger.model.config import TrainConfig
from hexatagger.model.labels import Labels
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.pieces import Window
from hexatagger.parsing.predictions import Prediction, join, stitch
from hexatagger.parsing.write import write
from hexatagger.sentence import Sentence
from hexatagger.train.data import Example, Item, Soft, collate, cut
from hexatagger.train.network import Network, reduce_scores
from hexatagger.train.pointers import PAIRS

_BATCHES = TrainConfig(batch=4000, batch_unit="pieces")
_GRAM_BATCHES = TrainConfig(batch=800, batch_unit="words")  # a word has up to a hundred n-grams
_SOFT = 8  # labels of a teacher that are kept per word and head


def parse(
    network: Network, sentences: Sequence[Sentence], examples: Sequence[Example], labels: Labels, *, pad: int
) -> list[Sentence]:
    """Parse sentences, given their examples, into new sentences in the same order."""
    predictions = predict(network, examples, labels, pad=pad)
    made: list[Sentence] = []
    for start in range(0, len(sentences), 256):
        part = slice(start, start + 256)
        trees = best_trees(predictions[part])
        made += write(sentences[part], predictions[part], trees, labels, lift=network.config.lift)
    return made


def predict(network: Network, examples: Sequence[Example], labels: Labels, *, pad: int) -> list[Prediction]:
    """Return the network's output for every example, before decoding; without the scores of all deprels."""
    network.eval()
    roots = torch.tensor(labels.root_mask, device=next(network.parameters()).device)
    found: dict[int, list[tuple[Window, Prediction]]] = {}
    for items, scores in run(network, examples, pad=pad):
        reduced = {name: values.cpu().numpy() for name, values in reduce_scores(scores, roots).items()}
        del reduced["relations"]
        for row, (example, window) in enumerate(items):
            rows = {name: values[row, : len(window)] for name, values in reduced.items()}
            found.setdefault(id(example), []).append((window, Prediction.of(rows)))
    return [stitch(found[id(example)]) for example in examples]


def soft_tags(network: Network, examples: Sequence[Example], *, pad: int) -> list[dict[str, Soft]]:
    """Return for every example the most probable labels of each task and their probabilities."""
    network.eval()
    best: dict[int, list[tuple[Window, dict[str, NDArray[Any]]]]] = {}
    shares: dict[int, list[tuple[Window, dict[str, NDArray[Any]]]]] = {}
    for items, scores in run(network, examples, pad=pad):
        tasks = {name: values for name, values in scores.items() if name not in ("head", PAIRS)}  # one label per word
        top = {name: values.softmax(-1).topk(min(_SOFT, values.shape[-1])) for name, values in tasks.items()}
        ids = {name: each.indices.cpu().numpy().astype(np.int16) for name, each in top.items()}
        parts = {
            name: (each.values / each.values.sum(-1, keepdim=True)).cpu().numpy().astype(np.float16)
            for name, each in top.items()
        }
        for row, (example, window) in enumerate(items):
            for found, arrays in ((best, ids), (shares, parts)):
                rows = {name: array[row, : len(window)] for name, array in arrays.items()}
                found.setdefault(id(example), []).append((window, rows))
    made = []
    for example in examples:
        labels, weights = join(best[id(example)]), join(shares[id(example)])
        made.append({name: (labels[name], weights[name]) for name in labels})
    return made


@torch.no_grad()
def run(network: nn.Module, examples: Sequence[Example], *, pad: int) -> Iterator[tuple[list[Item], dict[str, Tensor]]]:
    """Run a network over batches of windows of similar length; yield the windows of each batch with their scores."""
    device = next(network.parameters()).device
    items = [(example, window) for example in examples for window in example.windows]
    flat = all(window.pieces.ndim == 1 for _, window in items)
    for batch in cut(sorted(items, key=lambda item: len(item[1].pieces)), _BATCHES if flat else _GRAM_BATCHES):
        bare = [(Example(example.windows, {}, example.pos), window) for example, window in batch]
        scores = network(**collate(bare, pad=pad).to(device).inputs)
        yield batch, {name: values.float() for name, values in scores.items()}
