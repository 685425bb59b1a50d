"""Knowledge distillation: a teacher's soft tags for the treebank, and for more text if there is any.

Hinton, Vinyals and Dean (2015): a small network learns more from the probabilities that a large one gives to all labels
than from the gold label alone. Only the most probable labels of each projection are kept, nearly all of the mass.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from hexatagger.errors import FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.formats.files import read_lines
from hexatagger.parsing.network import Arrays
from hexatagger.sentence import Sentence
from hexatagger.train.data import IGNORE, Example, encode
from hexatagger.train.network import head_sizes
from hexatagger.train.pointers import POINTERS
from hexatagger.train.predict import soft_tags
from hexatagger.train.weights import Model, load_weights, save_weights


def read_unlabelled(files: Sequence[Path]) -> list[Sentence]:
    """Read sentences without trees: CoNLL-U, or text (.txt) with one sentence per line and spaces between words."""
    sentences: list[Sentence] = []
    for file in files:
        if Path(file).name.removesuffix(".gz").removesuffix(".xz").endswith(".txt"):
            sentences += [Sentence.from_words(words) for line in read_lines(file) if (words := line.split())]
        else:
            sentences += read_conllu(file)
    return sentences


def ask(teacher: Model, sentences: Sequence[Sentence]) -> list[Arrays]:
    """Return the teacher's soft tags of every sentence, see `soft_tags`."""
    cutter = teacher.cutter()
    examples = [encode(sentence, teacher.recipe.model, teacher.labels, cutter, gold=False) for sentence in sentences]
    return soft_tags(teacher, examples)


def give(examples: Sequence[Example], soft: Sequence[Arrays], model: Model) -> None:
    """Add the teacher's soft tags to a student's examples; examples without gold get targets that are ignored."""
    heads = list(head_sizes(model.recipe.model, model.labels))
    unheard = set(model.recipe.model.tasks) - set(model.recipe.training.teacher_tasks)
    for example, tags in zip(examples, soft, strict=True):
        example.soft = {name: (tags[f"{name}.ids"], tags[f"{name}.shares"]) for name in heads if name not in unheard}
        words = sum(window.keep[1] - window.keep[0] for window in example.windows)
        for name in (*heads, *(POINTERS if model.recipe.model.pointers else ())):
            if name not in example.targets:
                example.targets[name] = np.full(words, IGNORE, np.int64)


def save_soft(soft: Sequence[Arrays], path: Path) -> None:
    """Write a teacher's soft tags, so that a resumed run need not compute them again."""
    tensors = {name: torch.from_numpy(np.concatenate([tags[name] for tags in soft])) for name in soft[0]}
    save_weights(tensors | {"words": torch.tensor([len(next(iter(tags.values()))) for tags in soft])}, path)


def load_soft(path: Path, sizes: Sequence[int]) -> list[Arrays]:
    """Read what `save_soft` wrote, for sentences of these lengths."""
    tensors = load_weights(path)
    if tensors.pop("words").tolist() != list(sizes):
        raise FormatError("has a teacher's tags of other sentences: remove it to compute them again", source=str(path))
    cuts = np.cumsum(sizes)[:-1]
    parts = {name: np.split(tensor.numpy(), cuts) for name, tensor in tensors.items()}
    return [{name: arrays[row] for name, arrays in parts.items()} for row in range(len(sizes))]
