"""A biaffine parser (Dozat and Manning 2017) on our encoder, data, batches and training loop: the baseline.

Everything up to the word vectors is `train.network.Network`. On top of them four perceptrons, a biaffine score of
every arc and one of every relation, their losses added. The best tree is found exactly, projective or not (see `mst`).

    python benchmarks/biaffine.py RECIPE --train F --dev F --out DIR [--set section.key=value]...
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.model.config import CHARACTERS, ModelConfig, Recipe, TrainConfig
from hexatagger.model.folder import WEIGHTS, read_folder
from hexatagger.model.labels import Labels
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.tags import unlift
from hexatagger.train.checkpoint import State
from hexatagger.train.data import IGNORE, Batch, Example
from hexatagger.train.encoder import build_encoder
from hexatagger.train.job import Job, prepare
from hexatagger.train.loop import Data, Report, fit, make_accelerator
from hexatagger.train.network import Network
from hexatagger.train.pointers import perceptron
from hexatagger.train.predict import run
from hexatagger.train.preflight import read_treebank
from hexatagger.train.weights import Model, load_weights
from hexatagger.tree import fits_head
from mst import best_projective_trees, best_trees

ARC, RELATION = 500, 100  # widths of the perceptrons, as in the paper
_GROUP = 1024  # words whose relations are scored at once
Decoder = Callable[[np.ndarray, Sequence[int]], list[list[int]]]
DECODERS: dict[str, Decoder] = {"projective": best_projective_trees, "all trees": best_trees}


class Biaffine(nn.Module):
    """The parser; `words` gives the word vectors and the further tasks."""

    def __init__(self, words: Network, labels: Labels) -> None:
        super().__init__()
        self.words = words
        tasks: dict[str, nn.Module] = {name: words.heads[name] for name in words.config.tasks}
        words.heads = nn.ModuleDict(tasks)
        self.root = nn.Parameter(torch.zeros(words.width))
        dropout = words.config.dropout
        self.arc_head, self.arc_word = perceptron(words.width, ARC, dropout), perceptron(words.width, ARC, dropout)
        self.relation_head = perceptron(words.width, RELATION, dropout)
        self.relation_word = perceptron(words.width, RELATION, dropout)
        # Of a biaffine form the matrices begin at zero, as in the paper: arcs are equally likely at first.
        self.arc = nn.Parameter(torch.zeros(ARC + 1, ARC))
        self.relation = nn.Parameter(torch.zeros(len(labels.relations), RELATION + 1, RELATION + 1))

    @property
    def encoder(self) -> nn.Module:
        """The encoder, which has a learning rate of its own."""
        return self.words.encoder

    @property
    def config(self) -> ModelConfig:
        """What the network is."""
        return self.words.config

    def forward(self, **inputs: Tensor) -> dict[str, Tensor]:
        """Return scores of heads (batch, words, words + 1), vectors for relations, scores of further tasks."""
        layers = self.words.layers(**inputs)
        return self.words.score_tasks(layers) | self.score(layers[-1], inputs["lengths"])

    def score(self, vectors: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Return scores of heads and vectors for relations, of word vectors."""
        with_root = torch.cat([self.root.expand(len(vectors), 1, -1), vectors], dim=1)
        words = functional.pad(self.arc_word(vectors), (0, 1), value=1.0)
        arcs = words @ self.arc @ self.arc_head(with_root).transpose(1, 2)
        # A word behind the end of its sentence is nobody's head, and no word is its own.
        size = arcs.shape[1]
        places = torch.arange(size + 1, device=arcs.device)
        arcs = arcs.masked_fill(places > lengths.reshape(-1, 1, 1), -1e9)
        arcs = arcs.masked_fill(places == places[1:].unsqueeze(1), -1e9)
        return {
            "head": arcs,
            "relation_head": self.relation_head(with_root),
            "relation_word": self.relation_word(vectors),
            "form": self.relation,  # so that the loss has it too, whatever wraps the network
        }


def relation_scores(scores: Mapping[str, Tensor], heads: Tensor) -> Tensor:
    """Return the scores of all relations to the given heads: (batch, words, relations)."""
    vectors = scores["relation_head"]
    chosen = vectors.gather(1, heads.unsqueeze(-1).expand(-1, -1, vectors.shape[-1]))
    heads_and_one = functional.pad(chosen, (0, 1), value=1.0)
    words_and_one = functional.pad(scores["relation_word"], (0, 1), value=1.0)
    return torch.einsum("bwi,rij,bwj->bwr", words_and_one, scores["form"], heads_and_one)


def biaffine_loss(scores: Mapping[str, Tensor], batch: Batch, config: TrainConfig) -> Tensor:
    """Return the loss of heads, of relations to the gold heads, and of further tasks, summed over the words."""
    relations = relation_scores(scores, batch.targets["head"].clamp(min=0))
    total = relations.new_zeros(())
    for name, target in batch.targets.items():
        values = relations if name == "relation" else scores[name]
        weight = 1.0 if name in ("head", "relation") else config.task_weight
        flat = values.float().flatten(0, 1)
        total = total + weight * functional.cross_entropy(flat, target.flatten(), ignore_index=IGNORE, reduction="sum")
    return total


def square_scores(scores: Mapping[str, Tensor]) -> NDArray[np.float32]:
    """Return arc scores as `mst` takes them, with a row for the root, which has no head."""
    return functional.pad(scores["head"], (0, 0, 1, 0)).cpu().numpy()


def find_heads(scores: Mapping[str, Tensor], lengths: Sequence[int], decoder: Decoder) -> Tensor:
    """Return the heads of the best tree of every sentence, 0 beyond its end: (batch, words)."""
    heads = torch.zeros(scores["head"].shape[:2], dtype=torch.long)
    for row, found in enumerate(decoder(square_scores(scores), lengths)):
        heads[row, : len(found)] = torch.tensor(found)
    return heads.to(scores["head"].device)


def best_relations(scores: Mapping[str, Tensor], heads: Tensor, roots: Tensor) -> Tensor:
    """Return the best relation of every word to its head, of those that fit it: (batch, words)."""
    best, size = [], max(1, _GROUP // max(1, heads.shape[1]))
    # in groups, because the product of words and relations is the largest array of all
    for start in range(0, len(heads), size):
        own = slice(start, start + size)
        part = {name: each if name == "form" else each[own] for name, each in scores.items()}
        fitting = fits_head(roots, (heads[own] == 0).unsqueeze(-1))
        best.append(relation_scores(part, heads[own]).masked_fill(~fitting, -torch.inf).argmax(-1))
    return torch.cat(best)


@torch.no_grad()
def parse(model: Model, data: Data, decoder: Decoder) -> list[Sentence]:
    """Parse the dev set."""
    network: nn.Module = model.network
    network.eval()
    roots = torch.tensor(model.labels.root_mask, device=next(network.parameters()).device)
    found: dict[int, tuple[list[int], list[int]]] = {}
    for items, scores in run(network, data.dev, pad=model.pad):
        heads = find_heads(scores, [len(window) for _, window in items], decoder)
        best = best_relations(scores, heads, roots)
        for row, (example, window) in enumerate(items):
            found[id(example)] = heads[row, : len(window)].tolist(), best[row, : len(window)].tolist()
    made = []
    for sentence, example in zip(data.gold, data.dev, strict=True):
        numbers, relation = found[id(example)]
        _, deprels = unlift(numbers, [model.labels.relations[number] for number in relation])
        made.append(deepcopy(sentence))
        made[-1].set_tree(numbers, deprels)
    return made


def change_targets(sentences: list[Sentence], examples: list[Example]) -> None:
    """Put heads in the place of tags; relations stay."""
    for sentence, example in zip(sentences, examples, strict=True):
        if len(example.windows) > 1:
            raise SystemExit(
                f"a sentence of {len(sentence)} words is too long for one window: the baseline has no windows"
            )
        for name in ("leaf", "internal", "mark"):
            example.targets.pop(name, None)
        example.targets["head"] = np.array(sentence.heads, np.int64)


def train_biaffine(job: Job, report: Report) -> State:
    """Train the baseline as `hexatagger.train.job.train` trains ours; return how it went.

    An epoch is scored with both decoders: UAS and LAS are those of all trees, `projective UAS` and `projective LAS`
    those of the best projective tree.
    """
    # what hexatagger has above the word vectors
    settings = ("model.relations=separate", "model.pointers=0", "model.head_scores=0", "model.hidden=0")
    job = replace(job, recipe=job.recipe.with_settings(settings))
    accelerator = make_accelerator(job.recipe.training)
    job.out.mkdir(parents=True, exist_ok=True)
    model, data = prepare(job, accelerator)
    change_targets(read_treebank(job.train, purpose="train"), data.train)
    torch.manual_seed(job.recipe.training.seed)
    model.network = Biaffine(model.network, model.labels)  # type: ignore[assignment]

    def score(model: Model, data: Data) -> dict[str, float]:
        scores: dict[str, float] = {}
        for prefix, decoder in (("", best_trees), ("projective ", best_projective_trees)):
            metrics = evaluate(data.gold, parse(model, data, decoder)).metrics
            scores |= {f"{prefix}{name}": round(metrics[name].f1, 3) for name in ("UAS", "LAS")}
        return scores

    return fit(model, data, accelerator, report, loss=biaffine_loss, score=score)


def load_biaffine(folder: Path) -> Model:
    """Read the folder that `train_biaffine` left."""
    read = read_folder(folder)
    config = read.recipe.model
    encoder = None if config.encoder == CHARACTERS else build_encoder(read.encoder_config or {})
    network = Biaffine(Network(config, read.labels, encoder), read.labels)
    try:
        network.load_state_dict(load_weights(folder / WEIGHTS))
    except RuntimeError:
        raise SystemExit(f"{folder} is not a biaffine model: train one with benchmarks/biaffine.py") from None
    return Model(**{each.name: getattr(read, each.name) for each in fields(read)}, network=network)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--train", type=Path, nargs="+", required=True)
    parser.add_argument("--dev", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    given = parser.parse_args()
    recipe = Recipe.load(given.recipe).with_settings(given.settings)
    job = Job(recipe=recipe, train=given.train, dev=given.dev, out=given.out)

    def show(event: dict[str, object]) -> None:
        if event["event"] != "step":
            print(json.dumps(event), flush=True)

    train_biaffine(job, show)


if __name__ == "__main__":
    main()
