"""Speed of the parser on EWT dev, as ratios that are measured alternately in one run.

from words / network     time to parse given words, over the time spent in the network
from text / network      the same from raw text
int8 / fp32 / torch      the network alone, same model; in batches and sentence by sentence
first tree               the whole shell command, over the time to import what it needs

python benchmarks/speed.py [MODEL]        a model folder, with model.safetensors for torch; the embedded one by default
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hexatagger import read_conllu
from hexatagger.formats.text import restore
from hexatagger.model.registry import find_model
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from results import save, treebank

FILE = "UD_English-EWT/en_ewt-ud-dev.conllu"
ROUNDS = 3
TURN = 16
"""How many batches a network runs before the next one takes its turn."""

Job = Callable[[], object]
Batch = dict[str, Any]


def seconds(job: Job) -> float:
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def in_turns(jobs: dict[str, Job], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median seconds of each job; jobs alternate, so that other load on the machine affects all alike."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            taken[name].append(seconds(job))
    return {name: statistics.median(runs) for name, runs in taken.items()}


def with_network(parser: Parser, job: Job) -> tuple[float, float, list[Batch]]:
    """Return the seconds that a job takes, the seconds of it in the network, and the inputs of the network."""
    batches: list[Batch] = []
    inside = 0.0
    run = parser.network.outputs

    def watched(inputs: Batch, **options: Any) -> dict[str, Any]:
        nonlocal inside
        begin = time.perf_counter()
        outputs = run(inputs, **options)
        inside += time.perf_counter() - begin
        batches.append(inputs)
        return outputs

    with mock.patch.object(parser.network, "outputs", watched):
        taken = seconds(job)
    return taken, inside, batches


def best_of(parser: Parser, job: Job) -> tuple[float, float]:
    """Return the seconds of the fastest round of a job, and the median ratio of its time to that of the network."""
    rounds = [with_network(parser, job)[:2] for _ in range(ROUNDS)]
    return min(taken for taken, _ in rounds), statistics.median(taken / inside for taken, inside in rounds)


def networks(model: Path) -> dict[str, Callable[[Batch], object]]:
    """Return one model as int8, fp32 and, if it has weights, torch."""
    found: dict[str, Callable[[Batch], object]] = {"int8": load(model).network.outputs}
    if (model / "model.onnx").exists():
        found["fp32"] = load(model, precision="fp32").network.outputs
    if (model / "model.safetensors").exists():
        import torch

        from hexatagger.train.weights import load_model

        network = load_model(model).network.eval()

        def run(batch: Batch) -> None:
            with torch.inference_mode():
                network(**{name: torch.from_numpy(array) for name, array in batch.items()})

        found["torch"] = run
    return found


def compared(runs: dict[str, Callable[[Batch], object]], batches: list[Batch]) -> dict[str, float]:
    """Return the seconds of each network over all batches; the networks alternate."""
    total = dict.fromkeys(runs, 0.0)
    for start in range(0, len(batches), TURN):
        for _ in range(ROUNDS):
            for name, run in runs.items():
                time.sleep(0.1)  # the threads of the previous network still spin
                total[name] += seconds(lambda: [run(batch) for batch in batches[start : start + TURN]])  # noqa: B023
    return {name: taken / ROUNDS for name, taken in total.items()}


def first_tree(model: Path) -> tuple[float, float]:
    command = [sys.executable, "-m", "hexatagger", "parse", "--model", str(model), "She reads fascinating papers."]
    imports = [sys.executable, "-c", "import numpy, onnxruntime, tokenizers"]
    # as when installed: modules are compiled once
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def shell(words: list[str]) -> Job:
        return lambda: subprocess.run(words, check=True, capture_output=True, env=environment)

    shell(command)()
    taken = in_turns({"command": shell(command), "imports": shell(imports)}, rounds=15)
    return taken["command"], taken["imports"]


def main() -> None:
    model = find_model(sys.argv[1] if len(sys.argv) > 1 else "en")
    gold = list(read_conllu(treebank(FILE)))
    words = sum(map(len, gold))
    bare = [Sentence.from_words(sentence.forms) for sentence in gold]
    text = restore(gold)
    parser = load(model)
    _, _, batches = with_network(parser, lambda: parser.parse_sentences(bare))
    _, _, alone = with_network(parser, lambda: parser.parse_sentences(bare[::8], batch_size=1))
    from_words, words_ratio = best_of(parser, lambda: parser.parse_sentences(bare))
    from_text, text_ratio = best_of(parser, lambda: parser.parse(text))
    command, imports = first_tree(model)
    figures: dict[str, Any] = {
        "file": FILE,
        "sentences": len(gold),
        "words": words,
        "sentences_per_second": round(len(gold) / from_words),
        "words_per_second": round(words / from_words),
        "text_words_per_second": round(words / from_text),
        "from_words_to_network": round(words_ratio, 3),
        "from_text_to_network": round(text_ratio, 3),
        "first_tree_seconds": round(command, 3),
        "first_tree_to_imports": round(command / imports, 2),
    }
    runs = networks(model)
    for suffix, given in (("", batches), ("_alone", alone)):
        taken = compared(runs, given)
        if "fp32" in taken:
            figures[f"int8_to_fp32{suffix}"] = round(taken["fp32"] / taken["int8"], 2)
        if "torch" in taken and "fp32" in taken:
            figures[f"fp32_to_torch{suffix}"] = round(taken["torch"] / taken["fp32"], 2)
    save("speed", figures, ("numpy", "onnxruntime", "torch"))
    print(figures)


if __name__ == "__main__":
    main()
