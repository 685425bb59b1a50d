"""Checkpoints: everything that is needed to resume training, without pickle.

A checkpoint is a folder `checkpoint-N` of safetensors and JSON. It is written under another name and renamed when it is
complete; only then is the previous one removed. So `kill -9` at any time leaves a usable checkpoint.
"""

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hexatagger.model.folder import CHECKPOINT, FINISHED, write_file
from hexatagger.train.weights import load_weights, save_weights

NOT_SCORES = ("event", "part", "epoch", "loss", "seconds", "gigabytes")
"""Keys of an epoch besides its scores on dev."""


@dataclass(slots=True)
class State:
    """The state of a training run."""

    epoch: int = 0
    """The current epoch, from 0."""
    step: int = 0
    """Number of its batches that are done."""
    steps: int = 0
    """Number of batches that are done in all epochs."""
    seconds: float = 0.0
    """Training time so far."""
    best: float = -1.0
    """Best LAS on dev so far."""
    best_epoch: int = -1
    history: list[dict[str, Any]] = field(default_factory=list)
    """One entry per finished epoch: loss, scores on dev, cost."""


def save_checkpoint(
    folder: Path,
    state: State,
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    average: dict[str, Tensor] | None,
) -> None:
    """Write a checkpoint and remove the previous one."""
    place = folder / f"{CHECKPOINT}{state.steps}"
    temporary = folder / f".{place.name}.part"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    save_weights(dict(network.state_dict()), temporary / "weights.safetensors")
    if average is not None:
        save_weights(average, temporary / "average.safetensors")
    moments = {
        f"{number}.{name}": value
        for number, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }
    save_weights(moments | {"random": torch.get_rng_state()}, temporary / "optimizer.safetensors")
    write_file(temporary / "state.json", json.dumps(asdict(state)))
    if place.exists():
        shutil.rmtree(place)
    temporary.rename(place)
    remove_checkpoints(folder, but=place)


def find_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint, None if there is none."""
    found = [path for path in folder.glob(f"{CHECKPOINT}*") if (path / "state.json").is_file()]
    return max(found, key=lambda path: int(path.name.removeprefix(CHECKPOINT)), default=None)


def load_checkpoint(
    place: Path, network: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[State, dict[str, Tensor] | None]:
    """Restore network, optimizer and random generator from a checkpoint; return the state and the averaged weights."""
    state = State(**json.loads((place / "state.json").read_text(encoding="utf-8")))
    network.load_state_dict(load_weights(place / "weights.safetensors"))
    tensors = load_weights(place / "optimizer.safetensors")
    torch.set_rng_state(tensors.pop("random"))
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        moments.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    averaged = place / "average.safetensors"
    return state, load_weights(averaged) if averaged.is_file() else None


def save_finished(state: State, folder: Path) -> None:
    """Write the history of a finished run."""
    write_file(folder / FINISHED, json.dumps(asdict(state), indent=1) + "\n")


def load_finished(folder: Path) -> State | None:
    """Return the history of a finished run; None if it is not finished."""
    path = folder / FINISHED
    return State(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def remove_checkpoints(folder: Path, *, but: Path | None = None) -> None:
    """Remove all checkpoints except one, half-written ones included."""
    for path in [*folder.glob(f"{CHECKPOINT}*"), *folder.glob(f".{CHECKPOINT}*.part")]:
        if path != but:
            shutil.rmtree(path, ignore_errors=True)
