"""What surrounds every answer: the host is checked, headers are set, errors become JSON, requests are counted."""

import json
import logging

from fastapi import Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hexatagger.server.metrics import ServiceMetrics
from hexatagger.server.options import ServerOptions
from hexatagger.server.refused import Refused

_log = logging.getLogger(__name__)

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# An SVG brings its own style sheet and runs nothing.
_SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class Outside:
    """The outermost layer of the application; `known` are the paths that are counted by name."""

    def __init__(self, app: ASGIApp, options: ServerOptions, metrics: ServiceMetrics, known: set[str]) -> None:
        self.app, self.options, self.metrics, self.known = app, options, metrics, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def fenced(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                if headers.get("content-type", "").startswith("image/svg"):
                    headers["Content-Security-Policy"] = _SVG_POLICY
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


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer with our own error, or with Starlette's in our form: an address or a method that does not exist."""
    if isinstance(error, Refused):
        return _refusal(error)
    assert isinstance(error, HTTPException)
    code, message = {
        404: ("not_found", f"there is nothing at {request.url.path[:80]}: see /docs"),
        405: ("method_not_allowed", f"{request.method} is not allowed here: see /docs"),
    }.get(error.status_code, ("error", error.detail))
    response = _refusal(Refused(error.status_code, code, message))
    response.headers.update(error.headers or {})
    return response
