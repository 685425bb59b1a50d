"""The content of a drawing, without coordinates: words, arcs with their levels, the binary head tree, the tags.

Words are numbered from 1. All strings are safe to show (`unicode.printable`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from hexatagger.draw.unicode import printable, runs_right_to_left
from hexatagger.errors import TreeError, check_choice
from hexatagger.sentence import Multiword, Sentence
from hexatagger.tags import BHT, base, from_heads, heads_to_tree, lift
from hexatagger.tree import attach_roots, check_tree, is_tree, nonprojective_words

Show = Literal["arcs", "bht", "tags", "all"]
"""What to draw: the dependency arcs, the binary head tree, the hexatags, or all three as in the paper's Figure 1."""


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc between two words; `head` is 0 for the root, `crossing` is true if the arc is not projective."""

    head: int
    dependent: int
    label: str
    level: int
    crossing: bool
    unsure: bool = False
    """Whether the label says how probable the head is, because that is little."""

    @property
    def left(self) -> int:
        """The earlier of its two words."""
        return min(self.head, self.dependent)

    @property
    def right(self) -> int:
        """The later of its two words."""
        return max(self.head, self.dependent)


@dataclass(frozen=True, slots=True)
class Fan:
    """All projective arcs of one head, or one crossing arc, as one line in a downward drawing."""

    head: int
    dependents: tuple[int, ...]
    level: int
    crossing: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the binary head tree: its in-order place, 0 to 2N−2 (words are even), and those of its children."""

    place: int
    height: int
    side: str
    children: tuple[int, ...]


@dataclass(slots=True)
class Figure:
    """Everything that the drawing of one sentence shows."""

    show: Show
    forms: list[str]
    upos: list[str]
    """Empty where the sentence has `_`."""
    arcs: list[Arc] = field(default_factory=list)
    brackets: list[Multiword] = field(default_factory=list)
    """Multiword tokens."""
    nodes: list[Node] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    """In order, 2N−1; a leaf tag has its relation after a slash unless the arcs are drawn too."""
    notes: list[str] = field(default_factory=list)
    title: str = ""
    right_to_left: bool = False

    @property
    def description(self) -> str:
        """The arcs in words, for readers who cannot see them."""
        return "; ".join(map(self.tell, sorted(self.arcs, key=lambda arc: arc.dependent)))

    def tell(self, arc: Arc) -> str:
        """Describe an arc in words."""
        dependent = self.forms[arc.dependent - 1]
        head = f" of {self.forms[arc.head - 1]}" if arc.head else ""
        return f"{dependent}: {arc.label}{head}" + (" (not projective)" * arc.crossing)


def figure(sentence: Sentence, show: Show = "arcs") -> Figure:
    """Collect everything that is drawn.

    >>> sentence = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    >>> figure(sentence).description
    'She: nsubj of reads; reads: root; papers: obj of reads'
    >>> figure(sentence, "tags").tags
    ['l/nsubj', 'Lr', 'r/root', 'Ll', 'r/obj']
    """
    check_choice("show", show, get_args(Show))
    size = len(sentence)
    _check_heads(sentence)
    made = Figure(
        show,
        forms=[printable(word.form) for word in sentence],
        upos=["" if word.upos == "_" else printable(word.upos) for word in sentence],
        brackets=[replace(item, form=printable(item.form)) for item in sentence.multiwords],
        title=printable(sentence.text) if size else "",
        right_to_left=runs_right_to_left(sentence.forms),
    )
    if show in ("arcs", "all"):
        made.arcs = _arcs(sentence)
    if show != "arcs" and size:
        _add_tree(made, sentence)
    return made


SURE = 0.9
"""The probability of a head below which a drawing in the terminal marks the arc."""


def mark_unsure(made: Figure, sentence: Sentence) -> None:
    """Add the probability of the head to the label of every arc where it is less than `SURE`, and a note.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> sentence[0].head_probability, sentence[1].head_probability = 0.62, 0.99
    >>> made = figure(sentence)
    >>> mark_unsure(made, sentence)
    >>> [arc.label for arc in made.arcs], made.notes
    (['nsubj 62%?', 'root'], ['62%?: how probable this head is, where that is less than 90%.'])
    """
    shares = [word.head_probability for word in sentence]
    for number, arc in enumerate(made.arcs):
        share = shares[arc.dependent - 1]
        if share is not None and share < SURE:
            mark = f"{100 * share:.0f}%?"
            if not any(each.unsure for each in made.arcs):
                made.notes.append(f"{mark}: how probable this head is, where that is less than {100 * SURE:.0f}%.")
            made.arcs[number] = replace(arc, label=f"{arc.label} {mark}".strip(), unsure=True)


def _check_heads(sentence: Sentence) -> None:
    """Raise TreeError if an arc lacks an end; anything else that is not a tree can still be drawn."""
    size = len(sentence)
    for number, head in enumerate(sentence.heads, 1):
        if head > size:
            raise TreeError(f"HEAD '{head}' of word {number} is outside the sentence ({size} words)", word=number)
        if head == number:
            raise TreeError(f"word {number} is its own head: correct its HEAD", word=number)


def _arcs(sentence: Sentence) -> list[Arc]:
    """Return the arcs of a sentence, shortest first; a word without a head has none."""
    heads = sentence.heads
    pairs = [(head, word) for word, head in enumerate(heads, 1) if head > 0]
    pairs.sort(key=lambda pair: (abs(pair[0] - pair[1]), pair[1]))
    levels = stack([(min(pair), max(pair)) for pair in pairs])
    crossing = set(nonprojective_words(heads)) if is_tree(heads, single_root=False) else _crossed(pairs)
    labels = ["" if deprel == "_" else printable(deprel) for deprel in sentence.deprels]
    arcs = [
        Arc(head, word, labels[word - 1], level, word in crossing)
        for (head, word), level in zip(pairs, levels, strict=True)
    ]
    top = max(levels, default=0) + 1
    return arcs + [Arc(0, word, labels[word - 1], top, False) for word, head in enumerate(heads, 1) if head == 0]


def stack(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Put each span on the lowest level above all earlier spans it overlaps; `(1, 3)` covers 1 and 2, not 3.

    >>> stack([(1, 2), (2, 3), (1, 3), (2, 4)])
    [1, 1, 2, 3]
    """
    height = [0] * max((end for _, end in spans), default=0)
    levels = []
    for begin, end in spans:
        level = max(height[begin:end]) + 1
        height[begin:end] = [level] * (end - begin)
        levels.append(level)
    return levels


def _crossed(pairs: Sequence[tuple[int, int]]) -> set[int]:
    """Return the dependents of arcs that cross another, for heads that do not form a tree."""
    spans = [(min(pair), max(pair), pair[1]) for pair in pairs]
    return {
        word
        for begin, end, word in spans
        if any(begin < other < end < last or other < begin < last < end for other, last, _ in spans)
    }


def fans(figure: Figure) -> list[Fan]:
    """Gather the arcs of each head into one line, and place those of a word inside those of its head.

    Levels here are columns: fans that share a row have different levels, so every row can be read.
    """
    arcs = [arc for arc in figure.arcs if arc.head]
    upward = {arc.dependent: arc.head for arc in arcs}
    gathered: dict[tuple[int, int], list[int]] = {}
    for arc in arcs:
        gathered.setdefault((arc.head, arc.dependent if arc.crossing else 0), []).append(arc.dependent)

    depth: dict[int, int] = {}
    for word in range(1, len(figure.forms) + 1):
        path = []
        while word not in depth and word in upward:
            path.append(word)
            depth[word] = 0  # subtle: heads may form a cycle, so a word on the path counts as known
            word = upward[word]
        for above, below in enumerate(reversed(path), depth.get(word, 0) + 1):
            depth[below] = above
    # Deep heads first, so that the fan of a word lies inside that of its head; crossing ones outermost.
    order = sorted(gathered, key=lambda key: (key[1] > 0, -depth.get(key[0], 0), key))
    spans = [(min(key[0], *gathered[key]), max(key[0], *gathered[key]) + 1) for key in order]
    return [
        Fan(key[0], tuple(sorted(gathered[key])), level, key[1] > 0)
        for key, level in zip(order, stack(spans), strict=True)
    ]


def _add_tree(made: Figure, sentence: Sentence) -> None:
    """Add the binary head tree and the tags; those of the lifted tree if arcs cross."""
    for word in sentence:
        if word.head is None:
            raise TreeError("HEAD is '_': the binary head tree and the tags need a tree", word=word.id)
    heads, deprels = sentence.heads, sentence.deprels
    check_tree(heads, single_root=False)
    if heads.count(0) > 1:
        made.notes.append(f"{heads.count(0)} roots: the later ones are attached to the first here.")
        heads = attach_roots(heads)
    lifted, marked = lift(heads, deprels)
    moved = [word for word in range(1, len(heads) + 1) if lifted[word - 1] != heads[word - 1]]
    if moved:
        forms = made.forms
        told = [f"{forms[word - 1]} under {forms[lifted[word - 1] - 1]}" for word in moved]
        more = f" and {len(told) - 3} more" if len(told) > 3 else ""
        made.notes.append(f"Not projective, so lifted first: {', '.join(told[:3])}{more}.")
    else:
        marked = [base(relation) for relation in marked]
    if made.show != "tags":
        made.nodes = _nodes(heads_to_tree(lifted))
    if made.show != "bht":
        made.tags = [str(tag) for tag in from_heads(lifted)]
        if made.show == "tags":
            for place, relation in enumerate(marked):
                made.tags[2 * place] += "" if relation == "_" else f"/{printable(relation)}"


def _nodes(tree: BHT) -> list[Node]:
    """Return the nodes of a binary head tree in order, each one higher than its children."""
    ordered = list(tree.inorder())
    places = {id(node): place for place, node in enumerate(ordered)}
    downwards = [tree]
    for node in downwards:  # grows until the last leaf
        downwards.extend(node.children)
    height: dict[int, int] = {}
    for node in reversed(downwards):
        height[id(node)] = 1 + max((height[id(child)] for child in node.children), default=-1)
    return [
        Node(place, height[id(node)], node.side or "", tuple(places[id(child)] for child in node.children))
        for place, node in enumerate(ordered)
    ]
