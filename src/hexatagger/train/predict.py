"""Sentences → predictions with the torch network, for scores on dev."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from hexatagger.model.config import TrainConfig
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.network import Arrays
from hexatagger.parsing.pieces import Numbers, Window
from hexatagger.parsing.predictions import Decide, Prediction, Vectors, stitch
from hexatagger.parsing.write import write
from hexatagger.sentence import Sentence
from hexatagger.train.data import Example, Item, collate, cut
from hexatagger.train.network import Network, reduce_scores
from hexatagger.train.weights import Model

_BATCHES = TrainConfig(batch=4000, batch_unit="pieces")
_GRAM_BATCHES = TrainConfig(batch=800, batch_unit="words")  # a word has up to a hundred n-grams


def parse(model: Model, sentences: Sequence[Sentence], examples: Sequence[Example]) -> list[Sentence]:
    """Parse sentences, given their examples, into new sentences in the same order."""
    predictions = predict(model, examples)
    made: list[Sentence] = []
    for start in range(0, len(sentences), 256):
        part = slice(start, start + 256)
        trees = best_trees(predictions[part])
        made += write(sentences[part], predictions[part], trees, model.labels, lift=model.recipe.model.lift)
    return made


def predict(model: Model, examples: Sequence[Example]) -> list[Prediction]:
    """Return the network's output for every example, before decoding; without the scores of all deprels."""
    roots = torch.tensor(model.labels.root_mask, device=next(model.network.parameters()).device)

    def outputs(scores: Mapping[str, Tensor]) -> Arrays:
        reduced = reduce_scores(scores, roots)
        return {name: values.cpu().numpy() for name, values in reduced.items() if name != "relations"}

    model.network.eval()
    parts: dict[int, list[tuple[Window, Prediction]]] = {}
    decide = _decide(model.network)
    for items, scores in run(model.network, examples, pad=model.pad):
        arrays = outputs(scores)
        for row, (example, window) in enumerate(items):
            rows = {name: values[row, : len(window)] for name, values in arrays.items()}
            parts.setdefault(id(example), []).append((window, Prediction.of(rows, decide)))
    return [stitch(parts[id(example)]) for example in examples]


def _decide(network: Network) -> Decide | None:
    """Return the second network as numpy sees it, if there is one."""
    deprels = network.deprels
    if deprels is None:
        return None
    device = next(deprels.parameters()).device

    def decide(dependent: Vectors, governor: Vectors, features: Numbers) -> Vectors:
        with torch.no_grad():
            rows = (torch.from_numpy(each).to(device) for each in (dependent, governor, features))
            found: Vectors = deprels(*rows).cpu().numpy()
        return found

    return decide


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
