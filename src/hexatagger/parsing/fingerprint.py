"""Digests that tell whether two runs would give the same result."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from hexatagger.model.folder import PARSING_FILES


def model_digest(folder: Path) -> str:
    """Return a digest of the files in a model folder that parsing depends on."""
    digest = hashlib.sha256()
    for path in sorted(folder / name for name in PARSING_FILES):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def input_digest(texts: Sequence[str], files: Sequence[Path]) -> str:
    """Return a digest of the input of a run: texts, and the content of files."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode("utf-8")).digest())
    for path in files:
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
