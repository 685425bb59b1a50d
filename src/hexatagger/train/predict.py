"""Sentences → predictions with the torch network: for scores on dev, and for the soft tags of a teacher."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from hexatagger.model.config import TrainConfig
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.network import Arrays
from hexatagger.parsing.pieces import Window
from hexatagger.parsing.predictions import Prediction, join, stitch
from hexatagger.parsing.write import write
from hexatagger.sentence import Sentence
from hexatagger.train.data import Example, Item, collate, cut
from hexatagger.train.network import reduce_scores
from hexatagger.train.pointers import PAIRS
from hexatagger.train.weights import Model

_BATCHES = TrainConfig(batch=4000, batch_unit="pieces")
_GRAM_BATCHES = TrainConfig(batch=800, batch_unit="words")  # a word has up to a hundred n-grams
_SOFT = 8  # labels of a teacher that are kept per word and head


def parse(model: Model, sentences: Sequence[Sentence], examples: Sequence[Example]) -> list[Sentence]:
    """Parse sentences, given their examples, into new sentences in the same order."""
    predictions, lift = predict(model, examples), model.recipe.model.lift
    made: list[Sentence] = []
    for start in range(0, len(sentences), 256):
        part = slice(start, start + 256)
        trees = best_trees(predictions[part])
        made += write(sentences[part], predictions[part], trees, model.labels, lift=lift, lemmas=model.lemmas)
    return made


def predict(model: Model, examples: Sequence[Example]) -> list[Prediction]:
    """Return the network's output for every example, before decoding; without the scores of all deprels."""
    roots = torch.tensor(model.labels.root_mask, device=next(model.network.parameters()).device)

    def outputs(scores: Mapping[str, Tensor]) -> Arrays:
        reduced = reduce_scores(scores, roots)
        return {name: values.cpu().numpy() for name, values in reduced.items() if name != "relations"}

    parts = _by_example(model, examples, outputs)
    return [stitch([(window, Prediction.of(rows)) for window, rows in part]) for part in parts]


def soft_tags(model: Model, examples: Sequence[Example]) -> list[Arrays]:
    """Return, for every example, `name.ids`, the most probable labels of each projection, and their `name.shares`."""

    def outputs(scores: Mapping[str, Tensor]) -> Arrays:
        found: Arrays = {}
        for name in [name for name in scores if name not in ("head", PAIRS)]:  # those with one label per word
            shares, ids = scores[name].softmax(-1).topk(min(_SOFT, scores[name].shape[-1]))
            found[f"{name}.ids"] = ids.cpu().numpy().astype(np.int16)
            found[f"{name}.shares"] = (shares / shares.sum(-1, keepdim=True)).cpu().numpy().astype(np.float16)
        return found

    return [join(part) for part in _by_example(model, examples, outputs)]


def _by_example(
    model: Model, examples: Sequence[Example], outputs: Callable[[Mapping[str, Tensor]], Arrays]
) -> list[list[tuple[Window, Arrays]]]:
    """Run the network and return, for each window of each example, what `outputs` makes of its scores."""
    model.network.eval()
    found: dict[int, list[tuple[Window, Arrays]]] = {}
    for items, scores in run(model.network, examples, pad=model.pad):
        arrays = outputs(scores)
        for row, (example, window) in enumerate(items):
            rows = {name: values[row, : len(window)] for name, values in arrays.items()}
            found.setdefault(id(example), []).append((window, rows))
    return [found[id(example)] for example in examples]


@torch.no_grad()
def run(network: nn.Module, examples: Sequence[Example], *, pad: int) -> Iterator[tuple[list[Item], dict[str, Tensor]]]:
    """Run a network over batches of windows of similar length; yield the windows of each batch with their scores."""
    device = next(network.parameters()).device
    items = [(example, window) for example in examples for window in example.windows]
    flat = all(window.pieces.ndim == 1 for _, window in items)
    for batch in cut(sorted(items, key=lambda item: len(item[1].pieces)), _BATCHES if flat else _GRAM_BATCHES):
        bare = [(Example(example.windows, {}, example.pos), window) for example, window in batch]
        scores = network(**collate(bare, pad=pad, device=device).inputs)
        yield batch, {name: values.float() for name, values in scores.items()}
