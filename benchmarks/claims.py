"""The paper's claim that hexatagging is as accurate as a biaffine parser, on all of UD_English-EWT.

python benchmarks/claims.py --encoder DIR --runs DIR [SIDE …] [--seeds 1] [--epochs 4]

Every side has the same encoder, data, batches, learning rates and epochs, and predicts trees only:

  linear     the base system: tags joined with relations, linear layers over the encoder
  bilstm     the paper's own architecture: a BiLSTM over the encoder, then linear layers
  hidden     a hidden layer below tags and relations (extension)
  pointers   pointers below that layer and relations given the head (extension). Its trees are read in four ways: from
             the tags alone, reranked, and from the pointers' scores of heads alone, projective and over all trees
  legal      the base system with the loss over legal sequences
  biaffine   the baseline, projective and over all trees

Scores are CoNLL 2018 UAS and LAS on dev with gold words of the best epoch, LAS by the length of sentences, and the
share of gold arcs of each length that are found with their relation. Trained sides stay in the folder of runs, and a
stopped run continues. Seven minutes and 2 GB per epoch and side on one core.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from accuracy import alone, forced, greedy
from biaffine import DECODERS, load_biaffine, train_biaffine
from biaffine import parse as parse_biaffine
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import Recipe
from hexatagger.model.folder import FINISHED
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.predictions import Prediction
from hexatagger.parsing.write import write
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.tags import is_legal
from hexatagger.train.checkpoint import load_state, save_state
from hexatagger.train.data import Example, encode
from hexatagger.train.job import Job, train
from hexatagger.train.loop import Data
from hexatagger.train.predict import predict
from hexatagger.train.weights import Model, load_model
from mst import best_projective, best_tree
from results import RESULTS, SHARED, load, save

MEASURES = (
    "benchmarks/biaffine.py",
    "benchmarks/mst.py",
    "src/hexatagger/decode",
    "src/hexatagger/parsing",
    "src/hexatagger/tags",
    "src/hexatagger/train",
)
TREEBANK = SHARED / "ud" / "UD_English-EWT"
RECIPE = """
[model]
shape = true
dropout = 0.2
[training]
batch = 700
batch_unit = "pieces"
rate = 3e-4
head_rate = 2e-3
warmup = 0.06
precision = "bf16"
"""
SIDES: dict[str, list[str]] = {
    "linear": ["model.relations=joint"],
    "bilstm": ["model.relations=joint", "model.lstm_layers=3", "model.lstm_width=400"],
    "hidden": ["model.hidden=500"],
    "pointers": ["model.hidden=500", "model.pointers=300", "model.relations=pairs"],
    "legal": ["model.relations=joint", "training.loss=legal"],
    "biaffine": [],
}
LENGTHS = {"1–10": 10, "11–20": 20, "21–40": 40, "41–": 10**9}  # words of a sentence
ARCS = {"root": 0, "1": 1, "2": 2, "3–5": 5, "6–10": 10, "11–": 10**9}  # words between a word and its head


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("sides", nargs="*", metavar="SIDE", help="which to train; all if none is named")
    arguments.add_argument("--encoder", required=True)
    arguments.add_argument("--runs", type=Path, required=True)
    arguments.add_argument("--epochs", type=int, default=4)
    arguments.add_argument("--seeds", type=int, default=1)
    given = arguments.parse_args()
    if unknown := set(given.sides) - set(SIDES):
        arguments.error(f"unknown side: {', '.join(sorted(unknown))}; known: {', '.join(SIDES)}")
    [train_file], [dev_file] = TREEBANK.glob("*-train.conllu"), TREEBANK.glob("*-dev.conllu")
    gold = list(read_conllu(dev_file))
    base = Recipe.from_toml(RECIPE).with_encoder(given.encoder).with_settings([f"training.epochs={given.epochs}"])
    name = f"claims-{Path(given.encoder).name}"
    done = load(name)["runs"] if (RESULTS / f"{name}.json").exists() else []
    for seed in range(1, given.seeds + 1):
        for side in given.sides or SIDES:
            recipe = base.with_settings([*SIDES[side], f"training.seed={seed}"])
            out = given.runs / f"{side}-{seed}"
            job = Job(recipe=recipe, train=[train_file], dev=[dev_file], out=out, export=False, resume=out.exists())
            minutes = learn(job, side)
            done = [run for run in done if (run["side"], run["seed"]) != (side, seed)]
            for system, (trees, more) in read_trees(job, side, gold).items():
                figures = {"side": side, "system": system, "seed": seed, "minutes": minutes, **more}
                done.append(figures | score(gold, trees))
                print(json.dumps(done[-1], ensure_ascii=False), flush=True)
            data = {"treebank": TREEBANK.name, "encoder": Path(given.encoder).name, "epochs": given.epochs}
            save(name, {**data, "runs": done}, packages=("torch", "transformers"))


def learn(job: Job, side: str) -> float:
    """Train a side unless it is trained; return the minutes it took."""
    if side != "biaffine":
        return round(train(job, _show).seconds / 60, 1)
    if not (job.out / FINISHED).is_file():
        save_state(train_biaffine(job, _show), job.out / FINISHED)
    return round(load_state(job.out / FINISHED).seconds / 60, 1)


def _show(event: dict[str, Any]) -> None:
    if event["event"] == "epoch":
        print(json.dumps(event), flush=True)


Trees = dict[str, tuple[list[Sentence], dict[str, float]]]
"""The parsed dev set of each way to read trees, with further figures."""


def read_trees(job: Job, side: str, gold: Sequence[Sentence]) -> Trees:
    """Parse dev with a trained side, in every way that it allows."""
    if side == "biaffine":
        model = load_biaffine(job.out)
        data = Data([], _encoded(model, gold), list(gold), [], [])
        return {f"biaffine, {kind}": (parse_biaffine(model, data, each), {}) for kind, each in DECODERS.items()}
    model = load_model(job.out)
    predictions = predict(model, _encoded(model, gold))
    tags = [replace(each, head=None) for each in predictions]
    illegal = sum(not is_legal(alone(each)) for each in predictions) / len(gold)
    made: Trees = {
        f"{side}, tags": (_written(model, gold, tags), {"illegal": round(100 * illegal, 2)}),
        f"{side}, greedy repair": (_written(model, gold, [forced(each, greedy(each)) for each in tags]), {}),
    }
    if side == "pointers":
        made["pointers, reranked"] = _written(model, gold, predictions), {}
        for kind, decoder in (("projective", best_projective), ("all trees", best_tree)):
            arcs = [_from_arcs(model, *pair, decoder) for pair in zip(gold, predictions, strict=True)]
            made[f"pointers, heads alone, {kind}"] = arcs, {}
    return made


def _encoded(model: Model, gold: Sequence[Sentence]) -> list[Example]:
    cutter = model.cutter()
    return [encode(each, model.recipe.model, model.labels, cutter, gold=False) for each in gold]


def _written(model: Model, gold: Sequence[Sentence], predictions: Sequence[Prediction]) -> list[Sentence]:
    return write(gold, predictions, best_trees(predictions), model.labels, lift=model.recipe.model.lift)


def _from_arcs(model: Model, sentence: Sentence, prediction: Prediction, decoder: Any) -> Sentence:
    """Return the best tree by the scores of heads alone, each word with the best relation for its head."""
    assert prediction.head is not None
    assert prediction.pairs is not None
    size = len(prediction)
    scores = np.zeros((size + 1, size + 1))
    scores[1:] = prediction.head[:, : size + 1]
    heads = decoder(scores)
    made = deepcopy(sentence)
    chosen = prediction.pairs[np.arange(size), heads]
    made.set_tree(heads, [model.labels.relations[int(number)] for number in chosen])
    return made


def score(gold: Sequence[Sentence], trees: Sequence[Sentence]) -> dict[str, Any]:
    """Return UAS, LAS, LAS by the length of sentences, and the labelled recall of arcs by their length."""
    metrics = evaluate(gold, trees).metrics
    lengths: dict[str, list[bool]] = {name: [] for name in LENGTHS}
    arcs: dict[str, list[bool]] = {name: [] for name in ARCS}
    for right, found in zip(gold, trees, strict=True):
        for number, (word, own) in enumerate(zip(right, found, strict=True), start=1):
            fits = word.head == own.head and _base(word.deprel) == _base(own.deprel)
            lengths[_bin(len(right), LENGTHS.items())].append(fits)
            arcs[_bin(abs(word.head - number) if word.head else 0, ARCS.items())].append(fits)
    return {
        **{name: round(metrics[name].f1, 3) for name in ("UAS", "LAS")},
        "by sentence length": {name: round(100 * sum(each) / len(each), 2) for name, each in lengths.items()},
        "by arc length": {name: round(100 * sum(each) / len(each), 2) for name, each in arcs.items()},
    }


def _base(deprel: str) -> str:
    """Return a relation without its subtype, as CoNLL 2018 compares them."""
    return deprel.partition(":")[0]


def _bin(value: int, bins: Iterable[tuple[str, int]]) -> str:
    return next(name for name, most in bins if value <= most)


if __name__ == "__main__":
    main()
