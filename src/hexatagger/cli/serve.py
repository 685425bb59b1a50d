"""`hexatagger serve`: the HTTP service and its page."""

import click

from hexatagger.cli.options import threads_option
from hexatagger.errors import ConfigError

_NAMED = 8  # models that the first line names


@click.command(short_help="Parse over HTTP, with a page that shows trees.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME[=DIR]",
    help="An installed model, or a folder and its name; repeat for more, the first is the default.  [default: all "
    "installed ones, en first]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all machines.")
@click.option("--port", default=8000, show_default=True, help="Port to listen on; 0 picks a free one.")
@click.option("--workers", default=1, show_default=True, help="Number of processes, each with its own models.")
@threads_option
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Answer requests for this host name; repeat for more.  [default: any; on loopback, only this machine's]",
)
@click.option("--cors", multiple=True, metavar="ORIGIN", help="Let pages of this origin call; repeat for more.")
@click.option("--max-body", default=1_000_000, show_default=True, help="Bytes per request.")
@click.option("--max-words", default=5_000, show_default=True, help="Words per request.")
@click.option("--max-work", default=5.0, show_default=True, help="Seconds of work per request for constraints and k.")
@click.option("--max-queue", default=256, show_default=True, help="Requests that may wait; more are refused.")
@click.option("--timeout", default=30.0, show_default=True, help="Seconds per request.")
@click.option("--window", default=2.0, show_default=True, help="Milliseconds a request waits for others to join it.")
@click.option("--batch", default=64, show_default=True, help="Requests per parser call.")
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    workers: int,
    threads: int | None,
    hosts: tuple[str, ...],
    cors: tuple[str, ...],
    max_body: int,
    max_words: int,
    max_work: float,
    max_queue: int,
    timeout: float,
    window: float,
    batch: int,
) -> None:
    """Parse over HTTP. The page is at /, the interface is described at /docs.

    Only this machine can connect unless --host says otherwise. After SIGTERM, accepted requests are still answered.

    \b
      hexatagger serve
      hexatagger serve --model en --model fr --model mine=runs/mine --port 9000
      curl -H 'Content-Type: application/json' -d '{"text": "She reads papers."}' 127.0.0.1:8000/v1/parse
    """
    from hexatagger.server import ServerOptions, open_socket
    from hexatagger.server import serve as run

    given = ServerOptions(
        models=_models(models),
        host=host,
        port=port,
        workers=workers,
        threads=threads,
        hosts=hosts,
        cors=cors,
        max_body=max_body,
        max_words=max_words,
        max_work=max_work,
        max_queue=max_queue,
        timeout=timeout,
        window=window / 1000,
        batch=batch,
    )
    with open_socket(given) as listener:
        address, taken = listener.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        first, more = list(given.models)[:_NAMED], len(given.models) - _NAMED
        named = ", ".join(first) + (f" and {more} more models" if more > 0 else "")
        click.echo(f"Serving {named} at http://{shown}:{taken}/ (interface: /docs)", err=True)
        run(given, listener)


def _models(given: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=DIR; a name without a folder is the name of a model."""
    from hexatagger.server.options import installed_models

    if not given:
        return installed_models() or {"en": "en"}
    found: dict[str, str] = {}
    for each in given:
        name, equals, folder = each.partition("=")
        if not name or (equals and not folder):
            raise ConfigError(f"--model '{each}' is not NAME=DIR")
        if name in found:
            raise ConfigError(f"--model {name} is given twice: choose another name for one of them")
        found[name] = folder or name
    return found
