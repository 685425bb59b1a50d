"""Checks before any work: the treebanks, the recipe against them, the output folder."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import get_args

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.formats.files import lock
from hexatagger.model.card import DataFile, Part
from hexatagger.model.config import Recipe
from hexatagger.model.folder import CONFIG, LOCK, LOG, RUN, read_folder, read_json
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.model.values import checked, checking
from hexatagger.sentence import Sentence
from hexatagger.train.checkpoint import find_checkpoint
from hexatagger.train.labels import LabelFolder

TREEBANK = "treebank"  # key of the comment that names the treebank of a sentence
_SHOWN = 5  # examples in a warning
_OTHER_FEATS = 0.25  # difference in agreement; Icelandic: 40 % for UD_Icelandic-Modern of 2020, 89 % for IcePaHC
_FEWEST_KNOWN = 0.2  # share of the words in dev that a treebank must know


def read_treebank(files: Sequence[Path], *, purpose: str) -> list[Sentence]:
    """Read the sentences of several files; each must be a tree with one root.

    The comment `treebank` names the treebank of a sentence. Where it is missing, the name of the file's folder is used.
    """
    if not files:
        raise ConfigError(f"no {purpose} file is given: name at least one CoNLL-U file")
    sentences: list[Sentence] = []
    for file in files:
        for sentence in read_conllu(file, roots="one"):
            if sentence.comment(TREEBANK) is None:
                sentence.comments.append(f"# {TREEBANK} = {file.resolve().parent.name}")
            sentences.append(sentence)
    if not sentences:
        raise FormatError("has no sentence", source=", ".join(map(str, files)))
    return sentences


def check_columns(sentences: Sequence[Sentence], recipe: Recipe, *, source: str) -> None:
    """Raise ConfigError if a column that the recipe needs is empty everywhere."""
    needed = {task: f"model.tasks has '{task}'" for task in recipe.model.tasks}
    if recipe.model.pos:
        needed[recipe.model.pos] = f"model.pos is '{recipe.model.pos}'"
    for name, reason in needed.items():
        if all(getattr(word, name) == "_" for sentence in sentences for word in sentence):
            raise ConfigError(f"{source}: the column {name.upper()} is empty, but {reason}: take it out of the recipe")


def other_treebanks(train: Sequence[Sentence], dev: Sequence[Sentence], related: Sequence[Sentence] = ()) -> LabelSet:
    """Return the treebanks that are in train but not in dev, none if the two have nothing in common; then the related.

    Without a common name, names are compared up to the first space: "UD_Slovak-SNK r2.18" is "UD_Slovak-SNK".

    >>> train = [Sentence([], comments=[f"# treebank = {name}"]) for name in ("UD_German-GSD", "UD_German-PUD")]
    >>> other_treebanks(train, [Sentence([], comments=["# treebank = UD_German-GSD r2.16"])])
    LabelSet(['UD_German-PUD'])
    """
    names, wanted = (LabelSet.collect(str(each.comment(TREEBANK)) for each in part) for part in (train, dev))
    same = {name for name in names if name in set(wanted)}
    if not same:
        bases = {name.split()[0] for name in wanted}
        same = {name for name in names if name.split()[0] in bases}
    others = [name for name in names if name not in same] if same else []
    further = LabelSet.collect(str(each.comment(TREEBANK)) for each in related)
    return LabelSet([*others, *(name for name in further if name not in {*names, *wanted})])


def drop_shared(related: Sequence[Sentence], dev: Sequence[Sentence]) -> tuple[list[Sentence], list[str]]:
    """Leave out sentences of related treebanks that are in dev too; return the rest and warnings.

    Sets that are assembled from several treebanks may share sentences. Upper and lower case are the same.

    >>> related = [Sentence.from_words(words) for words in (["Ja", "!"], ["ja", "!"], ["Nei", "!"])]
    >>> kept, _ = drop_shared(related, related[:1])
    >>> [sentence.forms for sentence in kept]
    [['Nei', '!']]
    """
    known = {tuple(form.lower() for form in sentence.forms) for sentence in dev}
    kept = [each for each in related if tuple(form.lower() for form in each.forms) not in known]
    left = len(related) - len(kept)
    return kept, [f"{left} sentences of related treebanks are in dev too and are not learnt"] if left else []


def drop_feats(train: Sequence[Sentence], dev: Sequence[Sentence]) -> list[str]:
    """Remove the FEATS of an older release of the treebank in dev if they are annotated otherwise; return warnings.

    They are if FEATS of another treebank in train agree much better with dev. A treebank that is no release of the one
    in dev may differ (see `other_treebanks`).
    """
    names, wanted = ({str(each.comment(TREEBANK)) for each in part} for part in (train, dev))
    older = names - wanted - set(other_treebanks(train, dev))
    shares = {name: _agreement([each for each in train if each.comment(TREEBANK) == name], dev) for name in names}
    best = max(shares, key=lambda name: shares[name])
    found = sorted(name for name in older if shares[name] < shares[best] - _OTHER_FEATS)
    for sentence in train:
        if sentence.comment(TREEBANK) in found:
            for word in sentence:
                word.feats = ""
    return [
        f"FEATS of {name} are not learnt: {shares[name]:.0%} of the word forms in dev have the features that they have "
        f"there, {shares[best]:.0%} those of {best}"
        for name in found
    ]


def _agreement(train: Sequence[Sentence], dev: Sequence[Sentence]) -> float:
    """Return the share of known words of dev that have the FEATS which their form and UPOS have most often in train."""
    seen: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for word in (word for sentence in train for word in sentence):
        seen[word.form, word.upos][word.feats] += 1
    usual = {key: counts.most_common(1)[0][0] for key, counts in seen.items()}
    words = [word for sentence in dev for word in sentence]
    known = [usual[word.form, word.upos] == word.feats for word in words if (word.form, word.upos) in usual]
    return sum(known) / len(known) if len(known) > _FEWEST_KNOWN * len(words) else 0.0


def like_dev(train: Sequence[Sentence], dev: Sequence[Sentence], *, least: int) -> Sequence[Sentence]:
    """Return the sentences of the treebanks that dev has, if they are at least so many; otherwise all.

    >>> train = [Sentence([], comments=[f"# treebank = {name}"]) for name in ("UD_German-GSD", "UD_German-PUD")]
    >>> [len(like_dev(train, train[:1], least=least)) for least in (1, 2)]
    [1, 2]
    """
    others = set(other_treebanks(train, dev))
    same = [sentence for sentence in train if sentence.comment(TREEBANK) not in others]
    return same if len(same) >= least else train


def unseen(dev: Sequence[Sentence], train: Sequence[Sentence]) -> list[str]:
    """Return a warning about relations that are in dev but not in train, with their counts.

    >>> train = [Sentence.from_words(["a"], heads=[0], deprels=["root"])]
    >>> unseen([Sentence.from_words(["a", "b"], heads=[0, 1], deprels=["root", "obj"])], train)
    ['dev has 1 relation that train does not have and that cannot be predicted: obj (1 word)']
    """
    known = {word.deprel for sentence in train for word in sentence}
    counts = Counter(word.deprel for sentence in dev for word in sentence if word.deprel not in known)
    if not counts:
        return []
    shown = [f"{name} ({count} word{'s' * (count > 1)})" for name, count in counts.most_common(_SHOWN)]
    listed = ", ".join(shown + ["…"] * (len(counts) > _SHOWN))
    relations = f"{len(counts)} relation{'s' * (len(counts) > 1)}"
    return [f"dev has {relations} that train does not have and that cannot be predicted: {listed}"]


def check_labels(recipe: Recipe, folders: Sequence[LabelFolder]) -> Labels:
    """Return the labels that a student shares with its teachers; raise ConfigError if they do not fit."""
    if recipe.model.relations == "joint":
        raise ConfigError("model.relations is 'joint', which cannot learn from a teacher: set it to 'separate'")
    labels = folders[0].labels
    for folder in folders:
        if folder.labels != labels:
            raise ConfigError("the folders of labels have different label sets: make them with the same teachers")
        for name in ("order", "lift"):
            mine, other = getattr(recipe.model, name), getattr(folder, name)
            if mine != other:
                raise ConfigError(f"model.{name} is '{mine}', but the teacher has '{other}': both must be the same")
    missing = [task for task in recipe.model.tasks if task not in labels.tasks]
    if missing:
        raise ConfigError(f"the teacher does not predict {', '.join(missing)}: take it out of model.tasks")
    return replace(
        labels, tasks={task: labels.tasks[task] for task in recipe.model.tasks}, pos=LabelSet([]), words=LabelSet([])
    )


def check_folder(out: Path) -> None:
    """Raise ConfigError if the output is not a folder."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file: name a folder to write to")


def check_output(out: Path, *, resume: bool) -> None:
    """Raise ConfigError if the folder is in use, or if there is no run in it to resume."""
    check_folder(out)
    used = out.is_dir() and any(path.name != LOCK for path in out.iterdir())
    if used and not resume:
        raise ConfigError(f"{out} is in use: name an empty folder, or resume the run in it with --resume")
    if resume and used and find_checkpoint(out) is None and not (out / LOG).is_file():
        raise ConfigError(f"{out} has no training run to resume: name another folder")


def check_same(out: Path, recipe: Recipe, files: Sequence[DataFile]) -> None:
    """Raise ConfigError if the run in the folder was begun with another recipe or other files."""
    advice = "resume with the same one or name another folder"
    if (out / CONFIG).is_file():
        begun, now = read_folder(out).recipe.to_dict(), recipe.portable().to_dict()
        for section in ("model", "training"):
            for key, value in now[section].items():
                if (before := begun[section][key]) != value and key != "checkpoint_minutes":
                    raise ConfigError(f"{out} was begun with {section}.{key} = {before!r}, not {value!r}: {advice}")
    if (out / RUN).is_file():
        with checking(str(out / RUN)):
            known = checked(read_json(out / RUN).get("files"), tuple[DataFile, ...], "files")
        for part in get_args(Part):
            old, new = ([each for each in group if each.part == part] for group in (known, files))
            if [each.sha256 for each in old] != [each.sha256 for each in new]:
                first, second = (", ".join(each.name for each in group) or "none" for group in (old, new))
                changed = f"not {second}" if first != second else "whose content was another"
                raise ConfigError(f"{out} was begun with another {part} file ({first}, {changed}): {advice}")


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Lock the folder against other training runs; the lock ends with the process, however that ends."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOCK).open("wb") as file:
        if not lock(file):
            raise ConfigError(f"{out} is in use by another training run: wait for it or name another folder")
        yield
