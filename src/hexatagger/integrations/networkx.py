"""Sentences ⇄ networkx graphs: paths between words, common ancestors, subtrees, and the enhanced graph of DEPS.

Nodes are the words' numbers, with their columns as attributes; an edge goes from a head to its dependent. The root is
not a node: the root word is the one without an incoming edge, and its attribute `head` is 0.

Of the comments only `sent_id` and `text` are transferred; multiword tokens are not.

Extra `graphs`.
"""

from typing import Any

from hexatagger.errors import FormatError, TreeError, needs
from hexatagger.sentence import Sentence, Word

with needs("graphs"):
    import networkx as nx

_STRINGS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
_NUMBERS = ("start", "end", "head_probability")


def to_networkx(sentence: Sentence, *, enhanced: bool = False) -> Any:
    """Return the tree as a DiGraph or, with `enhanced`, the graph in DEPS as a MultiDiGraph.

    Empty nodes are nodes of the enhanced graph, named by their ID ("5.1"). Its edges are keyed by relation, because
    there may be several between two words.

    >>> graph = to_networkx(Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"]))
    >>> list(graph.edges(data="deprel")), graph.nodes[2]["form"]
    ([(2, 1, 'nsubj')], 'reads')
    """
    told = {name: value for name in ("sent_id", "text") if (value := sentence.comment(name)) is not None}
    graph = nx.MultiDiGraph(**told) if enhanced else nx.DiGraph(**told)
    for word in sentence:
        values: dict[str, Any] = {name: getattr(word, name) for name in _STRINGS}
        values |= {name: value for name in _NUMBERS if (value := getattr(word, name)) is not None}
        graph.add_node(word.id, **values, head=word.head)
    if enhanced:
        _add_deps(graph, sentence)
        return graph
    for word in sentence:
        if word.head and word.head not in graph:
            raise TreeError(f"HEAD '{word.head}' is outside the sentence ({len(sentence)} words)", word=word.id)
        if word.head:
            graph.add_edge(word.head, word.id, deprel=word.deprel)
    return graph


def _add_deps(graph: Any, sentence: Sentence) -> None:
    """Add the edges of the enhanced graph, and its empty nodes."""
    rows: list[tuple[int | str, str]] = [(word.id, word.deps) for word in sentence]
    for node in sentence.empty_nodes:
        names = ("form", "lemma", "upos", "xpos", "feats")
        identifier, *columns = node.columns
        graph.add_node(identifier, **dict(zip(names, columns, strict=False)), deps=columns[7], misc=columns[8])
        rows.append((identifier, columns[7]))
    for row, deps in rows:
        for arc in deps.split("|") if deps != "_" else ():
            text, colon, deprel = arc.partition(":")
            head: int | str = int(text) if text.isdecimal() else text
            if not colon or (head and head not in graph):
                raise FormatError(f"DEPS '{deps}' of '{row}': '{arc}' is not a head of this sentence with a relation")
            if head:
                graph.add_edge(head, row, key=deprel, deprel=deprel)


def from_networkx(graph: Any) -> Sentence:
    """Make a sentence from a graph as `to_networkx` returns it.

    Heads and relations are those of the edges. A word without an incoming edge is the root, unless its `head` is None.

    >>> graph = nx.DiGraph([(2, 1, {"deprel": "nsubj"})])
    >>> nx.set_node_attributes(graph, {1: "She", 2: "reads"}, "form")
    >>> from_networkx(graph).heads
    [2, 0]
    """
    if graph.is_multigraph() or not graph.is_directed():
        raise FormatError(f"a {type(graph).__name__} is not a tree of words: give a DiGraph")
    if set(graph) != set(range(1, len(graph) + 1)):
        raise FormatError(f"the nodes are not the numbers from 1 to {len(graph)}: number the words that way")
    sentence = Sentence([], [f"# {name} = {graph.graph[name]}" for name in ("sent_id", "text") if name in graph.graph])
    for number in range(1, len(graph) + 1):
        values = graph.nodes[number]
        if "form" not in values:
            raise FormatError(f"node {number} has no form: set its attribute 'form'")
        word = Word(number, "_")
        for name in (*_STRINGS, *_NUMBERS):
            if name in values:
                setattr(word, name, values[name])
        heads = list(graph.predecessors(number))
        if len(heads) > 1:
            raise FormatError(f"node {number} has {len(heads)} heads: in a tree it has one")
        if heads:
            word.head = heads[0]
            word.deprel = graph.edges[heads[0], number].get("deprel", word.deprel)
        else:
            word.head = None if values.get("head", 0) is None else 0
        sentence.words.append(word)
    return sentence
