"""Score a system's trees against gold ones. Nothing here prints.

Three ways to count, `metric`:

- `conll18`: the metrics of the CoNLL 2018 shared task (Zeman et al., 2018, https://aclanthology.org/K18-2001), equal to
  those of the task's own script to the last digit. Gold and system may split the text into sentences, tokens and words
  in two ways: words are aligned first. Punctuation counts, subtypes of relations (`nsubj:pass`) do not.
- `ptb`: UAS and LAS as usual for the Penn Treebank: same words on both sides, full relations, no punctuation. A word is
  punctuation if its gold XPOS or its gold UPOS is in PUNCTUATION.
- `paper`: as the authors of the hexatagger score UD: same words, no subtypes, no punctuation, which is told by the gold
  UPOS alone. Their gold went through the pseudo-projective transformation and back; here it is the file as it is.

Where sentences and words are the same there is more: see `analysis`. Enhanced dependencies are not scored.
"""

import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from hexatagger.errors import AlignmentError, ConfigError, FormatError, TreeError, check_choice
from hexatagger.formats.conllu import Format, read_conllu
from hexatagger.formats.files import File, name_of
from hexatagger.scoring.breakdown import Analysis, Attachment, Score, analyse, excerpt, first_difference, parting, place
from hexatagger.sentence import Sentence, Word
from hexatagger.tree import check_tree

__all__ = ["Analysis", "Attachment", "Evaluation", "Metric", "Score", "evaluate", "evaluate_files"]

Metric = Literal["conll18", "ptb", "paper"]
Roots = Literal["one", "attach"]

PUNCTUATION = frozenset({"``", "''", ":", ",", ".", "PU", "PUNCT"})
"""The tags of punctuation in the Penn Treebank (brackets, `$` and `#` are words there), the Chinese Treebank and UD."""

# The shared task's lists, of UD as it was in 2018: features of later versions (Typo, ExtPos, …) do not count.
# subtle: `punct` and relations that UD does not have are neither content nor function: they count in UAS and LAS only.
UNIVERSAL_FEATURES = frozenset(
    {"Abbr", "Animacy", "Aspect", "Case", "Definite", "Degree", "Evident", "Foreign", "Gender", "Mood", "NumType"}
    | {"Number", "Person", "Polarity", "Polite", "Poss", "PronType", "Reflex", "Tense", "VerbForm", "Voice"}
)
FUNCTION_RELATIONS = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark"})
CONTENT_RELATIONS = frozenset(
    {"acl", "advcl", "advmod", "amod", "appos", "ccomp", "compound", "conj", "csubj", "dep", "discourse", "dislocated"}
    | {"expl", "fixed", "flat", "goeswith", "iobj", "list", "nmod", "nsubj", "nummod", "obj", "obl", "orphan"}
    | {"parataxis", "reparandum", "root", "vocative", "xcomp"}
)

ROOT = -1


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result: scores by name, in percent, and what else can be said when the words are the same."""

    metric: Metric
    metrics: dict[str, Score]
    analysis: Analysis | None
    """None if gold and system differ in sentences or words; then a note says where."""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return all of it as JSON has it: `{"metric": …, "metrics": {"UAS": {"precision": …, …}, …}, …}`."""
        more: dict[str, object] = dict.fromkeys(("exact_match", "root_accuracy", "by_length", "by_relation"))
        if self.analysis is not None:
            more = self.analysis.to_json()
        metrics = {name: score.to_json() for name, score in self.metrics.items()}
        return {"metric": self.metric, "metrics": metrics, **more, "notes": list(self.notes)}


def evaluate(
    gold: Iterable[Sentence],
    system: Iterable[Sentence],
    *,
    metric: Metric = "conll18",
    names: tuple[str, str] = ("gold", "system"),
) -> Evaluation:
    """Score the system's sentences; `names` is what messages call the two sides.

    Raises AlignmentError where the sides part: in their text for `conll18`, in their sentences or words otherwise.

    >>> gold = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    >>> system = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "nsubj"])
    >>> result = evaluate([gold], [system])
    >>> result.metrics["UAS"].f1, round(result.metrics["LAS"].f1, 2)
    (100.0, 66.67)
    """
    check_choice("metric", metric, get_args(Metric))
    golds, systems = list(_trees(gold, names[0])), list(_trees(system, names[1]))
    if metric == "conll18":
        return _conll18(golds, systems, names)
    if where := parting(golds, systems, names):
        raise AlignmentError(f"{where}; metric '{metric}' needs the same words, 'conll18' only the same text")
    ptb = metric == "ptb"

    def counts(word: Word) -> bool:
        return word.upos not in PUNCTUATION and not (ptb and word.xpos in PUNCTUATION)

    found = analyse(zip(golds, systems, strict=True), counts=counts, relation=str if ptb else _universal)
    words, counted = sum(map(len, golds)), found.words.uas.gold
    metrics = {
        "UAS": Score(found.words.uas.correct, counted, counted, counted),
        "LAS": Score(found.words.las.correct, counted, counted, counted),
    }
    return Evaluation(metric, metrics, found, (f"{words - counted} of {words} words are punctuation and do not count",))


def evaluate_files(
    gold: File,
    system: File,
    *,
    metric: Metric = "conll18",
    format: Format = "conllu",  # noqa: A002
    roots: Roots = "one",
) -> Evaluation:
    """Score a file; one of the two may be `-`, standard input. Messages name the files."""
    check_choice("roots", roots, get_args(Roots))
    if gold == system == "-":
        raise ConfigError("GOLD and SYSTEM are both '-': only one of them can be standard input")
    sides = [read_conllu(file, format=format, roots=roots) for file in (gold, system)]
    return evaluate(*sides, metric=metric, names=(name_of(gold), name_of(system)))


def _trees(sentences: Iterable[Sentence], name: str) -> Iterator[Sentence]:
    """Pass the sentences on if they are trees with one root."""
    for number, sentence in enumerate(sentences, 1):
        try:
            check_tree(sentence.heads)
        except TreeError as error:
            missing = error.word and sentence[error.word - 1].head is None
            message = f"word {error.word} has no HEAD: a tree is needed here" if missing else error.message
            raise TreeError(message, word=error.word, source=place(name, number, sentence)) from None
        yield sentence


def _universal(deprel: str) -> str:
    """Strip the subtype of a relation: `nsubj:pass` is `nsubj`."""
    return deprel.partition(":")[0]


# CoNLL 2018: align, then count


class Span(NamedTuple):
    """A stretch of the text without spaces; `fused` if a multiword token is there."""

    start: int
    end: int
    fused: bool = False

    def within(self, end: int) -> bool:
        """Say whether a multiword span up to `end` takes this in: a multiword token by a foot, others only whole."""
        return self.start < end if self.fused else self.end <= end


END_OF_TEXT = Span(sys.maxsize, sys.maxsize)


@dataclass(slots=True)
class Row:
    """The sentences of a file end to end: what belongs to words is in parallel lists, heads are indices into them."""

    text: str = ""
    """The characters of all tokens, spaces dropped."""
    sentences: list[Span] = field(default_factory=list)
    tokens: list[Span] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    """The span of the token that the word is, or is part of."""
    forms: list[str] = field(default_factory=list)
    """What is compared of a word within a multiword span."""
    words: list[Word] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    features: list[list[str]] = field(default_factory=list)
    function_words: list[list[int]] = field(default_factory=list)
    """The dependents of a word that are function words."""


def lay_out(sentences: Iterable[Sentence], name: str) -> Row:
    """Put the sentences end to end.

    >>> row = lay_out([Sentence.from_words(["10 000", "Euro"], heads=[2, 0], deprels=["nummod", "root"])], "gold")
    >>> row.text, row.forms, row.spans[1]
    ('10000Euro', ['10000', 'euro'], Span(start=5, end=9, fused=False))
    """
    row, surfaces, end = Row(), list[str](), 0
    for number, sentence in enumerate(sentences, 1):
        opening = end
        for token in sentence.tokens:
            surface = _without_spaces(token.form)
            if not surface:
                source = place(name, number, sentence)
                raise FormatError(f"FORM '{token.form}' is only spaces: a token needs other characters", source=source)
            surfaces.append(surface)
            start, end = end, end + len(surface)
            row.tokens.append(Span(start, end))
            if isinstance(token, Word):
                row.spans.append(Span(start, end))
                row.forms.append(surface.lower())
            else:  # subtle: the words of a multiword token keep the spaces in their forms
                forms = [word.form.lower() for word in sentence.words[token.first - 1 : token.last]]
                row.spans += [Span(start, end, fused=True)] * len(forms)
                row.forms += forms
        row.sentences.append(Span(opening, end))
        row.heads += [len(row.words) + head - 1 if head else ROOT for head in sentence.heads]
        row.words += sentence.words
    row.text = "".join(surfaces)
    row.relations = [_universal(word.deprel) for word in row.words]
    row.features = [_universal_features(word.feats) for word in row.words]
    row.function_words = [[] for _ in row.words]
    for index, (head, relation) in enumerate(zip(row.heads, row.relations, strict=True)):
        if head != ROOT and relation in FUNCTION_RELATIONS:
            row.function_words[head].append(index)
    return row


def _without_spaces(form: str) -> str:
    """Drop spaces: all of Unicode's category Zs."""
    if form.isascii():
        return form.replace(" ", "")
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


def _universal_features(feats: str) -> list[str]:
    """Keep the universal features, sorted."""
    return sorted(feature for feature in feats.split("|") if feature.partition("=")[0] in UNIVERSAL_FEATURES)


def align(gold: Row, system: Row) -> list[tuple[int, int]]:
    """Pair the words of two rows with the same text, by index and in order.

    A word that is a token is paired with the same token. Words of multiword tokens have no characters of their own
    ("du" is "de" and "le"): they are paired by form, within the smallest span that no multiword token sticks out of.
    """
    ours, theirs = [*gold.spans, END_OF_TEXT], [*system.spans, END_OF_TEXT]
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while ours[i] is not END_OF_TEXT and theirs[j] is not END_OF_TEXT:
        if ours[i].fused or theirs[j].fused:
            end = ours[i].end if ours[i].fused else theirs[j].end
            # subtle: of the other side's words that begin before the multiword token one is left out and no more, as in
            # the task's script: if others follow that end before it, they are compared with the words of the span
            if not theirs[j].fused and theirs[j].start < ours[i].start:
                j += 1
            elif not ours[i].fused and ours[i].start < theirs[j].start:
                i += 1
            from_i, from_j = i, j
            while ours[i].within(end) or theirs[j].within(end):
                if ours[i].start <= theirs[j].start:
                    taken, i = ours[i], i + 1
                else:
                    taken, j = theirs[j], j + 1
                end = max(end, taken.end) if taken.fused else end
            common = common_subsequence(gold.forms[from_i:i], system.forms[from_j:j])
            pairs += [(from_i + a, from_j + b) for a, b in common]
        elif ours[i] == theirs[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif ours[i].start <= theirs[j].start:
            i += 1
        else:
            j += 1
    return pairs


def common_subsequence(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of a longest common subsequence; of several, the one that skips in `left` first.

    >>> list(common_subsequence("abcd", "axcd"))
    [(0, 0), (2, 2), (3, 3)]
    """
    longest: list[list[int]] = []  # longest[a][b]: how much left[a:] and right[b:] share; made when first needed
    a = b = 0
    while a < len(left) and b < len(right):
        if left[a] == right[b]:
            yield a, b
            a, b = a + 1, b + 1
            continue
        if not longest:
            longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
            for x in reversed(range(len(left))):
                row, below = longest[x], longest[x + 1]
                for y in reversed(range(len(right))):
                    row[y] = 1 + below[y + 1] if left[x] == right[y] else max(below[y], row[y + 1])
        if longest[a + 1][b] == longest[a][b]:
            a += 1
        else:
            b += 1


def _conll18(golds: list[Sentence], systems: list[Sentence], names: tuple[str, str]) -> Evaluation:
    """Align the words of two files and score them."""
    gold, system = lay_out(golds, names[0]), lay_out(systems, names[1])
    if gold.text != system.text:
        raise AlignmentError(_text_parting([(names[0], golds, gold), (names[1], systems, system)]))
    pairs = align(gold, system)
    right = _right(gold, system, pairs)
    words, aligned = (len(gold.words), len(system.words)), len(pairs)
    content = _content(gold.relations), _content(system.relations)
    aligned_content = _content(gold.relations[index] for index, _ in pairs)
    metrics = {
        "Tokens": Score(len(set(gold.tokens).intersection(system.tokens)), len(gold.tokens), len(system.tokens)),
        "Sentences": Score(len(set(gold.sentences).intersection(system.sentences)), len(golds), len(systems)),
        "Words": Score(aligned, *words),
    }
    metrics |= {name: Score(right[name], *words, aligned) for name in ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")}
    metrics |= {name: Score(right[name], *words, aligned) for name in ("UAS", "LAS")}
    metrics |= {name: Score(right[name], *content, aligned_content) for name in ("CLAS", "MLAS", "BLEX")}
    if words != (aligned, aligned) or [*map(len, golds)] != [*map(len, systems)]:
        where = parting(golds, systems, names) or "the words belong to different tokens"
        return Evaluation("conll18", metrics, None, (f"no exact match, root accuracy, lengths or relations: {where}",))
    found = analyse(zip(golds, systems, strict=True), counts=lambda word: True, relation=_universal)
    return Evaluation("conll18", metrics, found, () if golds else ("there are no sentences: nothing to score",))


def _content(relations: Iterable[str]) -> int:
    """Count content words."""
    return sum(relation in CONTENT_RELATIONS for relation in relations)


def _right(gold: Row, system: Row, pairs: list[tuple[int, int]]) -> Counter[str]:
    """Count the aligned words that are right, by metric."""
    gold_of = {ROOT: ROOT, **{theirs: ours for ours, theirs in pairs}}

    def same_tags(a: int, b: int) -> bool:
        return gold.words[a].upos == system.words[b].upos and gold.features[a] == system.features[b]

    def same_function_words(a: int, b: int) -> bool:
        left, right = gold.function_words[a], system.function_words[b]
        return [gold_of.get(word) for word in right] == left and all(
            gold.relations[x] == system.relations[y] and same_tags(x, y) for x, y in zip(left, right, strict=True)
        )

    right: Counter[str] = Counter()
    for a, b in pairs:
        word, other = gold.words[a], system.words[b]
        xpos = word.xpos == other.xpos
        lemma = word.lemma in ("_", other.lemma)  # subtle: where gold has no lemma, any is right
        head = gold.heads[a] == gold_of.get(system.heads[b])
        arc = head and gold.relations[a] == system.relations[b]
        content = arc and gold.relations[a] in CONTENT_RELATIONS
        right["UPOS"] += word.upos == other.upos
        right["XPOS"] += xpos
        right["UFeats"] += gold.features[a] == system.features[b]
        right["AllTags"] += xpos and same_tags(a, b)
        right["Lemmas"] += lemma
        right["UAS"] += head
        right["LAS"] += arc
        right["CLAS"] += content
        right["MLAS"] += content and same_tags(a, b) and same_function_words(a, b)
        right["BLEX"] += content and lemma
    return right


def _text_parting(sides: Sequence[tuple[str, list[Sentence], Row]]) -> str:
    """Say where two different texts part; a side is its name, its sentences and these in a row."""
    (_, _, gold), (_, _, system) = sides
    at = first_difference(gold.text, system.text)
    shown = []
    for name, sentences, row in sides:
        if at == len(row.text):
            shown.append(f"{name} ends")
            continue
        index = next(index for index, span in enumerate(row.sentences) if at < span.end)
        before = sum(row.sentences[index].start <= span.start and span.end <= at for span in row.tokens)
        forms = [token.form for token in sentences[index].tokens]
        # The character by its number as well: a letter can be written in two ways that look the same.
        character = f"'{row.text[at]}', U+{ord(row.text[at]):04X}"
        shown.append(f"{place(name, index + 1, sentences[index])} has {excerpt(forms, before)} ({character})")
    context = f", after '{'…' * (at > 20)}{gold.text[max(0, at - 20) : at]}'" if at else ""
    return f"the texts part{context}: {'; '.join(shown)}; they must be the same but for spaces"
