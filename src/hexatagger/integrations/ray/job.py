"""A corpus parsed on a Ray cluster: files → blocks → shards, with one worker per core.

    manifest.json                                 what the shards were made with, see `manifest`
    a.txt.00000.conllu, a.txt.00001.conllu, …     one shard per block, see `shards`

Existing shards are not made again, so a job that was stopped continues when it is started again. Ray Data distributes
blocks to a pool of actors, which grows with the cluster, and redistributes a block if its worker or node dies; a shard
that is made twice is the same both times. Only names of blocks and counts go over the network: every node must see the
corpus, the model and the output folder under the same paths, and have this package.

Ray Data's own checkpoints are not used here: they resume by row, with files whose names, order and extent are Ray's,
and one unreadable record ends the job. Here shards follow the input file, and unreadable records are reported.
"""

import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hexatagger import __version__
from hexatagger.errors import ConfigError, HexataggerError
from hexatagger.formats.files import lock, writing
from hexatagger.integrations.ray.blocks import Block, Source, Span, check_source, cut_file, find_files
from hexatagger.integrations.ray.cluster import Actors, connected, plain_errors, pool
from hexatagger.integrations.ray.manifest import add_files, blocks_of, read_manifest, write_manifest
from hexatagger.integrations.ray.shards import (
    CorpusOptions,
    Tally,
    check_model,
    make_shard,
    read_problems,
    unfinished,
)
from hexatagger.model.registry import EMBEDDED, find_model
from hexatagger.parsing.fingerprint import model_digest
from hexatagger.parsing.parser import Parser, load

_LARGE = 1 << 24  # bytes of a file that is cut on the cluster, because every byte of it must be read
_SHOWN = 10  # problems quoted in a summary


@dataclass(frozen=True)
class Progress:
    """The progress of a job."""

    shards: int
    done: int
    """Including those of earlier runs."""
    words: int
    """Parsed by this run."""
    seconds: float
    left: float | None
    """Estimated seconds for the rest; None until something is done."""


@dataclass(slots=True)
class Summary:
    """The result of a job."""

    shards: int
    kept: int
    """Shards that existed already."""
    sentences: int = 0
    words: int = 0
    seconds: float = 0.0
    problems: int = 0
    """Records and sentences that could not be read or parsed, including those of earlier runs."""
    examples: list[str] = field(default_factory=list)
    """The first of them, with file and line; all are listed beside their shards."""
    failures: dict[str, str] = field(default_factory=dict)
    """Shards that could not be made and files that could not be read, with reasons; the next run tries again."""


def parse_files(
    files: str | Sequence[str],
    out: str | Path,
    *,
    model: str | Path = EMBEDDED,
    options: CorpusOptions | None = None,
    address: str | None = None,
    actors: Actors = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Summary:
    """Parse a corpus into the folder `out`, or continue a job that was started there.

    `files` are paths, patterns and folders. `address` names a cluster; without it (and RAY_ADDRESS) the cores of this
    machine are used. If Ray is initialised already, its cluster is used.
    """
    options, place = options or CorpusOptions(), Path(out).absolute()
    folder = find_model(model).absolute()
    check_model(folder, options.source, options.precision, options.parsing)
    digest = model_digest(folder)
    found = find_files([files] if isinstance(files, str) else files, outside=place)
    for path in found.values():
        check_source(path, options.source)
    known = read_manifest(place, options, digest)
    with ExitStack() as stack, writing(place):
        place.mkdir(parents=True, exist_ok=True)
        if not lock(stack.enter_context((place / ".lock").open("wb"))):
            raise ConfigError(f"another process is writing to {place}: wait for it, or name another output folder")

        def connect() -> None:  # only if there is work to do
            stack.enter_context(connected(address))

        failures = add_files(known, found, place, options, lambda paths: _cut(paths, options, connect))
        write_manifest(place, options, digest, known)
        blocks = blocks_of(known, found)
        todo = [block for block in blocks if not options.place(place, block).exists()]
        for block in todo:
            for path in unfinished(options.place(place, block)):
                path.unlink(missing_ok=True)  # left by an earlier run: not a try of this one
        summary = Summary(len(blocks), len(blocks) - len(todo), failures=failures)
        report(Progress(summary.shards, summary.kept, 0, 0.0, None))
        if todo:
            connect()
            name = EMBEDDED if str(model) == EMBEDDED else str(folder)
            job = Job(options, name, digest, str(place), __version__)
            _run(job, todo, actors, summary, report)
    for problem in read_problems(place, options, blocks):
        summary.problems += 1
        if summary.problems <= _SHOWN:
            summary.examples.append(f"{problem['file']}:{problem['line']}: {problem['message']}")
    return summary


def _cut(paths: list[Path], options: CorpusOptions, connect: Callable[[], None]) -> Iterable[list[Span] | str]:
    """Cut files into blocks, the large ones on the cluster."""
    sizes = {path: path.stat().st_size for path in paths}
    size = options.block_size(sum(sizes.values()))
    large = [path for path in paths if path.suffix != ".parquet" and sizes[path] > _LARGE]
    made: dict[Path, list[Span] | str] = {}
    if large:
        connect()
        import ray

        cut = ray.remote(num_cpus=1)(_cut_one)
        with plain_errors():
            found = ray.get([cut.remote(path, options.source, size) for path in large])
        made = dict(zip(large, found, strict=True))
    return [made[path] if path in made else _cut_one(path, options.source, size) for path in paths]


def _cut_one(path: Path, source: Source, size: int) -> list[Span] | str:
    """Cut a file, or return why it cannot be read."""
    try:
        return cut_file(path, source, size)
    except HexataggerError as error:
        return f"{error} (on {socket.gethostname()})"


class Job(NamedTuple):
    """What every worker must know and agree with."""

    options: CorpusOptions
    model: str
    digest: str
    out: str
    version: str


def _run(
    job: Job, blocks: Sequence[Block], actors: Actors, summary: Summary, report: Callable[[Progress], None]
) -> None:
    """Make shards and add up their tallies."""
    begin = time.monotonic()
    with plain_errors():
        for done, tally in enumerate(_tallies(job, blocks, actors), 1):
            summary.sentences += tally.sentences
            summary.words += tally.words
            summary.seconds = time.monotonic() - begin
            if tally.failure:
                summary.failures[tally.shard] = tally.failure
            left = summary.seconds / done * (len(blocks) - done)
            report(Progress(summary.shards, summary.kept + done, summary.words, summary.seconds, left))


def _tallies(job: Job, blocks: Sequence[Block], actors: Actors) -> Iterator[Tally]:
    """Distribute blocks to workers; yield the tallies as shards are finished."""
    import ray.data

    # One block per task: that is what is lost with a worker, and what Ray Data retries as often as needed.
    items = [{**block._asdict(), "span": list(block.span)} for block in blocks]
    dataset = ray.data.from_items(items, override_num_blocks=len(items))
    made = dataset.map(Worker, fn_constructor_args=(job,), num_cpus=1, compute=pool(actors, len(items)))
    made.context.enable_progress_bars = False
    for batch in made.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield from (Tally(**row) for row in batch.to_pylist())


class Worker:
    """The work of an actor: make the shards of blocks with its own parser."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._parser: Parser | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Make the shard of a block; return its tally."""
        block = Block(row["name"], row["path"], row["number"], Span(*row["span"]))
        return asdict(make_shard(self._load(), block, self._job.options, Path(self._job.out)))

    def _load(self) -> Parser:
        """Load the parser when it is first needed; a node that would parse differently ends the job."""
        if self._parser is None:
            folder, host = find_model(self._job.model), socket.gethostname()
            if __version__ != self._job.version:
                wanted = self._job.version
                raise ConfigError(f"{host} has hexatagger {__version__}, not {wanted}: install that on every node")
            if not folder.is_dir():
                raise ConfigError(f"{host} does not see the model {folder}: put it where every node sees it")
            if model_digest(folder) != self._job.digest:
                raise ConfigError(f"{host} has another model in {folder}: put the same where every node sees it")
            self._parser = load(folder, precision=self._job.options.precision, threads=1)
        return self._parser
