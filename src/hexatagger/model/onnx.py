"""Open networks with ONNX Runtime, for the parser and the segmenter.

A session uses one thread per call: see `threads` for how a program uses several cores.
"""

import mmap
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from hexatagger.errors import ConfigError, FormatError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def runtime() -> ModuleType:
    """Import ONNX Runtime with telemetry off, unless ORT_DISABLE_TELEMETRY says otherwise.

    Its official builds keep an id of the machine in the home folder and report what is run.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # subtle: read once, at the first import
    import numpy  # noqa: F401  # subtle: ONNX Runtime would print an interrupt in its import and go on to fail

    try:
        import onnxruntime
    except ImportError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # subtle: Ctrl-C while its C code is initialised
            raise KeyboardInterrupt from None
        raise
    return cast("ModuleType", onnxruntime)


# subtle: `location` as a protobuf string in field 1, however its tag and its length are padded
_EXTERNAL = re.compile(rb"(?:\x0a|\x8a\x80*\x00)(?:\x08|\x88\x80*\x00)location")
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9  # numbers of fields in ModelProto, GraphProto and TensorProto
_MESSAGE = 2  # wire type of messages, strings and bytes
_LARGE = 1 << 12  # bytes of weights that are worth leaving out


def _check_whole(model: bytes | Path, source: str) -> None:
    """Raise FormatError if a network keeps weights in other files: ours never do, and they could be any file."""
    try:
        if isinstance(model, bytes):
            external = _is_external(model)
        else:
            with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                external = _is_external(data)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise FormatError(f"cannot be loaded: {error}", source=source) from None
    if external:
        raise FormatError("keeps data in another file, which is not allowed: export the model again", source=source)


def _is_external(data: "bytes | mmap.mmap") -> bool:
    """Say whether a network names another file. Its weights are left out: to search 24 MB takes 11 ms."""
    try:
        weights = list(_weights(data))
    except IndexError:  # cut off, or not a network: all of it is searched
        weights = []
    start = 0
    for begin, end in (*weights, (len(data), len(data))):
        if _EXTERNAL.search(data, start, begin):
            return True
        start = end
    return False


def _weights(data: "bytes | mmap.mmap") -> Iterator[tuple[int, int]]:
    """Yield where the large weights of a network begin and end."""
    for graph, begin, end in _messages(data, 0, len(data)):
        if graph == _GRAPH:
            for initializer, first, last in _messages(data, begin, end):
                if initializer == _INITIALIZER and last - first > _LARGE:
                    for field, start, stop in _messages(data, first, last):
                        if field == _RAW_DATA:
                            yield start, stop


def _messages(data: "bytes | mmap.mmap", place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the fields of a protobuf message that have a length: number, begin, end. IndexError if it is broken."""

    def number() -> int:
        nonlocal place
        value = 0
        for shift in range(0, 64, 7):  # subtle: without a bound, a file of continued bytes would take hours
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise IndexError

    while place < end:
        key = number()
        if key & 7 == _MESSAGE:
            size = number()
            if place + size > end:
                raise IndexError
            yield key >> 3, place, place + size
            place += size
        elif key & 7 == 0:
            number()
        elif key & 7 in (1, 5):  # of 64 and of 32 bits
            place += 8 if key & 7 == 1 else 4
        else:
            raise IndexError


def open_session(
    model: bytes | Path, *, threads: int = 1, providers: Sequence[str] | None = None, source: str | None = None
) -> "InferenceSession":
    """Open a network, given as a file or as bytes, for so many threads that call it; `source` is its name in errors."""
    onnxruntime = runtime()
    available = onnxruntime.get_available_providers()
    for provider in providers or ():
        if provider not in available:
            raise ConfigError(f"provider '{provider}' is not in this onnxruntime, which has: {', '.join(available)}")
    name = source or ("the network" if isinstance(model, bytes) else str(model))
    _check_whole(model, name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # subtle: planning memory reuse takes two thirds of the opening time and saves nothing, since the arena reuses
    # memory too; memory patterns only help with shapes that recur, and cost memory
    options.enable_mem_reuse = options.enable_mem_pattern = False
    # subtle: the arena gives a thread the memory that another core has in its cache: with two threads, the network is a
    # quarter slower than with the memory of malloc, which knows threads; with one, it is 3 % faster
    options.enable_cpu_mem_arena = threads == 1
    try:
        return onnxruntime.InferenceSession(model, options, providers=list(providers or ["CPUExecutionProvider"]))
    except Exception as error:  # onnxruntime has no common base class for errors of broken files
        raise FormatError(f"cannot be loaded: {error}", source=name) from None


def release_memory() -> None:
    """Give memory back to the system that is free after networks were opened: 14 MB with the English model.

    Only the C library of Linux is asked; elsewhere nothing happens.
    """
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def run_session(session: "InferenceSession", names: Sequence[str], inputs: dict[str, Any], *, source: str) -> list[Any]:
    """Return the named outputs of a network; FormatError if it does not fit its inputs, as with ids that it lacks."""
    try:
        return list(session.run(list(names), inputs))
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):  # its errors have no base class of their own
            raise
        raise FormatError(f"the network does not fit the model's other files: {error}", source=source) from None
