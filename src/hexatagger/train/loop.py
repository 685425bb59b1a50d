"""The training loop: fit a network on examples and keep the weights that are best on dev; functions over accelerate.

Started with `accelerate launch` on several GPUs or processes, each process gets its share of every batch, so the steps
are the same as those of a single process. The library prints nothing: events go to a callback.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast_object_list
from torch import Tensor

from hexatagger.errors import ConfigError
from hexatagger.model.config import TrainConfig
from hexatagger.model.folder import WEIGHTS, write_folder
from hexatagger.parsing.pieces import Window
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.train.checkpoint import State, find_checkpoint, load_checkpoint, save_checkpoint
from hexatagger.train.data import Batch, Example, batches, collate, ignore_all
from hexatagger.train.loss import total_loss
from hexatagger.train.optimizer import make_optimizer, set_rates, start_average, update_average, using
from hexatagger.train.predict import parse
from hexatagger.train.weights import Model, save_weights

Report = Callable[[dict[str, Any]], None]
"""Callback for events: a dictionary with "event" (warning, start, step, epoch, export, calibration, end), "part"
(parser or segmenter) and more. "done" is the finished share of a part; an epoch has loss, scores on dev and cost."""
Loss = Callable[[Mapping[str, Tensor], Batch, TrainConfig], Tensor]
"""Returns the loss of a batch, summed over its words."""
_FEWEST_EPOCHS = 3  # however large the treebank is
_SCORES = {"UAS": "UAS", "LAS": "LAS", "upos": "UPOS", "xpos": "XPOS", "feats": "UFeats", "lemma": "Lemmas"}


@dataclass(slots=True)
class Data:
    """Everything that training reads, encoded."""

    train: list[Example]
    dev: list[Example]
    gold: list[Sentence]  # the dev set, untouched
    warnings: list[str]
    treebank: list[Sentence]  # the training set, untouched


def validate(model: Model, data: Data) -> dict[str, float]:
    """Score dev against its untouched gold, in percent."""
    columns = model.recipe.model.tasks
    found = evaluate(data.gold, parse(model, data.gold, data.dev), columns=columns)
    metrics = found.metrics | found.inflected
    wanted = [*(_SCORES[name] for name in ("UAS", "LAS", *columns)), *found.inflected]
    return {name: round(metrics[name].f1, 3) for name in wanted}


def count_epochs(config: TrainConfig, words: int) -> int:
    """Return the number of passes over a treebank of so many words.

    >>> [count_epochs(TrainConfig(epochs=30, words=700_000), words) for words in (10_000, 50_000, 500_000)]
    [30, 14, 3]
    """
    bound = max(_FEWEST_EPOCHS, config.words // max(1, words)) if config.words else config.epochs
    return min(config.epochs, bound)


def fit(
    model: Model,
    data: Data,
    accelerator: Accelerator,
    report: Report,
    *,
    resume: bool = False,
    loss: Loss = total_loss,
    score: Callable[[Model, Data], dict[str, float]] = validate,
) -> State:
    """Train and keep the weights that are best on dev; with `resume`, go on from the last checkpoint.

    `loss` and `score` are for other parsers in the same loop, such as the baseline of the benchmarks.
    """
    config, out, main = model.recipe.training, model.path, accelerator.is_main_process
    network, optimizer = accelerator.prepare(model.network, make_optimizer(model.network, config))
    state, average = State(), start_average(model.network, config)
    if resume and (place := find_checkpoint(out)):
        state, average = load_checkpoint(place, model.network, optimizer)
    if not main:  # subtle: each process needs its own dropout masks
        torch.manual_seed(torch.initial_seed() + accelerator.process_index)
    else:
        write_folder(model)
    epochs = count_epochs(config, sum(_kept(window) for example in data.train for window in example.windows))
    saved = time.monotonic()
    began = saved - state.seconds
    for warning in data.warnings:
        report({"event": "warning", "part": "parser", "message": warning})
    start = {"event": "start", "part": "parser", "epochs": epochs, "epoch": state.epoch}
    report({**start, "sentences": len(data.train)})
    while state.epoch < epochs:
        if config.patience and state.epoch - max(0, state.best_epoch) >= config.patience:
            break
        alone = state.epoch >= epochs - config.gold_epochs
        plan = batches(_gold(data.train) if alone else data.train, config, epoch=state.epoch)
        loss_sum, words = 0.0, 0
        network.train()
        for items in plan[state.step :]:
            set_rates(optimizer, config, (state.epoch + state.step / len(plan)) / epochs)
            size = sum(_kept(window) for _, window in items)
            own = items[accelerator.process_index :: accelerator.num_processes]
            batch = collate(own or items[:1], pad=model.pad, device=accelerator.device)
            if not own:  # too few windows for all processes
                ignore_all(batch)
            with accelerator.autocast():
                scores = network(**batch.inputs)
            # divided by the words of the whole batch: the mean over processes is then that of a single process
            mean = loss(scores, batch, config) * accelerator.num_processes / size
            accelerator.backward(mean)
            if config.clip:
                accelerator.clip_grad_norm_(network.parameters(), config.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            state.step, state.steps = state.step + 1, state.steps + 1
            if average is not None:
                update_average(average, model.network, config.average, state.steps)
            loss_sum, words = loss_sum + float(mean.detach()) * size, words + size
            state.seconds = time.monotonic() - began
            done = (state.epoch + state.step / len(plan)) / epochs
            progress = {"step": state.step, "of": len(plan), "done": round(done, 5)}
            figures = {"loss": round(loss_sum / words, 4), "seconds": round(state.seconds, 1)}
            report({"event": "step", "part": "parser", "epoch": state.epoch + 1, **progress, **figures})
            if main and time.monotonic() - saved > 60 * config.checkpoint_minutes:
                save_checkpoint(out, state, model.network, optimizer, average)
                saved = time.monotonic()
        state.epoch, state.step = state.epoch + 1, 0
        if main:
            with using(average, model.network):
                reached = score(model, data)
            state.seconds = time.monotonic() - began
            entry = {"epoch": state.epoch, "loss": round(loss_sum / max(1, words), 4), **reached}
            state.history.append(entry | {"seconds": round(state.seconds, 1), "gigabytes": round(_gigabytes(), 2)})
            report({"event": "epoch", "part": "parser", **state.history[-1]})
            if reached["LAS"] > state.best:
                state.best, state.best_epoch = reached["LAS"], state.epoch
                save_weights(average or dict(model.network.state_dict()), out / WEIGHTS)
            save_checkpoint(out, state, model.network, optimizer, average)
            saved = time.monotonic()
        if accelerator.num_processes > 1:
            state.best, state.best_epoch = broadcast_object_list([state.best, state.best_epoch])
    return state


def _gold(examples: Sequence[Example]) -> list[Example]:
    """Return the examples of the treebank, without the labels of teachers."""
    return [replace(example, soft={}) for example in examples if "internal" in example.targets]


def _kept(window: Window) -> int:
    """Return the number of words that a window counts for."""
    return window.keep[1] - window.keep[0]


def _gigabytes() -> float:
    """Return the peak memory of this process, on the GPU if there is one; 0 if it is not known."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated() / 2**30)
    try:
        import resource
    except ImportError:  # on Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def make_accelerator(config: TrainConfig) -> Accelerator:
    """Make the accelerator, in the precision that recipe and device allow."""
    precision = {"fp32": "no", "auto": "no"}.get(config.precision, config.precision)
    if config.precision == "auto" and torch.cuda.is_available() and torch.cuda.is_bf16_supported():
        precision = "bf16"
    # some encoders have weights that only their pretraining used
    handlers = [DistributedDataParallelKwargs(find_unused_parameters=True)]
    try:
        return Accelerator(mixed_precision=precision, kwargs_handlers=handlers)
    except ValueError as error:
        raise ConfigError(f"training.precision '{config.precision}' does not work here: {error}") from None
