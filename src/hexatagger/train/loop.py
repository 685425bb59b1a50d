"""Treebank in, model folder out: train → prepare → fit (→ validate) → finish, functions over accelerate.

The devices are accelerate's business: started with `accelerate launch` on several GPUs or processes, each of them has
its share of each batch, so that the steps are those of one process. The library prints nothing: what happens is told to
a callback, and the main process writes it to log.jsonl.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast_object_list, set_seed
from torch import Tensor

from hexatagger.errors import ConfigError
from hexatagger.model.config import CHARACTERS, Recipe, TrainConfig
from hexatagger.parsing.calibrate import calibrate_folder
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from hexatagger.train import preflight, teacher
from hexatagger.train.card import write_card, write_curve
from hexatagger.train.checkpoint import (
    State,
    find_checkpoint,
    load_checkpoint,
    load_finished,
    remove_checkpoints,
    save_checkpoint,
    save_finished,
)
from hexatagger.train.data import Batch, Example, Item, batches, collate, collect_labels, encode, ignore_all
from hexatagger.train.encoder import load_encoder
from hexatagger.train.loss import total_loss
from hexatagger.train.network import Network
from hexatagger.train.optimizer import make_optimizer, set_rates, start_average, update_average, using
from hexatagger.train.predict import parse
from hexatagger.train.weights import Model, load_model, save_model, save_weights

Report = Callable[[dict[str, Any]], None]
"""Is told what happens: a dictionary with "event" (warning, start, step, epoch, export, calibration, end) and more."""
Loss = Callable[[Mapping[str, Tensor], Batch, TrainConfig], Tensor]
"""Returns the loss of a batch, summed over its words."""
WEIGHTS = "model.safetensors"
SOFT = "teacher.safetensors"
_LOGGED = 50  # every so many steps a line of log.jsonl
_SCORES = {"UAS": "UAS", "LAS": "LAS", "upos": "UPOS", "xpos": "XPOS", "feats": "UFeats", "lemma": "Lemmas"}


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train on and where to put the result."""

    recipe: Recipe
    train: Sequence[Path]
    dev: Sequence[Path]
    out: Path
    resume: bool = False
    """Go on with the run that is in `out`, from its last checkpoint."""
    teacher: Path | None = None
    """A model folder whose soft tags are learnt too."""
    unlabelled: Sequence[Path] = ()
    """More sentences, without trees, for the teacher to tag."""
    export: bool = True
    """Write the model as ONNX too, so that it runs without torch."""


@dataclass(slots=True)
class Data:
    """Everything read and encoded."""

    train: list[Example]
    dev: list[Example]
    gold: list[Sentence]
    """The dev set, untouched."""
    warnings: list[str]


def train(job: Job, report: Report | None = None) -> State:
    """Train a model and leave it in `job.out`; return how it went."""
    accelerator = make_accelerator(job.recipe.training)
    main = accelerator.is_main_process
    if job.resume and (finished := load_finished(job.out)):
        return finished
    preflight.check_output(job.out, resume=job.resume)
    accelerator.wait_for_everyone()  # subtle: before the main process puts anything there
    with preflight.locked(job.out) if main else nullcontext():
        model, data = prepare(job, accelerator)
        with _logged(job.out, report, main) as record:
            for warning in data.warnings:
                record({"event": "warning", "message": warning})
            state = fit(model, data, job, accelerator, record)
            if main:
                finish(model, data, state, job, record)
            record({"event": "end", "best": state.best, "best_epoch": state.best_epoch, "seconds": state.seconds})
        accelerator.wait_for_everyone()
    return state


def prepare(job: Job, accelerator: Accelerator) -> tuple[Model, Data]:
    """Read the treebanks, check everything, make the network, ask the teacher."""
    recipe = job.recipe
    preflight.check_recipe(recipe)
    gold, dev = preflight.read_treebank(job.train, purpose="train"), preflight.read_treebank(job.dev, purpose="dev")
    preflight.check_columns(gold, recipe, source=", ".join(map(str, job.train)))
    if job.unlabelled and not job.teacher:
        raise ConfigError("unlabelled text is of use to a teacher only: name one with --teacher")
    tutor = load_model(job.teacher) if job.teacher else None
    if tutor:
        labels = preflight.check_teacher(recipe, tutor.recipe, tutor.labels)
    else:
        labels = collect_labels(gold, recipe.model, rare=recipe.training.rare)
    set_seed(recipe.training.seed)
    if recipe.model.encoder == CHARACTERS:
        model = Model(recipe, labels, Network(recipe.model, labels))
    else:
        encoder = load_encoder(recipe.model.encoder)
        network = Network(recipe.model, labels, encoder.module)
        model = Model(recipe, labels, network, encoder.pieces, encoder.tokenizer, encoder.config)
    if job.resume:
        preflight.check_same(model, job.out)
    cutter = model.cutter()
    examples = [encode(sentence, recipe.model, labels, cutter, gold=True) for sentence in gold]
    dev_examples = [encode(sentence, recipe.model, labels, cutter, gold=False) for sentence in dev]
    if tutor:
        more = teacher.read_unlabelled(job.unlabelled)
        examples += [encode(sentence, recipe.model, labels, cutter, gold=False) for sentence in more]
        _teach(examples, [*gold, *more], model, tutor, job, accelerator)
    return model, Data(examples, dev_examples, dev, preflight.unseen(dev, gold))


def _teach(
    examples: list[Example], sentences: list[Sentence], model: Model, tutor: Model, job: Job, accelerator: Accelerator
) -> None:
    """Give the examples a teacher's soft tags, asked by the main process and kept in a file."""
    place = job.out / SOFT
    if accelerator.is_main_process and not place.is_file():
        tutor.network.to(accelerator.device)
        teacher.save_soft(teacher.ask(tutor, sentences), place)
    accelerator.wait_for_everyone()
    teacher.give(examples, teacher.load_soft(place, [len(sentence) for sentence in sentences]), model)


def validate(model: Model, data: Data) -> dict[str, float]:
    """Score dev against its untouched gold, in percent."""
    system = parse(model.network, data.gold, data.dev, model.labels, pad=model.pad)
    metrics = evaluate(data.gold, system).metrics
    wanted = [_SCORES[name] for name in ("UAS", "LAS", *model.recipe.model.tasks)]
    return {name: round(metrics[name].f1, 3) for name in wanted}


def fit(
    model: Model,
    data: Data,
    job: Job,
    accelerator: Accelerator,
    report: Report,
    *,
    loss: Loss = total_loss,
    score: Callable[[Model, Data], dict[str, float]] = validate,
) -> State:
    """Go through the treebank again and again; keep the weights that are best on dev.

    `loss` and `score` are for other parsers in the same loop, as the baseline of our benchmarks.
    """
    config, out, main = job.recipe.training, job.out, accelerator.is_main_process
    network, optimizer = accelerator.prepare(model.network, make_optimizer(model.network, config))
    state, average = State(), start_average(model.network, config)
    if job.resume and (place := find_checkpoint(out)):
        state, average = load_checkpoint(place, model.network, optimizer)
    if not main:  # subtle: processes must not drop out the same things
        torch.manual_seed(torch.initial_seed() + accelerator.process_index)
    else:
        save_model(model, out)
    began = saved = time.monotonic()
    before = state.seconds
    report({"event": "start", "epochs": config.epochs, "epoch": state.epoch, "sentences": len(data.train)})
    while state.epoch < config.epochs and not _stopped(state, config):
        plan = batches(data.train, config, epoch=state.epoch)
        loss_sum, words = 0.0, 0
        network.train()
        for items in plan[state.step :]:
            set_rates(optimizer, config, (state.epoch + state.step / len(plan)) / config.epochs)
            last = _step(network, optimizer, items, model.pad, config, accelerator, loss)
            state.step, state.steps = state.step + 1, state.steps + 1
            if average is not None:
                update_average(average, model.network, config.average, state.steps)
            size = _words(items)
            loss_sum, words = loss_sum + last * size, words + size
            state.seconds = before + time.monotonic() - began
            done = (state.epoch + state.step / len(plan)) / config.epochs
            progress = {"step": state.step, "of": len(plan), "done": round(done, 5)}
            figures = {"loss": round(loss_sum / words, 4), "seconds": round(state.seconds, 1)}
            report({"event": "step", "epoch": state.epoch + 1, **progress, **figures})
            if main and time.monotonic() - saved > 60 * config.checkpoint_minutes:
                save_checkpoint(out, state, model.network, optimizer, average)
                saved = time.monotonic()
        state.epoch, state.step = state.epoch + 1, 0
        if main:
            with using(average, model.network):
                scores = score(model, data)
            state.seconds = before + time.monotonic() - began
            entry = {"epoch": state.epoch, "loss": round(loss_sum / max(1, words), 4), **scores}
            state.history.append(entry | {"seconds": round(state.seconds, 1), "gigabytes": round(_gigabytes(), 2)})
            report({"event": "epoch", **state.history[-1]})
            if scores["LAS"] > state.best:
                state.best, state.best_epoch = scores["LAS"], state.epoch
                save_weights(average or dict(model.network.state_dict()), out / WEIGHTS)
            save_checkpoint(out, state, model.network, optimizer, average)
            saved = time.monotonic()
        if accelerator.num_processes > 1:
            state.best, state.best_epoch = broadcast_object_list([state.best, state.best_epoch])
    return state


def finish(model: Model, data: Data, state: State, job: Job, report: Report) -> None:
    """Write what makes the folder a model for others to use, and remove what only training needed."""
    sources = {"train": job.train, "dev": job.dev, "unlabelled": job.unlabelled}
    write_card(model, state, job.out, teacher=job.teacher, **sources)
    write_curve(state, job.out / "curve.png")
    if job.export:
        from hexatagger.train.export.onnx import export

        with _warned(report):
            report({"event": "export", **asdict(export(job.out, data.gold))})
        if (job.out / "model.onnx").is_file():
            with _warned(report):
                report({"event": "calibration", **asdict(calibrate_folder(job.out, data.gold))})
    save_finished(state, job.out)
    remove_checkpoints(job.out)
    (job.out / SOFT).unlink(missing_ok=True)


@contextmanager
def _warned(report: Report) -> Iterator[None]:
    """Make a warning of what cannot be done: hours of training are not lost for it."""
    try:
        yield
    except ConfigError as error:
        report({"event": "warning", "message": str(error)})


def _step(
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    items: list[Item],
    pad: int,
    config: TrainConfig,
    accelerator: Accelerator,
    loss: Loss,
) -> float:
    """Learn from one batch; return its loss per word."""
    batch = _share(items, accelerator, pad)
    with accelerator.autocast():
        scores = network(**batch.inputs)
    # Divided by the words of the whole batch: the mean over processes is then that of one process.
    mean = loss(scores, batch, config) * accelerator.num_processes / _words(items)
    accelerator.backward(mean)
    if config.clip:
        accelerator.clip_grad_norm_(network.parameters(), config.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(mean.detach())


def _share(items: list[Item], accelerator: Accelerator, pad: int) -> Batch:
    """Return this process's share of a batch; one window that counts for nothing where there are too few."""
    own = items[accelerator.process_index :: accelerator.num_processes]
    batch = collate(own, pad=pad) if own else ignore_all(collate(items[:1], pad=pad))
    return batch.to(accelerator.device)


def _words(items: Sequence[Item]) -> int:
    """Count the words of a batch that count."""
    return sum(window.keep[1] - window.keep[0] for _, window in items)


def _gigabytes() -> float:
    """Return the most memory that this process has had: the GPU's where there is one; 0 where nobody says."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated() / 2**30)
    try:
        import resource
    except ImportError:  # on Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def _stopped(state: State, config: TrainConfig) -> bool:
    """Say whether dev has not improved for too long."""
    return bool(config.patience) and state.epoch - max(0, state.best_epoch) >= config.patience


def make_accelerator(config: TrainConfig) -> Accelerator:
    """Make the accelerator in the arithmetic that the recipe and the device allow."""
    precision = {"fp32": "no", "auto": "no"}.get(config.precision, config.precision)
    if config.precision == "auto" and torch.cuda.is_available() and torch.cuda.is_bf16_supported():
        precision = "bf16"
    # Some encoders have weights that only their pretraining used.
    handlers = [DistributedDataParallelKwargs(find_unused_parameters=True)]
    try:
        return Accelerator(mixed_precision=precision, kwargs_handlers=handlers)
    except ValueError as error:
        raise ConfigError(f"training.precision '{config.precision}' does not work here: {error}") from None


@contextmanager
def _logged(out: Path, report: Report | None, main: bool) -> Iterator[Report]:
    """Give a report function that tells the callback and writes log.jsonl, in the main process only."""
    if not main:
        yield lambda event: None
        return
    with (out / preflight.LOG).open("a", encoding="utf-8") as log:

        def record(event: dict[str, Any]) -> None:
            if event["event"] != "step" or event["step"] % _LOGGED == 0:
                log.write(json.dumps(event, ensure_ascii=False) + "\n")
                log.flush()
            if report:
                report(event)

        yield record
