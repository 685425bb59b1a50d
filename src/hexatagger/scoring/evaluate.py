"""Score a system's trees against gold trees, by one of three metrics.

- `conll18`: the metrics of the CoNLL 2018 shared task; see `scoring.conll18`. The words may differ, the text may not.
- `ptb`: UAS and LAS as usual for the Penn Treebank: the same words on both sides, full relations, no punctuation. A
  word is punctuation if its gold XPOS or its gold UPOS is in PUNCTUATION.
- `paper`: UAS and LAS as the authors of the paper score UD: the same words, no subtypes, no punctuation, which is
  recognised by the gold UPOS alone. Their gold trees went through the pseudo-projective transformation and back.

Where sentences and words are the same, `scoring.breakdown` adds exact match, root accuracy, and scores by arc length
and by relation. Enhanced dependencies are not scored.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from hexatagger.errors import AlignmentError, ConfigError, TreeError, check_choice
from hexatagger.formats.conllu import Format, read_conllu
from hexatagger.formats.files import File, name_of
from hexatagger.scoring.breakdown import INFLECTED, Breakdown, Score, break_down, place, universal, where_words_differ
from hexatagger.scoring.conll18 import score_aligned
from hexatagger.sentence import Sentence, Word
from hexatagger.tree import check_tree

Metric = Literal["conll18", "ptb", "paper"]
Roots = Literal["one", "attach"]

PUNCTUATION = frozenset({"``", "''", ":", ",", ".", "PU", "PUNCT"})
"""Punctuation tags of the Penn Treebank (where brackets, `$` and `#` count as words), the Chinese Treebank and UD."""
COLUMNS = ("upos", "xpos", "feats", "lemma")
_COMPARED = {"UPOS": ["upos"], "XPOS": ["xpos"], "UFeats": ["feats"], "AllTags": ["upos", "xpos", "feats"]}
_COMPARED |= {"Lemmas": ["lemma"], "MLAS": ["upos", "feats"], "BLEX": ["lemma"]}
"""The columns that a metric compares, beside HEAD and DEPREL."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores by name, in percent, and a breakdown of the errors where gold and system have the same words."""

    metric: Metric
    metrics: dict[str, Score]
    breakdown: Breakdown | None
    """None if gold and system differ in sentences or words; a note then says where."""
    notes: tuple[str, ...] = ()

    @property
    def inflected(self) -> dict[str, Score]:
        """The score of the lemmas of inflected words under its name; empty if there are none, or no lemmas."""
        found = self.breakdown and self.breakdown.inflected
        return {INFLECTED: found} if found else {}

    def to_json(self) -> dict[str, object]:
        """Return plain values for JSON: `{"metric": …, "metrics": {"UAS": {"precision": …, …}, …}, …}`."""
        nothing: dict[str, object] = dict.fromkeys(
            ("exact_match", "root_accuracy", "inflected_lemmas", "by_length", "by_relation")
        )
        more = self.breakdown.to_json() if self.breakdown else nothing
        metrics = {name: score.to_json() for name, score in self.metrics.items()}
        return {"metric": self.metric, "metrics": metrics, **more, "notes": list(self.notes)}


def evaluate(
    gold: Iterable[Sentence],
    system: Iterable[Sentence],
    *,
    metric: Metric = "conll18",
    columns: Collection[str] = COLUMNS,
    names: tuple[str, str] = ("gold", "system"),
) -> Evaluation:
    """Score the system's sentences against the gold ones; messages call the two sides by `names`.

    `columns` are those that the system predicts: metrics that compare another one are left out.
    Raises AlignmentError where the sides differ: in their text for `conll18`, in their sentences or words otherwise.

    >>> gold = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    >>> system = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "nsubj"])
    >>> result = evaluate([gold], [system])
    >>> result.metrics["UAS"].f1, round(result.metrics["LAS"].f1, 2)
    (100.0, 66.67)
    """
    check_choice("metric", metric, get_args(Metric))
    golds, systems = list(_trees(gold, names[0])), list(_trees(system, names[1]))
    if metric == "conll18":
        scores, same_words = score_aligned(golds, systems, names)
        metrics = {name: score for name, score in scores.items() if set(_COMPARED.get(name, ())) <= set(columns)}
        if not same_words:
            where = where_words_differ(golds, systems, names) or "the words belong to different tokens"
            note = f"no exact match, root accuracy, inflected lemmas, lengths or relations: {where}"
            return Evaluation(metric, metrics, None, (note,))
        found = break_down(
            zip(golds, systems, strict=True), counts=lambda word: True, compared=universal, lemmas="lemma" in columns
        )
        return Evaluation(metric, metrics, found, () if golds else ("there are no sentences: nothing to score",))
    if where := where_words_differ(golds, systems, names):
        raise AlignmentError(f"{where}; metric '{metric}' needs the same words, 'conll18' only the same text")
    ptb = metric == "ptb"

    def counts(word: Word) -> bool:
        return word.upos not in PUNCTUATION and not (ptb and word.xpos in PUNCTUATION)

    compared, lemmas = str if ptb else universal, "lemma" in columns
    found = break_down(zip(golds, systems, strict=True), counts=counts, compared=compared, lemmas=lemmas)
    words, counted = sum(map(len, golds)), found.words.uas.gold
    arcs = {"UAS": found.words.uas, "LAS": found.words.las}
    metrics = {name: Score(score.correct, counted, counted, counted) for name, score in arcs.items()}
    return Evaluation(metric, metrics, found, (f"{words - counted} of {words} words are punctuation and do not count",))


def evaluate_files(
    gold: File,
    system: File,
    *,
    metric: Metric = "conll18",
    format: Format = "conllu",  # noqa: A002
    roots: Roots = "one",
) -> Evaluation:
    """Score one file against another; one of the two may be `-`, standard input. Messages name the files."""
    check_choice("roots", roots, get_args(Roots))
    if gold == system == "-":
        raise ConfigError("GOLD and SYSTEM are both '-': only one of them can be standard input")
    sides = [read_conllu(file, format=format, roots=roots) for file in (gold, system)]
    return evaluate(*sides, metric=metric, names=(name_of(gold), name_of(system)))


def _trees(sentences: Iterable[Sentence], name: str) -> Iterator[Sentence]:
    """Yield the sentences; raise TreeError for one that is not a tree with one root."""
    for number, sentence in enumerate(sentences, 1):
        try:
            check_tree(sentence.heads)
        except TreeError as error:
            missing = error.word and sentence[error.word - 1].head is None
            message = f"word {error.word} has no HEAD: a tree is needed here" if missing else error.message
            raise TreeError(message, word=error.word, source=place(name, number, sentence)) from None
        yield sentence
