"""What the shards in a folder were made with: `manifest.json`, written before the first of them.

It holds the options, a digest of the model, the version of this package, and the size, time and blocks of every file.
Shards made in different ways do not belong together, so a run that disagrees is refused. Files may join or leave the
corpus at any time.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hexatagger import __version__
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import replacing
from hexatagger.integrations.ray.blocks import Block, Span
from hexatagger.integrations.ray.shards import CorpusOptions

FORMAT = 1
"""Version of the manifest's format."""
NAME = "manifest.json"

Files = dict[str, dict[str, Any]]
"""The files of a corpus by name: path, size, time, blocks."""
Cut = Callable[[list[Path]], Iterable[list[Span] | str]]
"""Cuts files into spans; a string instead is the reason why a file cannot be read."""


def read_manifest(out: Path, options: CorpusOptions, digest: str) -> Files:
    """Return the files that were cut already; raise ConfigError if they were parsed differently."""
    path = out / NAME
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
    values = {"format": FORMAT, "version": __version__, "model": digest, "settings": asdict(options), "files": files}
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / NAME) as temporary:
        temporary.write_text(json.dumps(values, ensure_ascii=False) + "\n", encoding="utf-8")


def add_files(files: Files, found: Mapping[str, Path], out: Path, options: CorpusOptions, cut: Cut) -> dict[str, str]:
    """Add new files to the manifest; return the reasons for those that cannot be read."""
    new: dict[str, dict[str, Any]] = {}
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
                raise ConfigError(f"{shard} exists, but is not in {out / NAME}: name another output folder")
        new[name] = entry
    failures: dict[str, str] = {}
    for (name, entry), spans in zip(new.items(), cut([found[name] for name in new]), strict=True):
        if isinstance(spans, str):
            failures[name] = spans
            files.pop(name, None)
        else:
            files[name] = {**entry, "blocks": spans}
    return failures


def blocks_of(files: Files, names: Iterable[str]) -> list[Block]:
    """Return the blocks of files, in order."""
    chosen = [(name, files[name]) for name in names if name in files]
    return [
        Block(name, entry["path"], number, Span(*span))
        for name, entry in chosen
        for number, span in enumerate(entry["blocks"])
    ]
