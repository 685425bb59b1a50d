"""Word and Sentence: the one type that is passed around.

The columns of a word are the columns of CoNLL-U, as strings just as the file has them, `_` where nothing is given; only
ID and HEAD are numbers. So nothing is lost between reading and writing. What stands between the words of a CoNLL-U
sentence is kept beside them: comments, multiword tokens, empty nodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(slots=True)
class Word:
    """A syntactic word, with the ten columns of CoNLL-U; `head` is None where the file has `_`."""

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
    """Where its token begins in the text it was cut from; None if it was not cut from a text."""
    end: int | None = field(default=None, compare=False)
    """Where its token ends: `text[start:end]` is the token."""
    head_probability: float | None = field(default=None, compare=False)
    """How probable its head is; None if that was not asked for."""
    heads: "list[tuple[int, float]] | None" = field(default=None, compare=False)
    """Heads it could have and their probabilities, the likeliest first; None if that was not asked for."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The ten columns as strings, as a file has them."""
        head = "_" if self.head is None else str(self.head)
        fixed = (str(self.id), self.form, self.lemma, self.upos, self.xpos, self.feats)
        return (*fixed, head, self.deprel, self.deps, self.misc)


@dataclass(slots=True)
class Multiword:
    """A surface token that is several words: `first` to `last`; `rest` is its columns after FORM."""

    first: int
    last: int
    form: str
    rest: tuple[str, ...] = ("_",) * 8
    start: int | None = field(default=None, compare=False)
    end: int | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The ten columns as strings, as a file has them."""
        return (f"{self.first}-{self.last}", self.form, *self.rest)

    @property
    def misc(self) -> str:
        """The MISC column, where SpaceAfter is."""
        return self.rest[-1]


@dataclass(slots=True)
class EmptyNode:
    """A node of the enhanced graph, no word: the `index`-th after word `after`; `rest` is its columns after ID."""

    after: int
    index: int
    rest: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The ten columns as strings, as a file has them."""
        return (f"{self.after}.{self.index}", *self.rest)


@dataclass(slots=True)
class Sentence:
    """A sentence: its words, and what a CoNLL-U file says around them.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> [(word.form, word.head, word.deprel) for word in sentence]
    [('She', 2, 'nsubj'), ('reads', 0, 'root')]
    """

    words: list[Word]
    comments: list[str] = field(default_factory=list)
    """Whole comment lines, `#` included, without the line end."""
    multiwords: list[Multiword] = field(default_factory=list)
    empty_nodes: list[EmptyNode] = field(default_factory=list)
    probability: float | None = field(default=None, compare=False)
    """How probable its tree is; None if that was not asked for."""
    alternatives: "list[Sentence]" = field(default_factory=list, compare=False)
    """The next best trees, if they were asked for."""
    head_samples: int = field(default=0, compare=False)
    """How many sampled trees the head probabilities p come from; 0 if they are exact. With n samples the standard error
    is √(p · (1 − p) / n)."""

    @classmethod
    def from_words(
        cls, forms: Sequence[str], *, heads: Sequence[int] | None = None, deprels: Sequence[str] | None = None
    ) -> "Sentence":
        """Make a sentence of forms, with heads and relations if given."""
        words = [Word(number, form) for number, form in enumerate(forms, 1)]
        sentence = cls(words)
        if heads is not None:
            sentence.set_tree(heads, deprels if deprels is not None else ["_"] * len(words))
        return sentence

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> Word:
        return self.words[index]

    @property
    def forms(self) -> list[str]:
        """The form of every word."""
        return [word.form for word in self.words]

    @property
    def heads(self) -> list[int]:
        """The head of every word, -1 where none is given; see `tree` for the convention."""
        return [-1 if word.head is None else word.head for word in self.words]

    @property
    def deprels(self) -> list[str]:
        """The relation of every word."""
        return [word.deprel for word in self.words]

    def set_tree(self, heads: Sequence[int], deprels: Sequence[str]) -> None:
        """Give every word its head and relation."""
        for word, head, deprel in zip(self.words, heads, deprels, strict=True):
            word.head, word.deprel = head, deprel

    def comment(self, key: str) -> str | None:
        """Return the value of the comment `# key = value`, None if there is none.

        >>> Sentence([], comments=["# sent_id = s1"]).comment("sent_id")
        's1'
        """
        for line in self.comments:
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return None

    def rows(self) -> "Iterator[Word | Multiword | EmptyNode]":
        """Yield everything that has a line in a CoNLL-U file, in its order."""
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
        """The surface tokens in order: multiword tokens in place of their words."""
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

    @property
    def text(self) -> str:
        """The text: that of the comment `# text`, else the tokens, joined as SpaceAfter says."""
        if (given := self.comment("text")) is not None:
            return given
        parts = []
        for token in self.tokens:
            parts += [token.form, "" if "SpaceAfter=No" in token.misc.split("|") else " "]
        return "".join(parts).rstrip(" ")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: everything the sentence has, columns without a value left out.

        >>> Sentence([Word(1, "Hi", head=0, deprel="root")]).to_dict()
        {'words': [{'id': 1, 'form': 'Hi', 'head': 0, 'deprel': 'root'}]}
        """
        from hexatagger.formats.json import to_values

        return to_values(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Sentence":
        """Make the sentence that `to_dict` made such values of; FormatError says what is wrong with others.

        >>> Sentence.from_dict({"words": [{"id": 1, "form": "Hi", "head": 0, "deprel": "root"}]}).deprels
        ['root']
        """
        from hexatagger.formats.json import from_values

        return from_values(values)

    def to_conllu(self) -> str:
        r"""Return the lines of a CoNLL-U file, the empty line at the end included.

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
        """Make a sentence of such a DiGraph."""
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
        """Make a sentence of a DependencyGraph, or of a binary head tree as `to_nltk_tree` makes it."""
        from hexatagger.integrations.nltk import from_nltk

        return from_nltk(graph)

    def to_spacy(self, vocab: Any = None) -> Any:
        """Return a `spacy.tokens.Doc` of this sentence: see `integrations.spacy`, also for several and for back."""
        from hexatagger.integrations.spacy import to_spacy

        return to_spacy([self], vocab)

    def to_svg(self, *, show: Literal["arcs", "bht", "tags", "all"] = "arcs") -> str:
        """Return a drawing of the tree, its binary head tree or its hexatags: see `draw.draw_svg`."""
        from hexatagger.draw import draw_svg

        return draw_svg(self, show=show)

    def _repr_html_(self) -> str:
        """Return what a notebook shows for a sentence: its tree."""
        return f'<div style="overflow-x:auto">{self.to_svg()}</div>'
