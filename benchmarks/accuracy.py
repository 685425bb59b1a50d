"""Compare the accuracy of variants: same data, same encoder, same budget, several seeds; mean and standard deviation.

python benchmarks/accuracy.py hexatagger biaffine --treebank UD_Welsh-CCG --epochs 10 --seeds 3
python benchmarks/accuracy.py hexatagger right-first joint legal --recipe recipes/en-ewt-minilm.toml --encoder DIR
                              --part 1500 --epochs 3 --seeds 3
python benchmarks/accuracy.py illegal  --model DIR --treebank UD_English-EWT
python benchmarks/accuracy.py trained  --model DIR --name "MiniLM alone"

The sides: `hexatagger` is the recipe unchanged; `biaffine` the baseline with both of its decoders; `right-first` takes
right dependents first; `linear` is the base system, to which `hidden` adds a hidden layer, `pointers` pointers,
and `pairs` relations given the head; `joint` joins relations with leaf tags; `legal` is the loss over legal sequences;
`lift-path` and `lift-head` lift by the path or by the head alone. Scores are CoNLL 2018 UAS and LAS on dev with gold
words, of the best epoch. Runs that are already in results/ are not repeated.

`illegal` counts the sentences that get no tree if every tag is chosen independently, and measures what exact decoding
gains over a greedy repair and what reranking adds, if the model has pointers. `trained` records the scores of a model's
best epoch and its training time, from the model folder.
"""

import argparse
import json
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from biaffine import train_biaffine
from hexatagger import decode
from hexatagger.formats.conllu import read_conllu, write_conllu
from hexatagger.model.config import Recipe
from hexatagger.model.folder import read_folder
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.predictions import Prediction
from hexatagger.parsing.write import write
from hexatagger.scoring.evaluate import evaluate
from hexatagger.tags import Hexatag, is_legal
from hexatagger.tags.hexatag import DEPTH_CHANGE
from hexatagger.train.data import encode
from hexatagger.train.job import Job, train
from hexatagger.train.predict import predict
from hexatagger.train.weights import load_model
from results import RESULTS, SHARED, load, megabytes, save

MEASURES = (
    "src/hexatagger/decode",
    "src/hexatagger/model",
    "src/hexatagger/parsing",
    "src/hexatagger/tags",
    "src/hexatagger/train",
    "recipes/characters.toml",
    "recipes/en-ewt-minilm.toml",
    "benchmarks/biaffine.py",
    "benchmarks/mst.py",
)
SIDES: dict[str, list[str]] = {
    "hexatagger": [],
    "biaffine": [],
    "linear": ["model.hidden=0", "model.pointers=0", "model.relations=separate"],
    "hidden": ["model.hidden=500", "model.pointers=0", "model.relations=separate"],
    "pointers": ["model.hidden=500", "model.pointers=300", "model.relations=separate"],
    "pairs": ["model.hidden=500", "model.pointers=300", "model.relations=pairs"],
    "right-first": ["model.order=right"],
    "joint": ["model.relations=joint"],
    "legal": ["training.loss=legal"],
    "lift-path": ["model.lift=path"],
    "lift-head": ["model.lift=head"],
}
"""The settings that make each side."""


def run(job: Job, side: str) -> dict[str, dict[str, float]]:
    """Train one side; return UAS and LAS of its best epoch, of the baseline with each of its decoders."""
    history = (train_biaffine(job, lambda event: None) if side == "biaffine" else train(job)).history
    kinds = {"biaffine, all trees": "", "biaffine, projective": "projective "} if side == "biaffine" else {side: ""}
    best = {name: max(history, key=lambda entry: entry[f"{prefix}LAS"]) for name, prefix in kinds.items()}
    return {name: {metric: best[name][f"{kinds[name]}{metric}"] for metric in ("UAS", "LAS")} for name in kinds}


def compare(given: argparse.Namespace) -> None:
    """Train every side with every seed, and save after each run."""
    treebank = SHARED / "ud" / given.treebank
    [train_file], [dev_file] = treebank.glob("*-train.conllu"), treebank.glob("*-dev.conllu")
    name = f"accuracy-{given.treebank}-{Path(given.recipe).stem}"
    done = load(name)["runs"] if (RESULTS / f"{name}.json").exists() else []
    recipe = Recipe.load(given.recipe).with_settings([*given.settings, f"training.epochs={given.epochs}"])
    if given.encoder:
        recipe = recipe.with_encoder(given.encoder)
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "train.conllu"
        sentences = list(read_conllu(train_file))
        random.Random(0).shuffle(sentences)
        used = write_conllu(sentences[: given.part] if given.part else sentences, part)
        for seed in range(1, given.seeds + 1):
            for side in given.sides:
                if any(each["side"].split(",")[0] == side and each["seed"] == seed for each in done):
                    continue
                chosen = recipe.with_settings([*SIDES[side], f"training.seed={seed}"])
                out = Path(folder) / f"{side}-{seed}"
                began = time.monotonic()
                scores = run(Job(recipe=chosen, train=[part], dev=[dev_file], out=out, export=False), side)
                minutes = (time.monotonic() - began) / 60
                cost = {"minutes": round(minutes, 1), "peak memory so far, GB": round(megabytes(peak=True) / 1024, 2)}
                for kind, figures in scores.items():
                    done.append({"side": kind, "seed": seed, **figures, **cost})
                    print(json.dumps(done[-1]), flush=True)
                data = {"treebank": given.treebank, "train sentences": used, "epochs": given.epochs}
                data |= {"recipe": given.recipe.name, "settings": given.settings}
                save(name, {**data, "runs": done}, packages=("torch", "transformers"))


def illegal(given: argparse.Namespace) -> None:
    """Count sentences whose best tags are no tree, and compare exact decoding with a greedy repair."""
    [dev_file] = (SHARED / "ud" / given.treebank).glob("*-dev.conllu")
    gold, model = list(read_conllu(dev_file)), load_model(given.model)
    cutter = model.cutter()
    examples = [encode(each, model.recipe.model, model.labels, cutter, gold=False) for each in gold]
    predictions = predict(model, examples)
    wrong = sum(not is_legal(alone(each)) for each in predictions)
    scheme = model.recipe.model.lift
    systems = {"voted": predictions} if model.recipe.model.pointers else {}
    systems |= {"exact": [replace(each, head=None) for each in predictions]}
    systems |= {"greedy": [forced(each, greedy(each)) for each in predictions]}
    figures: dict[str, Any] = {"treebank": given.treebank, "model": given.name or given.model.name}
    figures |= {"sentences": len(gold), "illegal": wrong}
    figures["illegal percent"] = round(100 * wrong / len(gold), 2)
    for name, said in systems.items():
        metrics = evaluate(gold, write(gold, said, best_trees(said), model.labels, lift=scheme)).metrics
        figures[name] = {metric: round(metrics[metric].f1, 3) for metric in ("UAS", "LAS")}
    print(json.dumps(figures))
    save(f"illegal-{given.treebank}-{figures['model']}", figures, packages=("torch", "transformers"))


def trained(given: argparse.Namespace) -> None:
    """Keep the scores of a trained model, and how long it took."""
    state = json.loads((given.model / "training.json").read_text(encoding="utf-8"))
    best = next(entry for entry in state["history"] if entry["epoch"] == state["best_epoch"])
    recipe = read_folder(given.model).recipe
    name = given.name or given.model.name
    kept = {"name": name, "epochs": recipe.training.epochs, "minutes": round(state["seconds"] / 60)}
    kept |= {"gigabytes": round(max(entry.get("gigabytes", 0.0) for entry in state["history"]), 1)}
    kept |= {metric: best[metric] for metric in ("UAS", "LAS", "UPOS", "XPOS", "UFeats", "Lemmas")}
    print(json.dumps(kept))
    models = load("trained")["models"] if (RESULTS / "trained.json").exists() else []
    save("trained", {"treebank": given.treebank, "models": [*(each for each in models if each["name"] != name), kept]})


def alone(prediction: Prediction) -> list[int]:
    """Choose every tag alone."""
    leaves, internals = prediction.leaf.argmax(1), prediction.internal.argmax(1) + 2
    return [int(tag) for pair in zip(leaves, internals, strict=True) for tag in pair][:-1]


def greedy(prediction: Prediction) -> list[int]:
    """Choose tag by tag, from left to right, the best that still leads to a tree."""
    words, depth, tags = len(prediction.leaf), 0, list[int]()
    for place in range(2 * words - 1):
        scores = prediction.leaf[place // 2] if place % 2 == 0 else prediction.internal[place // 2]
        first = 0 if place % 2 == 0 else 2
        nodes_left = words - 1 - (place + 1) // 2  # internal tags still to come, each of which can close one item
        for number in np.argsort(-scores, kind="stable"):
            after = depth + DEPTH_CHANGE[first + int(number)]
            # A leaf l as the last tag cannot be closed any more; R· must leave something.
            if 1 <= after <= 1 + nodes_left:
                break
        depth = after
        tags.append(first + int(number))
    return tags


def forced(prediction: Prediction, tags: list[int]) -> Prediction:
    """Return the prediction with scores that allow the given tags only."""
    leaf, internal = np.full_like(prediction.leaf, -1e6), np.full_like(prediction.internal, -1e6)
    leaf[np.arange(len(leaf)), tags[::2]] = 0
    internal[np.arange(len(leaf) - 1), np.array(tags[1::2], int) - int(Hexatag.L_HEAD_L)] = 0
    assert decode.best(leaf[None], internal[None], [len(leaf)])[0].tolist() == tags
    return replace(prediction, leaf=leaf, internal=internal, head=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sides", nargs="+", choices=[*SIDES, "illegal", "trained"])
    parser.add_argument("--treebank", default="UD_English-EWT")
    parser.add_argument("--recipe", type=Path, default=Path("recipes/characters.toml"))
    parser.add_argument("--encoder")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--part", type=int, default=0, help="use so many sentences of train; 0: all")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--model", type=Path, help="for `illegal`")
    parser.add_argument("--name", help="what to call that model; its folder's name if not given")
    given = parser.parse_args()
    if given.sides == ["illegal"]:
        illegal(given)
    elif given.sides == ["trained"]:
        trained(given)
    else:
        compare(given)


if __name__ == "__main__":
    main()
