"""A training job: treebank in, model folder out. The parser is trained first, then the segmenter if there is to be one.

    train → prepare (read, check, encode) → loop.fit → finish (card, ONNX, calibration, segmenter)

Events go to a callback, and the main process writes them to log.jsonl.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from hexatagger import __version__
from hexatagger.errors import ConfigError, HexataggerError
from hexatagger.formats.files import replacing
from hexatagger.model.card import Card, DataFile, Part, write_card
from hexatagger.model.config import CHARACTERS, Recipe
from hexatagger.model.folder import CURVE, FINISHED, LOG, NETWORK, RUN, SOFT_TAGS, WEIGHTS, has_segmenter, write_json
from hexatagger.model.labels import LabelSet
from hexatagger.parsing.calibrate import calibrate_folder
from hexatagger.sentence import Sentence
from hexatagger.train import preflight, teacher
from hexatagger.train.checkpoint import NOT_SCORES, State, load_state, remove_checkpoints, save_state
from hexatagger.train.data import collect_labels, encode
from hexatagger.train.encoder import check_encoder, load_encoder
from hexatagger.train.loop import Data, Report, fit, make_accelerator
from hexatagger.train.network import Network
from hexatagger.train.segmenter.loop import train_segmenter
from hexatagger.train.vectors import read_vectors
from hexatagger.train.weights import Model, load_model

_LOGGED = 50  # steps per line of log.jsonl


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train on and where to put the result."""

    recipe: Recipe
    train: Sequence[Path]
    dev: Sequence[Path]
    out: Path
    resume: bool = False
    """Go on with the run in `out`, from its last checkpoint."""
    teacher: Path | None = None
    """A model folder whose soft tags are learnt too."""
    unlabelled: Sequence[Path] = ()
    """More sentences, without trees, for the teacher to tag."""
    vectors: Path | None = None
    """Word vectors as an input beside n-grams, in the usual text format."""
    export: bool = True
    """Write the network as ONNX too, so that it runs without torch, and calibrate it."""
    segmenter: bool = False
    """Train a segmenter of raw text too."""


def train(job: Job, report: Report | None = None) -> State:
    """Train a model and leave it in `job.out`; return the history of the parser's training."""
    accelerator = make_accelerator(job.recipe.training)
    main = accelerator.is_main_process
    preflight.check_output(job.out, resume=job.resume)
    files = _files(job)
    if job.resume:
        preflight.check_same(job.out, job.recipe, files)
    finished = load_state(job.out / FINISHED) if job.resume and (job.out / FINISHED).is_file() else None
    if finished:  # what is left is what the folder does not have yet
        export = job.export and not (job.out / NETWORK).is_file()
        job = replace(job, export=export, segmenter=job.segmenter and not has_segmenter(job.out))
        if not (job.export or job.segmenter):
            return finished
    accelerator.wait_for_everyone()  # subtle: before the main process puts anything there
    with preflight.locked(job.out) if main else nullcontext():
        if finished:
            treebank = preflight.read_treebank(job.train, purpose="train")
            gold = preflight.read_treebank(job.dev, purpose="dev")
        else:
            model, data = prepare(job, accelerator)
            treebank, gold = data.treebank, data.gold
        record = _recorder(job.out, report) if main else lambda event: None
        if main:
            write_json(job.out / RUN, {"files": [asdict(each) for each in files]})
        state = finished or fit(model, data, accelerator, record, resume=job.resume)
        if main:
            if not finished:
                describe(model, state, job, files)
            finish(job, treebank, gold, record)
            save_state(state, job.out / FINISHED)
            remove_checkpoints(job.out)
            (job.out / SOFT_TAGS).unlink(missing_ok=True)
        record({"event": "end", "best": state.best, "best_epoch": state.best_epoch, "seconds": state.seconds})
        accelerator.wait_for_everyone()
    return state


def _files(job: Job) -> list[DataFile]:
    """Return all files that a job reads, with their digests; of a teacher its weights."""
    parts: dict[Part, Sequence[Path]] = {"train": job.train, "dev": job.dev, "unlabelled": job.unlabelled}
    parts["teacher"] = [job.teacher / WEIGHTS] if job.teacher else []
    parts["vectors"] = [job.vectors] if job.vectors else []
    return [DataFile.read(part, path) for part, paths in parts.items() for path in paths]


def prepare(job: Job, accelerator: Accelerator) -> tuple[Model, Data]:
    """Read the treebanks, check everything, make the network, ask the teacher."""
    recipe = job.recipe
    if recipe.model.encoder != CHARACTERS:
        if job.vectors:
            raise ConfigError(f"word vectors are for the encoder '{CHARACTERS}': '{recipe.model.encoder}' has its own")
        check_encoder(recipe.model.encoder)
    gold = preflight.read_treebank(job.train, purpose="train")
    dev = preflight.read_treebank(job.dev, purpose="dev")
    preflight.check_columns(gold, recipe, source=", ".join(map(str, job.train)))
    if job.unlabelled and not job.teacher:
        raise ConfigError("unlabelled text is only of use to a teacher: name one with --teacher")
    tutor = load_model(job.teacher) if job.teacher else None
    if tutor:
        labels = preflight.check_teacher(recipe, tutor.recipe, tutor.labels)
    else:
        labels = collect_labels(gold, recipe.model, rare=recipe.training.rare)
    table = None
    if job.vectors:
        words, table = read_vectors(job.vectors, words=recipe.model.vector_words, width=recipe.model.vector_width)
        labels = replace(labels, words=LabelSet(words))
    set_seed(recipe.training.seed)
    if recipe.model.encoder == CHARACTERS:
        model = Model(job.out, recipe, labels, network=Network(recipe.model, labels))
        if table is not None:
            model.network.get_buffer("encoder.known")[1:] = torch.from_numpy(table)
    else:
        encoder = load_encoder(recipe.model.encoder)
        network = Network(recipe.model, labels, encoder.module)
        model = Model(job.out, recipe, labels, encoder.pieces, encoder.tokenizer, encoder.config, network=network)
    cutter = model.cutter()
    examples = [encode(sentence, recipe.model, labels, cutter, gold=True) for sentence in gold]
    dev_examples = [encode(sentence, recipe.model, labels, cutter, gold=False) for sentence in dev]
    if tutor:
        more = teacher.read_unlabelled(job.unlabelled)
        examples += [encode(sentence, recipe.model, labels, cutter, gold=False) for sentence in more]
        place = job.out / SOFT_TAGS
        if accelerator.is_main_process and not place.is_file():
            tutor.network.to(accelerator.device)
            teacher.save_soft(teacher.ask(tutor, [*gold, *more]), place)
        accelerator.wait_for_everyone()
        teacher.give(examples, teacher.load_soft(place, [len(sentence) for sentence in (*gold, *more)]), model)
    return model, Data(examples, dev_examples, dev, preflight.unseen(dev, gold), gold if job.segmenter else [])


def describe(model: Model, state: State, job: Job, files: Sequence[DataFile]) -> None:
    """Write the model card and the learning curve."""
    best = next(entry for entry in state.history if entry["epoch"] == state.best_epoch)
    recipe = model.recipe.portable()
    card = Card(
        **asdict(recipe.card),
        version=__version__,
        encoder=recipe.model.encoder,
        parameters=sum(parameter.numel() for parameter in model.network.parameters()),
        scores={name: value for name, value in best.items() if name not in NOT_SCORES},
        epoch=state.best_epoch,
        epochs=len(state.history),
        minutes=round(state.seconds / 60, 1),
        gigabytes=max(entry.get("gigabytes", 0.0) for entry in state.history),
        data=tuple(each for each in files if each.part != "teacher"),
        notes=f"Taught by the model in `{Path(job.teacher).name}`." if job.teacher else "",
        recipe={name: keys for name, keys in recipe.to_dict().items() if name != "card"},
    )
    write_card(job.out, card)
    _plot(state.history, job.out / CURVE)


def _plot(history: Sequence[dict[str, Any]], path: Path) -> None:
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


def finish(job: Job, treebank: Sequence[Sentence], gold: Sequence[Sentence], report: Report) -> None:
    """Train the segmenter, export and calibrate; a failure is a warning, so that hours of training are not lost."""
    if job.segmenter:
        with _warned(report):
            train_segmenter(treebank, gold, job.out, report=report)
    if job.export:
        from hexatagger.train.export.onnx import export

        with _warned(report):
            report({"event": "export", **asdict(export(job.out, gold))})
        if (job.out / NETWORK).is_file():
            with _warned(report):
                found = calibrate_folder(job.out, gold)
                report({"event": "calibration", **asdict(found)})
                if not found.helps:
                    raise ConfigError(f"the temperature is not stored, it makes the error worse: {found.describe()}")


@contextmanager
def _warned(report: Report) -> Iterator[None]:
    """Turn an error into a warning."""
    try:
        yield
    except HexataggerError as error:
        report({"event": "warning", "message": str(error)})


def _recorder(out: Path, report: Report | None) -> Report:
    """Return a report function that writes log.jsonl and calls the callback."""
    (out / LOG).touch()  # says that there is a run to resume

    def record(event: dict[str, Any]) -> None:
        if event["event"] != "step" or event["step"] % _LOGGED == 0:
            with (out / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(event, ensure_ascii=False) + "\n")
        if report:
            report(event)

    return record
