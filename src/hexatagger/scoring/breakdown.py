"""What one score hides: which sentences, arcs and relations are right, for two analyses of the same words.

`Score` is the unit of every number here and in `evaluate`: counts, and the percentages made of them. `analyse` compares
sentence with sentence and word with word, and `parting` says where words are not the same; texts that were split into
words in two ways are the business of `evaluate`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hexatagger.sentence import Sentence, Word

LENGTHS = ((1, "1"), (2, "2"), (5, "3-5"), (10, "6-10"), (20, "11-20"))
"""The bins of arc lengths: the longest arc in the bin, and its name."""
LONGEST = "21+"
ROOT_ARC = "root"


@dataclass(frozen=True, slots=True)
class Score:
    """How many items are right, of how many; percentages are made of that.

    `aligned` counts the gold items that have a counterpart in the system's analysis, None where that means nothing.

    >>> score = Score(correct=3, gold=4, system=5, aligned=4)
    >>> score.precision, score.recall, round(score.f1, 2), score.aligned_accuracy
    (60.0, 75.0, 66.67, 75.0)
    """

    correct: int
    gold: int
    system: int
    aligned: int | None = None

    @property
    def precision(self) -> float:
        """The share of the system's items that are right."""
        return _percent(self.correct, self.system)

    @property
    def recall(self) -> float:
        """The share of the gold items that were found."""
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _percent(2 * self.correct, self.gold + self.system)

    @property
    def aligned_accuracy(self) -> float | None:
        """The share of the aligned items that are right."""
        return None if self.aligned is None else _percent(self.correct, self.aligned)

    def to_json(self) -> dict[str, float | None]:
        """Return the four percentages by name."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "aligned_accuracy": self.aligned_accuracy,
        }


def _percent(part: int, whole: int) -> float:
    """Divide first, then scale: the last digit depends on it. Nothing of nothing is 0."""
    return 100 * (part / whole) if whole else 0.0


@dataclass(frozen=True, slots=True)
class Attachment:
    """Arcs: `uas` counts those with the right head, `las` those with the right head and relation."""

    uas: Score
    las: Score


@dataclass(frozen=True, slots=True)
class Analysis:
    """What `analyse` finds; every Score counts words but `exact` and `roots`, which count sentences."""

    words: Attachment
    """All words that count: accuracy, so precision and recall are the same."""
    exact: Attachment
    """Sentences in which every word that counts is right; so is a sentence in which none counts."""
    roots: Score
    """Sentences whose root word is right, punctuation or not."""
    by_length: Mapping[str, Attachment]
    """By the distance from a word to its head, in words; recall over the gold arcs of that length, precision over the
    system's."""
    by_relation: Mapping[str, Score]
    """Right head and relation; recall over the gold words with that relation, precision over the system's."""

    def to_json(self) -> dict[str, object]:
        """Return percentages and counts by name, the relations from frequent to rare."""
        return {
            "exact_match": {"unlabelled": self.exact.uas.recall, "labelled": self.exact.las.recall},
            "root_accuracy": self.roots.recall,
            "by_length": {
                name: {"UAS": _counted(arcs.uas), "LAS": _counted(arcs.las)} for name, arcs in self.by_length.items()
            },
            "by_relation": {name: _counted(score) for name, score in self.by_relation.items()},
        }


def _counted(score: Score) -> dict[str, float]:
    """Return percentages and counts of a part, which is worth little without its size."""
    percentages = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
    return {**percentages, "correct": score.correct, "gold": score.gold, "system": score.system}


def analyse(
    pairs: Iterable[tuple[Sentence, Sentence]], *, counts: Callable[[Word], bool], relation: Callable[[str], str]
) -> Analysis:
    """Compare gold and system sentences with the same words.

    `counts` says of a gold word whether it is scored, `relation` what is compared of a relation.

    >>> gold = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    >>> system = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "nsubj"])
    >>> found = analyse([(gold, system)], counts=lambda word: True, relation=str)
    >>> found.words.uas.correct, found.words.las.correct, found.exact.uas.correct, found.exact.las.correct
    (3, 2, 1, 0)
    >>> found.by_relation["nsubj"]
    Score(correct=1, gold=1, system=2, aligned=None)
    """
    # Every counter is a pair of counters: with the gold's bin or relation as the key, and with the system's.
    lengths, relations = (Counter[str](), Counter[str]()), (Counter[str](), Counter[str]())
    headed, labelled, right = Counter[str](), Counter[str](), Counter[str]()
    sentences = exact_heads = exact_arcs = roots = 0
    for gold, system in pairs:
        sentences += 1
        wrong_heads = wrong_arcs = 0
        for word, other in zip(gold.words, system.words, strict=True):
            roots += word.head == 0 and other.head == 0
            if not counts(word):
                continue
            length, name = arc_length(word), relation(word.deprel)
            same_head = word.head == other.head
            same_arc = same_head and name == relation(other.deprel)
            lengths[0][length] += 1
            lengths[1][arc_length(other)] += 1
            relations[0][name] += 1
            relations[1][relation(other.deprel)] += 1
            headed[length] += same_head
            labelled[length] += same_arc
            right[name] += same_arc
            wrong_heads += not same_head
            wrong_arcs += not same_arc
        exact_heads += not wrong_heads
        exact_arcs += not wrong_arcs

    def attachment(uas: int, las: int, gold: int, system: int) -> Attachment:
        return Attachment(Score(uas, gold, system), Score(las, gold, system))

    total = lengths[0].total()
    bins = [name for name in (ROOT_ARC, *(name for _, name in LENGTHS), LONGEST) if name in lengths[0] | lengths[1]]
    frequent = sorted(relations[0] | relations[1], key=lambda name: (-relations[0][name], name))
    return Analysis(
        words=attachment(headed.total(), labelled.total(), total, total),
        exact=attachment(exact_heads, exact_arcs, sentences, sentences),
        roots=Score(roots, sentences, sentences),
        by_length={name: attachment(headed[name], labelled[name], lengths[0][name], lengths[1][name]) for name in bins},
        by_relation={name: Score(right[name], relations[0][name], relations[1][name]) for name in frequent},
    )


def arc_length(word: Word) -> str:
    """Return the bin of a word's arc; the arc from the root has no length and a bin of its own.

    >>> [arc_length(Word(3, "papers", head=head)) for head in (0, 2, 4, 8, 99)]
    ['root', '1', '1', '3-5', '21+']
    """
    if not word.head:
        return ROOT_ARC
    distance = abs(word.id - word.head)
    return next((name for longest, name in LENGTHS if distance <= longest), LONGEST)


# Where two files part


def parting(golds: list[Sentence], systems: list[Sentence], names: tuple[str, str]) -> str:
    """Say where the words of two files first differ; empty if nowhere.

    >>> one, two = (Sentence.from_words(forms) for forms in (["I", "do", "n't"], ["I", "don't"]))
    >>> parting([one], [two], ("gold", "system"))
    "the words part in gold, sentence 1, word 2: after 'I' it has 'do n't', system has 'don't'"
    """
    for number, (gold, system) in enumerate(zip(golds, systems, strict=False), 1):
        if gold.forms != system.forms:
            at = first_difference(gold.forms, system.forms)
            context = f"after '{'… ' * (at > 4)}{' '.join(gold.forms[max(0, at - 4) : at])}' " if at else ""
            return (
                f"the words part in {place(names[0], number, gold)}, word {at + 1}: {context}it has "
                f"{excerpt(gold.forms, at)}, {names[1]} has {excerpt(system.forms, at)}"
            )
    if len(golds) == len(systems):
        return ""
    shared = min(len(golds), len(systems))
    (shorter, _), (longer, extra) = sorted(zip(names, (golds, systems), strict=True), key=lambda side: len(side[1]))
    return (
        f"{names[0]} has {len(golds)} sentences, {names[1]} {len(systems)}: {shorter} ends before "
        f"{place(longer, shared + 1, extra[shared])}, {excerpt(extra[shared].forms, 0)}"
    )


def place(name: str, number: int, sentence: Sentence) -> str:
    """Name a sentence as a message should: file, number, sent_id."""
    identifier = sentence.comment("sent_id")
    return f"{name}, sentence {number}" + (f" ({identifier})" if identifier else "")


def excerpt(forms: Sequence[str], at: int) -> str:
    """Quote some words from a place on."""
    if at >= len(forms):
        return "no more words"
    return f"'{' '.join(forms[at : at + 4])}{' …' * (len(forms) > at + 4)}'"


def first_difference(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the first place where two rows differ: the end of the shorter if nowhere before."""
    shorter = min(len(left), len(right))
    return next((place for place in range(shorter) if left[place] != right[place]), shorter)
