"""Sentences ⇄ Docs, and the component in pipelines of the real spaCy."""

import itertools
import pickle
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("spacy", reason="needs the extra 'spacy'")

import spacy
from spacy import displacy
from spacy.tokens import Doc

import hexatagger
from conftest import ROOT
from hexatagger import Multiword, Parser, Sentence, TreeError, Word, from_spacy, read_conllu, to_spacy
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.text import restore
from hexatagger.integrations.spacy_pipe import HexataggerPipe
from hexatagger.model.registry import find_model
from hexatagger.parsing.network import OnnxNetwork, Started
from onnx_model import write_model
from stand_ins import texts as odd_texts
from strategies import trees

TEXT = "  Dogs bark  loudly. The old man\nsleeps.\n\n Anna saw cats . "
COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel")


def columns(sentence: Sentence) -> list[tuple[object, ...]]:
    """What a Doc keeps of words."""
    return [tuple(getattr(word, name) for name in COLUMNS) for word in sentence]


@pytest.fixture
def examples(data: Path) -> list[Sentence]:
    return list(read_conllu(data / "example.conllu"))


# Docs


def test_examples_there_and_back(examples: list[Sentence]) -> None:
    doc = to_spacy(examples)
    assert [span.text for span in doc.sents] == [sentence.text for sentence in examples]
    assert [columns(each) for each in from_spacy(doc)] == [columns(each) for each in examples]
    assert [token.dep_ for token in doc if token.head == token] == ["ROOT"] * 5


def test_a_doc_of_one_sentence(examples: list[Sentence]) -> None:
    vocab = spacy.blank("en").vocab
    doc = examples[2].to_spacy(vocab)
    assert (doc.vocab, doc.text) == (vocab, "What did she say happened?")
    assert doc[0].head.text == "happened"  # across "say"
    assert [token.i for token in doc if token.is_sent_start] == [0]
    again = Doc(vocab).from_bytes(doc.to_bytes())
    assert from_spacy(again) == from_spacy(doc)
    svg = displacy.render(doc, style="dep", jupyter=False, options={"collapse_punct": False})
    assert svg.count('class="displacy-arrow"') == 5
    assert "ccomp" in svg


forms = st.text(st.characters(categories=["L", "N", "P", "So"]), min_size=1, max_size=6)
gaps = st.sampled_from(["_", "SpaceAfter=No", "SpacesAfter=\\s\\s", "SpacesAfter=\\n", "SpacesAfter=\\s\\n\\t"])


@st.composite
def texts(draw: st.DrawFn) -> list[Sentence]:
    """Sentences with trees of all kinds and spaces of all kinds between their words."""
    made = []
    for _ in range(draw(st.integers(1, 3))):
        heads = draw(trees())
        deprels = [draw(st.sampled_from(["nsubj", "obl:arg", "_"])) if head else "root" for head in heads]
        made.append(Sentence.from_words([draw(forms) for _ in heads], heads=heads, deprels=deprels))
        for word in made[-1]:
            word.misc = draw(gaps)
            word.upos, word.lemma = draw(st.sampled_from(["NOUN", "X", "_"])), draw(st.one_of(st.just("_"), forms))
    made[0][0].misc = draw(st.sampled_from(["_", "SpacesBefore=\\n\\s"]))
    return made


@given(texts())
def test_texts_there_and_back(sentences: list[Sentence]) -> None:
    doc = to_spacy(sentences)
    text = restore(sentences)
    assert doc.text == (text[:-1] if sentences[-1][-1].misc in ("_", "SpacesBefore=\\n\\s") else text)
    again = from_spacy(doc)
    assert [columns(each) for each in again] == [columns(each) for each in sentences]
    assert restore(again) == doc.text
    assert all(doc.text[word.start : word.end] == word.form for each in again for word in each)


def test_multiword_tokens_there_and_back(examples: list[Sentence]) -> None:
    words = [Word(1, "du", misc="SpaceAfter=No"), Word(2, "de"), Word(3, "le"), Word(4, "lac")]
    french = Sentence(words, multiwords=[Multiword(2, 3, "du")])
    for sentence in (*examples, french):
        [again] = from_spacy(sentence.to_spacy())
        assert ([(each.first, each.last, each.form) for each in again.multiwords], again.text) == (
            [(each.first, each.last, each.form) for each in sentence.multiwords],
            sentence.text,
        )
        assert [token.misc.split("|")[0] == "SpaceAfter=No" for token in again.tokens[:-1]] == [
            token.misc == "SpaceAfter=No" for token in sentence.tokens[:-1]
        ]
    doc = to_spacy(examples)
    assert [(span.text, span.label_) for span in doc.spans["multiwords"]] == [("doesn't", "doesn't")]
    copy = Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert from_spacy(copy)[1].multiwords == from_spacy(doc)[1].multiwords != []
    doc = french.to_spacy()
    assert (doc.text, [(span.text, span.label_) for span in doc.spans["multiwords"]]) == (
        "dudele lac",
        [("dele", "du")],
    )
    doc[2].is_sent_start = True  # a boundary inside it
    assert [each.multiwords for each in from_spacy(doc)] == [[], []]


def test_invisible_characters_between_words_are_no_words() -> None:
    words = [
        Word(1, "a", misc="SpacesAfter=\\s\u200b\\s", head=2, deprel="x"),
        Word(2, "\u00ad", head=0, deprel="root"),
    ]
    for upos in ("_", "X"):
        for word in words:
            word.upos = upos
        doc = Sentence(words).to_spacy()
        assert (doc.text, [token.text for token in doc]) == ("a \u200b \u00ad", ["a", "\u200b ", "\u00ad"])
        [again] = from_spacy(doc)
        assert columns(again) == columns(Sentence(words))


def test_deep_crossing_trees_stay_one_sentence() -> None:
    # spaCy finds sentences by moving edges ten times at most; these would take more.
    size = 60
    heads = [0] * size
    order = [(place * 37) % size + 1 for place in range(size)]
    for above, word in itertools.pairwise(order):
        heads[word - 1] = above
    sentence = Sentence.from_words(["x"] * size, heads=heads, deprels=["root" if not head else "dep" for head in heads])
    doc = to_spacy([sentence, sentence])
    assert [len(span) for span in doc.sents] == [size, size]
    assert [each.heads for each in from_spacy(doc)] == [heads, heads]


def test_docs_without_trees() -> None:
    sentences = [Sentence.from_words(["She", "reads"]), Sentence([]), Sentence.from_words(["Hi"])]
    doc = to_spacy(sentences)
    assert (doc.text, doc.has_annotation("DEP"), len(list(doc.sents))) == ("She reads Hi", False, 2)
    assert [each.heads for each in from_spacy(doc)] == [[-1, -1], [-1]]
    assert from_spacy(spacy.blank("en")("She reads")) != []
    assert from_spacy(spacy.blank("en")("")) == from_spacy(spacy.blank("en")(" \n")) == []
    assert len(to_spacy([])) == 0


def test_trees_that_hang_on_spaces() -> None:
    words, spaces = ["\n", "She", "reads"], [False, True, False]
    doc = Doc(spacy.blank("en").vocab, words, spaces, heads=[0, 0, 0], deps=["ROOT", "nsubj", "obj"])
    [sentence] = from_spacy(doc)
    assert (sentence.heads, sentence.deprels, sentence.text) == ([0, 1], ["root", "obj"], "She reads")


def test_odd_columns_do_no_harm() -> None:
    word = Word(1, "x", "x", "NO-SUCH", "T", "Odd|A=b=c|Number=Plur", 0, "root")
    [token] = Sentence([word]).to_spacy()
    assert (token.pos_, token.tag_, str(token.morph)) == ("", "T", "Number=Plur")
    word = Word(1, "x", feats="Abbr=Yes|NumForm=Digit|Number=Plur|PronType=Int,Rel")
    [[again]] = from_spacy(Sentence([word]).to_spacy())
    assert again.feats == "Abbr=Yes|Number=Plur|NumForm=Digit|PronType=Int,Rel"  # the order of UD


@pytest.mark.parametrize(
    ("heads", "message"), [([0, 0], "2 words have HEAD 0"), ([2, 1], "no word has HEAD 0"), ([5, 0], "outside")]
)
def test_what_is_no_tree_is_refused(heads: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Sentence.from_words(["a", "b"], heads=heads).to_spacy()
    with pytest.raises(TreeError, match="HEAD of word 1 is '_': parse all sentences or none"):
        to_spacy([Sentence.from_words(["a"]), Sentence.from_words(["b"], heads=[0], deprels=["root"])])


# The component


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnx", reason="making a model needs the extra 'train'")
    return write_model(tmp_path_factory.mktemp("models") / "noise")


@pytest.fixture(scope="module")
def parser(model: Path) -> Parser:
    return hexatagger.load(model, threads=1)


@pytest.fixture
def nlp(model: Path) -> Any:
    return make(model)


def make(model: Path, **config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("hexatagger", config={"model": str(model), "threads": 1, **config})
    return nlp


def values(doc: Doc) -> list[tuple[object, ...]]:
    """All that the component sets."""
    return [
        (each.text, each.head.i, each.dep_, each.pos_, each.tag_, str(each.morph), each.lemma_, each.is_sent_start)
        for each in doc
    ]


def test_a_doc_gets_what_the_parser_says(nlp: Any, parser: Parser) -> None:
    doc = nlp(TEXT)
    assert (doc.text, [token.text for token in doc]) == (TEXT, [token.text for token in nlp.make_doc(TEXT)])
    words = [[token.text for token in span if not token.is_space] for span in doc.sents]
    assert words == [
        ["Dogs", "bark", "loudly", "."],
        ["The", "old", "man", "sleeps", "."],
        ["Anna", "saw", "cats", "."],
    ]
    assert [columns(each) for each in from_spacy(doc)] == [columns(each) for each in parser.parse_words(words)]
    assert all(doc.has_annotation(name, require_complete=True) for name in ("DEP", "POS", "TAG", "MORPH", "LEMMA"))
    spaces = [token for token in doc if token.is_space]
    assert [(each.text, each.head.text) for each in spaces] == [
        *(("  ", "Dogs"), (" ", "bark"), ("\n", "man"), ("\n\n ", "."))
    ]
    assert {(each.pos_, each.tag_, each.dep_, each.lemma_ == each.text) for each in spaces} == {
        ("SPACE", "_SP", "dep", True)
    }
    assert (doc[1]._.head_probability, doc[1]._.heads, doc._.tree_probabilities) == (None, None, [None] * 3)


def test_probabilities(model: Path, parser: Parser) -> None:
    doc = make(model, probabilities=True)(TEXT)
    parsed = parser.parse_words([each.forms for each in from_spacy(doc)], probabilities=True)
    assert doc._.tree_probabilities == [each.probability for each in parsed]
    assert next(doc.sents)._.tree_probability == parsed[0].probability
    for each, again in zip(parsed, from_spacy(doc), strict=True):
        assert [word.heads for word in again] == [word.heads for word in each]
        assert [word.head_probability for word in again] == [word.head_probability for word in each]
    best = {token: max(token._.heads, key=lambda pair: pair[1])[0] for token in doc if token._.heads}
    assert len(best) == 13
    assert all(isinstance(head.i, int) for head in best.values())
    # They go where the Doc goes: through bytes, and into a Doc of one sentence.
    copy = Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert copy._.tree_probabilities == doc._.tree_probabilities
    part = list(doc.sents)[1].as_doc(copy_user_data=True)
    assert [word.heads for word in from_spacy(part)[0]] == [word.heads for word in parsed[1]]
    made = to_spacy(parsed)
    assert (made._.tree_probabilities, made[0]._.head_probability) == (
        doc._.tree_probabilities,
        parsed[0][0].head_probability,
    )


def test_an_earlier_tree_is_forgotten(model: Path, nlp: Any) -> None:
    doc = make(model, probabilities=True)(TEXT)
    assert values(nlp(doc)) == values(nlp(TEXT))
    assert doc._.tree_probabilities == [None] * 3


@pytest.mark.parametrize("text", ["", " ", "\n\n \n", "Hi", "Hi\n", "\u200b", "\u00ad \ufeff", "😀 !"])
def test_texts_of_little_or_nothing(nlp: Any, text: str) -> None:
    doc = nlp(text)
    assert doc.text == text
    assert all(token.head in span and token.dep_ for span in doc.sents for token in span)
    assert len(list(doc.sents)) <= 1


def test_streams_are_parsed_in_batches(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [TEXT, "", "One dog .", "Two dogs sleep . Cats"] * 5
    expected = [values(nlp(text)) for text in texts]
    calls: list[int] = []
    start = OnnxNetwork.start

    def counted(self: OnnxNetwork, sentences: list[Sentence], **options: Any) -> Started:
        calls.append(len(sentences))
        return start(self, sentences, **options)

    monkeypatch.setattr(OnnxNetwork, "start", counted)
    assert [values(doc) for doc in nlp.pipe(texts, batch_size=10)] == expected
    assert calls == [15, 15]
    assert [context for _, context in nlp.pipe([(text, 1) for text in texts], as_tuples=True)] == [1] * 20


def test_several_processes(model: Path) -> None:
    texts = [TEXT, "One dog .", "", "Two dogs sleep . Cats"] * 3
    nlp = make(model, probabilities=True)
    expected = [(values(doc), doc._.tree_probabilities) for doc in nlp.pipe(texts)]  # which loads the model here too
    made = [(values(doc), doc._.tree_probabilities) for doc in nlp.pipe(texts, n_process=2, batch_size=3)]
    assert made == expected


# Where sentences begin


def starts(doc: Doc) -> list[int]:
    return [span.start for span in doc.sents]


def test_what_is_set_before_is_obeyed(model: Path) -> None:
    nlp = make(model)
    assert starts(nlp("Dogs bark . Cats sleep .")) == [0, 3]
    nlp.add_pipe("sentencizer", first=True, config={"punct_chars": ["!"]})
    assert starts(nlp("Dogs bark . Cats sleep .")) == [0]
    assert starts(nlp("Dogs ! bark . Cats sleep .")) == [0, 2]
    assert starts(nlp("Dogs ! \n bark")) == [0, 2]
    assert nlp("Dogs ! \n bark")[2].head.text == "bark"
    nlp.get_pipe("hexatagger").sentences = "segment"
    assert starts(nlp("Dogs ! bark . Cats sleep .")) == [0, 4]


def test_what_is_set_in_part_is_obeyed_and_the_rest_found(model: Path) -> None:
    nlp = make(model)
    doc = nlp.make_doc("Dogs bark . Cats sleep . They run .")
    doc[1].is_sent_start, doc[3].is_sent_start = True, False
    assert starts(nlp(doc)) == [0, 1, 6]


def test_given_sentences_need_no_segmenter(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="making a model needs the extra 'train'")
    model = write_model(tmp_path / "model", segmenter=False)
    nlp = make(model, sentences="given")
    assert starts(nlp("Dogs bark . Cats sleep .")) == [0]
    doc = nlp.make_doc("Dogs bark . Cats sleep .")
    doc[3].is_sent_start = True
    assert starts(nlp(doc)) == [0, 3]
    with pytest.raises(ConfigError, match=r"has no segmenter: .* or set sentence starts first"):
        make(model)("Dogs bark .")
    nlp = make(model)
    nlp.add_pipe("sentencizer", first=True)
    assert starts(nlp("Dogs bark . Cats sleep .")) == [0, 3]


def test_tokens_are_not_cut(nlp: Any) -> None:
    doc = Doc(nlp.vocab, ["Dogs", "bark.Cats", "sleep", "."])
    assert starts(nlp(doc)) == [0, 2]
    doc = Doc(nlp.vocab, ["Dogs bark. Cats sleep."])
    assert starts(nlp(doc)) == [0]


def test_columns_that_are_kept(model: Path) -> None:
    nlp = make(model, keep=["upos", "lemma"])
    doc = nlp.make_doc("Dogs bark")
    doc[0].pos_, doc[1].lemma_, doc[0].tag_ = "INTJ", "kept", "changed"
    nlp(doc)
    assert (doc[0].pos_, doc[1].lemma_) == ("INTJ", "kept")
    assert doc[0].tag_ in ("NN", "VB", "DT")
    assert doc[1].pos_ in ("NOUN", "VERB", "DET")


# Tokens of the model


@given(odd_texts)
def test_tokens_of_the_model(model: Path, parser: Parser, text: str) -> None:
    doc = make_once(model)(text)
    assert doc.text == text
    parsed = parser.parse(text)
    if parsed:
        assert [columns(each) for each in from_spacy(doc)] == [columns(each) for each in parsed]
        assert [[word.start for word in each] for each in from_spacy(doc)] == [
            [word.start for word in each] for each in parsed
        ]


@cache
def make_once(model: Path) -> Any:
    return make(model, tokens="model")


def test_pipelines_with_tokens_of_the_model(model: Path, tmp_path: Path) -> None:
    nlp = make(model, tokens="model")
    texts = ["U.S. dogs", " \n", "", TEXT]
    assert [token.text for token in nlp.make_doc(texts[0])] == ["U", ".", "S", ".", "dogs"]
    assert starts(nlp.make_doc(texts[0])) == [0, 2, 4]
    expected = [values(nlp(text)) for text in texts]
    assert [values(doc) for doc in nlp.pipe(texts)] == expected
    assert [values(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=2)] == expected
    assert [(values(doc), number) for doc, number in nlp.pipe(zip(texts, range(4), strict=True), as_tuples=True)] == [
        (each, number) for number, each in enumerate(expected)
    ]
    nlp.to_disk(tmp_path / "saved")
    assert [values(spacy.load(tmp_path / "saved")(text)) for text in texts] == expected
    other = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert [values(other(text)) for text in texts] == expected
    assert [token.text for token in make(model)(texts[0])] == ["U.S.", "dogs"]


def test_tokens_of_the_model_inside_the_package() -> None:
    _embedded()
    nlp = spacy.blank("en")
    nlp.add_pipe("hexatagger", config={"threads": 1, "tokens": "model"})
    text = "He didn't  see it. They can't. "
    doc = nlp(text)
    assert (doc.text, [span.label_ for span in doc.spans["multiwords"]]) == (text, ["didn't", "can't"])
    parsed = hexatagger.load("en", threads=1).parse(text)
    for each in parsed:
        each.comments = [f"# text = {each.text}"]
    assert [each.to_conllu() for each in from_spacy(doc)] == [each.to_conllu() for each in parsed]


def test_tokens_of_a_model_without_a_segmenter(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="making a model needs the extra 'train'")
    with pytest.raises(ConfigError, match="has no segmenter"):
        make(write_model(tmp_path / "model", segmenter=False), tokens="model")("Dogs bark .")


# Noun chunks

TREES = """
The/DET:2:det dog/NOUN:3:nsubj chased/VERB:0:root my/PRON:6:nmod:poss old/ADJ:6:amod cats/NOUN:3:obj in/ADP:9:case
  the/DET:9:det park/NOUN:3:obl ./PUNCT:3:punct
| The dog | my old cats | the park
She/PRON:4:nsubj is/AUX:4:cop a/DET:4:det doctor/NOUN:0:root and/CCONJ:6:cc friend/NOUN:4:conj
| She | a doctor | friend
my/PRON:2:nmod:poss sister/NOUN:4:nmod:poss 's/PART:2:case letter/NOUN:5:nsubj came/VERB:0:root
| my sister 's letter
Rio/PROPN:4:nsubj Grande/PROPN:1:flat slowly/ADV:4:advmod floods/VERB:0:root something/PRON:4:obj new/ADJ:5:amod
  of/ADP:8:case value/NOUN:5:nmod
| Rio Grande | something new | value
New/PROPN:3:compound York/PROPN:3:compound streets/NOUN:5:nsubj all/ADV:5:advmod sleep/VERB:0:root
| New York streets
"""


def chunked() -> list[tuple[Sentence, list[str]]]:
    made = []
    for block in re.findall(r"^\w.*?(?=^\w|\Z)", TREES, re.MULTILINE | re.DOTALL):
        tree, *chunks = [" ".join(part.split()) for part in block.split("|")]
        rows = [re.split("[/:]", word, maxsplit=3) for word in tree.split()]
        sentence = Sentence.from_words(
            [row[0] for row in rows], heads=[int(row[2]) for row in rows], deprels=[row[3] for row in rows]
        )
        for word, row in zip(sentence, rows, strict=True):
            word.upos = row[1]
        made.append((sentence, chunks))
    return made


@pytest.mark.parametrize(("sentence", "chunks"), chunked())
def test_noun_chunks(sentence: Sentence, chunks: list[str]) -> None:
    for vocab in (None, spacy.blank("en").vocab):
        doc = sentence.to_spacy(vocab)
        assert [chunk.text for chunk in doc.noun_chunks] == chunks
        assert {chunk.label_ for chunk in doc.noun_chunks} == {"NP"}
        assert [chunk.text for chunk in doc[:].noun_chunks] == chunks
    with pytest.raises(ValueError, match="requires the dependency parse"):
        list(Sentence.from_words(["a"]).to_spacy(spacy.blank("en").vocab).noun_chunks)


def test_noun_chunks_of_pipelines(model: Path) -> None:
    nlp = make(model)
    text = "The old man saw dogs . Cats sleep ."
    expected = [chunk.text for chunk in nlp(text).noun_chunks]
    assert expected
    [doc] = nlp.pipe([text], n_process=2)  # it comes back as bytes
    assert [chunk.text for chunk in doc.noun_chunks] == expected


# Saved and moved


def test_saved_pipelines_have_their_model_in_them(nlp: Any, model: Path, tmp_path: Path) -> None:
    expected = values(nlp(TEXT))
    nlp.config["components"]["hexatagger"]["model"] = "moved away"
    nlp.to_disk(tmp_path / "saved")
    (tmp_path / "saved").rename(tmp_path / "moved")
    loaded: Any = spacy.load(tmp_path / "moved")
    assert values(loaded(TEXT)) == expected
    assert Path(loaded.get_pipe("hexatagger").model) == tmp_path / "moved" / "hexatagger" / "model"
    loaded.to_disk(tmp_path / "moved")  # over itself
    loaded.to_disk(tmp_path / "copied")
    assert values(spacy.load(tmp_path / "copied")(TEXT)) == expected
    (tmp_path / "copied" / "hexatagger" / "model.json").unlink()
    with pytest.raises(FormatError, match=r"model.json: names no model"):
        spacy.load(tmp_path / "copied")


def test_bytes_and_pickles(nlp: Any, model: Path) -> None:
    expected = values(nlp(TEXT))
    other: Any = spacy.blank("en")
    other.add_pipe("hexatagger", config={"model": "moved away"})
    other.from_bytes(nlp.to_bytes())
    assert values(other(TEXT)) == expected
    assert values(spacy.blank("en").from_config(nlp.config).from_bytes(other.to_bytes())(TEXT)) == expected
    pipe = other.get_pipe("hexatagger")
    folder = Path(pipe.model)
    assert folder != model
    assert values(pickle.loads(pickle.dumps(pipe))(other.make_doc(TEXT))) == expected
    del other, pipe
    assert not folder.exists()


def test_the_model_inside_the_package_goes_by_its_name(tmp_path: Path) -> None:
    _embedded()
    pipe = HexataggerPipe()
    pipe.to_disk(tmp_path / "pipe")
    assert [path.name for path in (tmp_path / "pipe").iterdir()] == ["model.json"]
    assert HexataggerPipe(model="x").from_disk(tmp_path / "pipe").model == "en"
    assert HexataggerPipe(model="x").from_bytes(pipe.to_bytes()).model == "en"


def test_with_the_model_inside_the_package() -> None:
    _embedded()
    nlp = spacy.blank("en")
    nlp.add_pipe("hexatagger", config={"threads": 1})
    doc = nlp("She reads papers. They don't sleep.")
    assert [span.text for span in doc.sents] == ["She reads papers.", "They don't sleep."]
    assert [(token.dep_, token.head.text) for token in doc[:4]] == [
        *(("nsubj", "reads"), ("ROOT", "reads"), ("obj", "reads"), ("punct", "reads"))
    ]


def _embedded() -> None:
    try:
        find_model("en")
    except ConfigError as error:
        pytest.skip(str(error))


# What goes wrong, and how spaCy finds us


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tokens": "mine"}, "tokens 'mine' is not one of: given, model"),
        ({"sentences": "some"}, "sentences 'some' is not one of: auto, segment, given"),
        ({"precision": "low"}, "precision 'low' is not one of: auto, fp32, int8"),
        ({"keep": ["deprel"]}, "keep 'deprel' is not one of: upos"),
    ],
)
def test_options_are_checked(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        spacy.blank("en").add_pipe("hexatagger", config=config)


def test_errors_go_to_the_handler(tmp_path: Path) -> None:
    nlp = make(tmp_path / "no-such-folder")
    with pytest.raises(ConfigError, match="is not a folder"):
        nlp("Hi")
    with pytest.raises(ConfigError, match="is not a folder"):
        list(nlp.pipe(["Hi"]))
    seen: list[str] = []
    nlp.set_error_handler(lambda name, proc, docs, error: seen.append(f"{name}: {len(docs)}"))
    assert list(nlp.pipe(["Hi", "Ho"])) == []
    assert seen == ["hexatagger: 2"]


def test_the_entry_point_is_the_component() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["spacy_factories"]["hexatagger"].partition(":")
    assert callable(getattr(import_module(module), name))


def test_spacy_finds_the_component_by_itself() -> None:
    if not _installed():
        pytest.skip("the package is not installed, only on the path")
    program = "import spacy; nlp = spacy.blank('en'); print(nlp.add_pipe('hexatagger').name)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "hexatagger"


def _installed() -> bool:
    return any(point.name == "hexatagger" for point in entry_points(group="spacy_factories"))
