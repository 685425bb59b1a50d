"""Checkpoints: everything that is needed to resume training, without pickle.

A checkpoint is a folder `checkpoint-N` of safetensors and JSON. It is written under another name and renamed when it is
complete; only then is the previous one removed. So `kill -9` at any time leaves a usable checkpoint.
"""

import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hexatagger.model.folder import CHECKPOINT, read_json, write_json
from hexatagger.train.weights import load_weights, save_weights

NOT_SCORES = ("event", "part", "epoch", "loss", "seconds", "gigabytes")  # keys of an epoch besides its scores on dev
_STATE = "state.json"


@dataclass(slots=True)
class State:
    """The state of a training run."""

    epoch: int = 0  # the current epoch, from 0
    step: int = 0  # number of its batches that are done
    steps: int = 0  # number of batches that are done in all epochs
    seconds: float = 0.0  # training time so far
    best: float = -1.0  # best LAS on dev so far
    best_epoch: int = -1
    history: list[dict[str, Any]] = field(default_factory=list)  # per finished epoch: loss, scores on dev, cost


def save_checkpoint(
    folder: Path, state: State, network: nn.Module, optimizer: Optimizer, average: dict[str, Tensor] | None
) -> None:
    """Write a checkpoint and remove the previous one."""
    place = folder / f"{CHECKPOINT}{state.steps}"
    temporary = folder / f".{place.name}.part"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    save_weights(dict(network.state_dict()), temporary / "weights.safetensors")
    if average is not None:
        save_weights(average, temporary / "average.safetensors")
    states = optimizer.state_dict()["state"].items()
    moments = {f"{number}.{name}": value for number, values in states for name, value in values.items()}
    save_weights(moments | {"random": torch.get_rng_state()}, temporary / "optimizer.safetensors")
    save_state(state, temporary / _STATE)
    shutil.rmtree(place, ignore_errors=True)
    temporary.rename(place)
    remove_checkpoints(folder, but=place)


def find_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint, None if there is none."""
    found = [path for path in folder.glob(f"{CHECKPOINT}*") if (path / _STATE).is_file()]
    return max(found, key=lambda path: int(path.name.removeprefix(CHECKPOINT)), default=None)


def load_checkpoint(place: Path, network: nn.Module, optimizer: Optimizer) -> tuple[State, dict[str, Tensor] | None]:
    """Restore network, optimizer and random generator from a checkpoint; return the state and the averaged weights."""
    network.load_state_dict(load_weights(place / "weights.safetensors"))
    tensors = load_weights(place / "optimizer.safetensors")
    torch.set_rng_state(tensors.pop("random"))
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        moments.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    averaged = place / "average.safetensors"
    return load_state(place / _STATE), load_weights(averaged) if averaged.is_file() else None


def save_state(state: State, path: Path) -> None:
    """Write the state of a run."""
    write_json(path, asdict(state))


def load_state(path: Path) -> State:
    """Read what `save_state` wrote."""
    return State(**read_json(path))


def remove_checkpoints(folder: Path, *, but: Path | None = None) -> None:
    """Remove all checkpoints except one, half-written ones included."""
    for path in [*folder.glob(f"{CHECKPOINT}*"), *folder.glob(f".{CHECKPOINT}*.part")]:
        if path != but:
            shutil.rmtree(path, ignore_errors=True)
