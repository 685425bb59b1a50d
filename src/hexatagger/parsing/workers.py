"""A stream of sentences parsed by several processes, in order and in constant memory.

Each process has its own Parser, and the cores are shared among them. One Parser with as many threads needs less memory
and is nearly as fast; processes also spread the work that holds Python's lock.
"""

import contextlib
import itertools
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Unpack

from hexatagger.errors import HexataggerError
from hexatagger.model.threads import allowed_cores
from hexatagger.parsing.load import load
from hexatagger.parsing.options import ParseOptions, Precision
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence

_CHUNK = 512  # sentences that are sent to a process together
_parser: Parser  # the parser of this process


def parse_parallel(
    model: str | Path,
    sentences: Iterable[Sentence],
    *,
    workers: int,
    precision: Precision = "auto",
    threads: int | None = None,
    **options: Unpack[ParseOptions],
) -> Iterator[Sentence]:
    """Yield sentences parsed by `workers` processes, in the order given; options as for `Parser.parse_sentences`.

    `threads` is the number of threads of each process; by default the processes share the allowed cores.
    """
    waiting: deque[Future[list[Sentence]]] = deque()
    with worker_pool(workers, _load, model, precision, threads or allowed_cores(workers)) as pool:
        stream = iter(sentences)
        while chunk := list(itertools.islice(stream, _CHUNK)):
            waiting.append(pool.submit(_parse, chunk, options))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


@contextlib.contextmanager
def worker_pool(workers: int, prepare: Callable[..., None], *arguments: Any) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of processes, each of which calls `prepare` first; they end with this process, however that ends."""
    context = multiprocessing.get_context("spawn")  # subtle: a fork would copy the locks of onnxruntime's threads
    watched, held = context.Pipe(duplex=False)  # the workers watch one end, and end when this process closes the other
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(watched, prepare, arguments))
    try:
        yield pool
    except BrokenProcessPool:
        raise HexataggerError("a worker process died, perhaps for lack of memory: use fewer --workers") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        watched.close()
        held.close()


def _start(parent: Connection, prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # whoever reads the output must not wait for a worker
    prepare(*arguments)


def _end_with(parent: Connection) -> None:
    """End this process when the parent has ended, however that happened."""
    with contextlib.suppress(EOFError, OSError):
        parent.recv_bytes()
    os._exit(1)


def _load(model: str | Path, precision: Precision, threads: int) -> None:
    global _parser
    _parser = load(model, precision=precision, threads=threads)


def _parse(sentences: list[Sentence], options: ParseOptions) -> list[Sentence]:
    return _parser.parse_sentences(sentences, **options)
