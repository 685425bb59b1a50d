"""The addresses of the service. A body is checked, parsed and answered; every answer gets safe headers.

The files of the page are read once, at the start, and served by name only: no request can name a file.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hexatagger import __version__
from hexatagger.formats.json import SCHEMA
from hexatagger.parsing.parser import Parser, load
from hexatagger.server.answer import TYPES, write_answer
from hexatagger.server.batching import Batcher
from hexatagger.server.metrics import CONTENT_TYPE, ServiceMetrics
from hexatagger.server.options import ServerOptions
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseRequest, read_request

_log = logging.getLogger(__name__)

WEB = Path(__file__).resolve().parent.parent / "web"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# An SVG brings its own style sheet and runs nothing.
_SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_REFUSALS = {
    400: "The body is not JSON.",
    404: "There is no such model.",
    408: "The body did not arrive in time.",
    413: "Too many bytes or words, or a sentence that is too long for what is asked.",
    415: "The body is not `application/json`.",
    421: "The request names a host that the service does not answer for.",
    422: "A field is unknown, missing or wrong, or constraints contradict one another.",
    429: "Too many requests are waiting: try again after `Retry-After` seconds.",
    500: "An error in the service.",
    503: "The request took too long, or the service is shutting down.",
}
_EXAMPLES = {
    "text": {"value": {"text": "She reads fascinating papers."}},
    "words": {"value": {"words": [["She", "reads", "papers"]], "to": "conllu"}},
    "constraints": {
        "value": {
            "words": [["I", "saw", "the", "man", "with", "the", "telescope"]],
            "probabilities": True,
            "k": 2,
            "constraints": [{"heads": {"7": 4}}],
        }
    },
}


class ErrorDetail(BaseModel):
    """What is wrong."""

    code: str = Field(description="For programs.")
    message: str = Field(description="For people.")
    field: str = Field("", description="The field of the request; left out if there is none.")


class ErrorAnswer(BaseModel):
    """The body of every error."""

    error: ErrorDetail


class ModelInfo(BaseModel):
    """A model of the service."""

    name: str
    default: bool
    text: bool = Field(description="Whether it can segment text.")
    columns: list[str] = Field(description="What it predicts besides the tree.")
    relations: list[str]


class ModelsAnswer(BaseModel):
    """The models and the limits of the service."""

    models: list[ModelInfo]
    limits: dict[str, float]


class HealthAnswer(BaseModel):
    """Whether the service is up."""

    status: Literal["ok"]
    version: str


class Service:
    """What the requests of one process share: options, models with their queues, metrics."""

    def __init__(self, options: ServerOptions, parsers: Mapping[str, Parser] | None) -> None:
        self.options = options
        self.metrics = ServiceMetrics({"worker": str(os.getpid())} if options.workers > 1 else {})
        self.batchers: dict[str, Batcher] = {}
        self._parsers = parsers

    def start(self) -> None:
        """Load the models, unless they are loaded already, and start their threads."""
        threads = max(1, (os.cpu_count() or 1) // self.options.workers) if self.options.workers > 1 else None
        for name, folder in self.options.models.items():
            parser = self._parsers[name] if self._parsers is not None else load(folder, threads=threads)
            self.batchers[name] = Batcher(name, parser, self.options, self.metrics)

    def stop(self) -> None:
        """Answer what was accepted, within limits."""
        for batcher in self.batchers.values():
            batcher.close()

    async def parse(self, request: Request) -> Response:
        """Parse text, words or CoNLL-U."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "not_json", "the body must be JSON: send Content-Type: application/json")
        with self.metrics.seconds.time():
            deadline = asyncio.get_running_loop().time() + self.options.timeout
            try:
                async with asyncio.timeout_at(deadline):
                    body = await self._body(request)
            except TimeoutError:
                raise Refused(408, "slow_body", "the body did not arrive in time") from None
            try:
                async with asyncio.timeout_at(deadline):
                    task = await run_in_threadpool(read_request, body, self.options)
                    sentences = await asyncio.wrap_future(self.batchers[task.request.model].ask(task))
            except TimeoutError:
                message = f"no answer within {self.options.timeout:g} seconds: send less, or try again later"
                raise Refused(503, "timeout", message, retry_after=1) from None
            answer = await run_in_threadpool(write_answer, task.request, sentences)
        return Response(answer, media_type=TYPES[task.request.to])

    async def _body(self, request: Request) -> bytes:
        """Read the body; stop as soon as it is too long."""
        most = self.options.max_body
        told = request.headers.get("content-length", "0")
        parts, size = list[bytes](), int(told[:20]) if told.isdigit() and told.isascii() else 0
        if size <= most:
            size = 0
            async for part in request.stream():
                parts.append(part)
                if (size := size + len(part)) > most:
                    break
        if size > most:
            raise Refused(413, "body_too_large", f"the body has more than {most} bytes: send it in parts")
        return b"".join(parts)

    async def models(self) -> ModelsAnswer:
        """List the models and the limits."""
        models = [
            ModelInfo(
                name=name,
                default=name == self.options.default_model,
                text=batcher.segments,
                columns=list(batcher.parser.labels.tasks),
                relations=sorted(set(batcher.parser.labels.relations)),
            )
            for name, batcher in self.batchers.items()
        ]
        names = ("max_body", "max_words", "max_exact", "max_k", "max_work", "timeout")
        return ModelsAnswer(models=models, limits={name: getattr(self.options, name) for name in names})

    async def health(self) -> HealthAnswer:
        """Say that the service is up."""
        return HealthAnswer(status="ok", version=__version__)

    async def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a sentence."""
        return SCHEMA

    async def prometheus(self) -> Response:
        """Return the metrics in Prometheus' text format."""
        return Response(self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def build(options: ServerOptions, *, parsers: Mapping[str, Parser] | None = None) -> FastAPI:
    """Put the application together. The models are loaded when it starts."""
    service = Service(options, parsers)
    if parsers is not None and (absent := [name for name in options.models if name not in parsers]):
        raise KeyError(f"no parser for model {absent[0]}")

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await run_in_threadpool(service.stop)

    # FastAPI's own pages of documentation load scripts from elsewhere: ours is web/docs.html.
    app = FastAPI(title="hexatagger", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.description = (
        f"At most {options.max_body:,} bytes, {options.max_words:,} words and {options.timeout:g} seconds per request. "
        f"Probabilities, k and constraints: sentences of up to {options.max_exact} words."
    )
    _add_api(app, service)
    _add_page(app)
    app.add_exception_handler(Refused, _refuse)
    app.add_exception_handler(HTTPException, _http_error)
    if options.cors:
        origins = list(options.cors)
        app.add_middleware(
            CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["Content-Type"]
        )
    known = {route.path for route in app.routes if hasattr(route, "path")}
    app.add_middleware(_Outside, options=options, metrics=service.metrics, known=known)
    app.state.service = service
    return app


def _add_api(app: FastAPI, service: Service) -> None:
    """Add the addresses for programs, and describe them in /openapi.json."""
    refusals: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorAnswer, "description": description} for status, description in _REFUSALS.items()
    }
    refusals[429]["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    answer = {
        "description": "The trees, in the format that `to` names.",
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/ParseAnswer"}},
            "text/plain": {"schema": {"type": "string"}},
            "image/svg+xml": {"schema": {"type": "string"}},
        },
    }
    body = {"schema": {"$ref": "#/components/schemas/ParseRequest"}, "examples": _EXAMPLES}
    # subtle: FastAPI would read a body of any size, parse it on the event loop and accept NaN, so it only describes it
    app.add_api_route(
        "/v1/parse",
        service.parse,
        methods=["POST"],
        operation_id="parse",
        responses={200: answer, **refusals},
        response_class=Response,
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": body}}},
    )
    text: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    app.add_api_route("/v1/models", service.models, operation_id="models")
    app.add_api_route("/v1/schema", service.schema, operation_id="schema")
    app.add_api_route("/healthz", service.health, operation_id="health")
    app.add_api_route("/metrics", service.prometheus, operation_id="metrics", response_class=Response, responses=text)

    gets = {"/v1/models": service.models, "/v1/schema": service.schema, "/healthz": service.health}
    for path, answers in (gets | {"/metrics": service.prometheus}).items():
        app.add_api_route(path, answers, methods=["HEAD"], include_in_schema=False)  # load balancers ask with HEAD

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes, summary=None
            )
            made["components"]["schemas"].update(_schemas(service.options))
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _schemas(options: ServerOptions) -> dict[str, Any]:
    """Return the schemas that FastAPI does not see: those of the request and of sentences."""
    place = "#/components/schemas/"
    request = ParseRequest.model_json_schema(ref_template=place + "{model}")
    for name in ("k", "tree"):
        request["properties"][name]["maximum"] = options.max_k
    sentences = json.loads(json.dumps(SCHEMA["$defs"]).replace("#/$defs/", place))
    answer = {
        "type": "object",
        "properties": {
            "model": {"type": "string"},
            "sentences": {"type": "array", "items": {"$ref": f"{place}Sentence"}},
        },
        "required": ["model", "sentences"],
        "additionalProperties": False,
    }
    return {"ParseRequest": request, **request.pop("$defs"), "ParseAnswer": answer, **sentences}


def _add_page(app: FastAPI) -> None:
    """Add an address for every file of the page."""
    for path in sorted(WEB.iterdir()):
        if path.suffix in _KINDS:
            address = {"index.html": "/", "docs.html": "/docs"}.get(path.name, f"/{path.name}")
            app.add_route(address, _file(path.read_bytes(), _KINDS[path.suffix]), include_in_schema=False)


def _file(body: bytes, kind: str) -> Any:
    mark = f'"{hashlib.sha256(body).hexdigest()[:20]}"'

    async def send(request: Request) -> Response:
        headers = {"ETag": mark, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers | {"Content-Type": kind})

    return send


class _Outside:
    """The outermost layer: checks the host, counts requests, sets headers, and answers 500 if the service has a bug."""

    def __init__(self, app: ASGIApp, options: ServerOptions, metrics: ServiceMetrics, known: set[str]) -> None:
        self.app, self.options, self.metrics, self.known = app, options, metrics, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def fenced(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {name.lower(): value for name, value in message["headers"]}
                own = dict(_HEADERS)
                if headers.get(b"content-type", b"").startswith(b"image/svg"):
                    own["Content-Security-Policy"] = _SVG_POLICY
                if b"cache-control" not in headers:
                    own["Cache-Control"] = "no-store"
                message["headers"] = [*message["headers"], *((k.lower().encode(), v.encode()) for k, v in own.items())]
            await send(message)

        app, host = self.app, Headers(scope=scope).get("host", "")
        if not self.options.allows(host):
            message = f"this service does not answer for host '{host[:80]}': start it with --allow-host to change that"
            app = _refusal(Refused(421, "wrong_host", message))
        try:
            await app(scope, receive, fenced)
        except ClientDisconnect:
            status = 499
        except Exception:
            _log.exception("a request failed")
            if not status:
                refused = Refused(500, "internal", "an error in the service: see its log")
                await _refusal(refused)(scope, receive, fenced)
        finally:
            path = scope["path"] if scope["path"] in self.known else "other"
            self.metrics.requests.labels(path, str(status)).inc()


def _refusal(refused: Refused) -> Response:
    """Write an error as JSON."""
    error = {"code": refused.code, "message": refused.message}
    if refused.field:
        error["field"] = refused.field
    headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    body = json.dumps({"error": error}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, refused.status, headers, "application/json")


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _refusal(error)


async def _http_error(request: Request, error: Exception) -> Response:
    """Write Starlette's own errors in our form: an address or a method that does not exist."""
    assert isinstance(error, HTTPException)
    code, message = {
        404: ("not_found", f"there is nothing at {request.url.path[:80]}: see /docs"),
        405: ("method_not_allowed", f"{request.method} is not allowed here: see /docs"),
    }.get(error.status_code, ("error", error.detail))
    response = _refusal(Refused(error.status_code, code, message))
    response.headers.update(error.headers or {})
    return response
