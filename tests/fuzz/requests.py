"""Requests, right and wrong, several at a time: a documented status, never 500, and the parser's own answer."""

import asyncio
import functools
import io
import json
import math
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from starlette.testclient import TestClient

from fuzz import conllu
from fuzz.cases import Counts, check, mutate_bytes, mutate_document, run_cases
from hexatagger.decode import Constraints
from hexatagger.formats.conllu import format_sentence, read_conllu
from hexatagger.formats.ids import Ids
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from hexatagger.server import ServerOptions, create_app
from served import make_parser
from stand_ins import ODD

_AT_ONCE = 64
"""The most requests that a case sends at the same time: they share calls of the parser."""
OPTIONS = ServerOptions(
    models={"en": "en", "words": "words"}, max_body=5000, max_words=60, max_exact=20, max_k=5, max_work=0.5
)
_WORDS = [
    "She",
    "reads",
    "papers",
    ".",
    "漢字",
    "10 000",
    "a|b",
    "#",
    "_",
    "👍🏽",
    "\u200b",
    "\u2028",
    "\x00",
    "e\u0301",
]


@dataclass
class _Service:
    client: TestClient
    """Runs the service on a thread of its own."""
    parsers: dict[str, Parser]
    statuses: set[int]

    def send(self, requests: "list[_Sent]") -> list[httpx2.Response]:
        """Send requests at the same time; return their answers in order."""
        assert self.client.portal is not None
        return self.client.portal.call(self._send, requests)

    async def _send(self, requests: "list[_Sent]") -> list[httpx2.Response]:
        transport = httpx2.ASGITransport(self.client.app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            waiting = (
                client.request(each.method, each.path, content=each.body, headers={"Content-Type": each.content})
                for each in requests
            )
            return list(await asyncio.gather(*waiting))


@dataclass
class _Sent:
    """A request, and what kind of case it is."""

    kind: str
    method: str
    path: str
    body: bytes
    content: str = "application/json"


@contextmanager
def _serving() -> Iterator[_Service]:
    parsers = {"en": make_parser(), "words": make_parser(cuts_text=False)}
    app = create_app(OPTIONS, parsers=parsers)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        documented = client.get("/openapi.json").json()["paths"]["/v1/parse"]["post"]["responses"]
        yield _Service(client, parsers, {int(status) for status in documented} - {500})


def run(seed: int, *, count: int | None = None, seconds: float | None = None) -> Counts:
    """Try requests."""
    with _serving() as service:
        return run_cases("requests", functools.partial(case, service=service), seed, count=count, seconds=seconds)


def case(chance: random.Random, service: _Service) -> Iterable[str]:
    sent = [_sent(chance) for _ in range(chance.choice([1, 8, _AT_ONCE]))]
    found: list[str] = []
    for request, answer in zip(sent, service.send(sent), strict=True):
        found += ["requests", request.kind, _outcome(service, request, answer)]
    return found


def _sent(chance: random.Random) -> _Sent:
    request = _request(chance)
    kind = chance.choice(["valid", "valid", "valid", "valid", "mutated", "mutated", "bytes", "other address"])
    if kind == "other address":
        path = chance.choice(
            ["/", "/v1/models", "/v1/schema", "/healthz", "/docs", "/none", "/v1/parse", "/../x", "/%00", "//"]
        )
        method = chance.choice(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST"])
        return _Sent(kind, method, path, b"{}", "")
    body = json.dumps(request, ensure_ascii=chance.random() < 0.5).encode()
    if kind == "mutated":
        body = mutate_document(chance, request)
    elif kind == "bytes":
        body = mutate_bytes(chance, body, chance.randrange(1, 5))
    content = (
        "application/json" if chance.random() < 0.95 else chance.choice(["", "text/plain", "application/json;", "\x7f"])
    )
    return _Sent(kind, "POST", "/v1/parse", body, content)


def _outcome(service: _Service, request: _Sent, answer: httpx2.Response) -> str:
    """Check an answer; say what became of the request."""
    if request.kind == "other address":
        allowed = service.statuses | {304, 405}
        check(answer.status_code in allowed, f"{request.method} {request.path}: {answer.status_code}")
        return f"status {answer.status_code // 100}xx"
    check(answer.status_code in service.statuses, f"status {answer.status_code} for {request.body!r}: {answer.text}")
    check(answer.headers["x-content-type-options"] == "nosniff", "no safe headers")
    if answer.status_code != 200:
        _check_error(answer, request.body)
        return "refused"
    _check_answer(service, json.loads(request.body), answer)
    return "answered"


def _request(chance: random.Random) -> dict[str, Any]:
    """Return a request that is valid, but for limits and contradictions."""
    request: dict[str, Any] = {}
    match chance.randrange(3):
        case 0:
            pieces = [*ODD.split("~"), "She reads. ", "papers", " "]
            request["text"] = "".join(chance.choice(pieces) for _ in range(chance.randrange(16)))
        case 1:
            sizes = (chance.choice([1, 2, 4, 8, 25]) for _ in range(chance.randrange(4)))
            request["words"] = [[chance.choice(_WORDS) for _ in range(size)] for size in sizes]
        case _:
            request["conllu"] = chance.choice(
                [conllu.mutated(chance).decode(errors="replace"), chance.choice(conllu.BLOCKS)]
            )
    optional: dict[str, list[Any]] = {
        "model": ["en", "en", "words", "none"],
        "to": ["json", "conllu", "svg"],
        "show": ["arcs", "bht", "tags", "all"],
        "sentence": [1, 2],
        "tree": [1],
        "tags": [True, False],
        "layout": [True, False],
        "probabilities": [True, False],
        "k": [1, 2, 5, 2.0],
        "constraints": [[_constraints(chance) for _ in range(chance.randrange(3))]],
    }
    return request | {name: chance.choice(values) for name, values in optional.items() if chance.random() < 0.25}


def _constraints(chance: random.Random) -> dict[str, Any] | None:
    def word() -> int:
        return chance.randrange(1, 6)

    parts: dict[str, Any] = {
        "heads": {str(word()): word() - 1 for _ in range(chance.randrange(3))},
        "forbidden": [[word(), word() - 1] for _ in range(chance.randrange(3))],
        "relations": {str(word()): chance.choice([["root"], ["nsubj", "obj"], ["root", "det"], "punct", ["none"]])},
        "root": word(),
        "spans": [sorted([word(), word()]) for _ in range(chance.randrange(3))],
    }
    return {name: part for name, part in parts.items() if chance.random() < 0.3} if chance.random() < 0.9 else None


def _check_error(answer: Any, body: bytes) -> None:
    """An error is JSON with a code, a message and perhaps a field."""
    error = answer.json()["error"]
    check(set(answer.json()) == {"error"} and {"code", "message"} <= set(error) <= {"code", "message", "field"}, error)
    check(all(isinstance(value, str) and value for value in error.values()), f"{error} for {body!r}")
    check("Traceback" not in error["message"], error)


def _check_answer(service: _Service, request: dict[str, Any], answer: Any) -> None:
    """Compare an answer with that of the parser itself."""
    name = request.get("model", "en")
    sentences = _parsed(service.parsers[name], request)
    if request.get("to") == "svg":
        check(answer.text.startswith("<svg"), answer.text[:80])
    elif request.get("to") == "conllu":
        tree = int(request.get("tree", 0))
        listed = [[each, *each.alternatives] for each in sentences]
        trees = [made for each in listed for made in ([each[:tree][-1]] if tree else each)]
        check(answer.text == "".join(map(format_sentence, trees)), f"{answer.text!r} is not the parser's answer")
    else:
        expected = [{"text": each.text, **each.to_dict()} for each in sentences]
        given = answer.json()["sentences"]
        check(answer.json()["model"] == name, answer.json()["model"])
        for sentence in given:
            for tree in (sentence, *sentence.get("alternatives", ())):
                check(("tags" in tree) == request.get("tags", False), "tags")
                check(("layout" in tree) == request.get("layout", False), "layout")
                tree.pop("tags", None), tree.pop("layout", None)
        check(_alike(given, json.loads(json.dumps(expected))), f"{given} is not {expected}")


def _alike(given: Any, expected: Any) -> bool:
    """Compare JSON; probabilities may differ in the last digits, as sums of a batch are rounded differently."""
    if isinstance(given, dict) and isinstance(expected, dict):
        return given.keys() == expected.keys() and all(_alike(given[name], expected[name]) for name in given)
    if isinstance(given, list) and isinstance(expected, list):
        return len(given) == len(expected) and all(map(_alike, given, expected))
    if isinstance(given, float) and isinstance(expected, float):
        return math.isclose(given, expected, rel_tol=1e-9, abs_tol=1e-12)
    return type(given) is type(expected) and bool(given == expected)


def _parsed(parser: Parser, request: dict[str, Any]) -> list[Sentence]:
    if "text" in request:
        sentences = parser.segmenter.segment(request["text"])
    elif "words" in request:
        sentences = [Sentence.from_words(words) for words in request["words"]]
    else:
        sentences = list(read_conllu(io.StringIO(request["conllu"].rstrip("\r\n") + "\n\n")))
    sentences = list(map(Ids().complete, sentences))
    known = [_known(each) for each in request.get("constraints", ())]
    known += [None] * (len(sentences) - len(known))
    probabilities, k = request.get("probabilities", False), int(request.get("k", 1))
    return parser.parse_sentences(sentences, probabilities=probabilities, k=k, constraints=known)


def _known(given: dict[str, Any] | None) -> Constraints | None:
    if given is None:
        return None
    relations = given.get("relations", {})
    return Constraints(
        heads={int(word): int(head) for word, head in given.get("heads", {}).items()},
        forbidden=[(int(word), int(head)) for word, head in given.get("forbidden", ())],
        relations={int(word): [names] if isinstance(names, str) else names for word, names in relations.items()},
        root=None if given.get("root") is None else int(given["root"]),
        spans=[(int(first), int(last)) for first, last in given.get("spans", ())],
    )
