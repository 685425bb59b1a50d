"""A stream of sentences parsed by several processes, in order and in constant memory.

Each process has its own Parser with one thread: on one machine that is faster than one Parser with many threads.
"""

import itertools
import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from hexatagger.errors import HexataggerError
from hexatagger.model.config import Task
from hexatagger.parsing.options import ParseOptions, Precision, Respected
from hexatagger.parsing.parser import Parser, load
from hexatagger.sentence import Sentence

_CHUNK = 512  # sentences that are sent to a process together

_parser: Parser
"""The parser of this process."""


def parse_parallel(
    model: str | Path,
    sentences: Iterable[Sentence],
    *,
    workers: int,
    precision: Precision = "auto",
    probabilities: bool = False,
    k: int = 1,
    keep: Sequence[Task] = (),
    respect: Sequence[Respected] = (),
    batch_size: int = 64,
) -> Iterator[Sentence]:
    """Yield sentences parsed by `workers` processes, in the order given; options as for `Parser.parse_sentences`."""
    options: ParseOptions = {
        "probabilities": probabilities,
        "k": k,
        "keep": keep,
        "respect": respect,
        "batch_size": batch_size,
    }
    context = multiprocessing.get_context("spawn")  # subtle: a fork would copy the locks of onnxruntime's threads
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(model, precision))
    waiting: deque[Future[list[Sentence]]] = deque()
    try:
        stream = iter(sentences)
        while chunk := list(itertools.islice(stream, _CHUNK)):
            waiting.append(pool.submit(_parse, chunk, options))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise HexataggerError("a worker process died, perhaps for lack of memory: use fewer --workers") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start(model: str | Path, precision: Precision) -> None:
    global _parser
    _parser = load(model, precision=precision, threads=1)


def _parse(sentences: list[Sentence], options: ParseOptions) -> list[Sentence]:
    return _parser.parse_sentences(sentences, **options)
