"""Sentences → predictions with the torch network: for scoring on dev, and for a teacher's soft tags."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from hexatagger.model.config import TrainConfig
from hexatagger.model.labels import Labels
from hexatagger.parsing.pieces import Window
from hexatagger.parsing.write import Prediction, annotate, stitch
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
    """Parse sentences that are encoded already; new sentences, in the order given."""
    predictions = predict(network, examples, labels, pad=pad)
    made: list[Sentence] = []
    for start in range(0, len(sentences), 256):
        part = slice(start, start + 256)
        made += annotate(sentences[part], predictions[part], labels, lift=network.config.lift)
    return made


def predict(network: Network, examples: Sequence[Example], labels: Labels, *, pad: int) -> list[Prediction]:
    """Return what the network says about every example, before decoding."""
    network.eval()
    roots = torch.tensor(labels.root_mask, device=next(network.parameters()).device)
    found: dict[int, list[tuple[Window, Prediction]]] = {}
    for items, scores in run(network, examples, pad=pad):
        reduced = {name: values.cpu().numpy() for name, values in reduce_scores(scores, roots).items()}
        del reduced["relations"]  # nobody asks here
        for row, (example, window) in enumerate(items):
            rows = {name: values[row, : len(window)] for name, values in reduced.items()}
            found.setdefault(id(example), []).append((window, Prediction.of(rows)))
    return [stitch(found[id(example)]) for example in examples]


def soft_tags(network: Network, examples: Sequence[Example], *, pad: int) -> list[dict[str, Soft]]:
    """Return for every example the most probable labels of every head with their probabilities."""
    network.eval()
    found: dict[int, list[tuple[Item, dict[str, Soft]]]] = {}
    for items, scores in run(network, examples, pad=pad):
        heads = {name: values for name, values in scores.items() if name not in ("head", PAIRS)}  # not about words
        best = {name: values.softmax(-1).topk(min(_SOFT, values.shape[-1])) for name, values in heads.items()}
        for row, item in enumerate(items):
            size = len(item[1])
            soft: dict[str, Soft] = {}
            for name, (shares, ids) in best.items():
                soft[name] = (
                    ids[row, :size].cpu().numpy().astype(np.int16),
                    (shares[row, :size] / shares[row, :size].sum(-1, keepdim=True)).cpu().numpy().astype(np.float16),
                )
            found.setdefault(id(item[0]), []).append((item, soft))
    made = []
    for example in examples:
        parts = sorted(found[id(example)], key=lambda part: part[0][1].start)
        whole: dict[str, Soft] = {}
        for name in parts[0][1]:
            cuts = [(soft[name], _kept(item)) for item, soft in parts]
            whole[name] = (
                np.concatenate([ids[kept] for (ids, _), kept in cuts]),
                np.concatenate([shares[kept] for (_, shares), kept in cuts]),
            )
        made.append(whole)
    return made


@torch.no_grad()
def run(network: nn.Module, examples: Sequence[Example], *, pad: int) -> Iterator[tuple[list[Item], dict[str, Tensor]]]:
    """Run a network over batches of like lengths: the windows of each and their scores."""
    device = next(network.parameters()).device
    items = [(example, window) for example in examples for window in example.windows]
    flat = all(window.pieces.ndim == 1 for _, window in items)
    for batch in cut(sorted(items, key=lambda item: len(item[1].pieces)), _BATCHES if flat else _GRAM_BATCHES):
        bare = [(Example(example.windows, {}, example.pos), window) for example, window in batch]
        scores = network(**collate(bare, pad=pad).to(device).inputs)
        yield batch, {name: values.float() for name, values in scores.items()}


def _kept(item: Item) -> slice:
    """Say which words of a window are kept."""
    _, window = item
    return slice(window.keep[0] - window.start, window.keep[1] - window.start)
