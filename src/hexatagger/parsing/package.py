"""A trained model → the folder to pass on: only what running needs, with the scores of just that in its card."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from hexatagger.errors import ConfigError, check_choice
from hexatagger.formats.files import temporary_folder, writing
from hexatagger.formats.text import ud_text
from hexatagger.model.card import Kept, Packaged, update_card
from hexatagger.model.folder import (
    NETWORK,
    NETWORK_INT8,
    RUNNING_FILES,
    SEGMENTER_FILES,
    check_links,
    has_segmenter,
    read_folder,
    write_lemmas,
)
from hexatagger.model.lemmas import collect_lemmas
from hexatagger.parsing.load import load
from hexatagger.scoring.breakdown import INFLECTED
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence

_NETWORK = {"int8": NETWORK_INT8, "fp32": NETWORK}
_SCORES = ("UAS", "LAS", "UPOS", "XPOS", "UFeats", "Lemmas", INFLECTED)


def package(
    model: str | Path,
    out: Path,
    *,
    precision: Kept = "int8",
    dev: Sequence[Sentence] = (),
    segmenter: Path | None = None,
    lemmas: Sequence[Sentence] = (),
    command: str = "",
) -> Packaged:
    """Write the folder `out`, whole or not at all, and return its scores on `dev`.

    `segmenter` is another model folder to take the segmenter from; `lemmas` is the training set, to make the table of
    lemmas again; `command` makes this package again, for the card.
    """
    check_choice("precision", precision, get_args(Kept))
    source, network = Path(model), _NETWORK[precision]
    if out.exists():
        raise ConfigError(f"{out} exists: name a folder that does not")
    if not (source / network).is_file():
        raise ConfigError(f"{source} has no {network}: make it with hexatagger export {source} --dev FILE")
    for folder in {source, segmenter or source}:
        check_links(folder)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(out) as trial:
        for name in RUNNING_FILES:
            origin = segmenter if segmenter is not None and name in SEGMENTER_FILES else source
            if (origin / name).is_file() and name not in set(_NETWORK.values()) - {network}:
                shutil.copyfile(origin / name, trial / name)
        if lemmas:
            tasks = read_folder(trial).recipe.model.tasks
            if "lemma" not in tasks:
                raise ConfigError(f"{source} does not predict lemmas: it needs no table of them")
            write_lemmas(trial, collect_lemmas(lemmas, tasks))
        parser = load(trial)

        def scores(parsed: Sequence[Sentence], *names: str) -> dict[str, float]:
            found = evaluate(dev, parsed, columns=parser.config.tasks)
            metrics = found.metrics | found.inflected
            return {name: metrics[name].f1 for name in names if name in metrics}

        words = text = dict[str, float]()
        if dev:
            words = scores(parser.parse_sentences(dev), *_SCORES)
        if dev and has_segmenter(trial):
            text = scores(parser.parse(ud_text(dev)), "Tokens", "Sentences", "Words", *_SCORES)
        found = Packaged(precision, words, text, command)
        update_card(trial, package=found)
        with writing(out):
            trial.rename(out)
    return found
