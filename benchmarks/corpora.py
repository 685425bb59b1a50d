"""`hexatagger corpus` on a Ray cluster of two cores against `parse --workers 2`, and what 10 billion words would take.

    python benchmarks/corpora.py [--model DIR] [--words 400000] [--rounds 3] [--no-save]

Both are whole commands, run in turns on raw text of EWT train, once with a quarter of the words and once with all: the
difference gives the speed without the time to start. The shards must equal the single file byte for byte. The rest is
arithmetic from these figures and the assumptions below, all of which are in the result.
"""

import argparse
import gzip
import itertools
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hexatagger import read_conllu
from hexatagger.formats.text import restore
from hexatagger.model.registry import find_model
from results import save, treebank

MEASURES = (
    "src/hexatagger/decode",
    "src/hexatagger/formats",
    "src/hexatagger/integrations/ray",
    "src/hexatagger/models",
    "src/hexatagger/parsing",
    "src/hexatagger/segment",
)
FILE = "UD_English-EWT/en_ewt-ud-train.conllu"
CORES = 2
CORPUS = 10_000_000_000
"""Words of the projected corpus."""
PRICES = {"on demand": 0.05, "spare": 0.015}
"""US dollars per core-hour: about what clouds charge for a permanent and for a preemptible machine."""
CLUSTERS = (1, 64, 1000)
"""Cores of the projected clusters."""


def write_text(path: Path, words: int) -> int:
    """Write EWT train as raw text, repeated until there are this many words; return the number."""
    sentences = list(read_conllu(treebank(FILE)))
    count, chosen = 0, []
    for sentence in itertools.cycle(sentences):
        if count >= words:
            break
        chosen.append(sentence)
        count += len(sentence)
    path.write_text(restore(chosen), encoding="utf-8")
    return count


def seconds(command: list[str]) -> float:
    """Run a command of hexatagger; return its seconds."""
    environment = os.environ | {"RAY_worker_niceness": "0"}  # as the other processes are
    environment.pop("RAY_ADDRESS", None)
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "hexatagger", *command], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - begin


def measure(model: Path, texts: dict[str, Path], rounds: int, folder: Path) -> dict[str, dict[str, float]]:
    """Return the median seconds of both commands for each text, run in turns."""
    taken: dict[str, dict[str, list[float]]] = {engine: {size: [] for size in texts} for engine in ("workers", "ray")}
    single, shards = folder / "single.conllu", folder / "shards"
    common = ["--model", str(model), "--workers", str(CORES)]
    for _ in range(rounds):
        for size, path in texts.items():
            shutil.rmtree(shards, ignore_errors=True)
            taken["workers"][size].append(seconds(["parse", *common, "-f", str(path), "-o", str(single)]))
            taken["ray"][size].append(seconds(["corpus", *common, str(path), "-o", str(shards)]))
            made = b"".join(part.read_bytes() for part in sorted(shards.glob("*.conllu")))
            if made != single.read_bytes():
                sys.exit(f"the shards of {path} are not what one process makes of it")
            print({engine: {size: times for size, times in each.items() if times} for engine, each in taken.items()})
    return {engine: {size: statistics.median(times) for size, times in each.items()} for engine, each in taken.items()}


def projected(rate: float, bytes_per_word: dict[str, float]) -> dict[str, Any]:
    """Project the cost of the corpus, if every core is as fast as those measured."""
    hours = CORPUS / rate / 3600
    return {
        "corpus_words": CORPUS,
        "words_per_day_and_core": round(rate * 86_400),
        "core_hours": round(hours),
        "hours": {str(cores): round(hours / cores, 1) for cores in CLUSTERS},
        "dollars": {name: round(hours * price) for name, price in PRICES.items()},
        "terabytes": {name: round(size * CORPUS / 1e12, 2) for name, size in bytes_per_word.items()},
        "assumptions": {"dollars_per_core_hour": PRICES, "scaling": "linear in cores"},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="en", help="folder of a model; default: the embedded one")
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-save", action="store_true", help="to try it")
    given = parser.parse_args()
    model = find_model(given.model).absolute()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = {"quarter": folder / "quarter.txt", "whole": folder / "whole.txt"}
        words = {"quarter": write_text(texts["quarter"], given.words // 4)}
        words["whole"] = write_text(texts["whole"], given.words)
        taken = measure(model, texts, given.rounds, folder)
        output = (folder / "single.conllu").read_bytes()  # of the whole, which was last
        sizes = {"text": texts["whole"].stat().st_size, "CoNLL-U": len(output)}
        sizes["CoNLL-U packed"] = len(gzip.compress(output, 6))
    more = words["whole"] - words["quarter"]
    rates = {engine: more / (times["whole"] - times["quarter"]) for engine, times in taken.items()}
    per_word = {name: round(size / words["whole"], 1) for name, size in sizes.items()}
    figures: dict[str, Any] = {
        "file": FILE,
        "cores": CORES,
        "rounds": given.rounds,
        "words": words,
        "seconds": {engine: {size: round(each, 1) for size, each in times.items()} for engine, times in taken.items()},
        "ray_to_workers": round(taken["ray"]["whole"] / taken["workers"]["whole"], 2),
        "ray_to_workers_without_start": round(rates["workers"] / rates["ray"], 2),
        "start_seconds": {
            engine: round(times["whole"] - words["whole"] / rates[engine], 1) for engine, times in taken.items()
        },
        "words_per_second_and_core": {engine: round(rate / CORES) for engine, rate in rates.items()},
        "megabytes_of_a_process": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
        "bytes_per_word": per_word,
        "projection": projected(rates["ray"] / CORES, per_word),
    }
    print(figures)
    if not given.no_save:
        save("corpora", figures, ("numpy", "onnxruntime", "ray"))


if __name__ == "__main__":
    main()
