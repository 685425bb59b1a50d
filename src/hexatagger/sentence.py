"""Word and Sentence: the data that all other modules exchange.

A word has the ten columns of CoNLL-U as strings, exactly as in the file, with `_` for an empty value; only ID and HEAD
are numbers. So nothing is lost between reading and writing. A sentence also keeps its comments, multiword tokens and
empty nodes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(slots=True)
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
    """Character offset at which its token starts in the text; None if it does not come from a text."""
    end: int | None = field(default=None, compare=False)
    """Offset at which its token ends: `text[start:end]` is the token."""
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


@dataclass(slots=True)
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


@dataclass(slots=True)
class EmptyNode:
    """A node of the enhanced graph that is not a word: the `index`-th after word `after`; `rest` holds FORM to MISC."""

    after: int
    index: int
    rest: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The ten columns as strings, as in a file."""
        return (f"{self.after}.{self.index}", *self.rest)


@dataclass(slots=True)
class Sentence:
    """The words of a sentence, with the comments, multiword tokens and empty nodes of its CoNLL-U block.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> [(word.form, word.head, word.deprel) for word in sentence]
    [('She', 2, 'nsubj'), ('reads', 0, 'root')]
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
        """The head of every word: 0 for the root, -1 where it is missing."""
        return [-1 if word.head is None else word.head for word in self.words]

    @property
    def deprels(self) -> list[str]:
        """The relation of every word."""
        return [word.deprel for word in self.words]

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
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
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

    @property
    def text(self) -> str:
        """The text: from the comment `# text`, or else the tokens joined according to SpaceAfter."""
        if (given := self.comment("text")) is not None:
            return given
        parts = []
        for token in self.tokens:
            parts += [token.form, "" if "SpaceAfter=No" in token.misc.split("|") else " "]
        return "".join(parts).rstrip(" ")

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
