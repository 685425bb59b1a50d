"""Open networks with ONNX Runtime, for the parser and the segmenter.

A session uses one thread per call: see `threads` for how a program uses several cores.
"""

import mmap
import os
import re
from collections.abc import Sequence
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
    try:
        import onnxruntime
    except ImportError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # subtle: Ctrl-C while its C code is initialised
            raise KeyboardInterrupt from None
        raise
    return cast("ModuleType", onnxruntime)


# subtle: `location` as a protobuf string in field 1, however its tag and its length are padded
_EXTERNAL = re.compile(rb"(?:\x0a|\x8a\x80*\x00)(?:\x08|\x88\x80*\x00)location")


def _check_whole(model: bytes | Path, source: str) -> None:
    """Raise FormatError if a network keeps weights in other files: ours never do, and they could be any file."""
    if isinstance(model, bytes):
        external = _EXTERNAL.search(model)
    else:
        try:
            with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                external = _EXTERNAL.search(data) if data.find(b"location") >= 0 else None
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise FormatError(f"cannot be loaded: {error}", source=source) from None
    if external:
        raise FormatError("keeps data in another file, which is not allowed: export the model again", source=source)


def open_session(
    model: bytes | Path, *, threads: int = 1, providers: Sequence[str] | None = None, source: str | None = None
) -> "InferenceSession":
    """Open a network, given as a file or as bytes, for so many threads that call it; `source` is its name in errors."""
    onnxruntime = runtime()
    available = onnxruntime.get_available_providers()
    for name in providers or ():
        if name not in available:
            raise ConfigError(f"provider '{name}' is not in this onnxruntime, which has: {', '.join(available)}")
    _check_whole(model, source or str(model))
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
        raise FormatError(f"cannot be loaded: {error}", source=source or str(model)) from None


def run_session(session: "InferenceSession", names: Sequence[str], inputs: dict[str, Any], *, source: str) -> list[Any]:
    """Return the named outputs of a network; FormatError if it does not fit its inputs, as with ids that it lacks."""
    try:
        return list(session.run(list(names), inputs))
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):  # its errors have no base class of their own
            raise
        raise FormatError(f"the network does not fit the model's other files: {error}", source=source) from None
