"""Sentences ⇄ graphs and trees, with the real networkx and NLTK."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings

pytest.importorskip("networkx", reason="needs the extra 'graphs'")
pytest.importorskip("nltk", reason="needs the extra 'graphs'")

import networkx as nx
import nltk
from nltk.parse import DependencyGraph

from hexatagger import FormatError, Sentence, TreeError, Word, read_conllu
from hexatagger.tags import heads_to_tree
from strategies import projective_trees, sentences, trees


@pytest.fixture
def examples(data: Path) -> list[Sentence]:
    return list(read_conllu(data / "example.conllu"))


@settings(max_examples=40)
@given(sentences())
def test_networkx_keeps_words(sentence: Sentence) -> None:
    graph = sentence.to_networkx()
    assert nx.is_arborescence(graph)
    assert Sentence.from_networkx(graph).words == sentence.words


def test_networkx_answers_questions(examples: list[Sentence]) -> None:
    examples[0][0].head_probability = 0.75
    graph = examples[0].to_networkx()
    assert graph.graph == {"sent_id": "example-1", "text": "She reads fascinating papers."}
    assert [graph.nodes[word]["form"] for word in sorted(nx.descendants(graph, 4) | {4})] == ["fascinating", "papers"]
    assert nx.lowest_common_ancestor(graph, 1, 3) == 2
    assert nx.shortest_path(graph.to_undirected(), 1, 3) == [1, 2, 4, 3]
    assert graph.edges[4, 3]["deprel"] == "amod"
    assert (graph.nodes[1]["head_probability"], graph.nodes[2]["head"]) == (0.75, 0)
    file = io.BytesIO()
    nx.write_graphml(graph, file)  # which refuses values that are neither text nor number
    file.seek(0)
    again = Sentence.from_networkx(nx.read_graphml(file, node_type=int))
    assert (again.words, again.comment("sent_id")) == (examples[0].words, "example-1")


def test_networkx_edges_are_the_tree(examples: list[Sentence]) -> None:
    graph = examples[0].to_networkx()
    graph.remove_edge(2, 5)
    graph.add_edge(4, 5, deprel="dep")
    changed = Sentence.from_networkx(graph)
    assert (changed.heads, changed[4].deprel) == ([2, 0, 4, 2, 4], "dep")
    unparsed = Sentence.from_words(["She", "reads"])
    assert Sentence.from_networkx(unparsed.to_networkx()) == unparsed
    assert len(Sentence([]).to_networkx()) == 0


def test_networkx_enhanced(examples: list[Sentence]) -> None:
    graph = examples[3].to_networkx(enhanced=True)
    assert graph.nodes["5.1"]["form"] == "drank"
    assert sorted(str(node) for node in graph.successors("5.1")) == ["4", "5", "7"]
    assert graph.edges[2, "5.1", "conj:and"]["deprel"] == "conj:and"
    two = Sentence([Word(1, "a", deps="2:x|2:y"), Word(2, "b", deps="0:root")]).to_networkx(enhanced=True)
    assert list(two.edges(keys=True)) == [(2, 1, "x"), (2, 1, "y")]


def test_networkx_searches_as_we_do(examples: list[Sentence]) -> None:
    pattern = nx.DiGraph()
    pattern.add_node("verb", upos="VERB")
    pattern.add_node("what")
    pattern.add_edge("verb", "what", deprel="obj")

    def fits(found: dict[str, str], wanted: dict[str, str]) -> bool:
        return all(found[name] == value for name, value in wanted.items())

    for sentence in examples:
        matcher = nx.algorithms.isomorphism.DiGraphMatcher(
            sentence.to_networkx(), pattern, node_match=fits, edge_match=fits
        )
        found = [{name: word for word, name in match.items()} for match in matcher.subgraph_monomorphisms_iter()]
        ours = [(verb.id, what.id) for verb, what in sentence.search("upos=VERB >obj")]
        assert sorted((match["verb"], match["what"]) for match in found) == ours


def test_networkx_errors(examples: list[Sentence]) -> None:
    with pytest.raises(FormatError, match=r"DEPS '7:x' of '1': '7:x' is not a head of this sentence with a relation"):
        Sentence([Word(1, "a", deps="7:x")]).to_networkx(enhanced=True)
    with pytest.raises(TreeError, match=r"HEAD '7' is outside the sentence \(1 words\)"):
        Sentence([Word(1, "a", head=7)]).to_networkx()
    with pytest.raises(FormatError, match="a MultiDiGraph is not a tree of words"):
        Sentence.from_networkx(examples[0].to_networkx(enhanced=True))
    with pytest.raises(FormatError, match="the nodes are not the numbers from 1 to 2"):
        Sentence.from_networkx(nx.DiGraph([(0, 1)]))
    with pytest.raises(FormatError, match="node 1 has no form"):
        Sentence.from_networkx(nx.DiGraph([(2, 1)]))
    graph = examples[0].to_networkx()
    graph.add_edge(4, 1)
    with pytest.raises(FormatError, match="node 1 has 2 heads: in a tree it has one"):
        Sentence.from_networkx(graph)


def test_nltk_there_and_back(examples: list[Sentence]) -> None:
    for sentence in examples:
        graph = sentence.to_nltk()
        assert not graph.contains_cycle()
        again = Sentence.from_nltk(graph)
        for name in ("form", "lemma", "upos", "xpos", "feats", "head", "deprel"):
            assert [getattr(word, name) for word in again] == [getattr(word, name) for word in sentence]


@given(trees())
def test_nltk_reads_what_we_write_as_its_own(heads: list[int]) -> None:
    sentence = Sentence.from_words(
        ["x"] * len(heads), heads=heads, deprels=["root" if not head else "dep" for head in heads]
    )
    ours, theirs = sentence.to_nltk(), DependencyGraph(sentence.to_conllu(), top_relation_label="root")
    assert ours.nodes == theirs.nodes
    assert ours.root == theirs.root
    assert Sentence.from_nltk(theirs) == sentence


def test_nltk_draws_the_tree(examples: list[Sentence]) -> None:
    assert str(examples[0].to_nltk().tree()) == "(reads She (papers fascinating) .)"
    assert "2 -> 1" in examples[0].to_nltk().to_dot()
    # NLTK's own small form has neither lemmas nor relations
    assert Sentence.from_nltk(DependencyGraph("She N 2\nreads V 0")).deprels == ["_", "_"]


@given(projective_trees())
def test_binary_head_trees_there_and_back(heads: list[int]) -> None:
    deprels = [f"r{number}" for number in range(len(heads))]
    sentence = Sentence.from_words([f"w{number}" for number in range(len(heads))], heads=heads, deprels=deprels)
    for order in ("left", "right"):
        tree = sentence.to_nltk_tree(order=order)
        assert tree.leaves() == sentence.forms
        assert Sentence.from_nltk(tree) == sentence
        inner = [node.label() for node in tree.subtrees(lambda node: len(node) == 2)]
        assert sorted(inner) == sorted(node.side or "" for node in heads_to_tree(heads, order).inorder() if node.side)


def test_binary_head_trees_of_crossing_arcs_are_lifted(examples: list[Sentence]) -> None:
    tree = examples[2].to_nltk_tree()
    assert " ".join(str(tree).split()).startswith("(L (L (R (nsubj What) (R (aux did)")
    assert Sentence.from_nltk(tree).deprels == examples[2].deprels


def test_deep_trees(examples: list[Sentence]) -> None:
    heads = list(range(5000))
    sentence = Sentence.from_words(["x"] * 5000, heads=heads, deprels=["x"] * 5000)
    assert Sentence.from_nltk(sentence.to_nltk_tree()).heads == heads
    assert Sentence.from_nltk(sentence.to_nltk()).heads == heads


def test_nltk_errors() -> None:
    for sentence, message in (
        (Sentence([]), "without words"),
        (Sentence.from_words(["a"]), "HEAD of word 1 is '_': parse the sentence first"),
        (Sentence.from_words(["a", "b"], heads=[2, 1]), "no word has HEAD 0"),
    ):
        for make in (Sentence.to_nltk, Sentence.to_nltk_tree):
            with pytest.raises(TreeError, match=message):
                make(sentence)
    with pytest.raises(FormatError, match=r"'\(S \(NP a\)\)' is not a node of a binary head tree"):
        Sentence.from_nltk(nltk.Tree.fromstring("(S (NP a))"))
    with pytest.raises(FormatError, match="a str is neither a DependencyGraph nor a Tree"):
        Sentence.from_nltk("x")
