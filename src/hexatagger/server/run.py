"""Run the service: open a socket, serve in one or more processes, shut down without losing accepted requests.

On SIGTERM or SIGINT the socket is closed, accepted requests are answered, then the threads of the models end.
"""

import asyncio
import functools
import os
import socket
from collections.abc import Mapping

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from hexatagger.errors import ConfigError, HexataggerError
from hexatagger.model.folder import read_folder
from hexatagger.model.registry import find_model
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.server.app import build
from hexatagger.server.options import ServerOptions

_HEADER_SECONDS = 10.0
"""How long a client may take to send the headers of a request."""


class HeaderTimeout(H11Protocol):
    """uvicorn's HTTP protocol, which closes connections whose headers do not arrive in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of a new connection."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the clock once the headers are complete; start it when the next request begins."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        super().connection_lost(exc)
        self._watch()

    def _watch(self) -> None:
        waiting = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if waiting and self._timer is None:
            self._timer = self.loop.call_later(_HEADER_SECONDS, self.transport.close)
        elif not waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bind(options: ServerOptions) -> socket.socket:
    """Open the socket to listen on."""
    listener = None
    try:
        family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
        # subtle: asyncio sets TCP_NODELAY only if the protocol is named; without it an answer may wait 40 ms
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        if listener is not None:
            listener.close()
        problem = getattr(error, "strerror", None) or error
        message = f"cannot listen on {options.host}:{options.port}: {problem}: choose --host and --port"
        raise ConfigError(message) from None
    listener.set_inheritable(True)
    return listener


def run(options: ServerOptions, listener: socket.socket, parsers: Mapping[str, Parser] | None = None) -> None:
    """Serve on a socket until told to stop."""
    settings = {
        "log_level": "warning",
        "http": HeaderTimeout,
        "access_log": False,
        "lifespan": "on",
        "server_header": False,
        "workers": options.workers,
        "timeout_graceful_shutdown": int(options.timeout) + 5,
        "timeout_worker_healthcheck": 60,  # a large model takes longer to load than the default of 5 seconds
    }
    for name, folder in options.models.items():  # report a bad folder once, here
        if name not in (parsers or {}):
            read_folder(find_model(folder))
    if options.workers == 1:
        first = options.default_model
        app = build(options, parsers=parsers or {first: load(options.models[first], threads=options.threads)})
        uvicorn.Server(uvicorn.Config(app, **settings)).run([listener])  # type: ignore[arg-type]
        return
    config = uvicorn.Config(functools.partial(build, options), factory=True, **settings)  # type: ignore[arg-type]
    processes = Multiprocess(config, [listener])
    processes.run()
    if any(process.exitcode == 3 for process in processes.processes):  # uvicorn's code for a failed start
        raise HexataggerError("a worker process could not start: see its own message above")
