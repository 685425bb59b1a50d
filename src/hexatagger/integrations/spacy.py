"""Sentences ⇄ spaCy's Doc. The component for spaCy pipelines is `spacy_pipe`.

The tokens of a Doc are the words of the sentences. Whitespace other than single spaces becomes whitespace tokens, as in
spaCy's own tokenizers, so `doc.text` is the text; other invisible characters between words are tokens of this kind too.
The words of a multiword token follow one another without a space; if they are not simply its parts ("du" is "de le"),
the text of the Doc is that of the words. `doc.spans["multiwords"]` has a Span of words for each multiword token, with
its form as the label.

The root is its own head with the relation `ROOT`. A whitespace token is attached to the word before it (or to the first
of its sentence) with `dep`, and is skipped on the way back. UPOS unknown to spaCy are left out. DEPS, MISC and comments
are not transferred, except for what they say about spaces. Probabilities are extension attributes, `None` if they were
not requested: `token._.head_probability`, `token._.heads` (most likely first; the token itself stands for the root),
`span._.tree_probability`, `doc._.tree_probabilities`.

`doc.noun_chunks` are found by a rule for the relations of Universal Dependencies (`noun_chunks`). spaCy's own rule for
English expects those of its own models, and finds no objects.

Extra `spacy`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from hexatagger.errors import TreeError, needs
from hexatagger.formats.conllu import ATTACHED
from hexatagger.formats.text import Token as Place
from hexatagger.formats.text import lay_out, surfaces
from hexatagger.sentence import Multiword, Sentence, Word
from hexatagger.tree import check_tree

with needs("spacy"):
    from spacy.attrs import DEP, HEAD, LEMMA, MORPH, POS, SENT_START, TAG
    from spacy.errors import Errors
    from spacy.parts_of_speech import IDS
    from spacy.tokens import Doc, Span, Token
    from spacy.vocab import Vocab

ROOT = "ROOT"
SPACE_DEP = "dep"
_OF_SPACES = {"upos": "SPACE", "xpos": "_SP", "feats": "_"}
MULTIWORDS = "multiwords"
"""The group of spans that holds the multiword tokens of a Doc."""
_ATTRIBUTES = {"upos": POS, "xpos": TAG, "feats": MORPH, "lemma": LEMMA}
COLUMNS = tuple(_ATTRIBUTES)
"""The columns of a Doc besides the tree."""

Range = tuple[int, int]
"""The start and end of a sentence, in tokens of its Doc."""


def _heads(token: Token) -> list[tuple[Token, float]] | None:
    """Return the candidate heads of a token."""
    found = token._.head_offsets
    if found is None:
        return None
    size = len(token.doc)  # may be a part of the Doc that was parsed
    return [(token.doc[token.i + offset], share) for offset, share in found if 0 <= token.i + offset < size]


_STORED = ("head_probability", "head_offsets", "tree_probability")
_EXTENSIONS: list[tuple[Any, str, dict[str, Any]]] = [
    (Token, "head_probability", {"default": None}),
    (Token, "head_offsets", {"default": None}),  # subtle: distances, so that they stay valid in a part of the Doc
    (Token, "heads", {"getter": _heads}),
    (Span, "tree_probability", {"default": None}),
    (Doc, "tree_probabilities", {"getter": lambda doc: [sentence._.tree_probability for sentence in doc.sents]}),
]
for _owner, _name, _kind in _EXTENSIONS:
    if not _owner.has_extension(_name):
        _owner.set_extension(_name, **_kind)


def to_spacy(sentences: Iterable[Sentence], vocab: Vocab | None = None) -> Doc:
    """Return a Doc of consecutive sentences.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> [(token.text, token.dep_, token.head.text) for token in to_spacy([sentence])]
    [('She', 'nsubj', 'reads'), ('reads', 'ROOT', 'reads')]
    """
    chosen = [sentence for sentence in sentences if len(sentence)]
    doc, ranges = make_doc(chosen, Vocab() if vocab is None else vocab, last_space=False)
    columns = [name for name in COLUMNS if any(getattr(word, name) != "_" for each in chosen for word in each)]
    annotate(doc, ranges, chosen, columns)
    return doc


def make_doc(sentences: Sequence[Sentence], vocab: Vocab, *, last_space: bool = True) -> tuple[Doc, list[Range]]:
    """Return a Doc of the words, without their columns, and the ranges of the sentences.

    A single space at the very end is kept only with `last_space`: CoNLL-U implies one after every sentence.
    """
    forms, spaces, ranges = list[str](), list[bool](), list[Range]()
    gaps, multiwords = list[int](), list[tuple[int, int, str]]()

    def add(form: str, gap: str) -> None:
        if form:
            forms.append(form)
            spaces.append(gap.startswith(" "))
            gap = gap.removeprefix(" ")
        if gap:
            gaps.append(len(forms))
            forms.append(gap)
            spaces.append(False)

    start, words, gap = 0, iter(word for sentence in sentences for word in sentence), ""
    for surface, gap, token, last in surfaces(sentences):
        if isinstance(token, Multiword):
            *inner, final = [next(words).form for _ in range(token.first, token.last + 1)]
            first = len(forms)
            for form in inner:
                add(form, "")
            multiwords.append((first, len(forms) + 1, token.form))
            add(final, gap)
        elif token is None:
            add("", gap)
        else:
            next(words)
            add(surface, gap)
        if last:
            ranges.append((start, len(forms)))
            start = len(forms)
    if ranges and gap == " ":
        spaces[-1] = last_space
    doc = Doc(vocab, words=forms, spaces=spaces)
    for place in gaps:
        if not forms[place].isspace():
            doc[place].pos_ = _OF_SPACES["upos"]  # subtle: so that `word_places` does not take it for a word
    if multiwords:
        doc.spans[MULTIWORDS] = [Span(doc, first, end, label=form) for first, end, form in multiwords]
    return doc, ranges


def annotate(
    doc: Doc, ranges: Sequence[Range], sentences: Sequence[Sentence], columns: Collection[str] = COLUMNS
) -> None:
    """Write trees and columns into a Doc without changing its tokens.

    The ranges cover the whole Doc, with a sentence for each that has more than whitespace. Without heads no tree is
    written.
    """
    if not len(doc):
        return
    for key in [key for key in doc.user_data if isinstance(key, tuple) and key[:1] == ("._.",) and key[1] in _STORED]:
        del doc.user_data[key]  # the probabilities of an earlier tree
    parsed = not sentences or any(word.head is not None for sentence in sentences for word in sentence)
    names = [*([HEAD, DEP] if parsed else []), *(_ATTRIBUTES[name] for name in COLUMNS if name in columns)]
    rows = {name: [0] * len(doc) for name in names}
    waiting = iter(sentences)
    for start, end in ranges:
        places = word_places(doc, start, end)
        sentence = next(waiting) if places else Sentence([])
        if len(places) != len(sentence):
            raise TreeError(f"{len(sentence)} words for {len(places)} tokens: '{doc[start:end].text[:40]}'")
        _write(doc, (start, end), places, sentence, rows)
        _write_probabilities(doc, (start, end), places, sentence)
    if rows:
        doc.from_array(list(rows), _unsigned(*rows.values()))
    # subtle: spaCy derives sentences from the heads, and may fail where many arcs cross
    set_starts(doc, ranges)
    cast("Any", doc).noun_chunks_iterator = noun_chunks


def set_starts(doc: Doc, ranges: Sequence[Range]) -> None:
    """Write where sentences start, and that they do not start elsewhere."""
    starts = [-1] * len(doc)
    for start, _ in ranges:
        starts[start] = 1
    doc.from_array([SENT_START], _unsigned(starts))


def _unsigned(*columns: Sequence[int]) -> Any:
    """Return numbers as a Doc reads them: (tokens, columns), negative ones in two's complement."""
    return np.array([[number % (1 << 64) for number in column] for column in columns], np.uint64).T


def word_places(doc: Doc, start: int, end: int) -> list[int]:
    """Return the tokens of a range that are words: all but whitespace, and what is tagged so."""
    # subtle: not by `is_space`, which a vocabulary without a language does not have
    space = _OF_SPACES["upos"]
    return [place for place in range(start, end) if not doc[place].text.isspace() and doc[place].pos_ != space]


def _write(doc: Doc, span: Range, places: Sequence[int], sentence: Sentence, rows: dict[int, list[int]]) -> None:
    """Write the tree and the columns of a sentence, those that have a row; whitespace as spaCy has it."""
    if HEAD in rows:
        for word in sentence:
            if word.head is None:
                raise TreeError(f"HEAD of word {word.id} is '_': parse all sentences or none", word=word.id)
        check_tree(sentence.heads)
    words = dict(zip(places, sentence, strict=True))
    before = places[0] if places else span[0]  # what the next whitespace token is attached to
    for place in range(*span):
        if found := words.get(place):
            before = place
            head = places[found.head - 1] if found.head else place
            deprel = ROOT if found.head == 0 and found.deprel.lower() == "root" else found.deprel
        else:
            head, deprel = before, ROOT if before == place else SPACE_DEP
        if HEAD in rows:
            rows[HEAD][place], rows[DEP][place] = head - place, doc.vocab.strings.add(deprel)
        for name, attribute in _ATTRIBUTES.items():
            if attribute in rows:
                value = getattr(found, name) if found else _OF_SPACES.get(name, doc[place].text)
                rows[attribute][place] = _number(doc.vocab, name, value)


def _number(vocab: Vocab, name: str, value: str) -> int:
    """Return the number of a column's value in a Doc."""
    if name == "upos":
        return int(IDS.get(value, 0))
    if name == "feats":  # spaCy allows one value per feature
        kept = [feature for feature in value.split("|") if feature.count("=") == 1]
        return int(vocab.morphology.add("|".join(kept)))
    return int(vocab.strings.add(value)) if value != "_" else 0


def _write_probabilities(doc: Doc, span: Range, places: Sequence[int], sentence: Sentence) -> None:
    """Write the probabilities of a sentence."""
    if sentence.probability is not None:
        doc[span[0] : span[1]]._.tree_probability = sentence.probability
    for place, word in zip(places, sentence, strict=True):
        if word.head_probability is not None:
            doc[place]._.head_probability = word.head_probability
        if word.heads is not None:
            offsets = [[(places[head - 1] if head else place) - place, share] for head, share in word.heads]
            doc[place]._.head_offsets = offsets


def from_spacy(doc: Doc) -> list[Sentence]:
    """Return the sentences of a Doc with all its annotation; offsets are places in `doc.text`.

    A Doc without sentence boundaries is one sentence. Spaces between words are written into MISC, so
    `formats.text.restore` gives back the text.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> [(word.form, word.head, word.deprel) for each in from_spacy(to_spacy([sentence])) for word in each]
    [('She', 2, 'nsubj'), ('reads', 0, 'root')]
    """
    bounded = len(doc) and doc.has_annotation("SENT_START")
    ranges = [(span.start, span.end) for span in doc.sents] if bounded else [(0, len(doc))]
    found = [(span, places) for span in ranges if (places := word_places(doc, *span))]
    multiwords = {span.start: span for span in doc.spans.get(MULTIWORDS, ())}
    tokens = [_tokens(doc, places, multiwords) for _, places in found]
    made = list(lay_out([(doc.text, tokens, False)]))
    for sentence, (span, places) in zip(made, found, strict=True):
        for token in sentence.multiwords:
            token.form = multiwords[places[token.first - 1]].label_
        if sentence.multiwords:  # the form may not be the text of its words
            sentence.comments.clear()
            sentence.comments.append(f"# text = {sentence.text}")
        read_columns(doc, places, sentence.words)
        sentence.probability = doc[span[0] : span[1]]._.tree_probability
        if doc.has_annotation("DEP"):
            _read_tree(doc, places, sentence.words)
    return made


def _tokens(doc: Doc, places: Sequence[int], multiwords: Mapping[int, Span]) -> list[Place]:
    """Return the tokens of a sentence whose words are at these places."""
    found, done = list[Place](), 0
    for place in places:
        if place < done:
            continue
        span = multiwords.get(place)
        if span is not None and len(span) > 1 and set(range(place, span.end)) <= set(places):
            done = span.end
            found.append(Place(span.start_char, span.end_char, tuple(token.text for token in span)))
        else:
            found.append(Place(doc[place].idx, doc[place].idx + len(doc[place])))
    return found


def read_columns(doc: Doc, places: Sequence[int], words: Sequence[Word]) -> None:
    """Copy the annotation of tokens to words, except for the tree."""
    for place, word in zip(places, words, strict=True):
        token = doc[place]
        word.lemma = " ".join(token.lemma_.split()) or "_"
        word.upos, word.xpos = token.pos_ or "_", token.tag_ or "_"
        word.feats = "|".join(sorted(str(token.morph).split("|"), key=str.lower)) or "_"


def _read_tree(doc: Doc, places: Sequence[int], words: Sequence[Word]) -> None:
    """Copy heads, relations and probabilities from a Doc to words."""
    numbers = {place: number for number, place in enumerate(places, 1)}
    root = 0
    for place, word in zip(places, words, strict=True):
        token = doc[place]
        deprel = token.dep_ or "_"
        head = next((ancestor.i for ancestor in token.ancestors if ancestor.i in numbers), None)
        if head is not None:
            word.head, word.deprel = numbers[head], deprel
        elif not root:
            word.head, root = 0, word.id
            word.deprel = "root" if token.head.i != place or deprel == ROOT else deprel
        else:  # several words under a whitespace root, for example: attach them to the first
            word.head, word.deprel = root, ATTACHED if deprel == ROOT else deprel
        word.head_probability = token._.head_probability
        if (offsets := token._.head_offsets) is not None:
            heads = [(place + offset, share) for offset, share in offsets]
            word.heads = [(0 if head == place else numbers[head], share) for head, share in heads if head in numbers]


_NOUNS = ("NOUN", "PROPN", "PRON")
_BEFORE = ("det", "amod", "nummod", "compound", "nmod", "flat", "clf")
_AFTER = ("flat", "compound", "amod", "nummod", "goeswith", "fixed")


def noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """Yield the base noun phrases of a Doc with Universal Dependencies, as `doc.noun_chunks` expects them.

    A phrase is a noun, name or pronoun with the determiners, adjectives, numerals, compounds and possessors before it
    and the adjectives, numerals and parts of its name after it; no phrase is inside another.

    >>> heads, deprels = [3, 3, 4, 0, 4], ["det", "amod", "nsubj", "root", "obj"]
    >>> sentence = Sentence.from_words(["the", "old", "man", "sees", "her"], heads=heads, deprels=deprels)
    >>> for word, upos in zip(sentence, ["DET", "ADJ", "NOUN", "VERB", "PRON"]):
    ...     word.upos = upos
    >>> list(to_spacy([sentence]).noun_chunks)
    [the old man, her]
    """
    doc = doclike.doc
    if not doc.has_annotation("DEP"):
        raise ValueError(Errors.E029)
    label, done = doc.vocab.strings.add("NP"), 0
    for word in doclike:
        kind = _relation(word)
        inside = kind in _AFTER or (kind in _BEFORE and word.i < word.head.i)  # of a phrase with another head
        if word.pos_ not in _NOUNS or inside:
            continue
        start, end = word.i, word.i + 1
        for left in reversed(list(word.lefts)):
            if _relation(left) in _BEFORE:
                start = left.left_edge.i
            elif _relation(left) != "punct":
                break
        for right in word.rights:
            if _relation(right) not in _AFTER or right.i != end or right.right_edge.i != right.i:
                break
            end += 1
        if start >= done:
            yield start, end, label
            done = end


def _relation(token: Token) -> str:
    """Return the relation of a token without its subtype."""
    return token.dep_.partition(":")[0]
