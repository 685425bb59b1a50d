"""Speed of the parser on EWT dev, as ratios taken in turns in one run.

from words / encoder     parsing given words against running the network over the very same batches
from text / encoder      the same from raw text
int8 / fp32 / torch      the network alone, same model, same batches
first tree               the whole command from the shell against importing what it needs

python benchmarks/speed.py [MODEL]        a model folder with model.safetensors for torch; the embedded one otherwise
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hexatagger import read_conllu
from hexatagger.parser import Parser, find_model, load
from hexatagger.rawtext import restore
from hexatagger.sentence import Sentence
from results import save, treebank

FILE = "UD_English-EWT/en_ewt-ud-dev.conllu"
ROUNDS = 3


def seconds(job: Callable[[], object]) -> float:
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def in_turns(jobs: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each job, all of them run in turns so that the machine's moods hit them alike."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            taken[name].append(seconds(job))
    return {name: statistics.median(runs) for name, runs in taken.items()}


def recorded(parser: Parser, sentences: list[Sentence]) -> list[dict[str, Any]]:
    """Return what the network is given when sentences are parsed."""
    batches: list[dict[str, Any]] = []
    run = parser.outputs

    def recording(inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
        batches.append(inputs)
        return run(inputs, **options)

    with mock.patch.object(parser, "outputs", recording):
        parser.parse_sentences(sentences)
    return batches


def network_only(parser: Parser, batches: list[dict[str, Any]]) -> Callable[[], object]:
    return lambda: [parser.outputs(batch) for batch in batches]


def torch_only(model: Path, batches: list[dict[str, Any]]) -> Callable[[], object] | None:
    if not (model / "model.safetensors").exists():
        return None
    import torch

    from hexatagger.nn.folder import load_model

    network = load_model(model).network.eval()

    def run() -> None:
        with torch.no_grad():
            for batch in batches:
                network(**{name: torch.from_numpy(array) for name, array in batch.items()})

    return run


def first_tree(model: Path) -> tuple[float, float]:
    command = [sys.executable, "-m", "hexatagger", "parse", "--model", str(model), "She reads fascinating papers."]
    imports = [sys.executable, "-c", "import numpy, onnxruntime, tokenizers"]

    def shell(words: list[str]) -> Callable[[], object]:
        return lambda: subprocess.run(words, check=True, capture_output=True)

    taken = in_turns({"command": shell(command), "imports": shell(imports)}, rounds=9)
    return taken["command"], taken["imports"]


def main() -> None:
    model = find_model(sys.argv[1] if len(sys.argv) > 1 else "en")
    gold = list(read_conllu(treebank(FILE)))
    bare = [Sentence.from_words(sentence.forms) for sentence in gold]
    words = sum(map(len, bare))
    text = restore(gold)
    parser = load(model)
    batches = recorded(parser, bare)
    from_text = recorded(parser, parser.segmenter.segment(text))
    jobs: dict[str, Callable[[], object]] = {
        "network": network_only(parser, batches),
        "from_words": lambda: parser.parse_sentences(bare),
        "network_of_text": network_only(parser, from_text),
        "from_text": lambda: parser.parse(text),
    }
    if (model / "model.onnx").exists():
        jobs["fp32"] = network_only(load(model, precision="fp32"), batches)
    if (torch_job := torch_only(model, batches)) is not None:
        jobs["torch"] = torch_job
    taken = in_turns(jobs)
    command, imports = first_tree(model)
    figures: dict[str, Any] = {
        "file": FILE,
        "sentences": len(bare),
        "words": words,
        "batches": len(batches),
        "sentences_per_second": round(len(bare) / taken["from_words"]),
        "words_per_second": round(words / taken["from_words"]),
        "text_words_per_second": round(words / taken["from_text"]),
        "from_words_to_network": round(taken["from_words"] / taken["network"], 3),
        "from_text_to_network": round(taken["from_text"] / taken["network_of_text"], 3),
        "first_tree_seconds": round(command, 3),
        "first_tree_to_imports": round(command / imports, 2),
    }
    if "fp32" in taken:
        figures["int8_to_fp32"] = round(taken["fp32"] / taken["network"], 2)
    if "torch" in taken:
        figures["fp32_to_torch"] = round(taken["torch"] / taken["fp32"], 2)
    save("speed", figures, ("numpy", "onnxruntime", "torch"))
    print(figures)


if __name__ == "__main__":
    main()
