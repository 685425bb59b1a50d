"""The HTTP service, and the page in the browser that uses it; extra `serve` (Starlette on uvicorn).

    body ──question──▶ Question ──batching──▶ Sentences ──answer──▶ JSON, CoNLL-U, SVG
                          ▲  many clients, one call of the parser  │
    app.py: addresses, limits, headers ────────────────────────────┘        run.py: sockets, processes, signals

The service keeps nothing that it was sent, reads no file but its models and the page, and contacts nobody. It has no
passwords and no TLS: that is the business of a proxy in front of it, wherever it listens on more than loopback.
"""

from typing import TYPE_CHECKING

from hexatagger.errors import ConfigError
from hexatagger.server.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket

    from starlette.applications import Starlette

    from hexatagger.parsing.parser import Parser

__all__ = ["Options", "create_app", "open_socket", "serve"]

EXTRA = "the service needs Starlette and uvicorn: pip install 'hexatagger[serve]'"


def create_app(options: Options | None = None, *, parsers: "Mapping[str, Parser] | None" = None) -> "Starlette":
    """Return the service as an ASGI application, to run under a server of your own.

    `parsers` are models that are loaded already, by name; without them those of the options are loaded.
    """
    try:
        from hexatagger.server.app import build
    except ModuleNotFoundError as error:
        raise _explained(error) from None
    return build(options or Options(), parsers=parsers)


def open_socket(options: Options) -> "socket":
    """Open the socket that `serve` listens on; its port is known then, if the options had 0."""
    try:
        from hexatagger.server.run import bind
    except ModuleNotFoundError as error:
        raise _explained(error) from None
    return bind(options)


def serve(options: Options, listener: "socket | None" = None, *, parsers: "Mapping[str, Parser] | None" = None) -> None:
    """Serve until SIGTERM or SIGINT comes, then finish what was accepted and end.

    `parsers` are models that are loaded already, for one process only.
    """
    try:
        from hexatagger.server.run import run
    except ModuleNotFoundError as error:
        raise _explained(error) from None
    run(options, listener or open_socket(options), parsers)


def _explained(error: ModuleNotFoundError) -> Exception:
    """Name the extra if a package of it is missing; anything else is a bug and stays what it is."""
    missing = (error.name or "").partition(".")[0]
    return ConfigError(EXTRA) if missing in ("starlette", "uvicorn", "anyio") else error
