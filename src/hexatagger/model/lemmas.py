r"""Lemmas of words whose tags are known: what the treebank says, and edits that fit the ending of any other form.

An extension of ours. The network chooses one edit script per word (`tags.lemma`). For rare forms that script may not
fit (fell → feak), so with a table the network only votes:

1. A form that occurs in the training set with the same UPOS has the lemma that it has there, preferably with the same
   FEATS. If there are several lemmas, or if the form is capitalised and only the case of the lemma is open, the network
   decides.
2. For any other form, three things are chosen: the case, an edit at the front and an edit at the back. An edit replaces
   characters that the form has there (ies → y), as it was seen with this UPOS. Its probability is the relative
   frequency among forms with the same ending and FEATS, interpolated with those for the ending alone and for shorter
   endings; at the front, beginnings take the place of endings. Lemmas that the training set has, and the lemma that
   the network chose, are preferred by constant factors. An improbable edit is never made.

The table is one compressed text with a group of forms per line. Its fields are separated by tabs, which no column of
a treebank contains; a script has two or five fields:

    seen    UPOS  FEATS  script  forms…     the lemma of forms with these UPOS and FEATS
    mostly  UPOS  _      script  forms…     the lemma with any other FEATS, if it depends on FEATS
    also    UPOS  FEATS  script  forms…     further lemmas of forms with these UPOS and FEATS
    case    UPOS  shape  case  count …      how many forms of a shape undergo each change of case

Forms are in lower case. A form with capitals has its own entries only if they differ from those in lower case.

Not supported: context other than the tags and the network's vote; edits in the middle of a word.
"""

import gzip
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, lru_cache

from hexatagger.errors import FormatError
from hexatagger.formats.files import reading
from hexatagger.sentence import Sentence
from hexatagger.tags.lemma import CASES, WHOLE, apply_script, apply_to_all, to_script

# How the table is made:
_SURE = 0.8  # a lemma with at least this share of a form's occurrences is its lemma with all FEATS
_ALSO = 0.05  # lemmas with a smaller share are taken for errors of annotation

# How lemmas of other forms are found; chosen on the dev sets of ten languages:
_LONGEST = 6  # characters of the longest ending
_PRIOR = 4.0  # how many forms the estimate from shorter endings is worth
_KNOWN = 100.0  # factor for lemmas of the training set
_VOTE = 3.0  # factor for the lemma that the network chose
_IMPROBABLE = 0.1  # edits below this probability are made only if the result is a lemma of the training set
_NEGLIGIBLE = 1e-3  # weight below which shorter endings are not looked at
_RARE = 0.01  # if a smaller share of a UPOS's forms changes at one end, that end is left alone
_MOST = 32  # edits per ending, the most frequent ones

_LARGEST = 1 << 28  # bytes of an unpacked table, and the greatest count in it

Edit = tuple[str, str]
"""What is removed at one end of a form, seen from that end, and what is put there."""
Group = tuple[str, str, list[str]]
"""FEATS, script and forms."""
Forms = tuple[list[str], list[int]]
"""Forms, seen from one end, and the numbers of their edits."""
_KINDS = ("seen", "mostly", "also", "case")
_NOTHING: Edit = ("", "")


class Lemmas:
    """The lemmas of a training set, unpacked when the first one is looked up."""

    def __init__(self, data: bytes, *, source: str = "lemmas") -> None:
        self.data, self._source = data, source
        self._parts: dict[str, _Part] = {}
        self.find = lru_cache(1 << 15)(self._find)
        """`find(form, upos, feats, script)` returns the lemma of a form; `script` is the one the network chose."""

    def _find(self, form: str, upos: str, feats: str, script: str) -> str:
        chosen = apply_script(form, script)
        part = self._parts.get(upos)
        if part is None:
            if upos not in self._lines:  # the training set does not have this UPOS
                return chosen
            part = self._parts[upos] = self._part(upos)
        lower = form.lower()
        for key in (lower,) if form == lower else (form, lower):
            if found := part.known(key, feats):
                same = form != lower and chosen.lower() == found[0].lower()
                return chosen if same or chosen in found else found[0]
        return part.guess(form, feats, chosen)

    @cached_property
    def _lines(self) -> dict[str, list[tuple[int, str]]]:
        """The lines of the table with their numbers, by UPOS."""
        found: dict[str, list[tuple[int, str]]] = {}
        text = unpack_text(self.data, self._source)
        # subtle: `splitlines` would also split at characters that forms may contain
        for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
            kind, *fields = line.split("\t", 2)
            if kind not in _KINDS or len(fields) < 2:
                raise self._broken(number, line)
            found.setdefault(fields[0], []).append((number, line))
        return found

    def _part(self, upos: str) -> "_Part":
        """Read the lines of one UPOS."""
        part = _Part()
        for number, line in self._lines[upos]:
            kind, _, key, *fields = line.split("\t")
            try:
                part.add(kind, key, fields)
            except (LookupError, ValueError):
                raise self._broken(number, line) from None
        return part

    def _broken(self, number: int, line: str) -> FormatError:
        """Return the error for a line that is not of this format."""
        message = f"has {line[:60]!r}, which is not a group of forms: the model folder is broken"
        return FormatError(message, source=self._source, line=number)


class _Part:
    """The table of one UPOS."""

    def __init__(self) -> None:
        self._groups: dict[str, list[Group]] = {kind: [] for kind in _KINDS}
        self._cases: dict[str, Counter[str]] = {}

    def add(self, kind: str, key: str, fields: list[str]) -> None:
        """Add a line of the file; raise IndexError or ValueError for one that is not of this format."""
        if kind == "case":
            counts = {name: int(count) for name, count in zip(fields[::2], fields[1::2], strict=True)}
            correct = counts.keys() <= CASES.keys() and all(0 < count < _LARGEST for count in counts.values())
            self._cases[key] = Counter(counts)
            rest = list(counts)
        else:
            size = 2 if fields[0] == WHOLE else 5
            script, rest = fields[:size], fields[size:]
            correct = script[1] != "" if size == 2 else script[0] in CASES and min(int(script[1]), int(script[3])) >= 0
            self._groups[kind].append((key, "\t".join(script), rest))
        if not (key and correct and rest and all(rest)):
            raise ValueError(kind)

    def known(self, form: str, feats: str) -> list[str]:
        """Return the lemmas that the training set has for a form, the most frequent one first; [] for none."""
        usual, special, more = self._known
        script = special.get((feats, form)) or usual.get(form)
        if script is None:
            return []
        return [apply_script(form, each) for each in (script, *more.get((feats, form), ()))]

    @cached_property
    def _known(self) -> tuple[dict[str, str], dict[tuple[str, str], str], dict[tuple[str, str], list[str]]]:
        """Scripts by form; by FEATS and form where they depend on FEATS; further ones by FEATS and form."""
        usual: dict[str, str] = {}
        more: dict[tuple[str, str], list[str]] = {}
        depends = {form for _, _, forms in self._groups["mostly"] for form in forms}
        special = {
            (feats, form): script
            for feats, script, forms in self._groups["seen"]
            for form in depends.intersection(forms)
        }
        for _, script, forms in (*self._groups["seen"], *self._groups["mostly"]):
            usual.update(dict.fromkeys(forms, script))
        for feats, script, forms in self._groups["also"]:
            for form in forms:
                more.setdefault((feats, form), []).append(script)
        return usual, special, more

    def guess(self, form: str, feats: str, chosen: str) -> str:
        """Return the most probable lemma of a form that the training set does not have; `chosen` is the network's."""
        lower = form.lower()
        cases = (self._cases.get(shape_of(form)) or self._any_case).most_common()
        fronts, backs = self._fronts.likely(lower, feats), self._backs.likely(lower, feats)
        best, most = CASES[cases[0][0]](form), 0.0
        for case, count in cases:
            base = CASES[case](form)
            if len(base) != len(lower):  # subtle: some characters become two in another case
                continue
            for front, before, front_share in fronts:
                for back, after, back_share in backs:
                    kept = base[len(front) : len(base) - len(back)]
                    share = front_share * back_share
                    score = count * share
                    if not kept or score * _KNOWN * _VOTE <= most:
                        continue
                    lemma = before + kept + after
                    if lemma in self._lemmas:
                        score *= _KNOWN
                    elif share < _IMPROBABLE:
                        continue
                    if lemma == chosen:
                        score *= _VOTE
                    if score > most:
                        best, most = lemma, score
        return best

    @cached_property
    def _any_case(self) -> Counter[str]:
        """The changes of case of forms of any shape."""
        return sum(self._cases.values(), Counter[str]()) or Counter(keep=1)

    @cached_property
    def _lemmas(self) -> frozenset[str]:
        """All lemmas."""
        return frozenset(lemma for _, script, forms in self._groups["seen"] for lemma in apply_to_all(forms, script))

    @cached_property
    def _fronts(self) -> "_Edits":
        """The edits at the front."""
        return _Edits(self._groups["seen"], back=False)

    @cached_property
    def _backs(self) -> "_Edits":
        """The edits at the back."""
        return _Edits(self._groups["seen"], back=True)


class _Edits:
    """The edits at one end of the forms of one UPOS; they are counted by ending when an ending is first met.

    At the back, forms and what is removed from them are reversed, so that endings are prefixes.
    """

    def __init__(self, groups: Iterable[Group], *, back: bool) -> None:
        numbers: dict[Edit, int] = {}
        self._step = -1 if back else 1
        self._unsorted: dict[str, Forms] = {"": ([], [])}  # by FEATS, and all forms under ""
        for feats, script, forms in groups:
            if script.startswith(WHOLE):
                continue
            fields = script.split("\t")
            cut, put = int(fields[3 if back else 1]), fields[4 if back else 2]
            turned = [form[:: self._step] for form in forms]
            edits = [numbers.setdefault((form[:cut], put), len(numbers)) for form in turned]
            for key in ("", feats):
                own = self._unsorted.setdefault(key, ([], []))
                own[0].extend(turned)
                own[1].extend(edits)
        self._edits = list(numbers)
        counts = Counter(self._unsorted[""][1])
        self._none = counts[numbers.get(_NOTHING, -1)] >= (1 - _RARE) * counts.total()
        self._sorted: dict[str, Forms] = {}
        self._counts: dict[tuple[str, str], tuple[int, list[tuple[int, int]]]] = {}

    def likely(self, form: str, feats: str) -> list[tuple[str, str, float]]:
        """Return what may be removed from a form in lower case, what is put there, and the probability of that."""
        if self._none:
            return [("", "", 1.0)]
        turned = form[:: self._step]
        weight, shares = 1.0, dict[int, float]()
        for length in range(min(_LONGEST, len(form)), -1, -1):
            counted = [self._count(turned[:length], "")]
            if counted[0][0] and feats in self._unsorted:
                counted.insert(0, self._count(turned[:length], feats))
            for total, counts in counted:
                if total:
                    share = weight / (total + _PRIOR)
                    for number, count in counts:
                        shares[number] = shares.get(number, 0.0) + share * count
                    weight = _PRIOR * share
            if weight < _NEGLIGIBLE:
                break
        fit = [(*self._edits[each], share) for each, share in shares.items() if turned.startswith(self._edits[each][0])]
        least = max((share for *_, share in fit), default=0.0) / (_KNOWN * _VOTE)
        return [each for each in fit if each[2] > least]

    def _count(self, turned: str, feats: str) -> tuple[int, list[tuple[int, int]]]:
        """Return how many forms have an ending, and how many of them undergo each of the most frequent edits."""
        if (found := self._counts.get((turned, feats))) is not None:
            return found
        if feats not in self._sorted:
            forms, numbers = self._unsorted[feats]
            order = sorted(range(len(forms)), key=forms.__getitem__)
            self._sorted[feats] = [forms[place] for place in order], [numbers[place] for place in order]
        forms, numbers = self._sorted[feats]
        first = bisect_left(forms, turned)
        last = bisect_left(forms, turned + "\U0010ffff", first)
        if first == last:  # not kept: there is no end of such endings
            return 0, []
        self._counts[turned, feats] = last - first, Counter(numbers[first:last]).most_common(_MOST)
        return self._counts[turned, feats]


def shape_of(form: str) -> str:
    """Return how a form is capitalised.

    >>> [shape_of(form) for form in ("dogs", "Dogs", "DOGS", "iPhone", "I", "1990")]
    ['lower', 'title', 'upper', 'mixed', 'title', 'lower']
    """
    return next((name for name in ("lower", "title", "upper") if CASES[name](form) == form), "mixed")


def collect_lemmas(sentences: Iterable[Sentence], tasks: Collection[str]) -> Lemmas:
    r"""Collect the lemmas of a training set; `tasks` are the columns that the model predicts.

    UPOS and FEATS that will not be predicted are not distinguished, nor are FEATS that are empty.

    >>> words = [("Dogs", "dog"), ("cats", "cat"), ("bees", "bee"), ("fish", "fish")]
    >>> sentence = Sentence.from_words([form for form, _ in words])
    >>> for word, (_, lemma) in zip(sentence, words, strict=True):
    ...     word.upos, word.lemma = "NOUN", lemma
    >>> lemmas = collect_lemmas([sentence], ["upos", "lemma"])
    >>> [lemmas.find(form, "NOUN", "_", "whole\tfeak") for form in ("dogs", "trees", "fell")]
    ['dog', 'tree', 'fell']
    """
    counts: dict[tuple[str, str], dict[str, dict[str, Counter[str]]]] = {}  # UPOS, lower case; form; FEATS; lemma
    for sentence in sentences:
        for word in sentence:
            if word.lemma != "_" or word.form == "_":
                # a word whose FEATS are not to be learnt has none: see `preflight.drop_feats`
                upos, feats = ((task in tasks and getattr(word, task)) or "_" for task in ("upos", "feats"))
                by_form = counts.setdefault((upos, word.form.lower()), {})
                by_form.setdefault(word.form, {}).setdefault(feats, Counter())[word.lemma] += 1
    groups: dict[tuple[str, str, str, str], set[str]] = {}
    cases: dict[tuple[str, str], Counter[str]] = {}
    for (upos, lower), by_form in counts.items():
        for form, kind, feats, lemma in _entries(lower, by_form):
            groups.setdefault((kind, upos, feats, to_script(form, lemma)), set()).add(form)
        for form, by_feats in by_form.items():
            for lemma in set().union(*by_feats.values()):
                case, _, _ = to_script(form, lemma).partition("\t")
                if case != WHOLE:
                    cases.setdefault((upos, shape_of(form)), Counter())[case] += 1
    lines = ["\t".join((*key, *sorted(forms))) for key, forms in groups.items()]
    for (upos, shape), each in cases.items():
        lines.append("\t".join(("case", upos, shape, *(f"{case}\t{count}" for case, count in sorted(each.items())))))
    return Lemmas(gzip.compress("".join(f"{line}\n" for line in sorted(lines)).encode("utf-8"), mtime=0))


def _entries(lower: str, by_form: dict[str, dict[str, Counter[str]]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield form, kind, FEATS and lemma of all entries for forms that are equal in lower case."""
    pooled: dict[str, Counter[str]] = {}
    for by_feats in by_form.values():
        for feats, lemmas in by_feats.items():
            pooled.setdefault(feats, Counter()).update(lemmas)
    general = _decide(by_form.get(lower, pooled))
    yield from ((lower, *entry) for entry in general)
    for form, by_feats in by_form.items():
        own = _decide(by_feats)
        if not own <= general:  # otherwise the entries in lower case give the same lemmas
            yield from ((form, *entry) for entry in own)


def _decide(by_feats: dict[str, Counter[str]]) -> set[tuple[str, str, str]]:
    """Return kind, FEATS and lemma of all entries for one form, given how often it has each lemma."""
    everything = sum(by_feats.values(), Counter[str]())
    usual = _most_frequent(everything)
    sure = everything[usual] >= _SURE * everything.total()
    entries: set[tuple[str, str, str]] = set()
    for feats, lemmas in by_feats.items():
        first = usual if sure else _most_frequent(lemmas)
        entries.add(("seen", feats, first))
        if first != usual:
            entries.add(("mostly", "_", usual))
        least = max(1, _ALSO * lemmas.total())
        entries |= {("also", feats, lemma) for lemma, count in lemmas.items() if lemma != first and count >= least}
    return entries


def _most_frequent(counts: Counter[str]) -> str:
    """Return the most frequent string; ties go to the first in alphabetical order."""
    return min(counts, key=lambda string: (-counts[string], string))


def unpack(data: bytes, source: str) -> bytes:
    """Unpack the content of a file of a model folder."""
    unpacker = zlib.decompressobj(wbits=31)
    with reading(source):
        found = unpacker.decompress(data, _LARGEST)
    if not unpacker.eof:
        raise FormatError("is cut off or too large: the model folder is broken", source=source)
    return found


def unpack_text(data: bytes, source: str) -> str:
    """Unpack the content of a text file of a model folder."""
    try:
        return unpack(data, source).decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8: the model folder is broken", source=source) from None
