"""A corpus parsed on a Ray cluster: files → blocks → shards, with one worker per core.

Existing shards are not made again. Ray Data distributes the blocks of the others to a pool of actors, and again if a
worker or node dies. Only names of blocks and counts go over the network. `manifest.json`, written before the first
shard, holds the options, a digest of the model, the version of this package, and the size, time and blocks of every
file; a run that disagrees is refused.

Ray Data's own checkpoints are not used: they resume by row, into files whose names, order and extent are Ray's.
"""

import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hexatagger import __version__
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import lock, open_output, writing
from hexatagger.integrations.ray.blocks import Block, check_source, cut_file, find_files
from hexatagger.integrations.ray.cluster import connected, find_checked, plain_errors, pool
from hexatagger.integrations.ray.shards import CorpusOptions, Tally, make_shard, read_problems, unfinished
from hexatagger.model.registry import EMBEDDED, find_model
from hexatagger.parsing.fingerprint import model_digest
from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser

MANIFEST = "manifest.json"
_SHOWN = 10  # problems quoted in a summary

Files = dict[str, dict[str, Any]]
"""The files of a corpus by name: path, size, time, blocks."""


@dataclass(slots=True)
class Summary:
    """The result of a job, or its progress so far."""

    shards: int
    kept: int
    """Shards that existed already."""
    done: int = 0
    """Shards that this run has made."""
    sentences: int = 0
    words: int = 0
    seconds: float = 0.0
    problems: int = 0
    """Records and sentences that could not be read or parsed, including those of earlier runs; counted at the end."""
    examples: list[str] = field(default_factory=list)
    """The first of them, with file and line; all are listed beside their shards."""
    foreign: dict[str, str] = field(default_factory=dict)
    """Shards of this run whose text does not look like the language of the model, with what it looks like."""
    failures: dict[str, str] = field(default_factory=dict)
    """Shards that could not be made and files that could not be read, with reasons; the next run tries again."""


def parse_files(
    files: str | Sequence[str],
    out: str | Path,
    *,
    model: str | Path = EMBEDDED,
    options: CorpusOptions | None = None,
    address: str | None = None,
    actors: int | None = None,
    report: Callable[[Summary], None] = lambda summary: None,
) -> Summary:
    """Parse a corpus into the folder `out`, or continue a job that was started there.

    `files` are paths, patterns and folders. `address` names a cluster; without it (and RAY_ADDRESS) the cores of this
    machine are used. If Ray is initialised already, its cluster is used. `report` is called after every shard.
    """
    options, place = options or CorpusOptions(), Path(out).absolute()
    name = find_checked(model, options.source, options.precision, options.parsing)
    digest = model_digest(find_model(name))
    found = find_files([files] if isinstance(files, str) else files, outside=place)
    for path in found.values():
        check_source(path, options.source)
    known = read_manifest(place, options, digest)
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
        with (place / ".lock").open("wb") as held:
            if not lock(held):
                raise ConfigError(f"another process is writing to {place}: wait for it, or name another output folder")
            failures = add_files(known, found, place, options)
            write_manifest(place, options, digest, known)
            blocks = blocks_of(known, found)
            todo = [block for block in blocks if not (place / options.shard(block.name, block.number)).exists()]
            for block in todo:
                for path in unfinished(place / options.shard(block.name, block.number)):
                    path.unlink(missing_ok=True)  # left by an earlier run: not a try of this one
            summary = Summary(len(blocks), len(blocks) - len(todo), failures=failures)
            report(summary)
            if todo:
                begin = time.monotonic()
                with connected(address), plain_errors():
                    for tally in _tallies(todo, actors, (options, name, digest, str(place), __version__)):
                        summary.done += 1
                        summary.sentences += tally.sentences
                        summary.words += tally.words
                        summary.seconds = time.monotonic() - begin
                        if tally.foreign:
                            summary.foreign[tally.shard] = tally.foreign
                        if tally.failure:
                            summary.failures[tally.shard] = tally.failure
                        report(summary)
    for problem in read_problems(place, options, blocks):
        summary.problems += 1
        if summary.problems <= _SHOWN:
            summary.examples.append(f"{problem['file']}:{problem['line']}: {problem['message']}")
    return summary


def _tallies(blocks: Sequence[Block], actors: int | None, job: tuple[Any, ...]) -> Iterator[Tally]:
    """Distribute blocks to workers; yield the tallies as shards are finished."""
    import ray.data

    # One block per task: that is what is lost with a worker, and what Ray Data retries as often as needed.
    dataset = ray.data.from_items([block._asdict() for block in blocks], override_num_blocks=len(blocks))
    made = dataset.map(Worker, fn_constructor_args=job, num_cpus=1, compute=pool(actors, len(blocks)))
    made.context.enable_progress_bars = False
    for batch in made.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield from (Tally(**row) for row in batch.to_pylist())


def read_manifest(out: Path, options: CorpusOptions, digest: str) -> Files:
    """Return the files that were cut already; raise ConfigError if they were parsed differently."""
    path = out / MANIFEST
    if out.is_file():
        raise ConfigError(f"{out} is a file: name a folder for the shards")
    try:
        values = json.loads(path.read_bytes())
        files: Files = values["files"]
        made = {"version": values["version"], "model": values["model"], **values["settings"]}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        message = f"is not the manifest of a corpus ({error}): name another output folder"
        raise FormatError(message, source=str(path)) from None
    # subtle: through JSON, as a tuple would not equal the list that was read
    asked = json.loads(json.dumps({"version": __version__, "model": digest, **asdict(options)}))
    for name in asked:
        if made.get(name) != asked[name]:
            was, now = (str(each)[:16] if name == "model" else each for each in (made.get(name), asked[name]))
            message = f"the shards in {out} were made with {name} {was}, not {now}: name another output folder"
            raise ConfigError(message)
    return files


def write_manifest(out: Path, options: CorpusOptions, digest: str, files: Files) -> None:
    """Write the manifest."""
    values = {"version": __version__, "model": digest, "settings": asdict(options), "files": files}
    with open_output(out / MANIFEST) as stream:
        stream.write(json.dumps(values, ensure_ascii=False) + "\n")


def add_files(files: Files, found: Mapping[str, Path], out: Path, options: CorpusOptions) -> dict[str, str]:
    """Cut new files into blocks and add them to the manifest; return the reasons for those that cannot be read."""
    new: Files = {}
    for name, path in found.items():
        status = path.stat()
        entry = {"path": str(path.absolute()), "size": status.st_size, "modified": status.st_mtime_ns}
        known = files.get(name)
        if known and (known["size"], known["modified"]) == (entry["size"], entry["modified"]):
            known["path"] = entry["path"]
            continue
        for number in range(len(known["blocks"]) if known else 1):
            shard = out / options.shard(name, number)
            if shard.exists() and known:
                raise ConfigError(f"{path} has changed since {shard} was made: delete its shards to parse it again")
            if shard.exists():
                raise ConfigError(f"{shard} exists, but is not in {out / MANIFEST}: name another output folder")
        new[name] = entry
    failures: dict[str, str] = {}
    size = options.block_size(sum(entry["size"] for entry in new.values()))
    for name, entry in new.items():
        files.pop(name, None)
        try:
            blocks = cut_file(name, found[name], options.source, size)
        except FormatError as error:
            failures[name] = str(error)
        else:
            files[name] = {**entry, "blocks": [block[3:] for block in blocks]}
    return failures


def blocks_of(files: Files, names: Iterable[str]) -> list[Block]:
    """Return the blocks of files, in order."""
    chosen = [(name, files[name]) for name in names if name in files]
    return [
        Block(name, entry["path"], number, *span)
        for name, entry in chosen
        for number, span in enumerate(entry["blocks"])
    ]


class Worker:
    """The work of an actor: make the shards of blocks with its own parser."""

    def __init__(self, options: CorpusOptions, model: str, digest: str, out: str, version: str) -> None:
        self._options, self._model, self._digest, self._out, self._version = options, model, digest, out, version
        self._parser: Parser | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Make the shard of a block; return its tally."""
        self._parser = self._parser or self._load()
        return make_shard(self._parser, Block(**row), self._options, Path(self._out))._asdict()

    def _load(self) -> Parser:
        """Load the parser; a node that would parse differently ends the job."""
        folder, host = find_model(self._model), socket.gethostname()
        if __version__ != self._version:
            raise ConfigError(f"{host} has hexatagger {__version__}, not {self._version}: install that on every node")
        if not folder.is_dir():
            raise ConfigError(f"{host} does not see the model {folder}: put it where every node sees it")
        if model_digest(folder) != self._digest:
            raise ConfigError(f"{host} has another model in {folder}: put the same where every node sees it")
        return load(folder, precision=self._options.precision, threads=1)
