"""The learning curve of a training run as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexatagger.formats.files import replacing


def write_curve(history: Sequence[dict[str, Any]], path: Path) -> None:
    """Plot loss and dev scores by epoch, if matplotlib is installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    epochs = [entry["epoch"] for entry in history]
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.add_subplot()
    for name in ("UAS", "LAS"):
        left.plot(epochs, [entry[name] for entry in history], marker="o", label=f"dev {name}")
    left.set(xlabel="epoch", ylabel="percent")
    right = left.twinx()
    right.plot(epochs, [entry["loss"] for entry in history], color="grey", linestyle=":", label="train loss")
    right.set(ylabel="loss")
    figure.legend(loc="outside upper center", ncols=3)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
