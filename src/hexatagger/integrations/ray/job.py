"""A corpus parsed on a Ray cluster: files → blocks → shards, by as many workers as there are cores.

    manifest.json                                 what the shards were made with, see `manifest`
    a.txt.00000.conllu, a.txt.00001.conllu, …     a shard a block, see `shards`

A shard that is there is not made again, so a job that was stopped goes on where it was when it is started again. Ray
Data deals blocks out to a pool of actors, which grows with the cluster, and deals a block out again if its worker or
node dies; a shard that is made twice is the same both times. Only the names of blocks and counts go over the network:
every node must see the corpus, the model and the output folder under the same paths, and have this package.
"""

import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexatagger import __version__
from hexatagger.errors import ConfigError, HexataggerError
from hexatagger.integrations.ray.blocks import Block, Source, Span, check_source, cut_file, find_files
from hexatagger.integrations.ray.cluster import Actors, connected, plain_errors, pool
from hexatagger.integrations.ray.manifest import add_files, blocks_of, read_manifest, write_manifest
from hexatagger.integrations.ray.shards import (
    Settings,
    Tally,
    check_model,
    make_shard,
    model_digest,
    read_problems,
    unfinished,
)
from hexatagger.model.registry import EMBEDDED, find_model
from hexatagger.parsing.parser import Parser, load

if TYPE_CHECKING:
    from pyarrow import Table

_LARGE = 1 << 24  # bytes of a file that another process may as well cut
_SHOWN = 10  # problems that a summary has


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    shards: int
    done: int
    """Those of earlier runs included."""
    words: int
    """Parsed by this run."""
    seconds: float
    left: float | None
    """Seconds that the rest will take; None as long as nothing is done."""


@dataclass(slots=True)
class Summary:
    """What came of a job."""

    shards: int
    kept: int
    """Shards that were there already."""
    sentences: int = 0
    words: int = 0
    seconds: float = 0.0
    problems: int = 0
    """Records and sentences that could not be read or parsed, those of earlier runs included."""
    examples: list[str] = field(default_factory=list)
    """The first of them, with file and line; all are beside their shards."""
    failures: dict[str, str] = field(default_factory=dict)
    """Shards that could not be made, and files that could not be read, and why: another run tries again."""


def parse_files(
    files: str | Sequence[str],
    out: str | Path,
    *,
    model: str | Path = EMBEDDED,
    settings: Settings | None = None,
    address: str | None = None,
    actors: Actors = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Summary:
    """Parse a corpus into the folder `out`, and go on if that was begun already.

    `files` are paths, patterns and folders; `address` is that of a cluster: without one (or RAY_ADDRESS) the cores of
    this machine are used. If Ray is initialised already, that cluster is used.
    """
    settings, place = settings or Settings(), Path(out).absolute()
    folder = find_model(model).absolute()
    check_model(folder, settings.source, settings.precision, settings.options)
    digest = model_digest(folder)
    found = find_files([files] if isinstance(files, str) else files, outside=place)
    for path in found.values():
        check_source(path, settings.source)
    known = read_manifest(place, settings, digest)
    with ExitStack() as stack:

        def connect() -> None:  # only if there is something to do
            stack.enter_context(connected(address))

        failures = add_files(known, found, place, settings, lambda paths: _cut(paths, settings, connect))
        write_manifest(place, settings, digest, known)
        blocks = blocks_of(known, found)
        todo = [block for block in blocks if not settings.place(place, block).exists()]
        for block in todo:
            for path in unfinished(settings.place(place, block)):
                path.unlink(missing_ok=True)  # of an earlier run: it does not count as a try of this one
        summary = Summary(len(blocks), len(blocks) - len(todo), failures=failures)
        report(Progress(summary.shards, summary.kept, 0, 0.0, None))
        if todo:
            connect()
            name = EMBEDDED if str(model) == EMBEDDED else str(folder)
            worker = {"settings": asdict(settings), "model": name, "digest": digest, "out": str(place)}
            _run({**worker, "version": __version__}, todo, actors, summary, report)
    for problem in read_problems(place, settings, blocks):
        summary.problems += 1
        if summary.problems <= _SHOWN:
            summary.examples.append(f"{problem['file']}:{problem['line']}: {problem['message']}")
    return summary


def _cut(paths: list[Path], settings: Settings, connect: Callable[[], None]) -> Iterable[list[Span] | str]:
    """Cut files: the large ones on the cluster, as every byte of them has to be read."""
    sizes = {path: path.stat().st_size for path in paths}
    size = settings.block_size(sum(sizes.values()))
    large = [path for path in paths if path.suffix != ".parquet" and sizes[path] > _LARGE]
    made: dict[Path, list[Span] | str] = {}
    if large:
        connect()
        import ray

        cut = ray.remote(num_cpus=1)(_cut_one)
        with plain_errors():
            found = ray.get([cut.remote(path, settings.source, size) for path in large])
        made = dict(zip(large, found, strict=True))
    return [made[path] if path in made else _cut_one(path, settings.source, size) for path in paths]


def _cut_one(path: Path, source: Source, size: int) -> list[Span] | str:
    """Cut a file, or say why it cannot be read."""
    try:
        return cut_file(path, source, size)
    except HexataggerError as error:
        return f"{error} (on {socket.gethostname()})"


def _run(
    worker: dict[str, Any],
    blocks: Sequence[Block],
    actors: Actors,
    summary: Summary,
    report: Callable[[Progress], None],
) -> None:
    """Make shards and count what comes back."""
    begin = time.monotonic()
    with plain_errors():
        for done, tally in enumerate(_tallies(worker, blocks, actors), 1):
            summary.sentences += tally.sentences
            summary.words += tally.words
            summary.seconds = time.monotonic() - begin
            if tally.failure:
                summary.failures[tally.shard] = tally.failure
            left = summary.seconds / done * (len(blocks) - done)
            report(Progress(summary.shards, summary.kept + done, summary.words, summary.seconds, left))


def _tallies(worker: dict[str, Any], blocks: Sequence[Block], actors: Actors) -> Iterator[Tally]:
    """Deal blocks out to workers; yield what they made as they are done."""
    import ray.data

    # A block a task: that is what is lost with a worker, and what Ray Data gives a new one, as often as it takes.
    items = [{"block": json.dumps(block)} for block in blocks]
    dataset = ray.data.from_items(items, override_num_blocks=len(items))
    made = dataset.map_batches(
        Worker,
        fn_constructor_args=(worker,),
        batch_size=None,
        batch_format="pyarrow",
        num_cpus=1,
        compute=pool(actors, len(items)),
    )
    made.context.enable_progress_bars = False
    for batch in made.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        for values in batch["tally"].to_pylist():
            yield Tally(**json.loads(values))


class Worker:
    """What an actor does: it makes shards of blocks, with a parser of its own."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._settings = Settings(**job["settings"])
        self._parser: Parser | None = None

    def __call__(self, batch: "Table") -> dict[str, list[str]]:
        """Make the shards of some blocks; each is told of by a Tally."""
        tallies = []
        for values in batch["block"].to_pylist():
            name, path, number, span = json.loads(values)
            block = Block(name, path, number, Span(*span))
            tallies.append(make_shard(self._load(), block, self._settings, Path(self._job["out"])))
        return {"tally": [json.dumps(asdict(tally)) for tally in tallies]}

    def _load(self) -> Parser:
        """Load the parser when it is first needed; a node that would parse otherwise than the others ends the job."""
        if self._parser is None:
            folder, host = find_model(self._job["model"]), socket.gethostname()
            if __version__ != self._job["version"]:
                wanted = self._job["version"]
                raise ConfigError(f"{host} has hexatagger {__version__}, not {wanted}: install that on every node")
            if not folder.is_dir():
                raise ConfigError(f"{host} does not see the model {folder}: put it where every node sees it")
            if model_digest(folder) != self._job["digest"]:
                raise ConfigError(f"{host} has another model in {folder}: put the same where every node sees it")
            self._parser = load(folder, precision=self._settings.precision, threads=1)
        return self._parser
