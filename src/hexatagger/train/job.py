"""A training job: treebank in, model folder out. The parser is trained first, then the segmenter if there is to be one.

    train → prepare (read, check, encode) → loop.fit → finish (card, ONNX, calibration, segmenter)

Events go to a callback, and the main process writes them to log.jsonl.
"""

import json
from collections.abc import Callable, Iterator, Sequence
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
from hexatagger.model.folder import CURVE, FINISHED, FITS, LOG, NETWORK, RUN, has_segmenter, write_json
from hexatagger.model.labels import LabelSet
from hexatagger.model.language import learn, write_profile
from hexatagger.model.lemmas import collect_lemmas
from hexatagger.parsing.calibrate import calibrate_folder
from hexatagger.parsing.fit import count_fits, write_fits
from hexatagger.sentence import Sentence
from hexatagger.train import preflight
from hexatagger.train.checkpoint import NOT_SCORES, State, load_state, remove_checkpoints, save_state
from hexatagger.train.data import Example, collect_labels, encode
from hexatagger.train.encoder import check_encoder, load_encoder
from hexatagger.train.labels import read_label_folder, read_labels, teach
from hexatagger.train.loop import Data, Report, fit, make_accelerator
from hexatagger.train.network import Network, head_sizes
from hexatagger.train.segmenter.loop import train_segmenter
from hexatagger.train.vectors import compress, read_vectors
from hexatagger.train.weights import Model

_MOST_REPEATS = 3  # of a treebank, beside those of related languages
_FEWEST_SENTENCES = 1000  # that a segmenter learns from, if there are more in other treebanks than those in dev
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
    related: Sequence[Path] = ()
    """Treebanks of related languages: the parser learns from them; labels, lemmas and segmenter come from `train`."""
    labels: Sequence[Path] = ()
    """Folders of labels by teachers, see `labels`. Sentences of the treebank have gold trees beside them."""
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
            if not finished and job.recipe.model.relations == "tree" and "upos" in job.recipe.model.tasks:
                write_fits(count_fits(data.treebank, model.labels, job.recipe.model.lift), job.out / FITS)
        state = finished or fit(model, data, accelerator, record, resume=job.resume)
        if main:
            if not finished:
                describe(model, state, job, files)
            finish(job, treebank, gold, record)
            save_state(state, job.out / FINISHED)
            remove_checkpoints(job.out)
        record({"event": "end", "best": state.best, "best_epoch": state.best_epoch, "seconds": state.seconds})
        accelerator.wait_for_everyone()
    return state


def _files(job: Job) -> list[DataFile]:
    """Return all files that a job reads, with their digests; of labels what they were made of."""
    parts: dict[Part, Sequence[Path]] = {"train": job.train, "dev": job.dev, "related": job.related}
    parts["vectors"] = [job.vectors] if job.vectors else []
    found = [DataFile.read(part, path) for part, paths in parts.items() for path in paths]
    for folder in map(read_label_folder, job.labels):
        found += folder.files
        found += [each for each in folder.teachers if each not in found]
    return found


def prepare(job: Job, accelerator: Accelerator) -> tuple[Model, Data]:
    """Read the treebanks, check everything, make the network, ask the teacher."""
    recipe = job.recipe
    if recipe.model.encoder != CHARACTERS:
        if job.vectors:
            raise ConfigError(f"word vectors are for the encoder '{CHARACTERS}': '{recipe.model.encoder}' has its own")
        check_encoder(recipe.model.encoder)
    gold = preflight.read_treebank(job.train, purpose="train")
    dev = preflight.read_treebank(job.dev, purpose="dev")
    related = preflight.read_treebank(job.related, purpose="related") if job.related else []
    related, shared = preflight.drop_shared(related, dev)
    preflight.check_columns(gold, recipe, source=", ".join(map(str, job.train)))
    other = preflight.drop_feats(gold, dev) if recipe.model.treebanks and "feats" in recipe.model.tasks else []
    taught = [read_label_folder(folder) for folder in job.labels]
    if taught:
        labels = preflight.check_labels(recipe, taught)
    else:
        labels = collect_labels(gold, recipe.model, rare=recipe.training.rare)
    if recipe.model.treebanks:
        labels = replace(labels, treebanks=preflight.other_treebanks(gold, dev, related))
    table = None
    if job.vectors:
        words, table = read_vectors(job.vectors, words=recipe.model.vector_words, width=recipe.model.vector_width)
        labels = replace(labels, words=LabelSet(words))
    set_seed(recipe.training.seed)
    if recipe.model.encoder == CHARACTERS:
        model = Model(job.out, recipe, labels, network=Network(recipe.model, labels))
        if table is not None:
            codes, centres = compress(table, recipe.model.vector_bytes)
            model.network.get_buffer("encoder.codes")[1:] = torch.from_numpy(codes)
            model.network.get_buffer("encoder.centres")[:] = torch.from_numpy(centres)
    else:
        encoder = load_encoder(recipe.model.encoder, depth=recipe.model.depth)
        network = Network(recipe.model, labels, encoder.module)
        model = Model(job.out, recipe, labels, encoder.pieces, encoder.tokenizer, encoder.config, network=network)
    model.lemmas = collect_lemmas(gold, recipe.model.tasks) if "lemma" in recipe.model.tasks else None
    cutter = model.cutter()
    examples = [encode(sentence, recipe.model, labels, cutter, gold=True) for sentence in [*gold, *related]]
    names = [str(sentence.comment(preflight.TREEBANK)) for sentence in [*gold, *related]]
    for number, treebank in enumerate(labels.treebanks.ids(names)):
        examples[number].treebank = 1 + treebank  # 0: one that dev has
    dev_examples = [encode(sentence, recipe.model, labels, cutter, gold=False) for sentence in dev]
    if taught:
        known = {tuple(sentence.forms): example for sentence, example in zip(gold, examples, strict=False)}
        unheard = set(recipe.model.tasks) - set(recipe.training.teacher_tasks)
        heads = [name for name in head_sizes(recipe.model, labels) if name not in unheard]
        shards = [shard for folder in taught for shard in folder.shards]
        for each in read_labels(shards, words=recipe.training.teacher_words):
            example = known.get(each.forms)
            if example is None:
                example = Example(cutter.windows(list(each.forms)), {})
                examples.append(example)
            teach(example, each, recipe.model, heads=heads, trees=recipe.training.teacher_trees)
    if accelerator.is_main_process and (profile := learn(gold, dev, language=recipe.card.language)):
        write_profile(job.out, profile)
    examples += examples[: len(gold)] * (_repeats(gold, related) - 1)
    return model, Data(examples, dev_examples, dev, [*shared, *preflight.unseen(dev, gold), *other], gold)


def _repeats(own: Sequence[Sentence], related: Sequence[Sentence]) -> int:
    """Return how often an epoch sees the treebank, so that larger treebanks of related languages do not outweigh it."""
    words, others = (sum(map(len, part)) for part in (own, related))
    return min(_MOST_REPEATS, max(1, round(others / max(1, words))))


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
        data=tuple(files),
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
            # French, two of seven treebanks are in dev: Sentences 86.7 → 89.2; Portuguese, one of five: 82.8 → 85.4
            own = preflight.like_dev(treebank, gold, least=_FEWEST_SENTENCES)
            train_segmenter(own, gold, job.out, report=report)
    if job.export:
        from hexatagger.train.export.onnx import export

        with _warned(report):
            done = export(job.out, gold, report=_part(report, "export"))
            report({"event": "export", **asdict(done)})
        if (job.out / NETWORK).is_file():
            with _warned(report):
                found = calibrate_folder(job.out, gold, report=_part(report, "calibration"))
                report({"event": "calibration", **asdict(found)})
                if not found.helps:
                    raise ConfigError(f"the temperature is not stored, it makes the error worse: {found.describe()}")


def _part(report: Report, part: str) -> Callable[[float], None]:
    """Return a function that reports how much of a part is done."""
    return lambda done: report({"event": "part", "part": part, "done": done})


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
        if event["event"] != "part" and (event["event"] != "step" or event["step"] % _LOGGED == 0):
            with (out / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(event, ensure_ascii=False) + "\n")
        if report:
            report(event)

    return record
