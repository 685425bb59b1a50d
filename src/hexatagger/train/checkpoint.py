"""Checkpoints: all that is needed to go on where training stopped, without pickle.

A checkpoint is a folder `checkpoint-N` of safetensors and JSON. It is written under another name, renamed when whole,
and only then is the one before it removed: `kill -9` at any time leaves one that can be used.
"""

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hexatagger.train.weights import load_weights, save_weights, write_text

_PREFIX = "checkpoint-"
_FINISHED = "training.json"


@dataclass(slots=True)
class State:
    """How far training has come."""

    epoch: int = 0
    """The epoch at work, from 0."""
    step: int = 0
    """How many of its batches are done."""
    steps: int = 0
    """How many batches are done in all."""
    seconds: float = 0.0
    """Time spent so far."""
    best: float = -1.0
    """Best LAS on dev so far."""
    best_epoch: int = -1
    history: list[dict[str, Any]] = field(default_factory=list)
    """One entry per finished epoch: loss and scores."""


def save_checkpoint(
    folder: Path,
    state: State,
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    average: dict[str, Tensor] | None,
) -> None:
    """Write a checkpoint and remove the one before."""
    place = folder / f"{_PREFIX}{state.steps}"
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
    write_text(temporary / "state.json", json.dumps(asdict(state)))
    if place.exists():
        shutil.rmtree(place)
    temporary.rename(place)
    remove_checkpoints(folder, but=place)


def find_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint, None if there is none."""
    found = [path for path in folder.glob(f"{_PREFIX}*") if (path / "state.json").is_file()]
    return max(found, key=lambda path: int(path.name.removeprefix(_PREFIX)), default=None)


def load_checkpoint(
    place: Path, network: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[State, dict[str, Tensor] | None]:
    """Put a checkpoint into network, optimizer and torch's generator; return the state and the averaged weights."""
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
    """Write that training is over, and how it went."""
    write_text(folder / _FINISHED, json.dumps(asdict(state), indent=1) + "\n")


def load_finished(folder: Path) -> State | None:
    """Return how training went if it is over."""
    path = folder / _FINISHED
    return State(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def remove_checkpoints(folder: Path, *, but: Path | None = None) -> None:
    """Remove all checkpoints, half-written ones included, but one."""
    for path in [*folder.glob(f"{_PREFIX}*"), *folder.glob(f".{_PREFIX}*.part")]:
        if path != but:
            shutil.rmtree(path, ignore_errors=True)
