"""What a Parser is given and where it runs: wrong types, streams of tuples, pickles, other processes."""

import copy
import multiprocessing
import os
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx", reason="making a model needs the extra 'train'")

import hexatagger
from hexatagger import ConfigError, Parser, Sentence
from hexatagger.parsing.options import Precision
from onnx_model import write_model
from same import all_of

TEXTS = ["Dogs bark. Cats sleep.", "", "The old man sleeps ."]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "noise")


@pytest.fixture(scope="module")
def parser(model: Path) -> Parser:
    return hexatagger.load(model, threads=1)


# Wrong types


@pytest.mark.parametrize("given", [["a", "b"], None, b"Dogs bark.", 7, Path("file.txt"), Sentence([])])
def test_what_is_no_text(parser: Parser, given: Any) -> None:
    with pytest.raises(ConfigError, match="where a text is needed: parse takes a text, parse_words lists of words"):
        parser.parse(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("She reads", "'She reads' is a string where a list of lists of words is needed: parse takes a text, "),
        (None, "None where a list of lists of words is needed"),
        (Sentence([]), "<Sentence '', 0 words> is a Sentence where a list of lists of words is needed"),
        (["She reads"], r"'She reads' is a string where a list of words is needed: one is \['She', 'reads'\], several"),
        (["She", "reads"], "'She' is a string where a list of words is needed"),
        ([None], "None where a list of words is needed"),
        ([b"She"], "b'She' is a bytes where a list of words is needed"),
        ([["She", 7]], "7 is an int where a word is needed: words are strings"),
    ],
)
def test_what_is_no_list_of_words(parser: Parser, given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        parser.parse_words(given)
    if isinstance(given, list) and not isinstance(given[0], str):  # here a string is a text
        with pytest.raises(ConfigError, match=f"^{message}"):
            list(parser.pipe(given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("She reads", "'She reads' is a string where a list of Sentences is needed"),
        (Sentence.from_words(["a"]), "<Sentence 'a', 1 word> is a Sentence where a list of Sentences is needed"),
        ([["She", "reads"]], r"\['She', 'reads'\] is a list where a Sentence is needed: parse takes a text"),
    ],
)
def test_what_is_no_list_of_sentences(parser: Parser, given: Any, message: str) -> None:
    for constraints in ((), [None]):
        with pytest.raises(ConfigError, match=f"^{message}"):
            parser.parse_sentences(given, constraints=constraints)


@pytest.mark.parametrize("given", ["She reads", None, Sentence([]), 7])
def test_what_is_no_stream_is_refused_at_once(parser: Parser, given: Any) -> None:
    with pytest.raises(ConfigError, match="where a stream of texts, Sentences or lists of words is needed"):
        parser.pipe(given)


# Streams of tuples


def test_tuples_go_through_a_stream(parser: Parser) -> None:
    context = object()
    made = list(parser.pipe(((text, context) for text in TEXTS), as_tuples=True))
    assert [all_of(sentences) for sentences, _ in made] == [all_of(sentences) for sentences in parser.pipe(TEXTS)]
    assert [each.heads for sentences, _ in made for each in sentences] == [
        each.heads for text in TEXTS for each in parser.parse(text)
    ]
    assert all(each is context for _, each in made)
    words = [["Dogs", "bark"], ["Go"]]
    numbered = list(parser.pipe(zip(words, "ab", strict=True), as_tuples=True, probabilities=True, batch_size=1))
    assert [each for _, each in numbered] == ["a", "b"]
    assert all_of(each for each, _ in numbered) == all_of(parser.parse_words(words, probabilities=True))


@pytest.mark.parametrize("given", ["Dogs bark.", ("Dogs", "bark", "."), ["Dogs bark.", 1], None])
def test_what_is_no_tuple(parser: Parser, given: Any) -> None:
    with pytest.raises(ConfigError, match="where a tuple of an item and its context is needed"):
        list(parser.pipe([given], as_tuples=True))


# Pickles and processes


def test_a_pickle_is_a_path_and_options(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    precision: Precision = "fp32"
    parser = hexatagger.load(model.name, precision=precision, threads=3, providers=["CPUExecutionProvider"])
    expected = all_of(parser.parse(TEXTS[0]))
    data = pickle.dumps(parser)
    assert len(data) < 1000
    monkeypatch.chdir("/")
    again = pickle.loads(data)
    assert (again.network.threads.count, again.folder.path) == (3, model)
    assert all_of(again.parse(TEXTS[0])) == expected
    assert pickle.loads(data) is again  # loaded once
    assert copy.deepcopy(parser) is again
    assert pickle.loads(pickle.dumps(again)) is again


def test_a_model_that_was_written_again_is_loaded_again(model: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(model, tmp_path / "model"))
    first = pickle.loads(pickle.dumps(hexatagger.load(place)))
    os.utime(place / "config.json")
    assert pickle.loads(pickle.dumps(hexatagger.load(place))) is not first
    data = pickle.dumps(first)
    shutil.rmtree(place)
    assert pickle.loads(data) is first
    with pytest.raises(ConfigError, match="is not a folder"):
        pickle.loads(pickle.dumps(first).replace(b"/model", b"/gone!"))


def _threads(parser: Parser) -> int:
    return parser.network.threads.count


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_of_processes(model: Path, method: str) -> None:
    parser = hexatagger.load(model, threads=2)
    expected = [all_of(parser.parse(text)) for text in TEXTS * 3]  # so that its threads run before a fork
    shared = hexatagger.load(model)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert [all_of(sentences) for sentences in pool.map(parser.parse, TEXTS * 3)] == expected
        assert [pool.submit(_threads, each).result() for each in (parser, shared)] == [2, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_parser_made_before_a_fork_is_used_in_a_pool_after_it(model: Path) -> None:
    global _inherited
    _inherited = hexatagger.load(model, threads=2)
    expected = [all_of(_inherited.parse(text)) for text in TEXTS]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert [all_of(sentences) for sentences in pool.map(_parse_inherited, TEXTS)] == expected


_inherited: Parser


def _parse_inherited(text: str) -> list[Sentence]:
    return _inherited.parse(text)


def test_a_parser_that_was_not_loaded(parser: Parser) -> None:
    with pytest.raises(pickle.PicklingError, match=r"only a Parser that hexatagger\.load returned can be pickled"):
        pickle.dumps(Parser(parser.network))
