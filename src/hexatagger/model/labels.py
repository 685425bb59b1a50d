"""The strings that a model predicts and their ids, per task; JSON in and out.

A `LabelSet` holds the strings of one task in a fixed order. `Labels` holds all sets of a model: relations, the marks of
lifted words, one set per further task (`upos`, `xpos`, `feats`, `lemma`), one for the input column, one of the words
that have a given vector and one of treebanks.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from hexatagger.errors import ConfigError, FormatError
from hexatagger.model.values import checked, checking, parse_json
from hexatagger.tags.lemma import apply_script
from hexatagger.tags.projective import split_mark

MISSING = -1  # the id of a string that is not in the set


class LabelSet:
    """Strings with ids from 0 up.

    >>> labels = LabelSet(["nsubj", "root"])
    >>> labels.ids(["root", "obj"]), labels[0], len(labels)
    ([1, -1], 'nsubj', 2)
    """

    def __init__(self, strings: Iterable[str]) -> None:
        self.strings = tuple(strings)
        self._ids = {string: number for number, string in enumerate(self.strings)}
        if len(self._ids) < len(self.strings):
            double, _ = Counter(self.strings).most_common(1)[0]
            raise FormatError(f"label '{double}' occurs twice in one set")

    @classmethod
    def collect(cls, strings: Iterable[str], *, least: int = 1) -> Self:
        """Collect the strings that occur at least `least` times, the most frequent first, ties in alphabetical order.

        >>> LabelSet.collect(["b", "a", "b"]).strings
        ('b', 'a')
        """
        counts = Counter(strings)
        kept = [string for string, count in counts.items() if count >= least]
        return cls(sorted(kept, key=lambda string: (-counts[string], string)))

    def ids(self, strings: Sequence[str]) -> list[int]:
        """Return the ids of strings, MISSING for those that have none."""
        return [self._ids.get(string, MISSING) for string in strings]

    def __getitem__(self, number: int) -> str:
        return self.strings[number]

    def __len__(self) -> int:
        return len(self.strings)

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSet) and self.strings == other.strings

    def __repr__(self) -> str:
        return f"LabelSet({list(self.strings)!r})"


@dataclass(slots=True)
class Labels:
    """All label sets of a model.

    With relations = "separate" or "pairs", `relations` are those of the treebank and `marks` is what the lifting scheme
    appends to them ("" first: not lifted). With "joint", `relations` include the marks and `marks` is just "".
    """

    relations: LabelSet
    marks: LabelSet = field(default_factory=lambda: LabelSet([""]))
    roots: frozenset[str] = frozenset({"root"})  # a root word takes one of these relations, no other word does
    tasks: dict[str, LabelSet] = field(default_factory=dict)  # strings of the further tasks
    pos: LabelSet = field(default_factory=lambda: LabelSet([]))  # strings of the input column, if there is one
    words: LabelSet = field(default_factory=lambda: LabelSet([]))  # words with a given vector, if there are any
    treebanks: LabelSet = field(default_factory=lambda: LabelSet([]))  # treebanks in train that are not in dev

    def pos_ids(self, values: Sequence[str]) -> list[int]:
        """Return the ids of an input column; strings that training did not have share the id after the last.

        >>> Labels(LabelSet([]), pos=LabelSet(["NOUN", ""])).pos_ids(["NOUN", "_", "X"])
        [0, 1, 2]
        """
        # subtle: training collects `_` as an empty string
        ids = self.pos.ids(["" if value == "_" else value for value in values])
        return [len(self.pos) if each == MISSING else each for each in ids]

    @property
    def root_mask(self) -> list[bool]:
        """Say for every relation whether it is for root words."""
        return [split_mark(string)[0] in self.roots for string in self.relations]

    def to_json(self) -> str:
        """Write as JSON, one set per line; words with a given vector have a file of their own."""
        sets: dict[str, Any] = {"relations": self.relations.strings, "roots": sorted(self.roots)}
        sets |= {"marks": self.marks.strings, "pos": self.pos.strings}
        if len(self.treebanks):
            sets["treebanks"] = self.treebanks.strings
        sets |= {f"task.{name}": labels.strings for name, labels in self.tasks.items()}
        lines = (f"{json.dumps(name)}: {json.dumps(strings, ensure_ascii=False)}" for name, strings in sets.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str, *, source: str = "labels.json") -> Self:
        """Read what `to_json` wrote."""
        with checking(source):
            values = checked(parse_json(text, source), dict[str, tuple[str, ...]], "labels")
            for name in ("relations", "roots", "marks", "pos"):
                if name not in values:
                    raise ConfigError(f"label set '{name}' is missing: the file is incomplete, make the model again")
            for name, strings in values.items():
                if not strings and name not in ("roots", "pos"):
                    raise ConfigError(f"label set '{name}' is empty: make the model again")
            for script in values.get("task.lemma", ()):
                try:
                    apply_script("a", script)
                except (LookupError, ValueError):
                    raise ConfigError(f"label set 'task.lemma' has {script!r}, not a lemma script") from None
        sets = {name: LabelSet(strings) for name, strings in values.items()}
        tasks = {name.removeprefix("task."): each for name, each in sets.items() if name.startswith("task.")}
        treebanks = sets.get("treebanks", LabelSet([]))
        roots = frozenset(values["roots"])
        return cls(sets["relations"], sets["marks"], roots, tasks, sets["pos"], treebanks=treebanks)
