"""Model folders with mutated JSON: an error of ours when they are loaded or used, or they work; nothing else."""

import functools
import json
import random
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hexatagger
from fuzz.cases import ODD_VALUES, Counts, mutate_document, run_cases
from hexatagger.errors import HexataggerError
from hexatagger.model.card import Card, read_card, write_card
from hexatagger.model.config import ModelConfig, PieceConfig
from hexatagger.parsing.pieces import make_cutter
from onnx_model import write_model
from tiny import make_tokenizer

_FILES = ["config.json", "labels.json", "segmenter.json", "card.json", "tokenizer.json"]
_ODD = [*ODD_VALUES, "upos", "pairs", "joint", "characters", "bert-base", ["upos", "upos"], "head", "path", "mean"]
_WORDS = [["Dogs", "bark", "."], ["é"], ["10 000", "\u200b", "a" * 50]]


def run(seed: int, *, count: int | None = None, seconds: float | None = None) -> Counts:
    """Try model folders."""
    with tempfile.TemporaryDirectory() as place:
        model = write_model(Path(place) / "model")
        write_card(model, Card(title="Noise"))
        one = functools.partial(case, model=model, tokenizer=json.loads(make_tokenizer("bert").to_str()))
        return run_cases("models", one, seed, count=count, seconds=seconds)


def case(chance: random.Random, model: Path, tokenizer: Any) -> Iterable[str]:
    name = chance.choice(_FILES)
    if name == "tokenizer.json":
        data = mutate_document(chance, tokenizer, _ODD)
        return [name, _cut(data.decode(errors="replace"))]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(model, Path(place) / "model"))
        (folder / name).write_bytes(mutate_document(chance, json.loads((folder / name).read_bytes()), _ODD))
        try:
            if name == "card.json":
                read_card(folder)
                return [name, "accepted"]
            parser = hexatagger.load(folder, threads=1)
            parser.parse_words(_WORDS, probabilities=chance.random() < 0.5, k=chance.choice([1, 2]))
            parser.parse("Dogs bark. They sleep.\n\nNo!")
        except HexataggerError:
            return [name, "refused"]
    return [name, "accepted"]


def _cut(tokenizer: str) -> str:
    """Cut words with a mutated tokenizer, which only models with a pretrained encoder have."""
    pieces = PieceConfig(before=(2,), after=(3,), unknown=1, pad=0, limit=16)
    try:
        cutter = make_cutter(ModelConfig(encoder="bert"), tokenizer, pieces)
        for words in _WORDS:
            cutter.windows(words)
    except HexataggerError:
        return "refused"
    return "accepted"
