"""The learning curve of a training run as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from hexatagger.formats.files import replacing

if TYPE_CHECKING:
    from hexatagger.train.checkpoint import State


def write_curve(state: "State", path: Path) -> bool:
    """Plot loss and dev scores by epoch; False if matplotlib is not installed."""
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
