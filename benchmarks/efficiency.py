"""The paper's efficiency comparison on this machine: hexatagger and a biaffine parser on the same encoder, in torch.

    python benchmarks/efficiency.py MODEL [--sentences 64]

MODEL is a model folder with model.safetensors. The sentences have exactly 32, 64, 128 or 256 words, taken from EWT dev.
Measured are sentences per second and peak memory beyond the loaded model, for the whole parser and for the part after
the encoder, each in its own process. The baseline is not trained: its speed does not depend on its weights. But the
speed of its decoder depends on how clear the scores are, so its arc scores are noise plus 8 for hexatagger's tree.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from biaffine import Biaffine, relation_scores
from hexatagger import decode, read_conllu
from hexatagger.sentence import Sentence
from hexatagger.train.data import collate, encode
from hexatagger.train.network import reduce_scores
from hexatagger.train.weights import Model, load_model
from mst import best_projective, best_tree
from results import megabytes, save, treebank

LENGTHS = (32, 64, 128, 256)
BATCH = 32
LONGEST = 15  # letters of a word: addresses are cut into so many pieces that 256 words overrun the encoder's window
SIDES = ("hexatagger", "biaffine, projective", "biaffine, all trees")
Inputs = dict[str, Tensor]
MEASURES = ("src/hexatagger/decode", "src/hexatagger/train", "benchmarks/biaffine.py", "benchmarks/mst.py")


def sentences(length: int, count: int) -> list[Sentence]:
    """Cut the words of EWT dev into sentences of one length, from the beginning again if they do not suffice."""
    gold = read_conllu(treebank("UD_English-EWT/en_ewt-ud-dev.conllu"))
    words = [word.form for sentence in gold for word in sentence if len(word.form) <= LONGEST]
    words *= -(-length * count // len(words))
    stream = iter(words)
    return [Sentence.from_words(list(islice(stream, length))) for _ in range(count)]


def hexatagger(model: Model) -> Callable[[Tensor, Inputs], list[Any]]:
    """Return what hexatagger does with word vectors."""
    roots = torch.tensor(model.labels.root_mask)

    def after(vectors: Tensor, inputs: Inputs) -> list[Any]:
        reduced = reduce_scores(model.network.score(vectors, inputs["lengths"]), roots)
        scores = {name: reduced[name].numpy() for name in ("leaf", "internal")}
        tags = decode.best(scores["leaf"], scores["internal"][:, :-1], lengths=inputs["lengths"].tolist())
        return decode.heads(tags)

    return after


def biaffine(model: Model, side: str) -> Callable[[Tensor, Inputs], list[Any]]:
    """Return what the baseline does with word vectors."""
    find_trees, find_tags = best_projective if "projective" in side else best_tree, hexatagger(model)
    heads_of_tags = dict(model.network.heads)
    network = Biaffine(model.network, model.labels).eval()
    model.network.heads = torch.nn.ModuleDict(heads_of_tags)
    tasks = [heads_of_tags[name] for name in model.recipe.model.tasks]
    noise = torch.Generator().manual_seed(1)
    clear: dict[int, Tensor] = {}

    def after(vectors: Tensor, inputs: Inputs) -> list[Any]:
        if id(inputs) not in clear:  # in the round that is not timed
            trees = torch.tensor(np.stack(find_tags(vectors, inputs)))
            bonus = torch.randn((*trees.shape, trees.shape[1] + 1), generator=noise)
            clear[id(inputs)] = bonus.scatter_(2, trees.unsqueeze(-1), 8.0)
        scores = network.score(vectors, inputs["lengths"])
        for task in tasks:
            task(vectors).argmax(-1)
        squares = (scores["head"] + clear[id(inputs)]).double().numpy()
        heads = [find_trees(np.concatenate([np.zeros((1, square.shape[1])), square])) for square in squares]
        relation_scores(scores, torch.tensor(heads)).argmax(-1)
        return heads

    return after


def peak(job: Callable[[], object]) -> float:
    """Return how much memory, in MB, a job takes at its peak beyond what is there before it."""
    ctypes.CDLL(None).malloc_trim(0)  # what is free already must not hide what the job takes
    Path("/proc/self/clear_refs").write_text("5")
    before = megabytes()
    job()
    return round(megabytes(peak=True) - before, 1)


@torch.no_grad()
def measure(folder: Path, side: str, length: int, count: int) -> dict[str, float]:
    """Measure one parser at one length."""
    model = load_model(folder)
    model.network.eval()
    cutter = model.cutter()
    examples = [encode(each, model.recipe.model, model.labels, cutter, gold=False) for each in sentences(length, count)]
    items = [(example, window) for example in examples for window in example.windows]
    assert len(items) == len(examples), "a sentence does not fit into the encoder's window"
    batches = [collate(items[start : start + BATCH], pad=model.pad).inputs for start in range(0, count, BATCH)]
    after = hexatagger(model) if side == "hexatagger" else biaffine(model, side)
    vectors = [model.network.layers(**inputs)[-1] for inputs in batches]

    def whole() -> None:
        for inputs in batches:
            after(model.network.layers(**inputs)[-1], inputs)

    def rest() -> None:
        for known, inputs in zip(vectors, batches, strict=True):
            after(known, inputs)

    rest()
    figures = {}
    for name, job in (("whole", whole), ("after the encoder", rest)):
        taken = []
        for _ in range(2):
            begin = time.perf_counter()
            job()
            taken.append(time.perf_counter() - begin)
        figures[f"{name}, sentences/s"] = round(count / min(taken), 1)
        figures[f"{name}, peak MB"] = peak(job)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        side, length = given.only
        print(json.dumps(measure(given.model, side, int(length), given.sentences)))
        return
    table: list[dict[str, Any]] = []
    for length in LENGTHS:
        for side in SIDES:
            command = [sys.executable, __file__, str(given.model), "--sentences", str(given.sentences)]
            done = subprocess.run([*command, "--only", side, str(length)], check=True, capture_output=True, text=True)
            table.append({"words": length, "parser": side, **json.loads(done.stdout)})
            print(table[-1], flush=True)
    save(
        "efficiency", {"batch": BATCH, "sentences": given.sentences, "table": table}, ("numpy", "torch", "transformers")
    )


if __name__ == "__main__":
    main()
