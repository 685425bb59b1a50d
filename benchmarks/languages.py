"""The models of all languages: collect what their cards say, and measure their speed beside `en` in the same run.

Scores are those of the packages, on dev. Published scores of other parsers are in published.json, on test.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import hexatagger
from hexatagger import read_conllu
from hexatagger.model.card import read_card
from language import read_table
from results import ROOT, load, save

MEASURES = ("models", "src/hexatagger/decode", "src/hexatagger/models", "src/hexatagger/parsing")
MODELS = ROOT / "models"
PUBLISHED = ROOT / "benchmarks" / "published.json"
WORDS = 5_000  # of dev, for the speed


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=3, help="rounds of the speed; the best counts")
    arguments.add_argument("models", nargs="*", help="measure these only, and keep the results of the others")
    given = arguments.parse_args()
    table, published = read_table(), json.loads(PUBLISHED.read_text(encoding="utf-8"))
    english = hexatagger.load(threads=1)
    reference = _words(table["en"][2])
    names = given.models or sorted(each.parent.name for each in MODELS.glob("*/config.json"))
    languages: dict[str, Any] = load("languages")["languages"] if given.models else {}
    for folder in (MODELS / name for name in names):
        code, card = folder.name, read_card(folder)
        assert card is not None
        assert card.package is not None, f"{folder} was packaged without --dev"
        name, _, dev = table[card.language]
        parser, words = hexatagger.load(folder, threads=1), _words(dev)
        ratios, rates = [], []
        for _ in range(given.rounds):
            base = _rate(english, reference)
            rates.append(_rate(parser, words))
            ratios.append(rates[-1] / base)
        languages[code] = {
            "name": name if code == card.language else card.title,
            "language": card.language,
            "treebanks": card.treebanks,
            "licence": card.licence,
            "bytes": sum(file.stat().st_size for file in folder.iterdir()),
            "minutes": card.minutes,
            "gigabytes": card.gigabytes,
            "epochs": card.epochs,
            "words": card.package.words,
            "text": card.package.text,
            "words_per_second": round(max(rates)),
            "speed_to_english": round(statistics.median(ratios), 2),
            **({"published": published["languages"][code]} if code in published["languages"] else {}),
        }
    languages = dict(sorted(languages.items()))
    save("languages", {"languages": languages, "sources": published["sources"]}, ("onnxruntime",))


def _words(path: Path) -> list[list[str]]:
    """Return the words of the first sentences of a treebank."""
    found: list[list[str]] = []
    size = 0
    for sentence in read_conllu(path):
        found.append([word.form for word in sentence])
        size += len(found[-1])
        if size >= WORDS:
            break
    return found


def _rate(parser: hexatagger.Parser, sentences: list[list[str]]) -> float:
    """Return words per second of processor time."""
    began = time.process_time()
    for _ in parser.parse_words(sentences):
        pass
    return sum(map(len, sentences)) / (time.process_time() - began)


if __name__ == "__main__":
    main()
