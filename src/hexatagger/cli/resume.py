"""Output that survives an interruption: `OUTPUT.partial` grows, and gets its name when it is complete.

`OUTPUT.partial.json` records what it was made from and with; a run with another input, model or option is refused.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import lock, open_output, replacing, writing


@contextmanager
def open_resumable(output: str, made_with: dict[str, Any], *, json_lines: bool) -> Iterator[tuple[IO[str], int]]:
    """Open the partial file of an output; give the stream and the number of complete sentences in it.

    A sentence ends with an empty line, or with any line in `json_lines`. An incomplete one is cut off.
    """
    if Path(output).is_dir():
        raise FormatError("is a directory: name a file", source=output)
    if Path(output).exists() and not Path(output).is_file():  # a device would be replaced
        raise FormatError("is a device or pipe: --resume needs a plain file", source=output)
    partial, record = Path(f"{output}.partial"), Path(f"{output}.partial.json")
    with writing(partial), partial.open("ab+") as raw:
        # subtle: another process may have finished between opening and locking, and renamed the file
        if not lock(raw) or not (partial.exists() and os.path.samestat(os.fstat(raw.fileno()), partial.stat())):
            raise ConfigError(f"{partial} is being written by another process: wait for it, or name another output")
        if partial.stat().st_size:
            _check_record(partial, record, made_with)
        else:
            with open_output(record) as file:
                file.write(json.dumps(made_with, ensure_ascii=False, indent=2) + "\n")
        done = _cut_off_incomplete(raw, json_lines=json_lines)
        with open(raw.fileno(), "a", encoding="utf-8", newline="\n", closefd=False) as stream:
            yield stream, done
        with replacing(output) as temporary:
            partial.replace(temporary)
        record.unlink(missing_ok=True)


def _check_record(partial: Path, record: Path, made_with: dict[str, Any]) -> None:
    """Raise ConfigError unless the partial file was made from the same input, with the same model and options."""
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FormatError("does not say what it was made with: delete it to start again", source=str(partial)) from None
    asked = json.loads(json.dumps(made_with))
    differing = [name for name in asked if not isinstance(found, dict) or found.get(name) != asked[name]]
    if differing:
        names = " and ".join(differing)
        raise ConfigError(f"{partial} is from another run, with different {names}: delete it, or name another output")


def _cut_off_incomplete(raw: IO[bytes], *, json_lines: bool) -> int:
    """Truncate a partial file after its last complete sentence; return the number of sentences."""
    count = place = whole = 0
    raw.seek(0)
    for line in raw:
        place += len(line)
        if line.endswith(b"\n") and (json_lines or line == b"\n"):
            count, whole = count + 1, place
    raw.truncate(whole)
    raw.seek(0, os.SEEK_END)
    return count
