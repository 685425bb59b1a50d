"""Segmenters from raw text: train one per treebank, score it on dev (CoNLL-18 F1), measure size and speed.

Treebanks that already have results are skipped unless --again is given. If HEXATAGGER_KEEP names a folder, the models
are kept there.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from hexatagger import read_conllu
from hexatagger.formats.text import ud_text
from hexatagger.model.folder import SEGMENTER_FILES
from hexatagger.segment.segmenter import Segmenter
from hexatagger.train.segmenter.loop import train_segmenter
from hexatagger.train.segmenter.network import SegmenterConfig
from results import RESULTS, load, save, treebank

MEASURES = ("src/hexatagger/segment", "src/hexatagger/train/segmenter")
TREEBANKS = (
    "UD_English-EWT",
    "UD_Coptic-Scriptorium",
    "UD_Classical_Chinese-Kyoto",
    "UD_Uyghur-UDT",
    "UD_Portuguese-Bosque",
)
ROUNDS = 5


def measure(name: str, models: Path, config: SegmenterConfig | None) -> dict[str, Any]:
    """Train a segmenter and return all figures of it."""
    folder = treebank(name)
    train, dev = sorted(folder.glob("*-train.conllu")), sorted(folder.glob("*-dev.conllu"))
    began, steps = (time.perf_counter(), time.process_time()), 0

    def report(event: dict[str, Any]) -> None:
        nonlocal steps
        steps = event.get("of", steps)
        if event["event"] == "epoch":
            print(name, event, flush=True)

    learnt, judged = ([sentence for file in files for sentence in read_conllu(file)] for files in (train, dev))
    scores = train_segmenter(learnt, judged, models / name, config=config, report=report)
    spent = round(time.perf_counter() - began[0]), round(time.process_time() - began[1])
    text = ud_text(sentence for file in dev for sentence in read_conllu(file))
    segmenter = Segmenter.load(models / name, threads=1)
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        segmenter.segment(text)
        seconds.append(time.perf_counter() - begin)
    return {
        **{f"{name}_f1": value for name, value in scores.items()},
        "steps": steps,
        "train_seconds": spent[0],
        "train_cpu_seconds": spent[1],
        "bytes": sum((models / name / file).stat().st_size for file in SEGMENTER_FILES),
        "dev_characters": len(text),
        "characters_per_second": round(len(text) / statistics.median(seconds)),
        "load": round(os.getloadavg()[0], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("treebanks", nargs="*", default=TREEBANKS, metavar="TREEBANK", help="default: all five")
    parser.add_argument("--again", action="store_true", help="also those that the results have already")
    parser.add_argument("--steps", type=int, default=0, help="length of training; default: by the size of the treebank")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        models = Path(os.environ.get("HEXATAGGER_KEEP", temporary))
        for name in options.treebanks:
            if name in known() and not options.again:
                continue
            figures = measure(name, models, SegmenterConfig(steps=options.steps) if options.steps else None)
            print(name, figures, flush=True)
            # Read again: another process may have added something in the meantime.
            save("segment", {"threads": 1, "treebanks": known() | {name: figures}}, ("numpy", "onnxruntime", "torch"))


def known() -> dict[str, Any]:
    """Return the figures that there are already."""
    found: dict[str, Any] = load("segment")["treebanks"] if (RESULTS / "segment.json").is_file() else {}
    return found


if __name__ == "__main__":
    main()
