"""The addresses of the service. A body is checked, parsed and answered.

The files of the page are read once, at the start, and served by name only: no request can name a file.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from hexatagger import __version__
from hexatagger.formats.json import SCHEMA
from hexatagger.model.folder import has_segmenter, read_folder
from hexatagger.model.language import name_language
from hexatagger.model.registry import find_model
from hexatagger.model.threads import allowed_cores
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.server.answer import TYPES, write_answer
from hexatagger.server.batching import Batcher
from hexatagger.server.metrics import ServiceMetrics
from hexatagger.server.options import ServerOptions
from hexatagger.server.outside import Outside, answer_error
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseRequest, read_request

WEB = Path(__file__).resolve().parent.parent / "web"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REFUSALS = {
    400: "The body is not JSON.",
    404: "There is no such model.",
    408: "The body did not arrive in time.",
    413: "Too many bytes or words, or a sentence that is too long for what is asked.",
    415: "The body is not `application/json`.",
    421: "The request names a host that the service does not answer for.",
    422: "A field is unknown, missing or wrong, or constraints contradict one another.",
    429: "Too many requests are waiting: try again after `Retry-After` seconds.",
    500: "An error in the service or in its model: its log says more.",
    503: "The request took too long, or the service is shutting down.",
}
_AMBIGUOUS = ["I", "saw", "the", "man", "with", "the", "telescope"]
_EXAMPLES = {
    "text": {"text": "She reads fascinating papers."},
    "words": {"words": [["She", "reads", "papers"]], "to": "conllu"},
    "constraints": {"words": [_AMBIGUOUS], "probabilities": True, "k": 2, "constraints": [{"heads": {"7": 4}}]},
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
    language: str = Field(description="The code of its language, such as `en`; empty if it is not known.")
    language_name: str = Field(description="The name of its language in English; empty if it is not known.")
    text: bool = Field(description="Whether it can segment text.")
    columns: list[str] = Field(description="What it predicts besides the tree.")
    relations: list[str]


class ModelsAnswer(BaseModel):
    """The models and the limits of the service."""

    models: list[ModelInfo]
    limits: dict[str, float]


class Service:
    """What the requests of one process share: options, models with their queues, metrics."""

    def __init__(self, options: ServerOptions, parsers: Mapping[str, Parser] | None) -> None:
        self.options = options
        self.metrics = ServiceMetrics({"worker": str(os.getpid())} if options.workers > 1 else {})
        self.batchers: dict[str, Batcher] = {}
        self.folders: dict[str, Path] = {}
        self._parsers = parsers or {}
        self._known: list[ModelInfo] = []
        self._opening = threading.Lock()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Describe all models and load the default one; at the end, answer what was accepted, within limits."""
        for name in {self.options.default_model: None, **self._parsers}:
            self._open(name)
        for name, place in self.options.models.items():
            opened = self.batchers.get(name)
            folder = opened.parser.folder if opened else read_folder(find_model(place))
            self.folders[name] = folder.path
            code, language = name_language(folder.path)
            self._known.append(
                ModelInfo(
                    name=name,
                    default=name == self.options.default_model,
                    language=code,
                    language_name=language,
                    text=opened.segments if opened else has_segmenter(folder.path),
                    columns=list(folder.labels.tasks),
                    relations=sorted(set(folder.labels.relations)),
                )
            )
        yield
        await asyncio.gather(*(run_in_threadpool(batcher.close) for batcher in self.batchers.values()))

    def _open(self, name: str) -> Batcher:
        """Return the batcher of a model; the model is loaded if nobody asked for it before."""
        with self._opening:
            if name not in self.batchers:
                threads = self.options.threads or allowed_cores(self.options.workers)
                parser = self._parsers.get(name) or load(self.options.models[name], threads=threads)
                self.batchers[name] = Batcher(name, parser, self.options, self.metrics)
            return self.batchers[name]

    async def parse(self, request: Request) -> Response:
        """Parse text, words or CoNLL-U."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "not_json", "the body must be JSON: send Content-Type: application/json")
        body: bytes | None = None
        with self.metrics.seconds.time():
            try:
                async with asyncio.timeout(self.options.timeout):
                    body = await self._body(request)
                    task = await run_in_threadpool(read_request, body, self.options, self.folders)
                    name = task.request.model
                    batcher = (
                        self.batchers[name] if name in self.batchers else await run_in_threadpool(self._open, name)
                    )
                    sentences = await asyncio.wrap_future(batcher.ask(task))
            except TimeoutError:
                if body is None:
                    raise Refused(408, "slow_body", "the body did not arrive in time") from None
                message = f"no answer within {self.options.timeout:g} seconds: send less, or try again later"
                raise Refused(503, "timeout", message, retry_after=1) from None
            answer = await run_in_threadpool(write_answer, task.request, sentences, self.folders[task.request.model])
        return Response(answer, media_type=TYPES[task.request.to])

    async def _body(self, request: Request) -> bytes:
        """Read the body; stop as soon as it is too long."""
        body, most = bytearray(), self.options.max_body
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise Refused(413, "body_too_large", f"the body has more than {most} bytes: send it in parts")
        return bytes(body)

    async def models(self) -> ModelsAnswer:
        """List the models and the limits."""
        names = ("max_body", "max_words", "max_exact", "max_k", "max_work", "timeout")
        return ModelsAnswer(models=self._known, limits={name: getattr(self.options, name) for name in names})

    async def health(self) -> dict[str, str]:
        """Say that the service is up."""
        return {"status": "ok", "version": __version__}

    async def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a sentence."""
        return SCHEMA

    async def prometheus(self) -> Response:
        """Return the metrics in Prometheus' text format."""
        return Response(generate_latest(self.metrics), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


def build(options: ServerOptions, *, parsers: Mapping[str, Parser] | None = None) -> FastAPI:
    """Put the application together. The default model is loaded when it starts, the others when they are needed."""
    service = Service(options, parsers)
    app = FastAPI(
        title="hexatagger",
        version=__version__,
        description=(
            f"At most {options.max_body:,} bytes, {options.max_words:,} words and {options.timeout:g} seconds per "
            f"request. Probabilities, k and constraints: sentences of up to {options.max_exact} words."
        ),
        lifespan=service.lifespan,
        docs_url=None,  # FastAPI's own pages of documentation load scripts from elsewhere: ours is web/docs.html
        redoc_url=None,
        exception_handlers={Refused: answer_error, HTTPException: answer_error},
    )
    _add_api(app, service)
    for path in sorted(WEB.iterdir()):
        if path.suffix in _KINDS:
            address = {"index.html": "/", "docs.html": "/docs"}.get(path.name, f"/{path.name}")
            app.add_route(address, _file(path.read_bytes(), _KINDS[path.suffix]), include_in_schema=False)
    if options.cors:
        allowed: dict[str, Any] = {"allow_methods": ["GET", "POST"], "allow_headers": ["Content-Type"]}
        app.add_middleware(CORSMiddleware, allow_origins=list(options.cors), **allowed)
    known = {route.path for route in app.routes if hasattr(route, "path")}
    app.add_middleware(Outside, options=options, metrics=service.metrics, known=known)
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
    examples = {name: {"value": value} for name, value in _EXAMPLES.items()}
    body = {"schema": {"$ref": "#/components/schemas/ParseRequest"}, "examples": examples}
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
    for path, name, function, kind in (
        ("/v1/models", "models", service.models, JSONResponse),
        ("/v1/schema", "schema", service.schema, JSONResponse),
        ("/healthz", "health", service.health, JSONResponse),
        ("/metrics", "metrics", service.prometheus, PlainTextResponse),
    ):
        app.add_api_route(path, function, operation_id=name, response_class=kind)
        app.add_api_route(path, function, methods=["HEAD"], include_in_schema=False)  # load balancers ask with HEAD
    schemas = _schemas(service.options)

    def describe() -> dict[str, Any]:
        made = FastAPI.openapi(app)
        made["components"]["schemas"].update(schemas)
        return made

    app.openapi = describe  # type: ignore[method-assign]


def _schemas(options: ServerOptions) -> dict[str, Any]:
    """Return the schemas that FastAPI does not see: those of the request and of sentences."""
    place = "#/components/schemas/"
    request = ParseRequest.model_json_schema(ref_template=place + "{model}")
    for name in ("k", "tree"):
        request["properties"][name]["maximum"] = options.max_k
    sentences = json.loads(json.dumps(SCHEMA["$defs"]).replace("#/$defs/", place))
    parts = {"model": {"type": "string"}, "sentences": {"type": "array", "items": {"$ref": f"{place}Sentence"}}}
    told = {"warning": {"type": "string", "description": "The text does not look like the language of the model."}}
    answer = {"type": "object", "properties": parts | told, "required": list(parts), "additionalProperties": False}
    return {"ParseRequest": request, **request.pop("$defs"), "ParseAnswer": answer, **sentences}


def _file(body: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    """Return a function that answers with a file of the page."""
    headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:20]}"', "Cache-Control": "no-cache"}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=kind)

    return send
