"""Memory of the parser on a long stream: resident megabytes after every 10,000 sentences.

    python benchmarks/memory.py [--model DIR] [--sentences 100000]

The sentences are those of EWT train, repeated, and shuffled for every repetition.
"""

import argparse
import random
from collections.abc import Iterator

from hexatagger import read_conllu
from hexatagger.parsing.load import load
from hexatagger.sentence import Sentence
from results import megabytes, save, treebank

MEASURES = ("src/hexatagger/decode", "src/hexatagger/models", "src/hexatagger/parsing")
FILE = "UD_English-EWT/en_ewt-ud-train.conllu"
STEP = 10_000


def stream(count: int) -> Iterator[Sentence]:
    """Yield `count` sentences."""
    words = [sentence.forms for sentence in read_conllu(treebank(FILE))]
    order = random.Random(1)
    for number in range(count):
        if number % len(words) == 0:
            order.shuffle(words)
        yield Sentence.from_words(words[number % len(words)])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", default="en")
    options.add_argument("--sentences", type=int, default=100_000)
    given = options.parse_args()
    parser = load(given.model)
    begin, words, sizes = round(megabytes(), 1), 0, list[float]()
    for number, sentence in enumerate(parser.pipe(stream(given.sentences)), 1):
        words += len(sentence)
        if number % STEP == 0:
            sizes.append(round(megabytes(), 1))
            print(f"{number:,} sentences: {sizes[-1]} MB", flush=True)
    figures = {"sentences": given.sentences, "words": words, "step": STEP, "loaded": begin, "megabytes": sizes}
    save("memory", figures, ("numpy", "onnxruntime"))


if __name__ == "__main__":
    main()
