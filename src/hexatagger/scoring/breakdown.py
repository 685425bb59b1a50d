"""Errors by sentence, arc length, relation and inflection, for two analyses of the same words.

`scoring.conll18` aligns analyses with different words; `where_words_differ` says where they differ.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hexatagger.sentence import Sentence, Word

LENGTHS = ("root", "1", "2", "3-5", "6-10", "11-20", "21+")
"""The bins of arc lengths; the arc from the root has no length and its own bin."""
INFLECTED = "Inflected lemmas"
"""The name of the score `Breakdown.inflected`."""
INFLECTED_UPOS = ("NOUN", "VERB", "ADJ")
"""The parts of speech of the words that `is_inflected` says are inflected."""
_LONGEST = (0, 1, 2, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of correct, gold and system items, with the percentages computed from them.

    `aligned` counts the gold items that have a counterpart in the system's analysis; None if nothing is aligned.

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
        """The share of the system's items that are correct."""
        return percent(self.correct, self.system)

    @property
    def recall(self) -> float:
        """The share of the gold items that were found."""
        return percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return percent(2 * self.correct, self.gold + self.system)

    @property
    def aligned_accuracy(self) -> float | None:
        """The share of the aligned items that are correct."""
        return None if self.aligned is None else percent(self.correct, self.aligned)

    def to_json(self) -> dict[str, float | None]:
        """Return the four percentages by name."""
        return {name: getattr(self, name) for name in ("precision", "recall", "f1", "aligned_accuracy")}


def percent(part: int, whole: int) -> float:
    """Return a share in percent, 0 if there is nothing to share."""
    # subtle: divide first, then scale, as the official script does; the last digit depends on it
    return 100 * (part / whole) if whole else 0.0


def universal(deprel: str) -> str:
    """Strip the subtype of a relation: `nsubj:pass` becomes `nsubj`."""
    return deprel.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Attachment:
    """Scores of arcs: `uas` counts correct heads, `las` correct heads with correct relations."""

    uas: Score
    las: Score


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The result of `break_down`. `exact` and `roots` count sentences, all other scores count words."""

    words: Attachment
    """All words that count. This is accuracy: precision and recall are the same."""
    exact: Attachment
    """Sentences in which every word that counts is correct."""
    roots: Score
    """Sentences whose root word is correct, whether or not it is punctuation."""
    by_length: Mapping[str, Attachment]
    """By the distance from a word to its head: recall over gold arcs of that length, precision over the system's."""
    by_deprel: Mapping[str, Score]
    """Correct arcs: recall over the gold words with that relation, precision over the system's."""
    inflected: Score | None = None
    """Lemmas of the words that `is_inflected`; None if there are none, or if lemmas are not compared."""

    def to_json(self) -> dict[str, object]:
        """Return percentages and counts by name, the most frequent relations first."""
        return {
            "exact_match": {"unlabelled": self.exact.uas.recall, "labelled": self.exact.las.recall},
            "root_accuracy": self.roots.recall,
            "inflected_lemmas": _counted(self.inflected) if self.inflected else None,
            "by_length": {
                n: {"UAS": _counted(each.uas), "LAS": _counted(each.las)} for n, each in self.by_length.items()
            },
            "by_relation": {name: _counted(score) for name, score in self.by_deprel.items()},
        }


def _counted(score: Score) -> dict[str, float]:
    """Return percentages and counts: the score of a small part means little without its size."""
    return {name: getattr(score, name) for name in ("precision", "recall", "f1", "correct", "gold", "system")}


def break_down(
    pairs: Iterable[tuple[Sentence, Sentence]],
    *,
    counts: Callable[[Word], bool],
    compared: Callable[[str], str],
    lemmas: bool = True,
) -> Breakdown:
    """Compare gold and system sentences that have the same words.

    `counts` says whether a gold word is scored, `compared` maps a relation to the part of it that is compared, `lemmas`
    says whether the system has lemmas to compare.

    >>> gold = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    >>> system = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "nsubj"])
    >>> found = break_down([(gold, system)], counts=lambda word: True, compared=str)
    >>> found.words.uas.correct, found.words.las.correct, found.exact.uas.correct, found.exact.las.correct
    (3, 2, 1, 0)
    >>> found.by_deprel["nsubj"]
    Score(correct=1, gold=1, system=2, aligned=None)
    """
    gold_lengths, gold_deprels, system_lengths, system_deprels = (Counter[str]() for _ in range(4))
    headed, labelled, correct = Counter[str](), Counter[str](), Counter[str]()
    sentences = exact_heads = exact_arcs = roots = inflected = right_lemmas = 0
    for gold, system in pairs:
        sentences += 1
        all_heads = all_arcs = True
        for word, other in zip(gold.words, system.words, strict=True):
            roots += word.head == 0 and other.head == 0
            if lemmas and is_inflected(word):
                inflected += 1
                right_lemmas += word.lemma == other.lemma
            if not counts(word):
                continue
            length, name, other_name = arc_length(word), compared(word.deprel), compared(other.deprel)
            same_head = word.head == other.head
            same_arc = same_head and name == other_name
            gold_lengths[length] += 1
            system_lengths[arc_length(other)] += 1
            gold_deprels[name] += 1
            system_deprels[other_name] += 1
            headed[length] += same_head
            labelled[length] += same_arc
            correct[name] += same_arc
            all_heads, all_arcs = all_heads and same_head, all_arcs and same_arc
        exact_heads += all_heads
        exact_arcs += all_arcs

    def attachment(uas: int, las: int, gold: int, system: int) -> Attachment:
        return Attachment(Score(uas, gold, system), Score(las, gold, system))

    total = gold_lengths.total()
    by_length = {
        name: attachment(headed[name], labelled[name], gold_lengths[name], system_lengths[name])
        for name in LENGTHS
        if name in gold_lengths | system_lengths
    }
    frequent = sorted(gold_deprels | system_deprels, key=lambda name: (-gold_deprels[name], name))
    return Breakdown(
        attachment(headed.total(), labelled.total(), total, total),
        attachment(exact_heads, exact_arcs, sentences, sentences),
        Score(roots, sentences, sentences),
        by_length,
        {name: Score(correct[name], gold_deprels[name], system_deprels[name]) for name in frequent},
        Score(right_lemmas, inflected, inflected) if inflected else None,
    )


def is_inflected(word: Word) -> bool:
    """Say whether a gold word is a noun, verb or adjective whose lemma differs from its form in more than case.

    >>> [is_inflected(Word(1, form, lemma, "NOUN")) for form, lemma in (("dogs", "dog"), ("Dog", "dog"), ("dogs", "_"))]
    [True, False, False]
    """
    return word.upos in INFLECTED_UPOS and word.lemma != "_" and word.lemma.lower() != word.form.lower()


def arc_length(word: Word) -> str:
    """Return the bin of a word's arc.

    >>> [arc_length(Word(3, "papers", head=head)) for head in (0, 2, 4, 8, 99)]
    ['root', '1', '1', '3-5', '21+']
    """
    return LENGTHS[bisect_left(_LONGEST, abs(word.id - word.head) if word.head else 0)]


def where_words_differ(golds: list[Sentence], systems: list[Sentence], names: tuple[str, str]) -> str:
    """Say where the words of two files first differ; return "" if they do not.

    >>> one, two = (Sentence.from_words(forms) for forms in (["I", "do", "n't"], ["I", "don't"]))
    >>> where_words_differ([one], [two], ("gold", "system"))
    "the words differ in gold, sentence 1, word 2: after 'I' it has 'do n't', system has 'don't'"
    """
    for number, (gold, system) in enumerate(zip(golds, systems, strict=False), 1):
        if gold.forms != system.forms:
            at = first_difference(gold.forms, system.forms)
            context = f"after '{'… ' * (at > 4)}{' '.join(gold.forms[max(0, at - 4) : at])}' " if at else ""
            return (
                f"the words differ in {place(names[0], number, gold)}, word {at + 1}: {context}it has "
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
    """Name a sentence in a message: file, number, sent_id."""
    identifier = sentence.comment("sent_id")
    return f"{name}, sentence {number}" + (f" ({identifier})" if identifier else "")


def excerpt(forms: Sequence[str], at: int) -> str:
    """Quote up to four words, from index `at` on."""
    if at >= len(forms):
        return "no more words"
    return f"'{' '.join(forms[at : at + 4])}{' …' * (len(forms) > at + 4)}'"


def first_difference(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the first index at which two sequences differ: at the latest, the end of the shorter one."""
    shorter = min(len(left), len(right))
    return next((place for place in range(shorter) if left[place] != right[place]), shorter)
