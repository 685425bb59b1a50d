"""How well the probabilities of a model are calibrated, on EWT dev, and what they cost.

calibration    expected calibration error and reliability diagram of heads, and of heads with relations, without and
               with temperatures fitted on each half of dev (every other sentence) and evaluated on the other.
               Train is not suitable, because the network is right about nearly every word there. The last figures show
               what train would have given.
coverage       LAS without the least probable words
cost           parsing with probabilities and the 5 best trees compared with plain parsing, alternating in one run

python benchmarks/calibration.py [--model DIR] [--rounds 5]

Writes results/calibration.json, from which `plots.py` draws. The temperatures of a model folder are stored by
`hexatagger calibrate`; this script ignores them.
"""

import argparse
from dataclasses import asdict
from typing import Any

import numpy as np

from hexatagger import read_conllu
from hexatagger.model.registry import find_model
from hexatagger.model.temperature import Temperature
from hexatagger.parsing.calibrate import Judged, Reliability, cross_judged, fit_temperature, judge, reliability
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from results import save, treebank
from speed import in_turns

MEASURES = ("src/hexatagger/decode", "src/hexatagger/models", "src/hexatagger/parsing")
DEV, TRAIN = (f"UD_English-EWT/en_ewt-ud-{part}.conllu" for part in ("dev", "train"))
COVERAGE = (100, 99, 98, 95, 90, 85, 80, 70, 60, 50)
KINDS = {"head": ("head", "head_right"), "head and relation": ("arc", "arc_right")}


def curves(judged: Judged) -> dict[str, Reliability]:
    """Return the reliability of each kind of probability."""
    return {kind: reliability(getattr(judged, sure), getattr(judged, right)) for kind, (sure, right) in KINDS.items()}


def coverage(judged: Judged) -> list[dict[str, float]]:
    """LAS of the surest words, by how many of all are kept."""
    order = np.argsort(-judged.head, kind="stable")
    rows = []
    for percent in COVERAGE:
        kept = order[: round(len(order) * percent / 100)]
        rows.append(
            {
                "coverage": percent,
                "LAS": round(100 * float(judged.las_right[kept].mean()), 2),
                "least sure": round(float(judged.head[kept[-1]]), 3),
            }
        )
    return rows


def cost(parser: Parser, sentences: list[Sentence], rounds: int) -> dict[str, float]:
    """How many times as long parsing takes with what is asked for."""
    taken = in_turns(
        {
            "plain": lambda: parser.parse_sentences(sentences),
            "probabilities": lambda: parser.parse_sentences(sentences, probabilities=True),
            "5 best trees": lambda: parser.parse_sentences(sentences, k=5),
            "both": lambda: parser.parse_sentences(sentences, probabilities=True, k=5),
        },
        rounds,
    )
    return {name: round(taken[name] / taken["plain"], 2) for name in taken if name != "plain"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", default="en", help="folder of a model; the embedded one if none is named")
    options.add_argument("--rounds", type=int, default=5, help="how often each way of parsing is timed")
    given = options.parse_args()
    parser = load(find_model(given.model))
    labels, scheme = parser.labels, parser.config.lift
    gold = list(read_conllu(treebank(DEV)))
    predictions = parser.predict(gold)
    raw = judge(predictions, gold, labels, scheme=scheme, temperature=Temperature())
    crossed, halves = cross_judged(predictions, gold, labels, scheme=scheme)
    before, after, rows = curves(raw), curves(crossed), coverage(crossed)
    learnt = list(read_conllu(treebank(TRAIN)))[::10]
    known = parser.predict(learnt)
    on_train = judge(known, learnt, labels, scheme=scheme, temperature=Temperature())
    figures: dict[str, Any] = {
        "file": DEV,
        "words": len(raw.head),
        "temperature": asdict(fit_temperature(predictions, gold, labels, scheme=scheme)),
        "temperatures of halves": [asdict(each) for each in halves],
        "expected calibration error, percent": {
            kind: {
                "without": round(100 * before[kind].error, 2),
                "with": round(100 * after[kind].error, 2),
            }
            for kind in KINDS
        },
        "mean probability of heads, percent": round(100 * float(raw.head.mean()), 2),
        "mean calibrated probability of heads, percent": round(100 * float(crossed.head.mean()), 2),
        "UAS": round(100 * float(raw.head_right.mean()), 2),
        "LAS by coverage": rows,
        "bins": {
            kind: {
                name: [[each.words, round(each.sure, 4), round(each.right, 4)] for each in found[kind].bins]
                for name, found in (("without", before), ("with", after))
            }
            for kind in KINDS
        },
        "train": {
            "words": len(on_train.head),
            "UAS": round(100 * float(on_train.head_right.mean()), 2),
            "mean probability of heads, percent": round(100 * float(on_train.head.mean()), 2),
            "temperature": asdict(fit_temperature(known, learnt, labels, scheme=scheme)),
        },
        "cost": cost(parser, [Sentence.from_words(sentence.forms) for sentence in gold], given.rounds),
    }
    save("calibration", figures, ("numpy", "onnxruntime"))
    for name, value in figures.items():
        if name != "bins":
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
