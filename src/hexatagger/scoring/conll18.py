"""The metrics of the CoNLL 2018 shared task (Zeman et al., 2018, https://aclanthology.org/K18-2001).

Gold and system may split the text into sentences, tokens and words differently: words are aligned first, then counted.
The numbers equal those of the task's own script to the last digit. Punctuation counts, subtypes of relations
(`nsubj:pass`) do not. Enhanced dependencies are not scored.
"""

import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hexatagger.errors import AlignmentError, FormatError
from hexatagger.scoring.breakdown import Score, excerpt, first_difference, place, universal
from hexatagger.sentence import Sentence, Word

# The shared task's lists, from UD as it was in 2018: later features (Typo, ExtPos, …) do not count.
# subtle: `punct` and relations unknown to UD are neither content nor function: they count in UAS and LAS only.
UNIVERSAL_FEATURES = frozenset(
    {"Abbr", "Animacy", "Aspect", "Case", "Definite", "Degree", "Evident", "Foreign", "Gender", "Mood", "NumType"}
    | {"Number", "Person", "Polarity", "Polite", "Poss", "PronType", "Reflex", "Tense", "VerbForm", "Voice"}
)
FUNCTION_DEPRELS = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark"})
CONTENT_DEPRELS = frozenset(
    {"acl", "advcl", "advmod", "amod", "appos", "ccomp", "compound", "conj", "csubj", "dep", "discourse", "dislocated"}
    | {"expl", "fixed", "flat", "goeswith", "iobj", "list", "nmod", "nsubj", "nummod", "obj", "obl", "orphan"}
    | {"parataxis", "reparandum", "root", "vocative", "xcomp"}
)

ROOT = -1


class TextSpan(NamedTuple):
    """A range of characters in the text without spaces; `fused` if it is a multiword token."""

    start: int
    end: int
    fused: bool = False

    def within(self, end: int) -> bool:
        """Say whether a multiword span up to `end` includes this: fused spans if they overlap, others if inside."""
        return self.start < end if self.fused else self.end <= end


END_OF_TEXT = TextSpan(sys.maxsize, sys.maxsize)


@dataclass(slots=True)
class FlatFile:
    """The sentences of a file, joined: parallel lists with one item per word; heads are indices into them."""

    text: str = ""  # the characters of all tokens, without spaces
    sentences: list[TextSpan] = field(default_factory=list)
    tokens: list[TextSpan] = field(default_factory=list)
    spans: list[TextSpan] = field(default_factory=list)  # of the token that the word is or belongs to
    forms: list[str] = field(default_factory=list)  # by which words within a multiword span are aligned
    words: list[Word] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    deprels: list[str] = field(default_factory=list)
    features: list[list[str]] = field(default_factory=list)
    function_words: list[list[int]] = field(default_factory=list)  # among the dependents of the word


def flatten(sentences: Iterable[Sentence], name: str) -> FlatFile:
    """Join the sentences of a file.

    >>> flat = flatten([Sentence.from_words(["10 000", "Euro"], heads=[2, 0], deprels=["nummod", "root"])], "gold")
    >>> flat.text, flat.forms, flat.spans[1]
    ('10000Euro', ['10000', 'euro'], TextSpan(start=5, end=9, fused=False))
    """
    flat, surfaces, end = FlatFile(), list[str](), 0
    for number, sentence in enumerate(sentences, 1):
        opening = end
        for token in sentence.tokens:
            surface = _without_spaces(token.form)
            if not surface:
                source = place(name, number, sentence)
                raise FormatError(f"FORM '{token.form}' is only spaces: write the word", source=source)
            surfaces.append(surface)
            start, end = end, end + len(surface)
            flat.tokens.append(TextSpan(start, end))
            if isinstance(token, Word):
                flat.spans.append(TextSpan(start, end))
                flat.forms.append(surface.lower())
            else:  # subtle: the words of a multiword token keep the spaces in their forms
                forms = [word.form.lower() for word in sentence.words[token.first - 1 : token.last]]
                flat.spans += [TextSpan(start, end, fused=True)] * len(forms)
                flat.forms += forms
        flat.sentences.append(TextSpan(opening, end))
        flat.heads += [len(flat.words) + head - 1 if head else ROOT for head in sentence.heads]
        flat.words += sentence.words
    flat.text = "".join(surfaces)
    flat.deprels = [universal(word.deprel) for word in flat.words]
    for word in flat.words:
        features = word.feats.split("|")
        flat.features.append(sorted(each for each in features if each.partition("=")[0] in UNIVERSAL_FEATURES))
    flat.function_words = [[] for _ in flat.words]
    for index, (head, deprel) in enumerate(zip(flat.heads, flat.deprels, strict=True)):
        if head != ROOT and deprel in FUNCTION_DEPRELS:
            flat.function_words[head].append(index)
    return flat


def _without_spaces(form: str) -> str:
    """Drop all characters of the Unicode category Zs."""
    if form.isascii():
        return form.replace(" ", "")
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


def align(gold: FlatFile, system: FlatFile) -> list[tuple[int, int]]:
    """Pair the words of two files with the same text; return pairs of indices, in order.

    A word that is a token is paired with the token at the same place. Words of multiword tokens have no characters of
    their own ("du" is "de" and "le"): they are paired by form, within the smallest span that contains every multiword
    token it overlaps.
    """
    ours, theirs = [*gold.spans, END_OF_TEXT], [*system.spans, END_OF_TEXT]
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while ours[i] is not END_OF_TEXT and theirs[j] is not END_OF_TEXT:
        if ours[i].fused or theirs[j].fused:
            end = ours[i].end if ours[i].fused else theirs[j].end
            # subtle: of the other side's words that begin before the multiword token, only one is skipped, as in the
            # task's script. Any others that end before it are compared with the words of the span.
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
    """Yield the index pairs of a longest common subsequence; of several, the one that skips items of `left` first.

    >>> list(common_subsequence("abcd", "axcd"))
    [(0, 0), (2, 2), (3, 3)]
    """
    longest: list[list[int]] = []  # longest[a][b]: the length for left[a:] and right[b:]; filled when first needed
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


def score_aligned(
    golds: list[Sentence], systems: list[Sentence], names: tuple[str, str]
) -> tuple[dict[str, Score], bool]:
    """Align the words of two files and score them; say also whether both have the same sentences and words."""
    gold, system = flatten(golds, names[0]), flatten(systems, names[1])
    if gold.text != system.text:
        raise AlignmentError(_where_texts_differ([(names[0], golds, gold), (names[1], systems, system)]))
    pairs = align(gold, system)
    right = _count_correct(gold, system, pairs)
    words, aligned = (len(gold.words), len(system.words)), len(pairs)
    content = _content(gold.deprels), _content(system.deprels)
    aligned_content = _content(gold.deprels[index] for index, _ in pairs)
    metrics = {
        "Tokens": Score(len(set(gold.tokens).intersection(system.tokens)), len(gold.tokens), len(system.tokens)),
        "Sentences": Score(len(set(gold.sentences).intersection(system.sentences)), len(golds), len(systems)),
        "Words": Score(aligned, *words),
    }
    of_words = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS")
    metrics |= {name: Score(right[name], *words, aligned) for name in of_words}
    metrics |= {name: Score(right[name], *content, aligned_content) for name in ("CLAS", "MLAS", "BLEX")}
    return metrics, words == (aligned, aligned) and [*map(len, golds)] == [*map(len, systems)]


def _content(deprels: Iterable[str]) -> int:
    """Count content words."""
    return sum(deprel in CONTENT_DEPRELS for deprel in deprels)


def _count_correct(gold: FlatFile, system: FlatFile, pairs: list[tuple[int, int]]) -> Counter[str]:
    """Count the correct words among the aligned ones, by metric."""
    gold_of = {ROOT: ROOT, **{theirs: ours for ours, theirs in pairs}}

    def same_tags(a: int, b: int) -> bool:
        return gold.words[a].upos == system.words[b].upos and gold.features[a] == system.features[b]

    def same_function_words(a: int, b: int) -> bool:
        left, right = gold.function_words[a], system.function_words[b]
        return [gold_of.get(word) for word in right] == left and all(
            gold.deprels[x] == system.deprels[y] and same_tags(x, y) for x, y in zip(left, right, strict=True)
        )

    right: Counter[str] = Counter()
    for a, b in pairs:
        word, other = gold.words[a], system.words[b]
        xpos = word.xpos == other.xpos
        lemma = word.lemma in ("_", other.lemma)  # subtle: where gold has no lemma, any lemma is correct
        head = gold.heads[a] == gold_of.get(system.heads[b])
        arc = head and gold.deprels[a] == system.deprels[b]
        content = arc and gold.deprels[a] in CONTENT_DEPRELS
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


def _where_texts_differ(sides: Sequence[tuple[str, list[Sentence], FlatFile]]) -> str:
    """Say where two texts first differ; a side is its name, its sentences and these flattened."""
    (_, _, gold), (_, _, system) = sides
    at = first_difference(gold.text, system.text)
    shown = []
    for name, sentences, flat in sides:
        if at == len(flat.text):
            shown.append(f"{name} ends")
            continue
        index = next(index for index, span in enumerate(flat.sentences) if at < span.end)
        before = sum(flat.sentences[index].start <= span.start and span.end <= at for span in flat.tokens)
        forms = [token.form for token in sentences[index].tokens]
        # The code point too: different characters can look the same.
        character = f"'{flat.text[at]}', U+{ord(flat.text[at]):04X}"
        shown.append(f"{place(name, index + 1, sentences[index])} has {excerpt(forms, before)} ({character})")
    context = f", after '{'…' * (at > 20)}{gold.text[max(0, at - 20) : at]}'" if at else ""
    return f"the texts differ{context}: {'; '.join(shown)}; apart from spaces they must be the same"
