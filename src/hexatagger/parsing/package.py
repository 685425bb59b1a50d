"""A trained model → the folder to pass on: only what running needs, with the scores of just that in its card."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from hexatagger.errors import ConfigError, check_choice
from hexatagger.formats.files import temporary_folder, writing
from hexatagger.formats.text import ud_text
from hexatagger.model.card import Kept, Packaged, read_card, update_card
from hexatagger.model.folder import (
    FITS,
    NETWORKS,
    RUNNING_FILES,
    SEGMENTER_FILES,
    check_links,
    has_segmenter,
    pack,
    read_folder,
    write_lemmas,
)
from hexatagger.model.language import learn, write_profile
from hexatagger.model.lemmas import collect_lemmas
from hexatagger.model.registry import find_model
from hexatagger.parsing.fit import count_fits, write_fits
from hexatagger.parsing.load import load
from hexatagger.scoring.breakdown import INFLECTED
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence

_SCORES = ("UAS", "LAS", "UPOS", "XPOS", "UFeats", "Lemmas", INFLECTED)


def package(
    model: str | Path,
    out: Path,
    *,
    precision: Kept = "int8",
    dev: Sequence[Sentence] = (),
    train: Sequence[Sentence] = (),
    segmenter: str | Path | None = None,
    command: str = "",
) -> Packaged:
    """Write the folder `out`, whole or not at all, and return its scores on `dev`.

    `train` is what the model was trained on, to make the table of lemmas and the profile of the language again.
    `segmenter` is another model to take the segmenter from; `command` makes this package again, for the card. Scores
    that the card has of an earlier package stay if this one has the same networks.
    """
    check_choice("precision", precision, get_args(Kept))
    source, networks = find_model(model), NETWORKS[precision]
    segmented = source if segmenter is None else find_model(segmenter)
    if out.exists():
        raise ConfigError(f"{out} exists: name a folder that does not")
    if not any((source / name).is_file() for name in networks):
        raise ConfigError(f"{source} has no {networks[0]}: make it with hexatagger export {source} --dev FILE")
    for folder in {source, segmented}:
        check_links(folder)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(out) as trial:
        for name in RUNNING_FILES:
            origin = segmented if name in SEGMENTER_FILES else source
            if (origin / name).is_file() and name not in set(NETWORKS["auto"]) - set(networks):
                shutil.copyfile(origin / name, trial / name)
        pack(trial)
        read = read_folder(trial)
        config = read.recipe.model
        if train and "lemma" in config.tasks:
            write_lemmas(trial, collect_lemmas(train, config.tasks))
        if train and config.relations == "tree" and "upos" in config.tasks:
            write_fits(count_fits(train, read.labels, config.lift), trial / FITS)
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
        if train and (profile := learn(train, dev, language=parser.folder.recipe.card.language)):
            write_profile(trial, profile)
        found, card = Packaged(precision, words, text, command), read_card(trial)
        if card and card.package and card.package.precision == precision and segmented == source and not (dev or train):
            found = replace(card.package, command=command or card.package.command)
        update_card(trial, package=found)
        with writing(out):
            trial.rename(out)
    return found
