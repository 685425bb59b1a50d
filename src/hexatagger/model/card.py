"""The model card: facts in card.json, and README.md, which is always written from them.

This is the only writer of README.md. Training, calibration and packaging each change facts with `update_card`.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from hexatagger.formats.files import reading
from hexatagger.model.config import to_toml
from hexatagger.model.folder import CARD, README, read_json, write_file, write_json
from hexatagger.model.temperature import Calibration
from hexatagger.model.values import build, checking
from hexatagger.scoring.breakdown import INFLECTED

Kept = Literal["int8", "fp32"]
"""Precision of the network in a package."""

Part = Literal["train", "dev", "related", "unlabelled", "teacher", "vectors"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that training read."""

    part: Part
    name: str
    sha256: str

    @classmethod
    def read(cls, part: Part, path: Path, *, name: str = "") -> Self:
        """Name and digest a file; `name` if it is not to be called by its own."""
        with reading(str(path)), Path(path).open("rb") as file:
            return cls(part, name or Path(path).name, hashlib.file_digest(file, "sha256").hexdigest())


@dataclass(frozen=True, slots=True)
class Packaged:
    """The scores of a package as it is, F1 in percent."""

    precision: Kept
    words: dict[str, float] = field(default_factory=dict)  # given the words of dev
    text: dict[str, float] = field(default_factory=dict)  # given the raw text of dev; empty without a segmenter
    command: str = ""  # the command that makes this package again


@dataclass(frozen=True, kw_only=True)
class Card:
    """All facts on a card."""

    title: str = ""
    language: str = ""
    treebanks: str = ""
    description: str = ""
    licence: str = ""
    version: str = ""  # of hexatagger, when it trained the model
    encoder: str = ""
    parameters: int = 0
    scores: dict[str, float] = field(default_factory=dict)  # on dev: gold words, CoNLL-18 metric, percent
    epoch: int = 0  # the epoch that was kept, the best one by LAS on dev
    epochs: int = 0
    minutes: float = 0.0
    gigabytes: float = 0.0  # peak memory of training; 0 where it is not known
    data: tuple[DataFile, ...] = ()
    notes: str = ""  # a paragraph below the data
    recipe: dict[str, dict[str, Any]] = field(default_factory=dict)  # `[model]` and `[training]`
    calibration: Calibration | None = None
    package: Packaged | None = None


def read_card(folder: Path) -> Card | None:
    """Read the facts; None for a folder that has none."""
    if not (folder / CARD).is_file():
        return None
    with checking(str(folder / CARD)):
        return build(Card, read_json(folder / CARD), "card")


def write_card(folder: Path, card: Card) -> None:
    """Write card.json, and README.md from it."""
    write_json(folder / CARD, asdict(card))
    write_file(folder / README, render(card))


def update_card(folder: Path, *, calibration: Calibration | None = None, package: Packaged | None = None) -> None:
    """Add facts to a card and write it again; a folder without a card stays without one."""
    if card := read_card(folder):
        card = replace(card, calibration=calibration or card.calibration, package=package or card.package)
        write_card(folder, card)


def render(card: Card) -> str:
    """Return the text of README.md."""
    size = f"{card.parameters / 1e6:.1f} million parameters"
    memory = f" and {card.gigabytes:.1f} GB of memory" if card.gigabytes else ""
    head = {name: getattr(card, name) for name in ("title", "language", "treebanks", "description", "licence")}
    parts_read = {"unlabelled": "without trees, for the teacher", "teacher": "teacher's network"}
    parts_read |= {"vectors": "word vectors", "related": "train, a related language"}
    files = [[parts_read.get(each.part, each.part), each.name, f"`{each.sha256}`"] for each in card.data]
    parts = [
        f"# {card.title or 'A hexatagger model'}",
        f"A dependency parser: encoder `{card.encoder}`, {size}, trained with hexatagger {card.version}.",
        card.description,
        "## Scores on dev",
        f"Gold words, CoNLL-18 metric, percent; epoch {card.epoch} of {card.epochs}, chosen by LAS.",
        _table(list(card.scores), [[f"{value:.2f}" for value in card.scores.values()]]),
        _defined(card.scores),
        *(_package(card.package) if card.package else ()),
        *(_calibration(card.calibration) if card.calibration else ()),
        "## Data",
        f"Treebanks: {card.treebanks}." if card.treebanks else "",
        _table(["part", "file", "SHA-256"], files, left=3),
        card.notes,
        "## Licence",
        card.licence or "Not stated. Whoever passes this model on is bound by the licences of treebank and encoder.",
        "## Recipe",
        f"Trained in {card.minutes:.0f} minutes{memory} with `hexatagger train` and this recipe:",
        f"```toml\n{to_toml(card.recipe | {'card': head}).rstrip()}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _package(package: Packaged) -> list[str]:
    """Render what is said about a package."""
    bits = {"int8": 8, "fp32": 32}[package.precision]
    parts = ["## Scores of this package on dev", f"As it is here, in {bits} bits, by `hexatagger evaluate`."]
    given = [(name, scores) for name, scores in (("words", package.words), ("text", package.text)) if scores]
    if names := list(package.text | package.words):
        rows = [[name, *(f"{own[each]:.2f}" if each in own else "" for each in names)] for name, own in given]
        parts += [_table(["given", *names], rows, left=1), _defined(names)]
    return [*parts, f"Made with `{package.command}`."] if package.command else parts


def _defined(names: Collection[str]) -> str:
    """Define the scores in a table that are not those of CoNLL-18."""
    if INFLECTED not in names:
        return ""
    return f"{INFLECTED}: of nouns, verbs and adjectives whose lemma differs from the form in more than case."


def _calibration(found: Calibration) -> list[str]:
    """Render what is said about probabilities."""
    warm = found.temperature
    return [
        "## Probabilities",
        f"For probabilities, scores of tags are divided by a temperature of {warm.tags:g}, those of relations by "
        f"{warm.relations:g}.\n"
        f"Both were fitted on {found.fitted:,} words of dev, which the network was not trained on.\n"
        f"Expected calibration error over {found.words:,} words, each half judged with the temperatures of the other:",
        _table(["", "without", "with"], found.rows(), left=1),
    ]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0) -> str:
    """Lay out a Markdown table; the first `left` columns hold text, the others numbers."""
    rules = ["---"] * left + ["---:"] * (len(header) - left)
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rules, *rows))
