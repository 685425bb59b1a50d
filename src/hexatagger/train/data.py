"""Sentences → batches: targets as ids, windows padded together, batches of similar lengths."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hexatagger.model.config import ModelConfig, TrainConfig
from hexatagger.model.labels import MISSING, Labels, LabelSet
from hexatagger.parsing.choose import arc_features
from hexatagger.parsing.pieces import Grams, Numbers, Pieces, Window, stack_windows
from hexatagger.sentence import Sentence, Word
from hexatagger.tags import Hexatag, from_heads, lift
from hexatagger.tags.lemma import to_script
from hexatagger.tags.projective import split_mark
from hexatagger.train.pointers import POINTERS

IGNORE = -100  # a target that is not in the loss, as torch has it
_POOL = 40  # batches that are sorted by length together
Soft = tuple[NDArray[np.int16], NDArray[np.float16]]
"""A teacher's k best labels of every word and their probabilities: (words, k) each."""


@dataclass(slots=True)
class Example:
    """An encoded sentence."""

    windows: list[Window]
    targets: dict[str, Numbers]  # per projection the gold label of every word; if absent, there is none
    pos: Numbers | None = None
    soft: dict[str, Soft] = field(default_factory=dict)  # per projection the soft tags of a teacher
    treebank: int = 0  # number of its treebank; 0: one that dev has
    features: Numbers | None = None  # see `arc_features`, for relations given the tree


@dataclass(slots=True)
class Batch:
    """Windows padded together; see `Network.forward` for the shapes."""

    inputs: dict[str, Tensor]
    targets: dict[str, Tensor]
    soft: dict[str, tuple[Tensor, Tensor]]
    whole: Tensor  # which rows are whole sentences rather than windows of longer ones


Item = tuple[Example, Window]


def column(word: Word, task: str) -> str:
    """Return the label string of a word for a task; `_` means none, except in FEATS, where it is a value."""
    if task == "lemma":
        return "" if word.lemma == "_" and word.form != "_" else to_script(word.form, word.lemma)
    value = str(getattr(word, task))
    return value if value != "_" or task == "feats" else ""


def collect_labels(sentences: Sequence[Sentence], config: ModelConfig, *, rare: int = 1) -> Labels:
    """Collect all label strings of a training set."""
    joint = config.relations == "joint"
    arcs = [
        (head, *split_mark(deprel))
        for sentence in sentences
        for head, deprel in zip(*lift(sentence.heads, sentence.deprels, config.lift), strict=True)
    ]
    tasks: dict[str, LabelSet] = {}
    for task in config.tasks:
        strings = [string for sentence in sentences for word in sentence if (string := column(word, task))]
        # a rare FEATS string costs nothing if it is scored by attributes that others have too
        once = task not in ("feats", "lemma") or (task == "feats" and config.feats == "attributes")
        tasks[task] = LabelSet.collect(strings, least=1 if once else rare)
    words = (word for sentence in sentences for word in sentence if config.pos)
    return Labels(
        LabelSet.collect(base + mark if joint else base for _, base, mark in arcs),
        LabelSet([""] if joint else ["", *LabelSet.collect(mark for _, _, mark in arcs if mark)]),
        frozenset({base for head, base, _ in arcs if not head} - {base for head, base, _ in arcs if head}),
        tasks,
        LabelSet.collect(column(word, config.pos) for word in words),
    )


def encode(sentence: Sentence, config: ModelConfig, labels: Labels, pieces: Pieces | Grams, *, gold: bool) -> Example:
    """Encode a sentence, with targets if it is `gold`."""
    targets: dict[str, Numbers] = {}
    if gold:
        heads, deprels = lift(sentence.heads, sentence.deprels, config.lift)
        tags = [int(tag) for tag in from_heads(heads, config.order)]
        leaf = np.array(tags[::2], np.int64)
        internal = np.array([*(tag - 2 for tag in tags[1::2]), IGNORE][: len(sentence)], np.int64)
        if config.relations == "joint":
            relation = np.array(labels.relations.ids(deprels), np.int64)
            joint = np.where(relation == MISSING, IGNORE, leaf * len(labels.relations) + relation)
            targets |= {"joint": joint, "internal": internal}
        else:
            split = [split_mark(deprel) for deprel in deprels]
            targets |= {"leaf": leaf, "internal": internal}
            targets["relation"] = _ids(labels.relations, [base for base, _ in split])
            if len(labels.marks) > 1:
                targets["mark"] = _ids(labels.marks, [mark for _, mark in split])
        targets |= tree_targets(heads, tags, config)
        for task in config.tasks:
            targets[task] = _ids(labels.tasks[task], [column(word, task) for word in sentence])
    pos = None
    if config.pos:
        pos = np.array(labels.pos_ids([getattr(word, config.pos) for word in sentence]), np.int64)
    features = arc_features(targets["head"]) if config.relations == "tree" and gold else None
    return Example(pieces.windows(sentence.forms), targets, pos, features=features)


def tree_targets(heads: Sequence[int], tags: Sequence[int], config: ModelConfig) -> dict[str, Numbers]:
    """Return the targets that say where arcs go, for pointers and for relations given the tree."""
    if not config.scores_heads and config.relations != "tree":
        return {}
    return {"head": np.array(heads, np.int64)} | (arcs_of_gaps(tags) if config.pointers else {})


def arcs_of_gaps(tags: Sequence[int]) -> dict[str, Numbers]:
    """Return, for the gap after every word, the gap above it in the binary head tree and the two words of its arc.

    All count from 1; the gap after word k is k; 0 means that there is none above. There is no gap after the last word.

    >>> {name: values.tolist() for name, values in arcs_of_gaps([0, 3, 1, 2, 0, 5, 1]).items()}
    {'above': [2, 0, 2, -100], 'governor': [2, 2, 4, -100], 'dependent': [1, 4, 3, -100]}
    """
    size = (len(tags) + 1) // 2
    above, governor, dependent = (np.full(size, IGNORE, np.int64) for _ in range(3))
    waiting: list[tuple[int, int]] = []  # gaps whose right part is open, with the head of their left part
    for word in range(1, size + 1):
        gap, head = 0, word  # the finished part: its gap, if it has more than one word, and its head
        right_child = tags[2 * word - 2] == Hexatag.LEAF_R
        while right_child:
            below, (gap, left) = gap, waiting.pop()
            if below:
                above[below - 1] = gap
            tag = tags[2 * gap - 1]
            from_left = tag in (Hexatag.L_HEAD_L, Hexatag.R_HEAD_L)
            governor[gap - 1], dependent[gap - 1] = (left, head) if from_left else (head, left)
            head = left if from_left else head
            right_child = tag in (Hexatag.R_HEAD_L, Hexatag.R_HEAD_R)
        if gap:
            above[gap - 1] = word if word < size else 0
        waiting.append((word, head))
    return {"above": above, "governor": governor, "dependent": dependent}


def _ids(labels: LabelSet, strings: list[str]) -> Numbers:
    """Return the ids of strings, IGNORE for those that the set does not have."""
    numbers = np.array(labels.ids(strings), np.int64)
    return np.where(numbers == MISSING, IGNORE, numbers)


def collate(items: Sequence[Item], *, pad: int = 0, device: torch.device | str = "cpu") -> Batch:
    """Pad windows to one batch with their targets; `pad` is the piece that fills it."""
    windows = [window for _, window in items]
    pos = [example.pos for example, _ in items if example.pos is not None]
    inputs = stack_windows(windows, pad=pad, pos=pos or None)
    inputs["treebanks"] = np.array([example.treebank for example, _ in items], np.int64)
    shape = inputs["spans"].shape[:2]
    examples = [example for example, _ in items]
    targets = {name: np.full(shape, IGNORE, np.int64) for example in examples for name in example.targets}
    widths = {name: ids.shape[1] for example in examples for name, (ids, _) in example.soft.items()}
    targets |= {name: np.full(shape, IGNORE, np.int64) for name in widths if name not in targets}
    features = np.zeros((*shape, 3), np.int64)
    soft_ids = {name: np.zeros((*shape, width), np.int64) for name, width in widths.items()}
    soft_shares = {name: np.zeros((*shape, width), np.float32) for name, width in widths.items()}
    for row, (example, window) in enumerate(items):
        kept, given = window.kept, slice(*window.keep)
        for name, values in example.targets.items():
            targets[name][row, kept] = _within(window, values[given]) if name in POINTERS else values[given]
        for name, (ids, shares) in example.soft.items():
            soft_ids[name][row, kept], soft_shares[name][row, kept] = ids[given], shares[given]
        if example.features is not None:
            features[row, kept] = example.features[given]
    if any(example.features is not None for example in examples):
        inputs |= {"heads": np.maximum(targets["head"], 0), "features": features}
    numbers, weights = tensors(soft_ids, device), tensors(soft_shares, device)
    return Batch(
        tensors(inputs, device),
        tensors(targets, device),
        {name: (numbers[name], weights[name]) for name in numbers},
        torch.tensor([len(example.windows) == 1 for example, _ in items], device=device),
    )


def tensors(arrays: Mapping[str, NDArray[Any]], device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """Return arrays as tensors on a device."""
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def _within(window: Window, places: Numbers) -> Numbers:
    """Count places from the start of a window; those outside of it are ignored."""
    inside = (places > window.start) & (places <= window.start + len(window))
    return np.where(inside, places - window.start, np.where(places == 0, 0, IGNORE))


def ignore_all(batch: Batch) -> Batch:
    """Take a whole batch out of the loss."""
    for target in batch.targets.values():
        target.fill_(IGNORE)
    for _, shares in batch.soft.values():
        shares.zero_()
    return batch


def batches(examples: Sequence[Example], config: TrainConfig, *, epoch: int) -> list[list[Item]]:
    """Group all windows into batches of similar lengths, in an order that depends only on seed and epoch."""
    shuffler = random.Random(f"{config.seed} {epoch}")
    items: list[Item] = [(example, window) for example in examples for window in example.windows]
    shuffler.shuffle(items)
    mean = sum(_length(item, config) for item in items) / max(1, len(items))
    pool = max(1, int(_POOL * config.batch / max(1.0, mean)))
    made: list[list[Item]] = []
    for start in range(0, len(items), pool):
        made += cut(sorted(items[start : start + pool], key=lambda item: len(item[1].pieces)), config)
    shuffler.shuffle(made)
    return made


def cut(items: Sequence[Item], config: TrainConfig) -> Iterator[list[Item]]:
    """Cut sorted items into batches no larger than the recipe says, padding included; at least one item each."""
    batch: list[Item] = []
    longest = 0
    for item in items:
        longest = max(longest, _length(item, config))
        if batch and longest * (len(batch) + 1) > config.batch:
            yield batch
            batch, longest = [], _length(item, config)
        batch.append(item)
    if batch:
        yield batch


def _length(item: Item, config: TrainConfig) -> int:
    """Return the length of an item in the unit of the batch size."""
    if config.batch_unit == "pieces":
        return len(item[1].pieces)
    return len(item[1]) if config.batch_unit == "words" else 1
