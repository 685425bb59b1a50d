"""Word and Sentence: the data that all other modules exchange.

A word has the ten columns of CoNLL-U as strings, exactly as in the file, with `_` for an empty value; only ID and HEAD
are numbers. So nothing is lost between reading and writing. A sentence also keeps its comments, multiword tokens and
empty nodes.

A sentence answers questions about its tree (`children`, `subtree`, `path`, `find`, …) from the HEAD column as it is at
that moment: nothing is stored, so reading and parsing do not pay for it, and answers are right after a change. Each is
O(N); for many questions about a very long sentence, use `tree.dependents_of(sentence.heads)` once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

from hexatagger.errors import TreeError, wrong_type
from hexatagger.tree import check_tree, dependents_of, subtree

_SHOWN = 60  # characters of text in the `repr` of a sentence
_WIDTH = 80  # columns of its `str`


def comment_key(line: str) -> str:
    """Return the key of a comment like `# key = value`."""
    return line[1:].partition("=")[0].strip()


def split_feats(feats: str) -> dict[str, str]:
    """Return the features of a FEATS column with their values.

    >>> split_feats("Case=Gen|Number=Plur"), split_feats("_")
    ({'Case': 'Gen', 'Number': 'Plur'}, {})
    """
    return {name: value for name, _, value in (part.partition("=") for part in feats.split("|")) if name != "_"}


@dataclass(slots=True, repr=False)
class Word:
    """A syntactic word with the ten columns of CoNLL-U; `head` is None where the file has `_`."""

    id: int
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int | None = None
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"
    start: int | None = field(default=None, compare=False)
    """Character offset at which it starts in the text; None if it does not come from a text. Words of a multiword token
    that does not spell them ("du": "de le") have the offsets of the token."""
    end: int | None = field(default=None, compare=False)
    """Offset at which it ends: `text[start:end]` is the word, or its token."""
    head_probability: float | None = field(default=None, compare=False)
    """The probability of its head; None unless requested."""
    heads: "list[tuple[int, float]] | None" = field(default=None, compare=False)
    """Possible heads and their probabilities, most probable first; None unless requested."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The ten columns as strings, as in a file."""
        head = "_" if self.head is None else str(self.head)
        fixed = (str(self.id), self.form, self.lemma, self.upos, self.xpos, self.feats)
        return (*fixed, head, self.deprel, self.deps, self.misc)

    @property
    def features(self) -> dict[str, str]:
        """The features in FEATS by name; a new dictionary each time, so that `feats` changes only by assignment.

        >>> Word(1, "papers", feats="Case=Nom|Number=Plur").features
        {'Case': 'Nom', 'Number': 'Plur'}
        """
        return split_feats(self.feats)

    def __repr__(self) -> str:
        known = [value for value in (self.upos, self.deprel) if value != "_"]
        place = [f"of {self.head}"] if self.head else []
        return f"<{' '.join(['Word', str(self.id), repr(self.form), *known, *place])}>"


@dataclass(slots=True, repr=False)
class Multiword:
    """A surface token made of several words, `first` to `last`; `rest` holds its columns after FORM."""

    first: int
    last: int
    form: str
    rest: tuple[str, ...] = ("_",) * 8
    start: int | None = field(default=None, compare=False)
    end: int | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The ten columns as strings, as in a file."""
        return (f"{self.first}-{self.last}", self.form, *self.rest)

    @property
    def misc(self) -> str:
        """The MISC column, which holds SpaceAfter."""
        return self.rest[-1]

    def __repr__(self) -> str:
        return f"<Multiword {self.first}-{self.last} {self.form!r}>"


@dataclass(slots=True, repr=False)
class EmptyNode:
    """A node of the enhanced graph that is not a word: the `index`-th after word `after`; `rest` holds FORM to MISC."""

    after: int
    index: int
    rest: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The ten columns as strings, as in a file."""
        return (f"{self.after}.{self.index}", *self.rest)

    def __repr__(self) -> str:
        return f"<EmptyNode {self.after}.{self.index} {self.rest[0]!r}>"


@dataclass(slots=True, repr=False)
class Sentence:
    """The words of a sentence, with the comments, multiword tokens and empty nodes of its CoNLL-U block.

    >>> sentence = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    >>> [(word.form, word.head, word.deprel) for word in sentence]
    [('She', 2, 'nsubj'), ('reads', 0, 'root'), ('papers', 2, 'obj')]
    >>> sentence
    <Sentence 'She reads papers', 3 words>
    >>> sentence.root, sentence.children(sentence.root)
    (<Word 2 'reads' root>, [<Word 1 'She' nsubj of 2>, <Word 3 'papers' obj of 2>])
    >>> print(sentence)
              root
     ╭─nsubj─╮ │ ╭─obj─╮
     ▼       │ ▼ │     ▼
    She      reads   papers
    """

    words: list[Word]
    comments: list[str] = field(default_factory=list)
    """Complete comment lines, with `#` and without the line end."""
    multiwords: list[Multiword] = field(default_factory=list)
    empty_nodes: list[EmptyNode] = field(default_factory=list)
    probability: float | None = field(default=None, compare=False)
    """The probability of its tree; None unless requested."""
    alternatives: "list[Sentence]" = field(default_factory=list, compare=False)
    """The next best trees, if requested."""
    head_samples: int = field(default=0, compare=False)
    """How many sampled trees the head probabilities p come from; 0 if they are exact. With n samples the standard error
    is √(p · (1 − p) / n)."""

    @classmethod
    def from_words(
        cls, forms: Sequence[str], *, heads: Iterable[int] | None = None, deprels: Sequence[str] | None = None
    ) -> "Sentence":
        """Make a sentence from forms and, if given, heads and relations."""
        if isinstance(forms, str | bytes) or not isinstance(forms, Iterable):
            raise wrong_type(forms, "a list of words", "one is ['She', 'reads'], several are [['She', 'reads'], …]")
        words = [Word(number, form) for number, form in enumerate(forms, 1)]
        for word in words:
            if not isinstance(word.form, str):
                raise wrong_type(word.form, "a word", "words are strings")
        sentence = cls(words)
        if heads is not None:
            sentence.set_tree(heads, deprels if deprels is not None else ["_"] * len(words))
        return sentence

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> list[Word]: ...
    def __getitem__(self, index: int | slice) -> Word | list[Word]:
        return self.words[index]

    def __repr__(self) -> str:
        text = self.text
        shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
        name = f"{identifier}: " if (identifier := self.comment("sent_id")) else ""
        return f"<Sentence {name}{shown!r}, {len(self)} word{'s' * (len(self) != 1)}>"

    def __str__(self) -> str:
        """Draw the tree as in a terminal of 80 columns: see `draw.draw_text`."""
        from hexatagger.draw import draw_text

        try:
            return draw_text(self, width=_WIDTH)
        except TreeError:  # an arc without an end: what cannot be drawn can still be printed
            return repr(self)

    @property
    def forms(self) -> list[str]:
        """The form of every word."""
        return [word.form for word in self.words]

    @property
    def heads(self) -> list[int]:
        """The head of every word: 0 for the root, -1 where it is missing."""
        return [-1 if word.head is None else word.head for word in self.words]

    @property
    def deprels(self) -> list[str]:
        """The relation of every word."""
        return [word.deprel for word in self.words]

    @property
    def lemmas(self) -> list[str]:
        """The lemma of every word."""
        return [word.lemma for word in self.words]

    @property
    def upos(self) -> list[str]:
        """The universal part of speech of every word."""
        return [word.upos for word in self.words]

    @property
    def xpos(self) -> list[str]:
        """The part of speech of every word in the tag set of the language."""
        return [word.xpos for word in self.words]

    @property
    def root(self) -> Word:
        """The word whose head is 0, the first if there are several; TreeError if there is none."""
        for word in self.words:
            if word.head == 0:
                return word
        raise TreeError("no word has HEAD 0: parse the sentence first")

    def head_of(self, word: Word) -> Word | None:
        """Return the head of a word; None for the root, or if its head is missing."""
        head = self._tree()[self._number(word) - 1]
        return self.words[head - 1] if head else None

    def children(self, word: Word) -> list[Word]:
        """Return the dependents of a word, in the order of the sentence."""
        number = self._number(word)
        return [other for other in self.words if other.head == number]

    def ancestors(self, word: Word) -> list[Word]:
        """Return the head of a word, the head of that, and so on up to the root."""
        number, heads, found = self._number(word), self._tree(), list[Word]()
        while number := heads[number - 1]:
            found.append(self.words[number - 1])
        return found

    def subtree(self, word: Word) -> list[Word]:
        """Return a word and all its descendants, in the order of the sentence; `text_of` gives their text.

        >>> heads, deprels = [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"]
        >>> sentence = Sentence.from_words(["She", "reads", "new", "papers"], heads=heads, deprels=deprels)
        >>> sentence.text_of(sentence.subtree(sentence[3]))
        'new papers'
        """
        return [self.words[number - 1] for number in sorted(subtree(self._number(word), dependents_of(self._tree())))]

    def path(self, start: Word, end: Word) -> list[Word]:
        """Return the words on the way from one word to another through the tree, both included.

        >>> sentence = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2])
        >>> [word.form for word in sentence.path(sentence[0], sentence[2])]
        ['She', 'reads', 'papers']
        """
        up, down = [start, *self.ancestors(start)], [end, *self.ancestors(end)]
        if up[-1].id != down[-1].id:
            raise TreeError(f"no path from word {start.id} to word {end.id}: they have different roots", word=end.id)
        while len(up) > 1 and len(down) > 1 and up[-2].id == down[-2].id:  # what both share above the common ancestor
            del up[-1], down[-1]
        return up + down[-2::-1]

    def find(
        self,
        *,
        form: str | Collection[str] | None = None,
        lemma: str | Collection[str] | None = None,
        upos: str | Collection[str] | None = None,
        xpos: str | Collection[str] | None = None,
        deprel: str | Collection[str] | None = None,
        feats: Mapping[str, str] | None = None,
    ) -> list[Word]:
        """Return the words that have all these values; several values of a column are alternatives.

        `feats` are features that a word must have, among others. `search` finds words by their place in the tree.

        >>> words = [Word(1, "old", upos="ADJ"), Word(2, "papers", upos="NOUN", feats="Case=Nom|Number=Plur")]
        >>> Sentence(words).find(upos={"NOUN", "PROPN"}, feats={"Number": "Plur"})
        [<Word 2 'papers' NOUN>]
        """
        given = {"form": form, "lemma": lemma, "upos": upos, "xpos": xpos, "deprel": deprel}
        wanted = {
            name: {value} if isinstance(value, str) else value for name, value in given.items() if value is not None
        }
        needed = set() if feats is None else set(feats.items())
        return [
            word
            for word in self.words
            if all(getattr(word, name) in values for name, values in wanted.items())
            and needed <= (word.features.items() if needed else needed)
        ]

    def search(self, query: str) -> "Iterator[tuple[Word, ...]]":
        """Yield the matches of a query over the tree, each with one word per term of the query: see `search`.

        >>> heads, deprels = [2, 0, 2], ["nsubj", "root", "obj"]
        >>> sentence = Sentence.from_words(["She", "reads", "papers"], heads=heads, deprels=deprels)
        >>> [(verb.form, what.form) for verb, what in sentence.search("* >obj *")]
        [('reads', 'papers')]
        """
        from hexatagger.search import find_matches

        return find_matches(query, self)

    def _number(self, word: Word) -> int:
        """Return the number of a word, after checking that it is one of this sentence."""
        known = self.words[word.id - 1] if 0 < word.id <= len(self.words) else None
        if known is not word and known != word:
            raise TreeError(f"word {word.id} '{word.form}' is not in the sentence '{self.text[:_SHOWN]}'", word=word.id)
        return word.id

    def _tree(self) -> list[int]:
        """Return all heads, 0 where there is none; TreeError if they leave the sentence or run in a cycle."""
        heads = [word.head or 0 for word in self.words]
        check_tree(heads, single_root=False)
        return heads

    def set_tree(self, heads: Iterable[int], deprels: Sequence[str]) -> None:
        """Set the head and relation of every word; heads may be numpy integers."""
        for word, head, deprel in zip(self.words, heads, deprels, strict=True):
            word.head, word.deprel = int(head), deprel

    def comment(self, key: str) -> str | None:
        """Return the value of the comment `# key = value`, or None if there is no such comment.

        >>> Sentence([], comments=["# sent_id = s1"]).comment("sent_id")
        's1'
        """
        for line in self.comments:
            if comment_key(line) == key and "=" in line:
                return line.partition("=")[2].strip()
        return None

    def rows(self) -> "Iterator[Word | Multiword | EmptyNode]":
        """Yield everything that has a line in a CoNLL-U file, in the order of the file."""
        if not (self.multiwords or self.empty_nodes):
            yield from self.words
            return
        before = {multiword.first: multiword for multiword in self.multiwords}
        after: dict[int, list[EmptyNode]] = {}
        for node in self.empty_nodes:
            after.setdefault(node.after, []).append(node)
        yield from after.get(0, ())
        for word in self.words:
            if multiword := before.get(word.id):
                yield multiword
            yield word
            yield from after.get(word.id, ())

    @property
    def tokens(self) -> list[Word | Multiword]:
        """The surface tokens in order: multiword tokens replace their words."""
        found: list[Word | Multiword] = []
        spans = {multiword.first: multiword for multiword in self.multiwords}
        covered = 0
        for word in self.words:
            if multiword := spans.get(word.id):
                found.append(multiword)
                covered = multiword.last
            elif word.id > covered:
                found.append(word)
        return found

    def words_of(self, token: Word | Multiword) -> list[Word]:
        """Return the words of a token, which are one word unless it is a multiword token.

        >>> sentence = Sentence([Word(1, "did"), Word(2, "n't")], multiwords=[Multiword(1, 2, "didn't")])
        >>> [(token.form, [word.form for word in sentence.words_of(token)]) for token in sentence.tokens]
        [("didn't", ['did', "n't"])]
        """
        return self.words[token.first - 1 : token.last] if isinstance(token, Multiword) else [token]

    def token_of(self, word: Word) -> Word | Multiword:
        """Return the token that a word belongs to: a multiword token, or the word itself."""
        number = self._number(word)
        return next((token for token in self.multiwords if token.first <= number <= token.last), word)

    @property
    def text(self) -> str:
        """The text: from the comment `# text`, or else the tokens joined according to SpaceAfter."""
        if (given := self.comment("text")) is not None:
            return given
        return _spell(self.tokens)

    def text_of(self, words: Iterable[Word]) -> str:
        """Return the text from the first to the last of some words, including what lies between them."""
        numbers = [self._number(word) for word in words]
        if not numbers:
            return ""
        first, last, parts = min(numbers), max(numbers), list[Word | Multiword]()
        for token in self.tokens:
            inner = self.words_of(token)
            if inner[-1].id < first or last < inner[0].id:
                continue
            if inner[0].id < first or last < inner[-1].id:  # a part of a multiword token
                space = "" if "".join(word.form for word in inner) == token.form else " "
                form = space.join(word.form for word in inner if first <= word.id <= last)
                token = replace(token, form=form)
            parts.append(token)
        return _spell(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: everything in the sentence except empty columns.

        >>> Sentence([Word(1, "Hi", head=0, deprel="root")]).to_dict()
        {'words': [{'id': 1, 'form': 'Hi', 'head': 0, 'deprel': 'root'}]}
        """
        from hexatagger.formats.json import to_values

        return to_values(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Sentence":
        """Make a sentence from what `to_dict` returned; FormatError says what is wrong with other values.

        >>> Sentence.from_dict({"words": [{"id": 1, "form": "Hi", "head": 0, "deprel": "root"}]}).deprels
        ['root']
        """
        from hexatagger.formats.json import from_values

        return from_values(values)

    def to_conllu(self) -> str:
        r"""Return the sentence as CoNLL-U, with the empty line at the end.

        >>> Sentence([Word(1, "Hi", head=0, deprel="root")]).to_conllu()
        '1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n'
        """
        from hexatagger.formats.conllu import format_sentence

        return format_sentence(self)

    def to_networkx(self, *, enhanced: bool = False) -> Any:
        """Return the tree as a `networkx.DiGraph`, or DEPS as a MultiDiGraph: see `integrations.networkx`."""
        from hexatagger.integrations.networkx import to_networkx

        return to_networkx(self, enhanced=enhanced)

    @classmethod
    def from_networkx(cls, graph: Any) -> "Sentence":
        """Make a sentence from such a DiGraph."""
        from hexatagger.integrations.networkx import from_networkx

        return from_networkx(graph)

    def to_nltk(self) -> Any:
        """Return the tree as an `nltk.parse.DependencyGraph`: see `integrations.nltk`."""
        from hexatagger.integrations.nltk import to_nltk

        return to_nltk(self)

    def to_nltk_tree(self, *, order: Literal["left", "right"] = "left") -> Any:
        """Return the binary head tree as an `nltk.Tree`: see `integrations.nltk`."""
        from hexatagger.integrations.nltk import to_nltk_tree

        return to_nltk_tree(self, order=order)

    @classmethod
    def from_nltk(cls, graph: Any) -> "Sentence":
        """Make a sentence from a DependencyGraph, or from a binary head tree made by `to_nltk_tree`."""
        from hexatagger.integrations.nltk import from_nltk

        return from_nltk(graph)

    def to_spacy(self, vocab: Any = None) -> Any:
        """Return this sentence as a `spacy.tokens.Doc`; `integrations.spacy` converts several sentences, and back."""
        from hexatagger.integrations.spacy import to_spacy

        return to_spacy([self], vocab)

    def to_svg(self, *, show: Literal["arcs", "bht", "tags", "all"] = "arcs") -> str:
        """Return a drawing of the tree, its binary head tree or its hexatags: see `draw.draw_svg`."""
        from hexatagger.draw import draw_svg

        return draw_svg(self, show=show)

    def _repr_html_(self) -> str:
        """Return the tree as a notebook displays it."""
        return f'<div style="overflow-x:auto">{self.to_svg()}</div>'


def _spell(tokens: Iterable[Word | Multiword]) -> str:
    """Join the forms of tokens according to SpaceAfter."""
    parts = []
    for token in tokens:
        parts += [token.form, "" if "SpaceAfter=No" in token.misc.split("|") else " "]
    return "".join(parts).rstrip(" ")
