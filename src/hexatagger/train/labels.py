"""Labels that teacher models give to sentences, in files: `hexatagger label` writes them, training reads them.

Knowledge distillation (Hinton, Vinyals and Dean 2015): a small network learns more from the probabilities that large
ones give to all labels than from one label alone, and it can learn them from any text. Several teachers are averaged.

A folder of labels has labels.json (the strings, as in a model), teachers.json (what the teachers are) and numbered
shards (.npz), each with these arrays over the words of its sentences, one sentence after the other:

    lengths         words per sentence
    forms           the words, UTF-8, each with a line end after it
    leaf            probability of the leaf tag l, over legal tag sequences: (words,)
    internal        probabilities of the four internal tags, likewise: (words, 4); zeros for the last word
    head, relation  the teachers' best tree
    relation.ids, relation.shares  the most probable relations and their probabilities: (words, 4) each
    mark, upos, xpos, feats, lemma  the best label, where the teachers predict one
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import replacing
from hexatagger.model.card import DataFile
from hexatagger.model.config import ModelConfig
from hexatagger.model.folder import LABELS, read_file, read_json
from hexatagger.model.labels import Labels
from hexatagger.model.values import checked, checking
from hexatagger.parsing.choose import arc_features
from hexatagger.tags import from_heads
from hexatagger.train.data import Example, tree_targets

TEACHERS = "teachers.json"
TASKS = ("mark", "upos", "xpos", "feats", "lemma")
Arrays = dict[str, NDArray[Any]]


@dataclass(slots=True)
class Labelled:
    """A sentence with its labels: the arrays of a shard, for its words."""

    forms: tuple[str, ...]
    arrays: Arrays


def write_shard(path: Path, sentences: Sequence[Labelled]) -> None:
    """Write a shard; it appears whole or not at all."""
    arrays = {name: np.concatenate([each.arrays[name] for each in sentences]) for name in sentences[0].arrays}
    forms = "".join(f"{form}\n" for each in sentences for form in each.forms).encode()
    lengths = np.array([len(each.forms) for each in sentences], np.int32)
    with replacing(path) as temporary, temporary.open("wb") as file:
        arrays |= {"forms": np.frombuffer(forms, np.uint8), "lengths": lengths}
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stub has `allow_pickle` among them


def read_shard(path: Path) -> list[Labelled]:
    """Read a shard."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        forms = arrays.pop("forms").tobytes().decode().split("\n")
        ends = np.cumsum(arrays.pop("lengths")).tolist()
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        message = f"is not a shard of labels ({error}): make it again with hexatagger label"
        raise FormatError(message, source=str(path)) from None
    if {len(forms) - 1, *map(len, arrays.values())} != {ends[-1] if ends else 0}:
        raise FormatError("has arrays of other lengths than its words", source=str(path))
    return [
        Labelled(tuple(forms[start:end]), {name: array[start:end] for name, array in arrays.items()})
        for start, end in zip([0, *ends], ends, strict=False)
    ]


@dataclass(slots=True)
class LabelFolder:
    """A folder of labels, its shards not read."""

    labels: Labels
    order: str  # of the binary head tree, see `ModelConfig`
    lift: str
    teachers: list[DataFile]  # the network of each
    files: list[DataFile]  # what was labelled
    shards: list[Path]


def read_label_folder(folder: Path) -> LabelFolder:
    """Read what a folder of labels says about itself; FormatError if it is incomplete."""
    values, source = read_json(folder / TEACHERS), str(folder / TEACHERS)
    labels = Labels.from_json(read_file(folder / LABELS), source=str(folder / LABELS))
    with checking(source):
        if "shards" not in values:
            raise ConfigError("labelling did not finish: give the same hexatagger label command again")
        shards = [folder / shard_name(number) for number in range(checked(values["shards"], int, "shards"))]
        order, lift = (checked(values.get(name), str, name) for name in ("order", "lift"))
        teachers, files = (checked(values.get(name), tuple[DataFile, ...], name) for name in ("teachers", "files"))
    found = LabelFolder(labels, order, lift, list(teachers), list(files), shards)
    for shard in shards:
        if not shard.is_file():
            raise FormatError("is missing: make it again with hexatagger label", source=str(shard))
    return found


def shard_name(number: int) -> str:
    """Return the file name of a shard."""
    return f"{number:05d}.npz"


def read_labels(shards: Iterable[Path], *, words: int = 0) -> list[Labelled]:
    """Read the sentences of shards, all or the first ones with so many words."""
    found: list[Labelled] = []
    count = 0
    for shard in shards:
        for each in read_shard(shard):
            if words and count >= words:
                return found
            found.append(each)
            count += len(each.forms)
    return found


def teach(example: Example, labelled: Labelled, config: ModelConfig, *, heads: Iterable[str], trees: float) -> None:
    """Add the teachers' labels to an example: soft tags and, without gold, the tree that pointers and relations need.

    `heads` are the projections that learn from teachers; `trees` is how much the teachers' best tree counts, beside the
    probabilities of its tags.
    """
    arrays = labelled.arrays
    tags = [int(tag) for tag in from_heads(arrays["head"].tolist(), config.order)]
    leaf, rest = np.array(tags[::2]), 1 - trees
    soft = {"leaf": rest * np.stack([arrays["leaf"], 1 - arrays["leaf"]], 1) + trees * np.eye(2)[leaf]}
    internal = np.array([*(tag - 2 for tag in tags[1::2]), 0][: len(leaf)])
    soft["internal"] = rest * arrays["internal"] + trees * np.eye(4)[internal]
    soft["internal"][-1:] = 0.0
    made = {name: (np.broadcast_to(np.arange(each.shape[1]), each.shape), each) for name, each in soft.items()}
    ids = np.concatenate([arrays["relation.ids"], arrays["relation"][:, None]], 1)
    shares = np.concatenate([rest * arrays["relation.shares"], np.full((len(leaf), 1), trees)], 1)
    made["relation"] = ids, shares
    made |= {name: (arrays[name][:, None], np.ones((len(leaf), 1))) for name in TASKS if name in arrays}
    example.soft = {
        name: (made[name][0].astype(np.int16), made[name][1].astype(np.float16)) for name in heads if name in made
    }
    if not example.targets:
        example.targets = tree_targets(arrays["head"].tolist(), tags, config)
        example.features = arc_features(arrays["head"].astype(np.int64)) if config.relations == "tree" else None
