"""Load a model. The network is opened while the rest of the program is imported and the other files are read."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from hexatagger.errors import check_choice
from hexatagger.model.folder import DEPRELS, network_file, read_folder, read_network
from hexatagger.model.onnx import open_session, release_memory, runtime
from hexatagger.model.registry import EMBEDDED, find_elsewhere, find_model
from hexatagger.model.threads import Threads
from hexatagger.parsing.options import Origin, Precision

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from hexatagger.parsing.parser import Parser


def load(
    model: str | Path = EMBEDDED,
    *,
    precision: Precision = "auto",
    threads: int | None = None,
    providers: Sequence[str] | None = None,
) -> "Parser":
    """Load a model: the folder of a trained one, or `en`, the one inside the package.

    `precision` "auto" takes the 8-bit network if the folder has one. `threads` is the number of threads that parse the
    batches of one call, all allowed cores by default; it never changes the result. `providers` are those of ONNX
    Runtime, for example `["CUDAExecutionProvider", "CPUExecutionProvider"]`.
    """
    return begin_loading(model, precision=precision, threads=threads, providers=providers)()


def begin_loading(
    model: str | Path = EMBEDDED,
    *,
    precision: Precision = "auto",
    threads: int | None = None,
    providers: Sequence[str] | None = None,
) -> "Callable[[], Parser]":
    """Begin to load a model, and return a function that waits until it is loaded and returns the Parser.

    The network is opened in a thread, so work that is done before the call overlaps with it. Every call returns the
    same Parser.
    """
    check_choice("precision", precision, get_args(Precision))
    path, several = find_model(model), Threads(threads)
    runtime()  # imported here, so that two threads never wait for the modules of each other

    def open_network() -> "InferenceSession":
        file = network_file(path, precision)
        return open_session(read_network(file), threads=several.count, providers=providers, source=str(file))

    pool = ThreadPoolExecutor(1)
    session = pool.submit(open_network)
    pool.shutdown(wait=False)  # its thread ends when the network is open
    from hexatagger.parsing.network import OnnxNetwork
    from hexatagger.parsing.parser import Parser
    from hexatagger.parsing.pieces import make_cutter

    try:
        folder = read_folder(path)
        cutter = make_cutter(folder.recipe.model, folder.tokenizer, folder.piece_config, folder.labels.words)
        second = open_session(path / DEPRELS) if folder.recipe.model.relations == "tree" else None
    except Exception:
        wait([session])  # no thread outlives the error
        raise

    @cache
    def finish() -> "Parser":
        network = OnnxNetwork(folder, session.result(), cutter, second, threads=several)
        release_memory()
        changed = max(file.stat().st_mtime_ns for file in path.iterdir())
        return Parser(network, Origin(find_elsewhere(model), precision, threads, tuple(providers or ()), changed))

    return finish


def reload(origin: Origin) -> "Parser":
    """Load a Parser that was pickled, once per process: a pool sends it with every task.

    A worker process has one thread unless a number was given to `load`, because the other workers use the other cores.
    """
    return _reload(origin, os.getpid())


@lru_cache(maxsize=4)
def _reload(origin: Origin, process: int) -> "Parser":
    import multiprocessing

    # subtle: a forked process has the cache of its parent, but not the threads of the parsers in it
    threads = 1 if origin.threads is None and multiprocessing.parent_process() is not None else origin.threads
    return load(origin.model, precision=origin.precision, threads=threads, providers=origin.providers)
