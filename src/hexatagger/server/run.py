"""Serve: a socket, one or more processes, and an end that loses nothing.

On SIGTERM or SIGINT the socket is closed, requests that were accepted are answered, then the models' threads end.
"""

import functools
import os
import socket
from collections.abc import Mapping

import uvicorn
from uvicorn.supervisors import Multiprocess

from hexatagger.errors import ConfigError, HexataggerError
from hexatagger.model.folder import read_folder
from hexatagger.model.registry import find_model
from hexatagger.parsing.parser import Parser, load
from hexatagger.server.app import build
from hexatagger.server.options import Options

_FAILED = 3
"""How a process of uvicorn ends that could not start."""


def bind(options: Options) -> socket.socket:
    """Open the socket to listen on."""
    listener = None
    try:
        family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
        # subtle: without its protocol asyncio does not know it for TCP, and the second half of an answer waits 40 ms
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if listener is not None:
            listener.close()
        message = f"cannot listen on {options.host}:{options.port}: {error.strerror or error}: choose --host and --port"
        raise ConfigError(message) from None
    listener.set_inheritable(True)
    return listener


def run(options: Options, listener: socket.socket, parsers: Mapping[str, Parser] | None = None) -> None:
    """Serve on a socket until told to stop."""
    settings = {
        "log_level": "warning",
        "access_log": False,
        "lifespan": "on",
        "server_header": False,
        "workers": options.workers,
        "timeout_graceful_shutdown": int(options.timeout) + 5,
        "timeout_worker_healthcheck": 60,  # a large model takes longer to load than the usual 5 seconds
    }
    if options.workers == 1:
        app = build(options, parsers=parsers or {name: load(folder) for name, folder in options.models.items()})
        uvicorn.Server(uvicorn.Config(app, **settings)).run([listener])  # type: ignore[arg-type]
        return
    for folder in options.models.values():  # what is wrong with a folder is said once, here
        read_folder(find_model(folder))
    config = uvicorn.Config(functools.partial(build, options), factory=True, **settings)  # type: ignore[arg-type]
    processes = Multiprocess(config, [listener])
    processes.run()
    if any(process.exitcode == _FAILED for process in processes.processes):
        raise HexataggerError("a worker process could not start: its own message stands above")
