"""The model card (README.md) and the learning curve (curve.png) of a model folder."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hexatagger import __version__
from hexatagger.formats.files import replacing
from hexatagger.train.weights import Model, portable, write_text

if TYPE_CHECKING:
    from hexatagger.train.checkpoint import State

NO_SCORES = ("event", "epoch", "loss", "seconds", "gigabytes")
"""What an epoch's entry has besides the scores of dev."""


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_card(
    model: Model,
    state: "State",
    folder: Path,
    *,
    train: Sequence[Path],
    dev: Sequence[Path],
    teacher: Path | None = None,
    unlabelled: Sequence[Path] = (),
) -> None:
    """Write README.md: what the model is, its scores on dev, the data it saw, how to make it again."""
    card = model.recipe.card
    best = next(entry for entry in state.history if entry["epoch"] == state.best_epoch)
    scores = [(name, value) for name, value in best.items() if name not in NO_SCORES]
    most = max(entry.get("gigabytes", 0.0) for entry in state.history)
    cost = f"{state.seconds / 60:.0f} minutes" + (f" and {most:.1f} GB of memory" if most else "")
    encoder = portable(model.recipe.model.encoder)
    weights = sum(parameter.numel() for parameter in model.network.parameters())
    lines = [
        f"# {card.title or 'A hexatagger model'}",
        "",
        f"A dependency parser: encoder `{encoder}`, {weights / 1e6:.1f} million weights, hexatagger {__version__}.",
        *(["", card.description] if card.description else []),
        "",
        "## Scores on dev",
        "",
        f"Gold words, CoNLL-18 metric, percent; epoch {state.best_epoch} of {len(state.history)}, chosen by LAS.",
        "",
        "| " + " | ".join(name for name, _ in scores) + " |",
        "|" + " ---: |" * len(scores),
        "| " + " | ".join(f"{value:.2f}" for _, value in scores) + " |",
        "",
        "## Data",
        "",
        "| part | file | SHA-256 |",
        "| --- | --- | --- |",
        *(f"| train | {Path(path).name} | `{digest(path)}` |" for path in train),
        *(f"| dev | {Path(path).name} | `{digest(path)}` |" for path in dev),
        *(f"| without trees, for the teacher | {Path(path).name} | `{digest(path)}` |" for path in unlabelled),
        "",
        *([f"Taught by the model in `{Path(teacher).name}`.", ""] if teacher else []),
        "## Licence",
        "",
        card.licence
        or "Not stated. The licences of the treebank and of the encoder bind whoever passes this model on.",
        "",
        "## Recipe",
        "",
        f"Trained in {cost} with `hexatagger train` and this recipe:",
        "",
        "```toml",
        model.recipe.with_encoder(encoder).to_toml().rstrip(),
        "```",
        "",
    ]
    write_text(folder / "README.md", "\n".join(lines))


def write_curve(state: "State", path: Path) -> bool:
    """Draw loss and dev scores over the epochs; False if matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    epochs = [entry["epoch"] for entry in state.history]
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.add_subplot()
    for name in ("UAS", "LAS"):
        left.plot(epochs, [entry[name] for entry in state.history], marker="o", label=f"dev {name}")
    left.set(xlabel="epoch", ylabel="percent")
    right = left.twinx()
    right.plot(epochs, [entry["loss"] for entry in state.history], color="grey", linestyle=":", label="train loss")
    right.set(ylabel="loss")
    figure.legend(loc="outside upper center", ncols=3)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return True
