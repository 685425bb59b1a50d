"""Hypothesis strategies: random trees, deprels and sentences."""

from typing import TypeVar

from hypothesis import strategies as st

from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word

T = TypeVar("T")

text = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=8)
deprels = st.sampled_from(["nsubj", "obj", "obl:arg", "conj", "punct", "a|b", "a%", "/", "x/y", "l", "\\", "|", "%"])


@st.composite
def trees(draw: st.DrawFn, max_size: int = 12) -> list[int]:
    """Draw the heads of any tree with one root: in random order, words are attached to a word of the tree."""
    size = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(1, size + 1)))
    heads = [0] * size
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = order[draw(st.integers(0, place - 1))]
    return heads


@st.composite
def projective_trees(draw: st.DrawFn, max_size: int = 12) -> list[int]:
    """Draw the heads of a projective tree: a random word heads an interval, and the rest is cut into intervals."""
    heads = [0] * draw(st.integers(1, max_size))
    todo = [(0, len(heads), 0)]
    while todo:
        low, high, head = todo.pop()
        word = draw(st.integers(low, high - 1))
        heads[word] = head
        for begin, end in ((low, word), (word + 1, high)):
            while begin < end:
                cut = draw(st.integers(begin + 1, end))
                todo.append((begin, cut, word + 1))
                begin = cut
    return heads


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Draw a sentence with everything CoNLL-U can hold."""
    heads = draw(trees(8))
    columns = st.one_of(st.just("_"), text)
    words = [Word(number, draw(text), head=head, deprel=draw(deprels)) for number, head in enumerate(heads, 1)]
    for word in words:
        for name in ("lemma", "upos", "xpos", "feats", "deps", "misc"):
            setattr(word, name, draw(columns))
    multiwords, covered = [], 0
    for number in range(1, len(words) + 1):
        if number > covered and draw(st.booleans()):
            covered = draw(st.integers(number, len(words)))
            multiwords.append(Multiword(number, covered, draw(text)))
    empty_nodes = [
        EmptyNode(after, index, (draw(text), *(draw(columns) for _ in range(8))))
        for after in range(len(words) + 1)
        for index in range(1, draw(st.integers(0, 2)) + 1)
    ]
    comments = ["#" + comment for comment in draw(st.lists(text, max_size=3))]
    return Sentence(words, comments, multiwords, empty_nodes)


@st.composite
def parsed_sentences(draw: st.DrawFn) -> Sentence:
    """Draw a sentence with everything a parser can add; `asdict` has what `==` does not compare."""
    shares, places = st.one_of(st.none(), st.floats(0, 1)), st.one_of(st.none(), st.integers(0, 1000))
    sentence = draw(sentences())
    for each in (*sentence, *sentence.multiwords):
        each.start, each.end = draw(places), draw(places)
    for word in sentence:
        word.head_probability = draw(shares)
        pairs = st.tuples(st.integers(0, len(sentence)), st.floats(0, 1))
        word.heads = draw(st.one_of(st.none(), st.lists(pairs, max_size=3)))
    sentence.probability = draw(shares)
    sentence.alternatives = draw(st.lists(sentences(), max_size=2))
    return sentence
