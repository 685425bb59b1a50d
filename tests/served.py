"""A service for tests: a real Parser and a real Segmenter with fake networks.

The fake networks look only at the letters of a word and of the one before it, so the same words always have the same
tree. As a program, this serves until it is stopped: `python tests/served.py --port 0`.
"""

import argparse
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from hexatagger.model.config import Recipe
from hexatagger.model.folder import ModelFolder
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.parsing.network import OnnxNetwork
from hexatagger.parsing.parser import Parser
from hexatagger.parsing.pieces import make_cutter
from hexatagger.segment.alphabet import SegmenterSettings
from hexatagger.segment.multiword import Rewrites
from hexatagger.segment.segmenter import Segmenter
from hexatagger.server import ServerOptions, create_app, open_socket, serve

RECIPE = '[model]\nencoder = "characters"\nchar_buckets = 500\ntasks = ["upos"]\n'
LABELS = Labels(LabelSet(["root", "nsubj", "obj", "det", "punct"]), tasks={"upos": LabelSet(["NOUN", "VERB", "DET"])})


@dataclass
class _Name:
    name: str
    shape: tuple[int, ...] = ()


class Network:
    """A fake network of the parser. A call takes `delay` seconds; `calls` holds the sentences per call."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay, self.calls = delay, list[int]()

    def get_inputs(self) -> list[_Name]:
        return [_Name("pieces"), _Name("lengths")]

    def get_outputs(self) -> list[_Name]:
        return [_Name(name) for name in ("leaf", "internal", "relation", "root", "mark", "upos", "relations")]

    def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
        time.sleep(self.delay)
        words = inputs["pieces"][..., 0].astype(np.float64)  # the id of the whole word: (batch, words)
        self.calls.append(len(words))
        before = np.pad(words, ((0, 0), (1, 0)))[:, :-1]
        waves = np.stack([3 * np.sin(words * each + before) for each in range(1, 13)], -1)
        relations = waves[..., None, 6:11] - np.log(np.exp(waves[..., None, 6:11]).sum(-1, keepdims=True))
        made = {
            "leaf": waves[..., :2],
            "internal": waves[..., 2:6],
            "relation": 1 + relations[..., 1:].argmax(-1),
            "root": np.zeros((*words.shape, 1), np.int64),
            "mark": np.zeros(words.shape, np.int64),
            "upos": words.astype(np.int64) % 3,
            "relations": relations.astype(np.float32),
        }
        return [made[name].astype(np.float32) if name in ("leaf", "internal") else made[name] for name in names]


class Rules:
    """A fake network of the segmenter: a run of letters is a token, a full stop ends a sentence."""

    def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
        ids = inputs["ids"]
        letter = ids == 3
        end = ~(letter & np.pad(letter, ((0, 0), (0, 1)))[:, 1:])
        scores = np.stack([end, ids > 5, np.zeros_like(end), np.zeros_like(end)], -1)
        return [np.where(scores, 1.0, -1.0).astype(np.float32)]


def make_parser(network: Network | None = None, *, cuts_text: bool = True) -> Parser:
    """Make a parser with fake networks."""
    folder = ModelFolder(Path("no-such-folder"), Recipe.from_toml(RECIPE), LABELS, None, None, None)
    cutter = make_cutter(folder.recipe.model, None, None)
    parser = Parser(OnnxNetwork(folder, cast("Any", network or Network()), cutter))
    if cuts_text:
        settings = SegmenterSettings(characters=".", categories=("Ll", "Po", "So"), radius=3)
        vars(parser)["segmenter"] = Segmenter(cast("Any", Rules()), settings, Rewrites({}, {}))
    return parser


@contextmanager
def serving(
    options: ServerOptions,
    network: Network | None = None,
    folders: Mapping[str, Path] | None = None,
    *,
    real: bool = False,
) -> Iterator[str]:
    """Serve in a thread of this process; yields the address. `folders` have the profiles of the models' languages.

    With `real`, the models are those that the options name, with their networks.
    """
    import uvicorn

    from hexatagger.server.run import HeaderTimeout

    listener = open_socket(options)
    parsers = {} if real else {name: make_parser(network) for name in options.models}
    for name, folder in (folders or {}).items():
        parsers[name].folder.path = folder
    app = create_app(options, parsers=parsers)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on", http=HeaderTimeout))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def main() -> None:
    """Serve as a program."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--delay", type=float, default=0.0)
    arguments.add_argument("--timeout", type=float, default=30.0)
    given = arguments.parse_args()
    options = ServerOptions(port=given.port, batch=4, timeout=given.timeout)
    listener = open_socket(options)
    print(listener.getsockname()[1], flush=True)
    serve(options, listener, parsers={"en": make_parser(Network(given.delay))})
    sys.exit(0)


if __name__ == "__main__":
    main()
