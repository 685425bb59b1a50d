"""What the n-gram encoder knows by itself: FEATS of single words, without context, in seconds per shape.

python benchmarks/grams.py [--language lt]

The last rows compare four ways to score FEATS: by the sum of attributes (`model.feats = "attributes"`), each string for
itself ("bundles"), by the sum of attributes that each have a loss of their own, and every attribute by itself, so that
strings that are not in the treebank can come out.

Every shape learns the FEATS of the words of train from their n-grams, by one hidden layer, and is scored on dev: on all
words, and on those whose form is not in train. A quick way to choose the table of n-grams, not a parser.
"""

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import ModelConfig, TrainConfig
from hexatagger.model.labels import LabelSet
from hexatagger.parsing.pieces import Grams, stack_windows
from hexatagger.sentence import Word, split_feats
from hexatagger.train.data import tensors
from hexatagger.train.network import Characters
from hexatagger.train.optimizer import rate_factor
from hexatagger.train.tasks import Attributes, attribute_values
from results import save
from shapes import files

MEASURES = ("src/hexatagger/parsing/pieces.py", "src/hexatagger/train")
SMALL = ModelConfig(char_width=112, char_buckets=5000, char_grams=4, task_hidden=128)
SHORT = TrainConfig(epochs=6, head_rate=2e-3, warmup=0.0)
SHAPES: dict[str, tuple[ModelConfig, TrainConfig]] = {
    "characters.toml": (replace(SMALL, char_width=192, char_buckets=20000, char_grams=6), SHORT),
    "its table with n-grams up to 4": (replace(SMALL, char_width=192, char_buckets=20000), SHORT),
    "small table, n-grams up to 6": (replace(SMALL, char_grams=6), SHORT),
    "small table, n-grams up to 4": (SMALL, SHORT),
    "small table, n-grams up to 3": (replace(SMALL, char_grams=3), SHORT),
    "small table, n-grams up to 4, two hashes": (replace(SMALL, char_hashes=2), SHORT),
    "small table, n-grams up to 6, two hashes": (replace(SMALL, char_grams=6, char_hashes=2), SHORT),
    "narrower, more rows": (replace(SMALL, char_width=80, char_buckets=7000), SHORT),
    "+ task_hidden 192": (replace(SMALL, task_hidden=192), SHORT),
    "+ head_rate 3e-3": (replace(SMALL, task_hidden=192), replace(SHORT, head_rate=3e-3)),
    "+ 15 epochs": (replace(SMALL, task_hidden=192), replace(SHORT, head_rate=3e-3, epochs=15)),
    "+ two hashes": (replace(SMALL, task_hidden=192, char_hashes=2), replace(SHORT, head_rate=3e-3, epochs=15)),
}
WAYS = {
    "each string for itself": "strings",
    "sum of attributes, a loss for each": "losses",
    "every attribute by itself": "alone",
}  # with the last shape
BATCH = 200


class SingleWords(nn.Module):
    """The encoder, a hidden layer, and FEATS by attributes."""

    def __init__(self, config: ModelConfig, feats: LabelSet, way: str) -> None:
        super().__init__()
        self.way, self.values = way, attribute_values(feats)
        names = [name for name, _ in self.values]
        self.groups = [slice(names.index(name), names.index(name) + names.count(name)) for name in dict.fromkeys(names)]
        self.encoder, self.dropout = Characters(config), nn.Dropout(config.dropout)
        self.hidden = nn.Linear(config.char_width, config.task_hidden)
        self.feats = Attributes(config.task_hidden, feats)
        self.strings = nn.Linear(config.task_hidden, len(feats))

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the scores of FEATS strings (words, strings) and of the values of attributes (words, values)."""
        words = self.encoder(inputs["pieces"], inputs["mask"], inputs["spans"], inputs["shapes"])
        hidden = self.dropout(functional.leaky_relu(self.hidden(self.dropout(words)), 0.1)).flatten(0, 1)
        return (self.strings if self.way == "strings" else self.feats)(hidden), self.feats.values(hidden)

    def loss(self, inputs: dict[str, Tensor], targets: Tensor) -> Tensor:
        """Return the mean loss of words, given the numbers of their strings."""
        strings, values = self(inputs)
        if self.way not in ("losses", "alone"):
            return functional.cross_entropy(strings, targets)
        gold = self.feats.strings[:, targets].T
        own = [functional.cross_entropy(values[:, group], gold[:, group]) for group in self.groups]
        return torch.stack(own).sum()

    @torch.no_grad()
    def best(self, inputs: dict[str, Tensor], feats: LabelSet) -> list[dict[str, str]]:
        """Return the attributes of the best FEATS of every word."""
        strings, values = self(inputs)
        if self.way != "alone":
            return [split_feats(feats[number]) for number in strings.argmax(-1).tolist()]
        chosen = [(values[:, group].argmax(-1) + group.start).tolist() for group in self.groups]
        pairs = [[self.values[number] for number in numbers] for numbers in zip(*chosen, strict=True)]
        return [{name: value for name, value in each if value is not None} for each in pairs]


def inputs_of(words: list[Word], config: ModelConfig) -> dict[str, Tensor]:
    """Return the inputs of words, as one long sentence."""
    cutter = Grams(config.char_buckets, len(words), config.char_grams, hashes=config.char_hashes)
    return tensors(stack_windows(cutter.windows([word.form for word in words])))


def learn(train: list[Word], feats: LabelSet, config: ModelConfig, training: TrainConfig, way: str) -> SingleWords:
    """Train on single words in batches of random order."""
    torch.manual_seed(training.seed)
    network = SingleWords(config, feats, way).train()
    optimizer = torch.optim.AdamW(network.parameters(), fused=True)
    inputs, targets = inputs_of(train, config), torch.tensor(feats.ids([word.feats for word in train]))
    starts = range(0, len(train) - BATCH + 1, BATCH)
    for epoch in range(training.epochs):
        order = torch.randperm(len(train))
        for start in starts:
            rate = rate_factor(training, (epoch + start / len(train)) / training.epochs)
            optimizer.param_groups[0]["lr"] = training.head_rate * rate
            own = order[start : start + BATCH]
            part = {name: each[:, own] for name, each in inputs.items() if name != "lengths"}
            network.loss(part, targets[own]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()
    return network.eval()


def right(network: SingleWords, words: list[Word], feats: LabelSet, config: ModelConfig) -> np.ndarray[Any, Any]:
    """Say of every word whether its FEATS are right."""
    found: list[dict[str, str]] = []
    for start in range(0, len(words), 500):
        found += network.best(inputs_of(words[start : start + 500], config), feats)
    return np.array([own == word.features for own, word in zip(found, words, strict=True)])


def _percent(values: np.ndarray[Any, Any]) -> float:
    return round(100 * float(values.mean()), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", default="lt")
    given = parser.parse_args()
    train_files, dev_file = files(given.language)
    train = [word for file in train_files for sentence in read_conllu(file) for word in sentence]
    dev = [word for sentence in read_conllu(dev_file) for word in sentence]
    feats, known = LabelSet.collect(word.feats for word in train), {word.form.lower() for word in train}
    new = np.array([word.form.lower() not in known for word in dev])
    rows = []
    tried = [(name, *shape, "sum") for name, shape in SHAPES.items()]
    tried += [(name, *tried[-1][1:3], way) for name, way in WAYS.items()]
    for name, config, training, way in tried:
        began = time.process_time()
        hits = right(learn(train, feats, config, training, way), dev, feats, config)
        row = {"name": name, "UFeats": _percent(hits), "UFeats of new words": _percent(hits[new])}
        row |= {"table": config.char_width * config.char_buckets, "seconds": round(time.process_time() - began, 1)}
        rows.append(row)
        print(row, flush=True)
    figures = {"language": given.language, "train words": len(train), "dev words": len(dev), "new": _percent(new)}
    save("grams", {**figures, "shapes": rows}, packages=("torch",))


if __name__ == "__main__":
    main()
