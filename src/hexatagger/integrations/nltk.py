"""Sentences ⇄ NLTK: dependency graphs, and the binary head tree as an `nltk.Tree`.

A DependencyGraph has eight columns per word: `ctag` is UPOS and `tag` is XPOS. DEPS, MISC, comments and multiword
tokens are not transferred.

In the binary head tree, inner nodes are labelled `L` or `R`, the side of the head, and each word has its relation above
it. If arcs cross, it is the tree of the lifted arcs (see `tags.projective`). NLTK's own tree methods are recursive, so
Python's recursion limit applies to them.

Extra `graphs`.
"""

from typing import Any

from hexatagger.errors import FormatError, TreeError, needs
from hexatagger.sentence import Sentence, Word
from hexatagger.tags import BHT, Order, heads_to_tree, lift, tree_to_heads
from hexatagger.tree import check_tree

with needs("graphs"):
    from nltk.parse import DependencyGraph
    from nltk.tree import Tree

_COLUMNS = {"word": "form", "lemma": "lemma", "ctag": "upos", "tag": "xpos", "feats": "feats", "rel": "deprel"}


def to_nltk(sentence: Sentence) -> Any:
    """Return the tree as a DependencyGraph; its `root` is the first root word.

    >>> graph = to_nltk(Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"]))
    >>> [(head, rel, dependent) for (head, _), rel, (dependent, _) in graph.triples()]
    [('reads', 'nsubj', 'She')]
    """
    _check(sentence, single_root=False)
    graph = DependencyGraph()
    for word in sentence:
        values = {key: getattr(word, name) for key, name in _COLUMNS.items()}
        graph.nodes[word.id].update(values, address=word.id, head=word.head)
    for word in sentence:
        graph.add_arc(word.head, word.id)
    root = next(word for word in sentence if word.head == 0)
    graph.root, graph.top_relation_label = graph.nodes[root.id], root.deprel
    return graph


def to_nltk_tree(sentence: Sentence, *, order: Order = "left") -> Any:
    """Return the binary head tree.

    >>> print(to_nltk_tree(Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])))
    (R (nsubj She) (root reads))
    """
    _check(sentence, single_root=True)
    lifted, _ = lift(sentence.heads, sentence.deprels)
    made: list[Any] = []
    todo = [(heads_to_tree(lifted, order), False)]
    while todo:  # not recursive: a tree may be thousands of words deep
        node, done = todo.pop()
        if node.is_leaf:
            word = sentence[node.word - 1]
            made.append(Tree(word.deprel, [word.form]))
        elif done:
            right, left = made.pop(), made.pop()
            made.append(Tree(node.side, [left, right]))
        else:
            todo += [(node, True), *((child, False) for child in reversed(node.children))]
    return made.pop()


def _check(sentence: Sentence, *, single_root: bool) -> None:
    """Raise TreeError unless the sentence has words and a tree."""
    if not len(sentence):
        raise TreeError("a sentence without words has no tree")
    for word in sentence:
        if word.head is None:
            raise TreeError(f"HEAD of word {word.id} is '_': parse the sentence first", word=word.id)
    check_tree(sentence.heads, single_root=single_root)


def from_nltk(graph: Any) -> Sentence:
    """Make a sentence from a DependencyGraph, or from a binary head tree as `to_nltk_tree` returns it.

    >>> from_nltk(Tree.fromstring("(R (nsubj She) (root reads))")).heads
    [2, 0]
    """
    if isinstance(graph, Tree):
        return _from_tree(graph)
    if not isinstance(graph, DependencyGraph):
        raise FormatError(f"a {type(graph).__name__} is neither a DependencyGraph nor a Tree")
    size = len(graph.nodes) - 1
    sentence = Sentence([])
    for number in range(1, size + 1):
        if number not in graph.nodes:
            raise FormatError(f"the graph has {size} words but no word {number}: number them from 1")
        node = graph.nodes[number]
        word = Word(number, "_", head=node["head"])
        for key, name in _COLUMNS.items():
            setattr(word, name, node[key] or "_")
        if word.head is not None and not 0 <= word.head <= size:
            raise TreeError(f"head {word.head} of word {number} is outside the sentence ({size} words)", word=number)
        sentence.words.append(word)
    return sentence


def _from_tree(tree: Any) -> Sentence:
    """Read forms, heads and relations from a binary head tree."""
    forms, deprels = list[str](), list[str]()
    made: list[BHT] = []
    todo = [(tree, False)]
    while todo:
        node, done = todo.pop()
        if done:
            right, left = made.pop(), made.pop()
            made.append(BHT(side=node.label(), left=left, right=right))
        elif isinstance(node, Tree) and len(node) == 1 and isinstance(node[0], str):
            forms.append(node[0])
            deprels.append(node.label())
            made.append(BHT(len(forms)))
        elif isinstance(node, Tree) and len(node) == 2 and node.label() in ("L", "R"):
            todo += [(node, True), (node[1], False), (node[0], False)]
        else:
            wanted = "a node of a binary head tree: L or R above two nodes, or a relation above a word"
            raise FormatError(f"'{' '.join(str(node).split())[:60]}' is not {wanted}")
    return Sentence.from_words(forms, heads=tree_to_heads(made.pop()), deprels=deprels)
