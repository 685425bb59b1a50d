"""Serve: a socket, one or more processes, and an end that loses nothing.

On SIGTERM or SIGINT the socket is closed, requests that were accepted are answered, then the models' threads end.
"""

import functools
import os
import socket
from collections.abc import Mapping

from hexatagger.errors import ConfigError
from hexatagger.folder import read_folder
from hexatagger.parser import Parser, find_model, load
from hexatagger.server.options import Options


def bind(options: Options) -> socket.socket:
    """Open the socket to listen on."""
    try:
        family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        message = f"cannot listen on {options.host}:{options.port}: {error.strerror or error}: choose --host and --port"
        raise ConfigError(message) from None
    listener.set_inheritable(True)
    return listener


def run(options: Options, listener: socket.socket, parsers: Mapping[str, Parser] | None = None) -> None:
    """Serve on a socket until told to stop."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from hexatagger.server.app import build

    settings = {
        "log_level": "warning",
        "access_log": False,
        "lifespan": "on",
        "server_header": False,
        "workers": options.workers,
        "timeout_graceful_shutdown": int(options.timeout) + 5,
        "limit_concurrency": None,
    }
    if options.workers == 1:
        app = build(options, parsers=parsers or {name: load(folder) for name, folder in options.models.items()})
        uvicorn.Server(uvicorn.Config(app, **settings)).run([listener])  # type: ignore[arg-type]
        return
    for folder in options.models.values():  # what is wrong with a folder is said once, here
        read_folder(find_model(folder))
    config = uvicorn.Config(functools.partial(build, options), factory=True, **settings)  # type: ignore[arg-type]
    Multiprocess(config, [listener]).run()
