"""A model folder → a wheel that pip installs: `pip install hexatagger_fr-1.0-py3-none-any.whl`, and `fr` is a model.

The wheel holds the folder, an entry point that names it (see `registry`) and its card. It needs no build tools and no
network: a wheel is a zip file with a few text files beside the content (PEP 427, core metadata 2.1). The same folder
gives the same bytes, apart from differences between versions of zlib.
"""

import base64
import hashlib
import re
import zipfile
from pathlib import Path

from hexatagger import __version__
from hexatagger.errors import ConfigError
from hexatagger.formats.files import replacing
from hexatagger.model.card import read_card
from hexatagger.model.folder import README, RUNNING_FILES, read_file, read_folder
from hexatagger.model.registry import AUTO, GROUP

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?")
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the time of all files: the earliest that a zip file can have


def build_wheel(folder: Path, out: Path, *, name: str = "", version: str = __version__) -> Path:
    """Write the wheel of a model into the folder `out` and return its path. `name` is the language if none is given."""
    read_folder(folder)  # an error names what is wrong with it
    card = read_card(folder)
    if card is None or not card.licence:
        raise ConfigError(
            f"the card of {folder} states no licence, and a wheel is for others: state it in [card] of the recipe"
        )
    name = name or card.language
    if not _NAME.fullmatch(name) or name == AUTO:
        raise ConfigError(f"'{name}' cannot be the name of a model: use a-z, 0-9 and '-', or choose one with --name")
    if not _VERSION.fullmatch(version):
        raise ConfigError(f"version '{version}' is not like 1.0 or 1.0.post1")
    package = f"hexatagger_{name.replace('-', '_')}"
    about = f"{package}-{version}.dist-info"
    title = card.title or name
    metadata = {
        "Metadata-Version": "2.1",
        "Name": f"hexatagger-{name}",
        "Version": version,
        "Summary": f"{title}: a model for hexatagger, a dependency parser",
        "License": card.licence,
        "Requires-Python": ">=3.11",
        "Requires-Dist": f"hexatagger>={__version__}",
        "Description-Content-Type": "text/markdown",
    }
    wheel = {"Wheel-Version": "1.0", "Generator": "hexatagger", "Root-Is-Purelib": "true", "Tag": "py3-none-any"}
    files = {f"{package}/__init__.py": b""}
    for file in RUNNING_FILES:
        if (folder / file).is_file():
            files[f"{package}/{name}/{file}"] = (folder / file).read_bytes()
    files[f"{about}/METADATA"] = f"{_headers(metadata)}\n{read_file(folder / README)}".encode()
    files[f"{about}/WHEEL"] = _headers(wheel).encode()
    files[f"{about}/entry_points.txt"] = f"[{GROUP}]\n{name} = {package}\n".encode()
    record = "".join(f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    place = out / f"{package}-{version}-py3-none-any.whl"
    with replacing(place) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _BEGINNING)
            entry.external_attr = 0o100644 << 16  # a plain file that everyone may read
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return place


def _headers(values: dict[str, str]) -> str:
    """Write fields, one per line; a value may not break its line."""
    return "".join(f"{key}: {' '.join(value.split())}\n" for key, value in values.items())


def _digest(content: bytes) -> str:
    """Return a digest as RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode("ascii")
