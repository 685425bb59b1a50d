"""The addresses of the service: what comes in is checked, asked and answered; what goes out is fenced in by headers.

The files of the page are read once, when the service starts, and are known by name only: no request can name a file.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hexatagger import __version__
from hexatagger.parsing.parser import Parser, load
from hexatagger.server.answer import TYPES, write_answer
from hexatagger.server.batching import Batcher
from hexatagger.server.metrics import CONTENT_TYPE, SECONDS, Metrics
from hexatagger.server.openapi import describe
from hexatagger.server.options import Options
from hexatagger.server.question import Refused, read_question

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
# An SVG brings its own style sheet, and does nothing.
_SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class Service:
    """What the requests of one process share: options, models with their queues, counters."""

    def __init__(self, options: Options, parsers: Mapping[str, Parser] | None) -> None:
        self.options = options
        self.metrics = Metrics({"worker": str(os.getpid())} if options.workers > 1 else {})
        self.description = _dump(describe(options))
        self.batchers: dict[str, Batcher] = {}
        self._parsers = parsers

    def start(self) -> None:
        """Load the models, if that is not done, and begin to work."""
        threads = max(1, (os.cpu_count() or 1) // self.options.workers) if self.options.workers > 1 else None
        for name, folder in self.options.models.items():
            parser = self._parsers[name] if self._parsers is not None else load(folder, threads=threads)
            self.batchers[name] = Batcher(name, parser, self.options, self.metrics)

    def stop(self) -> None:
        """Finish what was accepted."""
        for batcher in self.batchers.values():
            batcher.close()

    async def parse(self, request: Request) -> Response:
        """Answer POST /v1/parse."""
        began = time.monotonic()
        try:
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise Refused(415, "not_json", "the body must be JSON: send Content-Type: application/json")
            async with asyncio.timeout(self.options.timeout):
                question = read_question(await self._body(request), self.options)
            left = self.options.timeout - (time.monotonic() - began)
            answer = asyncio.wrap_future(self.batchers[question.model].ask(question))
            try:
                sentences = await asyncio.wait_for(answer, left)
            except TimeoutError:
                message = f"no answer within {self.options.timeout:g} seconds: send less, or try again later"
                raise Refused(503, "timeout", message, retry_after=1) from None
            body = await run_in_threadpool(write_answer, question, sentences)
        except TimeoutError:
            return refusal(Refused(408, "slow_body", "the body did not arrive in time"))
        except Refused as refused:
            return refusal(refused)
        finally:
            self.metrics.observe("hexatagger_request_seconds", time.monotonic() - began, SECONDS)
        return Response(body, media_type=TYPES[question.to])

    async def _body(self, request: Request) -> bytes:
        """Read the body, and stop as soon as it is too long."""
        most = self.options.max_body
        told = request.headers.get("content-length", "0")
        parts, size = list[bytes](), int(told) if told.isdigit() and told.isascii() else 0
        if size <= most:
            size = 0
            async for part in request.stream():
                parts.append(part)
                if (size := size + len(part)) > most:
                    break
        if size > most:
            raise Refused(413, "body_too_large", f"the body has more than {most} bytes: send it in parts")
        return b"".join(parts)

    async def models(self, _: Request) -> Response:
        """Answer GET /v1/models."""
        options = self.options
        models = [
            {
                "name": name,
                "default": name == options.default_model,
                "text": batcher.cuts_text,
                "columns": list(batcher.parser.labels.tasks),
                "relations": sorted(set(batcher.parser.labels.relations)),
            }
            for name, batcher in self.batchers.items()
        ]
        limits = {name: getattr(options, name) for name in ("max_body", "max_words", "max_exact", "max_k", "timeout")}
        return _json({"models": models, "limits": limits})

    async def health(self, _: Request) -> Response:
        """Answer GET /healthz."""
        return _json({"status": "ok", "version": __version__})

    async def counters(self, _: Request) -> Response:
        """Answer GET /metrics."""
        return Response(self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def openapi(self, _: Request) -> Response:
        """Answer GET /openapi.json."""
        return Response(self.description, media_type="application/json")


def build(options: Options, *, parsers: Mapping[str, Parser] | None = None) -> Starlette:
    """Put the application together; the models are loaded when it starts."""
    service = Service(options, parsers)
    if parsers is not None and (absent := [name for name in options.models if name not in parsers]):
        raise KeyError(f"no parser for model {absent[0]}")

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        await run_in_threadpool(service.stop)

    routes = [
        Route("/v1/parse", service.parse, methods=["POST"]),
        Route("/v1/models", service.models),
        Route("/healthz", service.health),
        Route("/metrics", service.counters),
        Route("/openapi.json", service.openapi),
    ]
    routes += _page()
    middleware = [Middleware(_Outside, metrics=service.metrics, known={route.path for route in routes})]
    if options.cors:
        allowed = {"allow_origins": list(options.cors), "allow_methods": ["GET", "POST"]}
        middleware.append(Middleware(CORSMiddleware, **allowed, allow_headers=["Content-Type"]))  # type: ignore[arg-type]
    app = Starlette(routes=routes, lifespan=lifespan, middleware=middleware)
    app.add_exception_handler(HTTPException, _http_error)
    app.state.service = service
    return app


def _page() -> list[Route]:
    """Return an address for every file of the page."""
    routes = []
    for path in sorted(WEB.iterdir()):
        if path.suffix not in _KINDS:
            continue
        body = path.read_bytes()
        address = {"index.html": "/", "docs.html": "/docs"}.get(path.name, f"/{path.name}")
        routes.append(Route(address, _file(body, _KINDS[path.suffix])))
    return routes


def _file(body: bytes, kind: str) -> Any:
    mark = f'"{hashlib.sha256(body).hexdigest()[:20]}"'

    async def send(request: Request) -> Response:
        headers = {"ETag": mark, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers | {"Content-Type": kind})

    return send


class _Outside:
    """Around everything: counts requests, sets headers, and turns mistakes of ours into an answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics, known: set[str]) -> None:
        self.app, self.metrics, self.known = app, metrics, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def fenced(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {name.lower() for name, _ in message["headers"]}
                kind = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
                own = dict(_HEADERS)
                if kind.startswith(b"image/svg"):
                    own["Content-Security-Policy"] = _SVG_POLICY
                if b"cache-control" not in headers:
                    own["Cache-Control"] = "no-store"
                message["headers"] = [*message["headers"], *((k.lower().encode(), v.encode()) for k, v in own.items())]
            await send(message)

        try:
            await self.app(scope, receive, fenced)
        except ClientDisconnect:
            status = 499
        except Exception:
            _log.exception("a request failed")
            if not status:
                await refusal(Refused(500, "internal", "something went wrong here; it is in the log"))(
                    scope, receive, fenced
                )
        finally:
            path = scope["path"] if scope["path"] in self.known else "other"
            self.metrics.count("hexatagger_requests_total", path=path, status=str(status))


def refusal(refused: Refused) -> Response:
    """Say no, and why."""
    error = {"code": refused.code, "message": refused.message}
    if refused.field:
        error["field"] = refused.field
    headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    return _json({"error": error}, status=refused.status, headers=headers)


async def _http_error(request: Request, error: Exception) -> Response:
    """Say in our own form what Starlette found wrong: an address or a method that is not there."""
    assert isinstance(error, HTTPException)
    codes = {404: "not_found", 405: "method_not_allowed"}
    told = {
        404: f"there is nothing at {request.url.path[:80]}: see /docs",
        405: f"not with {request.method}: see /docs",
    }
    refused = Refused(
        error.status_code, codes.get(error.status_code, "error"), told.get(error.status_code, error.detail)
    )
    response = refusal(refused)
    response.headers.update(error.headers or {})
    return response


def _json(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_dump(value), status, headers, "application/json")


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
