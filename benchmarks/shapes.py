"""Compare shapes of the network that learns from the treebank alone: accuracy, size, speed and the cost of training.

python benchmarks/shapes.py NAME --language lt --epochs 14 [--set model.lstm_width=160 …] [--words 60000] [--keep DIR]

NAME is what the row is called. The files of a language are those of `languages.tsv`; `--words` uses sentences with
about so many words, evenly from the whole. Every run is one row of results/shapes.json: scores of the best epoch on dev
(CoNLL 2018, gold words, 32 bits), weights of each part, size of the 8-bit network, words per second of training on one
core (time of the processor, which other jobs hardly change), and words per second of parsing as a ratio to the embedded
`en` in the same process, on one thread.
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from hexatagger.formats.conllu import read_conllu, write_conllu
from hexatagger.model.config import Recipe
from hexatagger.model.folder import NETWORK_INT8
from hexatagger.parsing.load import load as load_parser
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.train.export.onnx import export
from hexatagger.train.job import Job, train
from hexatagger.train.network import TREE, Network
from hexatagger.train.weights import load_model
from results import RESULTS, SHARED, load, save

MEASURES = ("src/hexatagger/model", "src/hexatagger/train", "recipes/characters.toml", "recipes/language.toml")
METRICS = ("UAS", "LAS", "UPOS", "UFeats", "Lemmas")
ROUNDS = 5


def files(language: str) -> tuple[list[Path], Path]:
    """Return the files that train and select the model of a language."""
    rows = [line.split("\t") for line in (SHARED / "ud" / "languages.tsv").read_text(encoding="utf-8").splitlines()]
    [row] = [each for each in rows if each[0] == language]
    return [SHARED / "ud" / name for name in row[2].split()], SHARED / "ud" / row[3]


def some_of(sentences: list[Sentence], words: int) -> list[Sentence]:
    """Return sentences with at most about so many words, evenly from the whole; 0: all."""
    total = sum(map(len, sentences))
    if not words or total <= words:
        return sentences
    every = -(-total // words)
    return list(itertools.islice(sentences, 0, None, every))


def weights(network: Network) -> dict[str, int]:
    """Return the number of weights of each part; but for the table of n-grams, each is one multiplication per word."""
    parts = {"encoder.grams": "n-gram table", "encoder": "word vector", "lstm": "BiLSTM"}
    parts |= {"around": "pointers and hidden", "pairs": "relations in pairs", "task_layer": "tasks"}
    found: dict[str, int] = {}
    for name, each in network.named_parameters():
        own = next((part for prefix, part in parts.items() if name.startswith(prefix)), "")
        if name.startswith("heads."):
            own = "tags" if name.split(".")[1] in TREE else "tasks"
        found[own] = found.get(own, 0) + each.numel()
    return found


def speed(model: Path, sentences: list[Sentence]) -> float:
    """Return how fast a model parses, as a ratio to `en`; both take turns on one thread."""
    bare = [Sentence.from_words(sentence.forms) for sentence in sentences][:400]
    english = list(read_conllu(files("en")[1]))[:400]
    work = {"en": english, str(model): bare}
    parsers = {name: load_parser(name, threads=1) for name in work}
    rates: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, parser in parsers.items():
            began = time.process_time()
            parser.parse_sentences(work[name])
            rates[name].append(sum(map(len, work[name])) / (time.process_time() - began))
    return statistics.median(rates[str(model)]) / statistics.median(rates["en"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--language", required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--recipe", type=Path, default=Path("recipes/characters.toml"))
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="put the model here")
    given = parser.parse_args()
    train_files, dev_file = files(given.language)
    recipe = Recipe.load(given.recipe).with_settings([*given.settings, f"training.epochs={given.epochs}"])
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "train.conllu"
        sentences = [sentence for file in train_files for sentence in read_conllu(file)]
        used = some_of(sentences, given.words)
        write_conllu(used, part)
        words = sum(map(len, used))
        out = given.keep or Path(folder) / "model"
        began = time.process_time()
        state = train(Job(recipe=recipe, train=[part], dev=[dev_file], out=out, export=False))
        taken = time.process_time() - began
        best = next(entry for entry in state.history if entry["epoch"] == state.best_epoch)
        seen = words * len(state.history)
        row: dict[str, Any] = {"name": given.name, "language": given.language, "settings": given.settings}
        row |= {"train words": words, "epochs": len(state.history), "best epoch": state.best_epoch}
        row |= {metric: best[metric] for metric in METRICS}
        row["weights"] = weights(load_model(out).network)
        row |= {"core minutes": round(taken / 60, 1), "train words per second": round(seen / taken)}
        dev = list(read_conllu(dev_file))
        row["LAS in 8 bits"] = (exported := export(out, dev)).las_int8 and round(exported.las_int8, 3)
        row["int8 megabytes"] = round((out / NETWORK_INT8).stat().st_size / 1e6, 2)
        scores = evaluate(dev, load_parser(out).parse_sentences(dev)).metrics
        row["UFeats in 8 bits"] = round(scores["UFeats"].f1, 3)
        row["speed to en"] = round(speed(out, dev), 2)
    print(json.dumps(row), flush=True)
    runs = load("shapes")["runs"] if (RESULTS / "shapes.json").exists() else []
    save("shapes", {"runs": [*runs, row]}, packages=("torch", "onnxruntime"))


if __name__ == "__main__":
    main()
