"""AdamW with two learning rates, their schedule, and the running average of the weights."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from hexatagger.model.config import TrainConfig
from hexatagger.train.network import Network


def make_optimizer(network: Network, config: TrainConfig) -> torch.optim.Optimizer:
    """Return AdamW with one learning rate for a pretrained encoder and one for the rest; it decays matrices only."""
    pretrained = getattr(network.encoder, "encoder", None)
    inside = {id(each) for each in pretrained.parameters()} if isinstance(pretrained, nn.Module) else set[int]()
    groups: list[dict[str, Any]] = []
    for rate, own in ((config.rate, True), (config.head_rate, False)):
        for matrix in (True, False):
            part = [each for each in network.parameters() if (id(each) in inside) == own and (each.ndim > 1) == matrix]
            if part:
                groups.append({"params": part, "peak": rate, "lr": rate, "weight_decay": config.weight_decay * matrix})
    return torch.optim.AdamW(groups, fused=True)


def set_rates(optimizer: torch.optim.Optimizer, config: TrainConfig, done: float) -> None:
    """Set the learning rates when a share of the training is done."""
    factor = rate_factor(config, done)
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * factor


def rate_factor(config: TrainConfig, done: float) -> float:
    """Return the factor of the learning rates when a share of all steps is done.

    >>> [rate_factor(TrainConfig(warmup=0.5), done) for done in (0.25, 0.5, 0.75, 1)]
    [0.5, 1.0, 0.5, 0.0]
    """
    if done < config.warmup:
        return max(done / config.warmup, 1e-3)
    left = (1 - done) / (1 - config.warmup) if config.warmup < 1 else 0.0
    if config.decay == "none":
        return 1.0
    return left if config.decay == "linear" else 0.5 * (1 - math.cos(math.pi * left))


def start_average(network: nn.Module, config: TrainConfig) -> dict[str, Tensor] | None:
    """Start the running average of the weights, if the recipe wants one."""
    return {name: each.detach().clone() for name, each in network.state_dict().items()} if config.average else None


@torch.no_grad()
def update_average(average: dict[str, Tensor], network: nn.Module, decay: float, steps: int) -> None:
    """Update the running average; faster at first, because early weights are of no use."""
    weight = 1 - min(decay, steps / (steps + 10))
    for name, value in network.state_dict().items():
        if value.is_floating_point():
            average[name].lerp_(value, weight)
        else:
            average[name].copy_(value)


@contextmanager
def using(weights: dict[str, Tensor] | None, network: nn.Module) -> Iterator[None]:
    """Run the network with other weights inside the block, if any are given."""
    if weights is None:
        yield
        return
    own = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(weights)
    try:
        yield
    finally:
        network.load_state_dict(own)
