"""Label sentences with one or more teachers, for a smaller model to learn from: see `labels` for the files.

The teachers run as exported networks, in 8 bits if they have such: several times as fast as torch. A student learns
more than their raw scores: the marginal probabilities of tags over legal sequences, and the teachers' best tree, which
is reranked if they have pointers.
"""

import itertools
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.errors import ConfigError
from hexatagger.formats.conllu import read_conllu
from hexatagger.formats.files import read_text
from hexatagger.model.card import DataFile
from hexatagger.model.folder import LABELS, ModelFolder, network_file, read_folder, read_json, write_file, write_json
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.parsing.predictions import Prediction, tag_scores
from hexatagger.parsing.workers import worker_pool
from hexatagger.segment.segmenter import read_plain
from hexatagger.sentence import Sentence
from hexatagger.train import preflight
from hexatagger.train.labels import TASKS, TEACHERS, Arrays, Labelled, read_label_folder, shard_name, write_shard
from hexatagger.tree import fits_head

Item = TypeVar("Item")
Source = Literal["text", "lines", "words", "conllu"]
_SHARD = 20_000  # words in a shard
_SHORTEST, _LONGEST = 2, 100  # words in a sentence; what is longer is seldom one
_RELATIONS = 4  # the most probable relations of a word that are kept
_SHARED = ("order", "lift", "tasks")  # settings of the network that teachers have in common


@dataclass(frozen=True, slots=True)
class Progress:
    """How far labelling is."""

    shards: int
    words: int


def label(
    teachers: Sequence[Path],
    files: Sequence[Path],
    out: Path,
    *,
    source: Source = "text",
    words: int = 0,
    seed: int = 1,
    workers: int = 1,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Label the sentences of files and write them to the folder `out`; shards that are there already are kept.

    With `words`, a random sample of the paragraphs of that many words is labelled. Text is cut by the segmenter of the
    first teacher. Each worker is a process with one thread.
    """
    if not teachers or not files:
        raise ConfigError("nothing to do: name at least one teacher and one file")
    first = _check_alike(teachers)
    described = {
        "order": first.recipe.model.order,
        "lift": first.recipe.model.lift,
        "teachers": [asdict(DataFile.read("teacher", network_file(each, "auto"), name=each.name)) for each in teachers],
        "files": [asdict(DataFile.read("unlabelled", file)) for file in files],
        "sample": [words, seed] if words else [],
    }
    preflight.check_folder(out)
    if (out / TEACHERS).is_file():
        begun = read_json(out / TEACHERS)
        if changed := [name for name, value in described.items() if begun.get(name) != value]:
            raise ConfigError(f"{out} has labels made with other {' and '.join(changed)}: name another folder")
        if "shards" in begun:
            return Progress(len(read_label_folder(out).shards), begun["words"])
    done = Progress(0, 0)
    waiting: deque[tuple[int, Future[None]]] = deque()
    with worker_pool(workers, _load, teachers) as pool:
        for number, shard in enumerate(_shards(_sentences(teachers[0], files, source, words, seed), words)):
            if number == 0:  # now it is sure that there is something to label
                out.mkdir(parents=True, exist_ok=True)
                write_file(out / LABELS, first.labels.to_json())
                write_json(out / TEACHERS, described)
            size, place = sum(map(len, shard)), out / shard_name(number)
            if place.is_file():
                done = Progress(done.shards + 1, done.words + size)
                continue
            waiting.append((size, pool.submit(_label, shard, place)))
            while len(waiting) > 2 * workers:
                done = _finished(waiting, done)
                report(done)
        while waiting:
            done = _finished(waiting, done)
            report(done)
    if not done.shards:
        raise ConfigError(f"{', '.join(map(str, files))}: no sentence of {_SHORTEST} to {_LONGEST} words")
    write_json(out / TEACHERS, described | {"shards": done.shards, "words": done.words})
    return done


def _finished(waiting: "deque[tuple[int, Future[None]]]", done: Progress) -> Progress:
    """Wait for the first shard."""
    size, future = waiting.popleft()
    future.result()
    return Progress(done.shards + 1, done.words + size)


def _check_alike(teachers: Sequence[Path]) -> ModelFolder:
    """Return the first teacher; raise ConfigError unless all teachers predict the same labels in the same way."""
    first, *rest = map(read_folder, teachers)
    if first.recipe.model.relations == "joint":
        raise ConfigError(f"{first.path} has relations = 'joint': a teacher must predict relations separately")
    for other in rest:
        ours, theirs = ([getattr(each.recipe.model, name) for name in _SHARED] for each in (first, other))
        if ours != theirs or first.labels != other.labels or other.recipe.model.relations == "joint":
            raise ConfigError(f"{other.path} has other labels than {first.path}: train both on the same treebank")
    return first


def _sentences(teacher: Path, files: Sequence[Path], source: Source, words: int, seed: int) -> Iterator[Sentence]:
    """Read sentences, in random order if only some of them are wanted."""
    if source == "conllu":
        given = itertools.chain.from_iterable(map(read_conllu, files))
        yield from _shuffled(given, seed) if words else given
        return
    lines: Iterable[str] = itertools.chain.from_iterable(map(read_text, files))
    if words:
        lines = _shuffled((line for line in lines if line.strip()), seed)
        lines = (f"{line}\n" for line in lines) if source == "text" else lines
    yield from read_plain(lines, source, lambda: load(teacher, threads=1).segmenter)


def _shuffled(items: Iterable[Item], seed: int) -> list[Item]:
    listed = list(items)
    random.Random(seed).shuffle(listed)
    return listed


def _shards(sentences: Iterable[Sentence], words: int) -> Iterator[list[list[str]]]:
    """Cut a stream into shards, up to about as many words as are wanted; very short and very long sentences go."""
    shard: list[list[str]] = []
    size = total = 0
    for sentence in sentences:
        if not _SHORTEST <= len(sentence) <= _LONGEST:
            continue
        shard.append(sentence.forms)
        size, total = size + len(sentence), total + len(sentence)
        if size >= _SHARD:
            yield shard
            shard, size = [], 0
        if words and total >= words:
            break
    if shard:
        yield shard


_parsers: list[Parser]  # the teachers of this process


def _load(teachers: Sequence[Path]) -> None:
    global _parsers
    _parsers = [load(each, threads=1) for each in teachers]


def _label(sentences: Sequence[Sequence[str]], place: Path) -> None:
    write_shard(place, ask(_parsers, [Sentence.from_words(forms) for forms in sentences]))


def ask(teachers: Sequence[Parser], sentences: Sequence[Sentence]) -> list[Labelled]:
    """Return the labels that the teachers together give to sentences."""
    found = [teacher.predict(sentences) for teacher in teachers]
    roots = np.array(teachers[0].labels.root_mask)
    # One teacher's relations may depend on the tree; several have only the probabilities of relations in common.
    merged = found[0] if len(found) == 1 else [_mean(each, roots) for each in zip(*found, strict=True)]
    trees = best_trees(merged)
    marginals = decode.marginals(*tag_scores(merged))
    made = []
    for row, (sentence, prediction, tree) in enumerate(zip(sentences, merged, trees, strict=True)):
        assert prediction.relations is not None
        words = len(sentence)
        internal = np.zeros((words, 4), np.float16)
        internal[: words - 1] = marginals.internal[row, : words - 1]
        shares = np.exp(prediction.relations[:, 0])
        ids = np.argsort(-shares, axis=1)[:, :_RELATIONS]
        shares = np.take_along_axis(shares, ids, 1)
        arrays: Arrays = {
            "leaf": marginals.leaf[row, :words, 0].astype(np.float16),
            "internal": internal,
            "head": np.array(tree.heads, np.int16),
            "relation": tree.deprels.astype(np.int16),
            "relation.ids": ids.astype(np.int16),
            "relation.shares": (shares / shares.sum(1, keepdims=True)).astype(np.float16),
        }
        labels = prediction.tasks | ({} if prediction.mark is None else {"mark": prediction.mark})
        arrays |= {name: labels[name].astype(np.int16) for name in TASKS if name in labels}
        made.append(Labelled(tuple(sentence.forms), arrays))
    return made


def _mean(predictions: Sequence[Prediction], roots: NDArray[np.bool_]) -> Prediction:
    """Average the probabilities of several predictions; marks and further tasks are those of the first."""

    def mean(arrays: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return np.asarray(np.logaddexp.reduce(arrays) - np.log(len(arrays)), np.float32)

    relations = mean([each.relations for each in predictions if each.relations is not None])
    best, root = (np.where(fits_head(roots, top), relations, -np.inf).argmax(-1) for top in (False, True))
    heads = [each.head[:, : len(each) + 1] for each in predictions if each.head is not None]
    return Prediction(
        mean([each.leaf for each in predictions]),
        mean([each.internal for each in predictions]),
        best,
        root,
        relations=relations,
        head=mean(heads) if len(heads) == len(predictions) else None,
        mark=predictions[0].mark,
        tasks=predictions[0].tasks,
    )
