"""A trained model → the folder to pass on: what running needs and no more, with the scores of just that in its card."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from hexatagger.errors import ConfigError, check_choice
from hexatagger.formats.text import ud_text
from hexatagger.parsing.parser import load
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence

Kept = Literal["int8", "fp32"]
"""In which precision a packaged model runs."""

_NETWORK = {"int8": "model.int8.onnx", "fp32": "model.onnx"}
_REST = ("config.json", "labels.json", "tokenizer.json", "segmenter.json", "segmenter.onnx", "README.md")
_WORDS = ("UAS", "LAS", "UPOS", "XPOS", "UFeats", "Lemmas")
_TEXT = ("Tokens", "Sentences", "Words", *_WORDS)


@dataclass(frozen=True, slots=True)
class Packaged:
    """What a package weighs and how it scores."""

    size: int
    """Bytes in all."""
    words: Mapping[str, float] = field(default_factory=dict)
    """F1 in percent, given the words of dev."""
    text: Mapping[str, float] = field(default_factory=dict)
    """F1 in percent, given the raw text of dev; empty without a segmenter."""


def package(
    model: str | Path,
    out: Path,
    *,
    precision: Kept = "int8",
    dev: Sequence[Sentence] = (),
    segmenter: Path | None = None,
    made: str = "",
) -> Packaged:
    """Write the folder `out`, whole or not at all, and return what it weighs and how it scores on `dev`.

    `segmenter` is another model folder to take the segmenter from; `made` is said in the card: the command that makes
    this package again.
    """
    check_choice("precision", precision, get_args(Kept))
    source = Path(model)
    if out.exists():
        raise ConfigError(f"{out} exists: name a folder that does not")
    if not (source / _NETWORK[precision]).is_file():
        raise ConfigError(f"{source} has no {_NETWORK[precision]}: make it with hexatagger export {source} --dev FILE")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as place:
        trial = Path(place) / "model"
        trial.mkdir()
        for name in (_NETWORK[precision], *_REST):
            origin = segmenter if segmenter is not None and name.startswith("segmenter") else source
            if (origin / name).is_file():
                shutil.copyfile(origin / name, trial / name)
        parser = load(trial)
        words = text = dict[str, float]()
        if dev:
            words = _scores(dev, parser.parse_sentences(dev), _WORDS)
            if (trial / "segmenter.json").is_file():
                text = _scores(dev, parser.parse(ud_text(dev)), _TEXT)
        card = trial / "README.md"
        if card.is_file():
            about = _section(precision, words, text, made)
            card.write_text(card.read_text(encoding="utf-8").replace("## Data\n", f"{about}## Data\n", 1), "utf-8")
        size = sum(path.stat().st_size for path in trial.iterdir())
        trial.rename(out)
    return Packaged(size, words, text)


def _scores(dev: Sequence[Sentence], parsed: Sequence[Sentence], names: Sequence[str]) -> dict[str, float]:
    metrics = evaluate(dev, parsed).metrics
    return {name: metrics[name].f1 for name in names}


def _section(precision: Kept, words: Mapping[str, float], text: Mapping[str, float], made: str) -> str:
    """Return what a card says of its package."""
    bits = {"int8": 8, "fp32": 32}[precision]
    lines = ["## Scores of this package on dev", "", f"As it is here, in {bits} bits, by `hexatagger evaluate`."]
    if words:
        names = list(text or words)
        lines += ["", "| given | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
        for given, scores in (("words", words), ("text", text)):
            if scores:
                cells = (f"{scores[name]:.2f}" if name in scores else "" for name in names)
                lines.append(f"| {given} | " + " | ".join(cells) + " |")
    if made:
        lines += ["", f"Made with `{made}`."]
    return "\n".join([*lines, "", ""])
