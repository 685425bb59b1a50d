"""The service: answers, error messages, limits, batching, shutdown."""

import functools
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra 'serve'")
pytest.importorskip("uvicorn", reason="the service needs the extra 'serve'")
pytest.importorskip("httpx2", reason="the tests of the service need httpx2")

import httpx2
from click.testing import CliRunner
from starlette.testclient import TestClient

from conftest import ROOT
from hexatagger.cli import main
from hexatagger.formats.conllu import format_sentence, read_conllu
from hexatagger.model.registry import EMBEDDED_FOLDER, FOLDERS
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.segment.segmenter import Segmenter
from hexatagger.sentence import Sentence
from hexatagger.server import ServerOptions, create_app
from hexatagger.server.batching import Batcher
from hexatagger.server.cost import check_cost
from hexatagger.server.metrics import ServiceMetrics
from hexatagger.server.options import installed_models
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseTask, read_request
from hexatagger.server.run import bind
from hexatagger.tags import to_heads
from hexatagger.tags.hexatag import Hexatag
from invented import add_profile, texts
from onnx_model import write_model
from served import Network, make_parser, serving

OPTIONS = ServerOptions(
    models={"en": "en", "words": "words"}, max_body=5000, max_words=60, max_exact=20, max_k=5, max_work=0.05
)
HERE = "http://127.0.0.1"
WORDS = [["She", "reads", "fascinating", "papers"]]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    parsers = {"en": make_parser(), "words": make_parser(cuts_text=False)}
    app = create_app(OPTIONS, parsers=parsers)
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as opened:
        yield opened


def task(*words: str, **more: Any) -> ParseTask:
    return read_request(json.dumps({"words": [words], **more}).encode(), ServerOptions())


def ask(client: TestClient, **question: Any) -> Any:
    answer = client.post("/v1/parse", json=question)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: httpx2.Response, status: int, code: str) -> str:
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/json"
    return str(answer.json()["error"]["message"])


def test_words_text_and_conllu_give_what_the_parser_gives(client: TestClient) -> None:
    [expected] = make_parser().parse_words(WORDS)
    [made] = ask(client, words=WORDS)["sentences"]
    assert [(word["form"], word["head"], word["deprel"]) for word in made["words"]] == [
        (word.form, word.head, word.deprel) for word in expected
    ]
    made = ask(client, text="She reads. He sleeps.")["sentences"]
    assert [[word["form"] for word in sentence["words"]] for sentence in made] == [
        ["She", "reads", "."],
        ["He", "sleeps", "."],
    ]
    assert made[1]["words"][0]["start"] == 11
    lines = "# sent_id = s1\n1\tShe\tshe\t_\t_\t_\t_\t_\t_\tKeep=Me\n2\treads\t_\t_\t_\t_\t_\t_\t_\t_"
    answer = client.post("/v1/parse", json={"conllu": lines, "to": "conllu"})
    assert answer.headers["content-type"].startswith("text/plain")
    [sentence] = read_conllu(answer.iter_lines())  # type: ignore[arg-type]
    assert sentence.comments == ["# sent_id = s1", "# text = She reads"]
    assert (sentence[0].lemma, sentence[0].misc) == ("_", "Keep=Me")  # the model predicts no lemmas
    assert sentence.heads.count(0) == 1
    assert ask(client, text=" \n")["sentences"] == []


def test_the_language_of_a_text_is_noticed(tmp_path: Path) -> None:
    parsers = {code: make_parser() for code in ("qaa", "qab", "bare")}
    for seed, code in enumerate(("qaa", "qab")):
        parsers[code].folder.path = add_profile(tmp_path / code, seed, code)
    options = ServerOptions(models=dict.fromkeys(parsers, "unused"), hosts=("testserver",))
    with TestClient(create_app(options, parsers=parsers)) as client:
        for seed, code in enumerate(("qaa", "qab")):
            words = [text.split() for text in texts(seed, 20)]
            lines = "".join(format_sentence(Sentence.from_words(each)) for each in words)
            for question in ({"text": ". ".join(texts(seed, 20))}, {"words": words}, {"conllu": lines}):
                answer = ask(client, model="auto", **question)
                assert (answer["model"], answer.get("warning")) == (code, None)
        foreign = "Les enfants sont rentrés à la maison sous la pluie."
        told = "the text looks like French, not like the language of the model"
        assert ask(client, model="qab", text=foreign)["warning"] == told
        assert ask(client, model="qab", words=[foreign.split()])["warning"] == told
        assert "warning" not in ask(client, model="bare", text=foreign)
        answer = client.get("/openapi.json").json()["components"]["schemas"]["ParseAnswer"]
        assert set(answer["properties"]) == {"model", "sentences", "warning"}
        assert answer["required"] == ["model", "sentences"]
    alone = ServerOptions(models={"bare": "unused"}, hosts=("testserver",))
    with TestClient(create_app(alone, parsers={"bare": make_parser()})) as client:
        message = refused(client.post("/v1/parse", json={"model": "auto", "text": "Hi."}), 422, "no_language")
        assert "none of bare has a language.json" in message


def test_all_installed_models_are_served_and_loaded_when_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not EMBEDDED_FOLDER.is_dir():
        pytest.skip("needs the embedded model")
    shutil.copytree(EMBEDDED_FOLDER, tmp_path / "again")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    monkeypatch.setenv(FOLDERS, str(tmp_path))
    found = installed_models()
    assert next(iter(found)) == "en"
    assert "again" in found
    assert "broken" not in found
    assert "model 'broken' is left out" in caplog.text
    options = ServerOptions(models={name: found[name] for name in ("en", "again")}, hosts=("testserver",))
    with TestClient(create_app(options)) as client:
        models = client.get("/v1/models").json()["models"]
        assert [(each["name"], each["language"], each["language_name"], each["text"]) for each in models] == [
            ("en", "en", "English", True),
            ("again", "en", "English", True),
        ]
        assert models[1]["relations"] == models[0]["relations"]
        assert 'model="again"' not in client.get("/metrics").text
        with ThreadPoolExecutor(4) as pool:  # all at once: it is loaded only once
            answers = list(pool.map(lambda _: ask(client, text="She reads.", model="again"), range(4)))
        assert all(answer["model"] == "again" for answer in answers)
        assert answers[0]["sentences"] == ask(client, text="She reads.")["sentences"]
        assert 'model="again"' in client.get("/metrics").text


def test_svg_is_one_sentence(client: TestClient) -> None:
    answer = client.post("/v1/parse", json={"words": [["<b>", "&"]], "to": "svg", "show": "all"})
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "<b>" not in answer.text
    assert "&lt;b&gt;" in answer.text
    two = {"text": "One. Two.", "to": "svg"}
    assert "from 1 to 2" in refused(client.post("/v1/parse", json=two), 422, "no_such_sentence")
    refused(client.post("/v1/parse", json=two | {"sentence": 3}), 422, "no_such_sentence")
    assert client.post("/v1/parse", json=two | {"sentence": 2}).status_code == 200
    assert "nothing to draw" in refused(
        client.post("/v1/parse", json={"text": "", "to": "svg"}), 422, "no_such_sentence"
    )


def test_tags_are_those_of_the_tree(client: TestClient) -> None:
    [made] = ask(client, words=WORDS, tags=True, k=3)["sentences"]
    for tree in (made, *made["alternatives"]):
        names = {str(tag): tag for tag in Hexatag}
        tags = [names[tag.partition("/")[0]] for tag in tree["tags"]]
        assert to_heads(tags) == [word["head"] for word in tree["words"]]
        assert [tag.partition("/")[2] for tag in tree["tags"][::2]] == [word["deprel"] for word in tree["words"]]


def test_probabilities_and_k(client: TestClient) -> None:
    [made] = ask(client, words=WORDS, probabilities=True, k=3)["sentences"]
    trees = [made, *made["alternatives"]]
    assert len(trees) == 3
    assert 1 >= trees[0]["probability"] >= trees[1]["probability"] >= trees[2]["probability"] > 0
    for word in made["words"]:
        assert dict(word["heads"])[word["head"]] == word["head_probability"]
    lines = client.post("/v1/parse", json={"words": WORDS, "k": 3, "to": "conllu"}).text
    assert lines.count("# tree_prob") == 3
    second = client.post("/v1/parse", json={"words": WORDS, "k": 3, "tree": 2, "to": "conllu"}).text
    assert second.count("# alternative = 2") == 1
    assert second in lines


def test_constraints_are_obeyed(client: TestClient) -> None:
    [free] = ask(client, words=WORDS)["sentences"]
    for head in range(5):
        if head == 1:
            continue
        [made] = ask(client, words=WORDS, constraints=[{"heads": {"1": head}}])["sentences"]
        assert made["words"][0]["head"] == head
    taken = free["words"][0]["head"]
    [made] = ask(client, words=WORDS, constraints=[{"forbidden": [[1, taken]]}])["sentences"]
    assert made["words"][0]["head"] != taken
    [made] = ask(client, words=WORDS, constraints=[{"root": 3, "relations": {"1": "obj", "2": ["det", "punct"]}}])[
        "sentences"
    ]
    assert (made["words"][2]["head"], made["words"][0]["deprel"]) == (0, "obj")
    assert made["words"][1]["deprel"] in ("det", "punct")
    two = ask(client, words=WORDS * 2, constraints=[None, {"root": 4}])["sentences"]
    assert two[0]["words"] == free["words"]
    assert two[1]["words"][3]["head"] == 0
    wrong = client.post("/v1/parse", json={"words": WORDS, "constraints": [{"heads": {"1": 2, "2": 1}}]})
    assert "cycle" in refused(wrong, 422, "contradiction")
    wrong = client.post("/v1/parse", json={"words": WORDS, "constraints": [None, {"root": 1}]})
    assert "there are 1" in refused(wrong, 422, "invalid")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "exactly one of text, words and conllu is needed, not none"),
        ({"text": "a", "words": [["a"]]}, "not text and words"),
        ({"text": "a", "txt": 1}, "'txt' is not a field: use text, words, conllu, model, to"),
        ({"text": 1}, "text must be a string, not a number"),
        ({"text": None}, "text must be a string, not null"),
        ({"words": "a"}, "words must be a list, not a string"),
        ({"words": [[]]}, "words[0] must not be empty"),
        ({"words": [["a", 1]]}, "words[0][1] must be a string"),
        ({"words": [["a\tb"]]}, "words[0][0] must be a word: at least one character, no tabs"),
        ({"words": [[""]]}, "words[0][0] must be a word: at least one character"),
        ({"text": "a", "to": "html"}, "to must be one of: json, conllu, svg"),
        ({"text": "a", "show": []}, "show must be one of"),
        ({"text": "a", "k": 0}, "k must be at least 1"),
        ({"text": "a", "k": 6}, "k must be at most 5"),
        ({"text": "a", "k": "2"}, "k must be a whole number, not a string"),
        ({"text": "a", "tags": None}, "tags must be true or false, not null"),
        ({"text": "a", "sentence": 0}, "sentence must be at least 1"),
        ({"text": "a", "sentence": None}, "sentence must be a whole number, not null"),
        ({"text": "a", "model": 3}, "model must be a string, not a number"),
        ({"text": "a", "k": True}, "k must be a whole number, not a truth value"),
        ({"text": "a", "k": 1.5}, "k must be a whole number"),
        ({"text": "a", "tree": 2}, "tree 2 does not exist: k is 1"),
        ({"text": "a", "probabilities": 1}, "probabilities must be true or false"),
        ({"text": "a", "constraints": {}}, "constraints must be a list, not an object"),
        ({"text": "a", "constraints": [{"head": {}}]}, "'head' is not a field: use heads, forbidden"),
        ({"text": "a", "constraints": [3]}, "constraints[0] must be an object, not a number"),
        ({"text": "a", "constraints": [{"forbidden": [[1, 2, 3]]}]}, "constraints[0].forbidden[0] must be two numbers"),
        ({"text": "a", "constraints": [{"heads": {"1": "2"}}]}, "constraints[0].heads.1 must be a whole number"),
        ({"text": "a", "constraints": [{"relations": {"1": 2}}]}, "constraints[0].relations.1 must be a list"),
        ({"text": "a", "constraints": [{"heads": {"0": 1}}]}, "is not the number of a word"),
        ({"text": "a", "constraints": [{"heads": {"1": -1}}]}, "must be at least 0"),
        ({"text": "a", "constraints": [{"forbidden": [[1]]}]}, "must be two numbers"),
        ({"text": "a", "constraints": [{"relations": {"1": []}}]}, "constraints[0].relations.1 must not be empty"),
        ({"text": "a", "constraints": [{"root": 0}]}, "root must be at least 1"),
    ],
)
def test_wrong_fields_are_named(client: TestClient, question: dict[str, Any], message: str) -> None:
    assert message in refused(client.post("/v1/parse", json=question), 422, "invalid")


def test_wrong_bodies(client: TestClient) -> None:
    def send(body: bytes, kind: str = "application/json") -> httpx2.Response:
        return client.post("/v1/parse", content=body, headers={"Content-Type": kind})

    for body in (b"", b"{", b"\xff", b'{"text": NaN}', b"[" * 4000, b'{"k": ' + b"9" * 4500 + b"}"):
        refused(send(body), 400, "malformed_json")
    refused(send(b"[]"), 422, "invalid")
    assert "surrogate" in refused(send(rb'{"text": "\ud800"}'), 422, "invalid")
    assert send(rb'{"text": "\ud83d\ude00"}').status_code == 200
    refused(send(b'{"text": "a"}', "text/plain"), 415, "not_json")
    assert send(b'{"text": "a"}', "application/JSON; charset=utf-8").status_code == 200
    conllu = client.post("/v1/parse", json={"conllu": "1\tShe\n"})
    assert refused(conllu, 422, "invalid_conllu").startswith("line 1: 2 columns instead of 10")


def test_limits(client: TestClient) -> None:
    long = client.post("/v1/parse", json={"text": "a" * 5000})
    assert "5000 bytes" in refused(long, 413, "body_too_large")

    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100

    unsized = client.post("/v1/parse", content=parts(), headers={"Content-Type": "application/json"})
    refused(unsized, 413, "body_too_large")
    for question in ({"words": [["a"] * 61]}, {"text": "a " * 61}, {"words": [["a"]] * 61}):
        assert "more than 60 words, the limit" in refused(
            client.post("/v1/parse", json=question), 413, "too_many_words"
        )
    for more in ({"probabilities": True}, {"k": 2}, {"constraints": [{"root": 1}]}):
        answer = client.post("/v1/parse", json={"words": [["a"] * 21], **more})
        assert "21 words is too long" in refused(answer, 413, "sentence_too_long")
    assert client.post("/v1/parse", json={"words": [["a"] * 21]}).status_code == 200
    known = {"words": [["a"] * 20], "constraints": [{"root": 1}], "probabilities": True}
    answer = client.post("/v1/parse", json={**known, "k": 5})
    assert "the limit is 0.05 per request: ask for fewer trees" in refused(answer, 413, "too_much_work")
    assert client.post("/v1/parse", json=known).status_code == 200
    assert "use en, words" in refused(client.post("/v1/parse", json={"text": "a", "model": "fr"}), 404, "unknown_model")
    for text in ("a", ""):
        refused(client.post("/v1/parse", json={"text": text, "model": "words"}), 422, "no_segmenter")
    assert client.post("/v1/parse", json={"words": [["a"]], "model": "words"}).status_code == 200


def seconds_of(answer: httpx2.Response) -> float:
    found = re.search(r"takes about ([0-9.e+]+) seconds", refused(answer, 413, "too_much_work"))
    assert found
    return float(found[1])


def test_the_cost_counts_every_path(client: TestClient) -> None:
    """Words that may be the root or not, spans, k, and pointers all take charts."""
    words = [["a"] * 20]

    def cost(**more: Any) -> float:
        return seconds_of(client.post("/v1/parse", json={"words": words, **more}))

    either = {str(word): ["root", "obj"] for word in range(1, 21)}
    assert cost(constraints=[{"relations": either}]) > 0.05
    spans = [[first, last] for first in range(1, 20) for last in range(first, 21)]
    assert cost(constraints=[{"spans": spans}]) > 0.05
    assert client.post("/v1/parse", json={"words": words, "constraints": [{"root": 1}]}).status_code == 200
    assert client.post("/v1/parse", json={"words": words, "probabilities": True, "k": 5}).status_code == 200
    doubled = {"words": words, "constraints": [{"spans": [[1, 2]] * 400}]}
    assert client.post("/v1/parse", json=doubled).status_code == 200  # one span, however often it is named
    parser = make_parser()
    sentences = [Sentence.from_words(["a"] * 100)]
    options = ServerOptions()
    assert check_cost(task(*["a"] * 100, k=20), sentences, parser, options) == 0
    model = replace(parser.folder.recipe.model, hidden=8, pointers=8)
    pointing = cast("Parser", SimpleNamespace(config=model, labels=parser.labels))
    for more in ({"k": 20}, {"k": 10, "probabilities": True}):
        with pytest.raises(Refused, match="the limit is 5 per request"):
            check_cost(task(*["a"] * 100, **more), sentences, pointing, options)
    assert 1 < check_cost(task(*["a"] * 100, probabilities=True), sentences, pointing, options) < 5


def test_long_text_is_refused_before_it_is_segmented(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    message = refused(client.post("/v1/parse", json={"text": "a" * 1201}), 413, "text_too_long")
    assert "1201 characters are more than the limit of 1200" in message
    seen: list[int] = []
    score = Segmenter.score

    def counted(self: Segmenter, row: Any) -> Any:
        seen.append(len(row))
        return score(self, row)

    monkeypatch.setattr(Segmenter, "score", counted)
    text = "a b c d.\n\n" * 9_000
    options = ServerOptions(max_words=5_000)
    batcher = Batcher("en", make_parser(), options, ServiceMetrics({}))
    with pytest.raises(Refused, match="more than 5000 words"):
        batcher.ask(read_request(json.dumps({"text": text}).encode(), options)).result(60)
    batcher.close()
    assert sum(seen) < len(text) / 2


def test_numbers_of_many_digits_are_refused(client: TestClient) -> None:
    many = "1" * 4400
    for columns in ([many, "a", *"____", "0", *"___"], ["1", "a", *"____", many, *"___"], [f"1-{many}", "a", *"_" * 8]):
        answer = client.post("/v1/parse", json={"conllu": "\t".join(columns)})
        assert len(refused(answer, 422, "invalid_conllu")) < 200


class Waiting(Network):
    """A network that holds sentences of 15 words until it may go on, and then takes long, as if they took charts."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
        if inputs["pieces"].shape[1] == 15:
            self.may_go_on.wait(60)
            time.sleep(1.0)
        return super().run(names, inputs)


def test_slow_requests_do_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hexatagger.server.batching._QUICK", 0.001)
    network = Waiting()
    slow = {"words": [["a"] * 15] * 10, "constraints": [{"root": 1}] * 10}
    with serving(ServerOptions(port=0, timeout=2), network) as address, ThreadPoolExecutor(1) as pool:
        first = pool.submit(httpx2.post, f"{address}/v1/parse", json=slow, timeout=60)
        time.sleep(0.3)
        for _ in range(5):
            assert httpx2.post(f"{address}/v1/parse", json={"words": [["a"]]}, timeout=60).status_code == 200
        network.may_go_on.set()  # the others were answered before the first slow sentence was
        refused(first.result(), 503, "timeout")
        time.sleep(1.5)  # the sentence in hand ends, and no other is begun
        calls = network.calls.count(1)
        time.sleep(1.2)
        assert network.calls.count(1) == calls < 5 + 5


def test_sigterm_ends_a_busy_service() -> None:
    program = [sys.executable, str(ROOT / "tests" / "served.py"), "--delay", "600", "--timeout", "1"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = f"http://127.0.0.1:{int(process.stdout.readline())}"
        _wait_for(address)
        answer = httpx2.post(f"{address}/v1/parse", json={"words": [["a"]]}, timeout=60)
        refused(answer, 503, "timeout")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)


def test_sigterm_ends_a_service_that_fills_charts() -> None:
    """The queue takes longer than a request may: everything is answered or refused in time."""
    program = [sys.executable, str(ROOT / "tests" / "served.py"), "--timeout", "6"]
    slow = {"words": [[f"w{number}" for number in range(100)]], "k": 3, "constraints": [{"root": 1}]}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = f"http://127.0.0.1:{int(process.stdout.readline())}"
        _wait_for(address)
        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(httpx2.post, f"{address}/v1/parse", json=slow, timeout=60) for _ in range(8)]
            while 'waiting_requests{model="en"} 7' not in httpx2.get(f"{address}/metrics").text:  # one is in hand
                assert not any(answer.done() for answer in answers), [answer.result().text for answer in answers]
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert {answer.result().status_code for answer in answers} <= {200, 503}
            process.wait(60)
        assert time.monotonic() - began < 6 + 5 + 5  # the request's time, and the two limits in `run` and `batching`
        assert process.returncode in (0, -signal.SIGTERM)
        assert "Traceback" not in process.stderr.read()


def test_half_sent_headers_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hexatagger.server.run._HEADER_SECONDS", 0.3)
    with serving(ServerOptions(port=0)) as address:
        host, port = address.removeprefix("http://").split(":")
        for begin in (
            b"",
            b"GET /healthz HTTP/1.1\r\nHost: loc",
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET",
        ):
            with socket.create_connection((host, int(port)), timeout=10) as half:
                half.sendall(begin)
                while half.recv(4096):
                    pass  # until it is closed


def test_other_hosts_are_refused(client: TestClient) -> None:
    for host in ("localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST."):
        assert client.get("/healthz", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example:8000", "a:b:c", ""):
        refused(client.get("/healthz", headers={"Host": host}), 421, "wrong_host")
    assert ServerOptions(host="0.0.0.0").allows("example.org")
    named = ServerOptions(host="0.0.0.0", hosts=("parse.example.org",))
    assert named.allows("parse.example.org:443")
    assert not named.allows("example.org")


def test_other_addresses(client: TestClient) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
    assert client.head("/healthz").status_code == 200
    models = client.get("/v1/models").json()
    assert [(model["name"], model["default"], model["text"]) for model in models["models"]] == [
        ("en", True, True),
        ("words", False, False),
    ]
    assert models["limits"]["max_words"] == 60
    assert client.get("/v1/schema").json()["$defs"]["Sentence"]["properties"]["words"]["type"] == "array"
    refused(client.get("/v1/parse"), 405, "method_not_allowed")
    assert client.get("/v1/parse").headers["allow"] == "POST"
    refused(client.get("/nowhere"), 404, "not_found")
    text = client.get("/metrics").text
    assert 'hexatagger_requests_total{path="/healthz",status="200"}' in text
    assert 'hexatagger_requests_total{path="other",status="404"}' in text
    assert re.search(r'hexatagger_words_total\{model="en"\} \d+', text)
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+', line), line


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/app.py", "/..%2f..%2fetc/passwd", "//etc/passwd", "/app.py", "/web/"]
)
def test_no_file_of_the_machine_can_be_read(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
    with serving(replace(OPTIONS, port=0)) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            assert raw.makefile("rb").readline().split()[1] == b"404"


def test_the_page_brings_all_it_needs(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    web = ROOT / "src" / "hexatagger" / "web"
    for path in web.iterdir():
        text = path.read_text(encoding="utf-8")
        away = [url for url in re.findall(r"https?://[^\s\"'`)]+", text) if not url.startswith("http://www.w3.org/")]
        assert not away, path.name
        assert "innerHTML" not in text
        if path.suffix == ".html":
            assert not re.search(r"\son\w+=|style=|<script(?![^>]*\ssrc=)|<style", text)
        else:
            assert client.get(f"/{path.name}").content == path.read_bytes()
    for address in re.findall(r'(?:src|href)="([^"#]+)"', page.text + client.get("/docs").text):
        assert client.get(f"/{address.removeprefix('./')}").status_code == 200
    mark = page.headers["etag"]
    assert client.get("/", headers={"If-None-Match": mark}).status_code == 304


def test_no_cors_unless_told(client: TestClient) -> None:
    away = {"Origin": "https://example.org"}
    assert "access-control-allow-origin" not in client.get("/healthz", headers=away).headers
    options = replace(OPTIONS, cors=("https://example.org",))
    parsers = {"en": make_parser(), "words": make_parser()}
    with TestClient(create_app(options, parsers=parsers), base_url=HERE) as told:
        answer = told.post("/v1/parse", json={"text": "a"}, headers=away)
        assert answer.headers["access-control-allow-origin"] == "https://example.org"
        other = told.post("/v1/parse", json={"text": "a"}, headers={"Origin": "https://example.com"})
        assert "access-control-allow-origin" not in other.headers


def test_many_clients_share_calls_and_get_their_own_answers() -> None:
    network = Network(delay=0.02)
    words = [[[f"w{number}", *["x"] * (number % 5), "."]] for number in range(60)]
    expected = make_parser().parse_sentences([Sentence.from_words(each[0]) for each in words])
    with serving(ServerOptions(port=0), network) as address, httpx2.Client(base_url=address, timeout=120) as client:

        def one(number: int) -> None:
            asked: dict[str, Any] = {"words": words[number]}
            if number % 3 == 1:
                asked |= {"probabilities": True, "k": 2}
            if number % 7 == 2:
                asked["constraints"] = [{"root": 1}]
            if number % 11 == 3:
                asked["constraints"] = [{"heads": {"1": 1}}]
                assert client.post("/v1/parse", json=asked).status_code == 422
                return
            [made] = client.post("/v1/parse", json=asked).json()["sentences"]
            assert [word["form"] for word in made["words"]] == words[number][0]
            assert ("probability" in made) == (number % 3 == 1)
            if number % 7 == 2:
                assert made["words"][0]["head"] == 0
            else:
                assert [word["head"] for word in made["words"]] == expected[number].heads

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(one, range(60)))
    assert max(network.calls) > 1


def test_a_full_queue_says_so() -> None:
    network = Network(delay=0.5)
    options = ServerOptions(port=0, max_queue=2, batch=1, window=0)
    with serving(options, network) as address, ThreadPoolExecutor(8) as pool:
        send = functools.partial(httpx2.post, f"{address}/v1/parse", json={"words": [["a"]]}, timeout=60)
        answers = list(pool.map(lambda _: send(), range(8)))
    full = [answer for answer in answers if answer.status_code != 200]
    assert full
    assert len(full) < 8
    for answer in full:
        assert "waiting already" in refused(answer, 429, "queue_full")
        assert int(answer.headers["retry-after"]) > 0


def test_time_runs_out() -> None:
    network = Network(delay=1.0)
    with serving(ServerOptions(port=0, timeout=0.2), network) as address:
        late = httpx2.post(f"{address}/v1/parse", json={"words": [["a"]]}, timeout=120)
        assert "0.2 seconds" in refused(late, 503, "timeout")
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(b"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
            slow.sendall(b"Content-Length: 9\r\n\r\n{")
            assert b" 408 " in slow.makefile("rb").readline()


def test_a_mistake_of_ours_is_not_told_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Network):
        def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
            if inputs["pieces"].shape[1] == 2:
                raise RuntimeError("secret")
            return super().run(names, inputs)

    with (
        serving(ServerOptions(port=0, window=0.2), Broken()) as address,
        httpx2.Client(base_url=address, timeout=120) as client,
    ):
        with ThreadPoolExecutor(4) as pool:
            sizes = [1, 2, 3, 4]
            answers = list(pool.map(lambda size: client.post("/v1/parse", json={"words": [["a"] * size]}), sizes))
        assert [answer.status_code for answer in answers] == [200, 500, 200, 200]
        assert "secret" not in refused(answers[1], 500, "internal")
        assert client.get("/healthz").status_code == 200
    assert "secret" in caplog.text


def test_a_broken_model_is_a_fault_of_the_service(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Network):
        def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
            made = dict(zip(names, super().run(names, inputs), strict=True))
            return [each + 99 if name == "upos" else each for name, each in made.items()]

    app = create_app(parsers={"en": make_parser(Broken())})
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        for more in ({}, {"k": 2, "constraints": [{"root": 1}]}):
            answer = client.post("/v1/parse", json={"words": [["a", "b"]], **more})
            assert "no-such-folder" not in refused(answer, 500, "internal")
    assert "no-such-folder" in caplog.text


def test_the_chart_has_a_limit_of_its_own() -> None:
    options = ServerOptions(max_exact=400, max_work=1e6)
    with TestClient(create_app(options, parsers={"en": make_parser()}), base_url="http://127.0.0.1") as client:
        request = {"words": [["a"] * 151], "constraints": [{"root": 1}], "k": 2}
        assert "(limit: 150 words)" in refused(client.post("/v1/parse", json=request), 413, "sentence_too_long")


def test_the_queue_is_worked_off_when_closed() -> None:
    batcher = Batcher("en", make_parser(Network(delay=0.05)), ServerOptions(batch=2), ServiceMetrics({}))
    futures = [batcher.ask(task(f"w{number}")) for number in range(9)]
    dropped = futures[-1].cancel()
    batcher.close()
    assert dropped
    assert [future.result(0)[0].forms for future in futures[:-1]] == [[f"w{number}"] for number in range(8)]
    with pytest.raises(Refused, match="shutting down"):
        batcher.ask(task("w0"))


def test_sigterm_loses_no_accepted_request() -> None:
    program = [sys.executable, str(ROOT / "tests" / "served.py"), "--delay", "0.4"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = f"http://127.0.0.1:{int(process.stdout.readline())}"
        _wait_for(address)
        answers: dict[int, httpx2.Response] = {}

        def one(number: int) -> None:
            answers[number] = httpx2.post(f"{address}/v1/parse", json={"words": [[f"w{number}", "x"]]}, timeout=60)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        while 'waiting_requests{model="en"} 16' not in httpx2.get(f"{address}/metrics").text and len(answers) < 4:
            time.sleep(0.02)
        assert len(answers) < 16
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert sorted(answers) == list(range(16))
        for number, answer in answers.items():
            assert answer.json()["sentences"][0]["words"][0]["form"] == f"w{number}"
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"{address}/healthz")
        assert process.wait(30) in (0, -signal.SIGTERM)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_command_serves_a_model_folder(tmp_path: Path, workers: int) -> None:
    pytest.importorskip("onnx", reason="the model folder of this test is made with onnx")
    folder = write_model(tmp_path / "model")
    command = [sys.executable, "-m", "hexatagger", "serve", "--model", f"small={folder}", "--port", "0"]
    with subprocess.Popen([*command, "--workers", str(workers)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://[\d.:]+", process.stderr.readline())
        assert found
        address = found[0]
        _wait_for(address)
        texts = [f"Dog number {number} barks. {'It runs. ' * (number % 5)}" for number in range(40)]

        def one(text: str) -> Any:
            # a connection of its own for each, so that they spread over the processes
            return httpx2.post(f"{address}/v1/parse", json={"text": text, "model": "small"}, timeout=60).json()

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(one, texts))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
        assert "Traceback" not in process.stderr.read()
    parser = load(folder)
    for text, answer in zip(texts, answers, strict=True):
        heads = [[word["head"] for word in sentence["words"]] for sentence in answer["sentences"]]
        assert heads == [sentence.heads for sentence in parser.parse(text)]


def _wait_for(address: str) -> None:
    for _ in range(600):
        try:
            if httpx2.get(f"{address}/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    pytest.fail("the service did not start")


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    def said(*words: str) -> str:
        result = CliRunner().invoke(main, ["serve", *words])
        assert result.exit_code == 1, result.output
        return result.output

    assert "is not a folder" in said("--model", f"x={tmp_path / 'none'}", "--port", "0")
    assert "is not NAME=DIR" in said("--model", "=x")
    assert "given twice" in said("--model", "a=x", "--model", "a=y")
    assert "port 70000" in said("--port", "70000")
    assert "timeout nan is not a finite number" in said("--timeout", "nan")
    assert "window inf is not a finite number" in said("--window", "inf")
    assert "cannot listen on a..b:0" in said("--host", "a..b", "--port", "0")
    assert "no path" in said("--cors", "https://example.org/")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "cannot listen" in said("--port", str(taken.getsockname()[1]))


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """asyncio switches off Nagle's algorithm, which costs 40 ms per request, only for sockets that say they are TCP."""
    with bind(ServerOptions(port=0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("package", ["fastapi", "pydantic", "prometheus_client", "uvicorn"])
def test_a_missing_extra_is_named(package: str) -> None:
    program = f"import sys; sys.modules['{package}'] = None; from hexatagger.cli import main; main()"
    command = [sys.executable, "-c", program, "serve", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert " is not installed: " in done.stderr
    assert "[serve]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_importing_the_service_is_light() -> None:
    heavy = ("fastapi", "pydantic", "uvicorn", "numpy")
    program = f"import sys, hexatagger.server; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_service_does_what_its_description_says() -> None:
    """A fuzzer makes requests that the description allows, and ones that it forbids, and checks the answers."""
    schemathesis = pytest.importorskip("schemathesis", reason="fuzzing needs schemathesis")
    import requests
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
        negative_data_rejection,
    ]
    bounded = settings(
        max_examples=20,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    with serving(ServerOptions(port=0)) as address, requests.Session() as session:
        session.trust_env = False  # no proxy
        schema = schemathesis.openapi.from_dict(httpx2.get(f"{address}/openapi.json").json())
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            for result in schema.get_all_operations():
                operation = result.ok()
                if mode == schemathesis.GenerationMode.NEGATIVE and operation.path != "/v1/parse":
                    continue

                @bounded
                @given(case=operation.as_strategy(generation_mode=mode))
                def fuzz(case: Any) -> None:
                    case.call_and_validate(session=session, base_url=address, checks=checks)

                fuzz()
