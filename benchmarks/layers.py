"""Accuracy and speed of English models that use fewer layers of the encoder than `en`.

python benchmarks/layers.py MODEL ...

Every MODEL is a packaged model; its `model.depth` is its number of layers (0: all). LAS is that of 8 bits on EWT dev,
from gold words. Words per second are a ratio to the embedded `en`, which takes turns with the model on one thread. The
plot of LAS against words/s (`plots.py`) puts these models beside the parsers of `peers.py`.
"""

import argparse
from pathlib import Path

from hexatagger import read_conllu
from hexatagger.parsing.load import load
from hexatagger.scoring.evaluate import evaluate
from results import save, treebank
from shapes import speed

MEASURES = ("src/hexatagger/decode", "src/hexatagger/models", "src/hexatagger/parsing")
FILE = "UD_English-EWT/en_ewt-ud-dev.conllu"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    gold = list(read_conllu(treebank(FILE)))
    rows = []
    for folder in options.parse_args().models:
        parser = load(folder)
        scores = evaluate(gold, parser.parse_sentences(gold)).metrics
        row = {"name": folder.name, "layers": parser.config.depth}
        row |= {metric: round(scores[metric].f1, 2) for metric in ("UAS", "LAS")}
        rows.append({**row, "speed to en": round(speed(folder, gold), 2)})
        print(rows[-1], flush=True)
    save("layers", {"file": FILE, "models": rows}, ("numpy", "onnxruntime"))


if __name__ == "__main__":
    main()
