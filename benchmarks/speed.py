"""Speed of the parser on EWT dev, as ratios that are measured alternately in one run.

threads                  words/s with 1 and with 2 threads, from words and from raw text; the output must be the same
latency                  one sentence at a time, with 1 and with 2 threads
from words / network     time to parse given words, over the time spent in the network, with 1 thread
from text / network      the same from raw text
int8 / fp32 / torch      the network alone, same model; in batches and sentence by sentence, with 1 thread
first tree               the whole shell command, over the time to import what it needs
memory                   peak of a process that parses the file once, with 1 and with 2 threads

python benchmarks/speed.py [MODEL]        a model folder, with model.safetensors for torch; the embedded one by default
"""

import argparse
import itertools
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
from results import megabytes, save, treebank

MEASURES = (
    "src/hexatagger/cli",
    "src/hexatagger/decode",
    "src/hexatagger/model",
    "src/hexatagger/models",
    "src/hexatagger/parsing",
    "src/hexatagger/segment",
)
FILE = "UD_English-EWT/en_ewt-ud-dev.conllu"
ROUNDS = 3
THREADS = (1, 2)
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


def networks(model: Path) -> dict[str, Callable[[Batch], object]]:
    """Return one model as int8, fp32 and, if it has weights, torch."""
    found: dict[str, Callable[[Batch], object]] = {"int8": load(model).network.outputs}
    if (model / "model.onnx").exists():
        found["fp32"] = load(model, precision="fp32").network.outputs
    if (model / "model.safetensors").exists():
        import torch

        from hexatagger.train.weights import load_model

        torch.set_num_threads(1)
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


def with_threads(
    parsers: dict[int, Parser], bare: list[Sentence], text: str
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return the seconds of the fastest round of each kind of input by number of threads; all jobs take turns.

    Also returns, by kind, the median ratio of the time with one thread to the time spent in the network.
    """
    results: dict[str, list[str]] = {}
    taken: dict[str, dict[str, float]] = {"words": {}, "text": {}}
    ratios: dict[str, list[float]] = {kind: [] for kind in taken}
    for _, kind, (threads, parser) in itertools.product(range(ROUNDS), taken, parsers.items()):
        made: list[Sentence] = []

        def job(parser: Parser = parser, kind: str = kind, made: list[Sentence] = made) -> None:
            made += parser.parse(text) if kind == "text" else parser.parse_sentences(bare)

        found, inside, _ = with_network(parser, job)
        taken[kind][str(threads)] = min(found, taken[kind].get(str(threads), found))
        if threads == 1:
            ratios[kind].append(found / inside)
        written = [sentence.to_conllu() for sentence in made]
        if written != results.setdefault(kind, written):
            sys.exit(f"{threads} threads do not give the same trees from {kind}")
    return taken, {kind: statistics.median(each) for kind, each in ratios.items()}


def latency(parsers: dict[int, Parser], bare: list[Sentence]) -> dict[str, float]:
    """Return the median milliseconds of a sentence that is parsed alone, by number of threads."""
    taken: dict[int, list[float]] = {threads: [] for threads in parsers}
    for sentence, (threads, parser) in itertools.product(bare[::8], parsers.items()):
        taken[threads].append(min(seconds(lambda: parser.parse_sentences([sentence])) for _ in range(ROUNDS)))  # noqa: B023
    return {str(threads): round(1000 * statistics.median(each), 2) for threads, each in taken.items()}


def peak(model: Path, threads: int) -> float:
    """Return the megabytes that a process of its own needs at most to parse the file."""
    words = [sys.executable, __file__, str(model), "--peak", str(threads)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", nargs="?", default="en")
    options.add_argument("--peak", type=int, metavar="THREADS", help=argparse.SUPPRESS)
    given = options.parse_args()
    model = find_model(given.model)
    gold = list(read_conllu(treebank(FILE)))
    words = sum(map(len, gold))
    bare = [Sentence.from_words(sentence.forms) for sentence in gold]
    if given.peak:
        load(model, threads=given.peak).parse_sentences(bare)
        print(megabytes(peak=True))
        return
    text = restore(gold)
    parsers = {threads: load(model, threads=threads) for threads in THREADS}
    parser = parsers[1]
    _, _, batches = with_network(parser, lambda: parser.parse_sentences(bare))
    _, _, alone = with_network(parser, lambda: parser.parse_sentences(bare[::8], batch_size=1))
    taken, ratios = with_threads(parsers, bare, text)
    command, imports = first_tree(model)
    file = {"file": FILE, "sentences": len(gold), "words": words}
    by_threads = {
        "words_per_second": {kind: {n: round(words / each) for n, each in by.items()} for kind, by in taken.items()},
        "two_threads_to_one": {kind: round(by["1"] / by["2"], 2) for kind, by in taken.items()},
        "text_to_words": {n: round(taken["text"][n] / each, 3) for n, each in taken["words"].items()},
        "latency_ms": latency(parsers, bare),
        "peak_megabytes": {str(threads): round(peak(model, threads)) for threads in THREADS},
    }
    save("threads", file | by_threads, ("numpy", "onnxruntime"))
    fastest = {kind: min(by.values()) for kind, by in taken.items()}
    figures: dict[str, Any] = file | {
        "sentences_per_second": round(len(gold) / fastest["words"]),
        "words_per_second": round(words / fastest["words"]),
        "text_words_per_second": round(words / fastest["text"]),
        "from_words_to_network": round(ratios["words"], 3),
        "from_text_to_network": round(ratios["text"], 3),
        "first_tree_seconds": round(command, 3),
        "first_tree_to_imports": round(command / imports, 2),
    }
    runs = networks(model)
    for suffix, inputs in (("", batches), ("_alone", alone)) if len(runs) > 1 else ():
        compare = compared(runs, inputs)
        if "fp32" in compare:
            figures[f"int8_to_fp32{suffix}"] = round(compare["fp32"] / compare["int8"], 2)
        if "torch" in compare and "fp32" in compare:
            figures[f"fp32_to_torch{suffix}"] = round(compare["torch"] / compare["fp32"], 2)
    save("speed", figures, ("numpy", "onnxruntime", "torch"))
    print(by_threads, figures)


if __name__ == "__main__":
    main()
