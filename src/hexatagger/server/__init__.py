"""The HTTP service and its page for the browser; extra `serve` (FastAPI, prometheus_client and uvicorn).

    body ──request──▶ ParseTask ──batching──▶ Sentences ──answer──▶ JSON, CoNLL-U, SVG
                         ▲   many clients share one parser call    │
    app.py: addresses, limits, headers ────────────────────────────┘        run.py: sockets, processes, signals

The service stores nothing it is sent, reads no files except its models and the page, and contacts no other machine. It
has no passwords and no TLS: put a proxy in front of it if it listens on more than loopback.
"""

from typing import TYPE_CHECKING

from hexatagger.errors import needs
from hexatagger.server.options import ServerOptions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket

    from fastapi import FastAPI

    from hexatagger.parsing.parser import Parser

__all__ = ["ServerOptions", "create_app", "open_socket", "serve"]


def create_app(options: ServerOptions | None = None, *, parsers: "Mapping[str, Parser] | None" = None) -> "FastAPI":
    """Return the service as an ASGI application, to run under a server of your own.

    `parsers` are models that are already loaded, by name. Of the others in the options, the default one is loaded when
    the application starts, the rest when a request asks for them.
    """
    with needs("serve"):
        from hexatagger.server.app import build
    return build(options or ServerOptions(), parsers=parsers)


def open_socket(options: ServerOptions) -> "socket":
    """Open the socket that `serve` listens on. Its port is known then, even if the options say 0."""
    with needs("serve"):
        from hexatagger.server.run import bind
    return bind(options)


def serve(
    options: ServerOptions, listener: "socket | None" = None, *, parsers: "Mapping[str, Parser] | None" = None
) -> None:
    """Serve until SIGTERM or SIGINT arrives, then answer accepted requests and stop.

    `parsers` are models that are already loaded; only for one process.
    """
    with needs("serve"):
        from hexatagger.server.run import run
    run(options, listener or open_socket(options), parsers)
