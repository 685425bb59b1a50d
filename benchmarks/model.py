"""Scores of the embedded English model on EWT dev, given words and given raw text, and what it weighs.

python benchmarks/model.py [MODEL]
"""

import sys

from hexatagger import read_conllu
from hexatagger.formats.text import ud_text
from hexatagger.model.registry import find_model
from hexatagger.parsing.load import load
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.tree import nonprojective_words
from results import save, treebank

MEASURES = ("src/hexatagger/decode", "src/hexatagger/models", "src/hexatagger/parsing", "src/hexatagger/segment")
FILE = "UD_English-EWT/en_ewt-ud-dev.conllu"
METRICS = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX")


def main() -> None:
    folder = find_model(sys.argv[1] if len(sys.argv) > 1 else "en")
    parser, gold = load(folder), list(read_conllu(treebank(FILE)))
    given = {"words": parser.parse_sentences(gold), "text": parser.parse(ud_text(gold))}
    figures = {
        "file": FILE,
        "megabytes": round(sum(path.stat().st_size for path in folder.iterdir()) / 1e6, 1),
        "scores": {
            name: {metric: round(evaluate(gold, parsed).metrics[metric].f1, 2) for metric in METRICS}
            for name, parsed in given.items()
        },
        "crossing": crossing(gold, given["words"]),
    }
    print(figures)
    save("model", figures, ("numpy", "onnxruntime"))


def crossing(gold: list[Sentence], parsed: list[Sentence]) -> dict[str, int]:
    """Count the words whose arcs cross others: in gold, as predicted, and predicted with the right head."""
    counts = dict.fromkeys(("gold", "predicted", "right"), 0)
    for own, found in zip(gold, parsed, strict=True):
        real, made = set(nonprojective_words(own.heads)), set(nonprojective_words(found.heads))
        counts["gold"] += len(real)
        counts["predicted"] += len(made)
        counts["right"] += sum(own.heads[word - 1] == found.heads[word - 1] for word in real & made)
    return counts


if __name__ == "__main__":
    main()
