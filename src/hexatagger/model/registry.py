"""Find a model by name or path: one rule for every command, the library, the service and the integrations.

1. a path: anything with a separator in it, or a model folder of that name in the working directory;
2. NAME/ in one of the folders that the environment variable HEXATAGGER_MODELS names, separated as in PATH;
3. an entry point NAME of the group `hexatagger.models`, from any installed distribution;
4. `en`, the model inside this package.

A folder is a model folder if it has a config.json: a folder `fr` that holds something else does not hide the model
`fr`. `./fr` is always the path. Nothing is imported or downloaded to find a model.
"""

import importlib.util
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hexatagger.errors import ConfigError
from hexatagger.model.folder import CONFIG

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

EMBEDDED = "en"  # name of the model inside the package
EMBEDDED_FOLDER = Path(__file__).parents[1] / "models" / EMBEDDED
AUTO = "auto"  # stands for the installed model whose language the text is in: see `language`
FOLDERS = "HEXATAGGER_MODELS"
GROUP = "hexatagger.models"
"""The group of entry points. `NAME = PACKAGE` says that the folder NAME in the top-level package PACKAGE is a model.

The name of the folder is not in the value, because names like `it-old` cannot be part of a module's name.
"""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that has a name here."""

    name: str
    folder: Path
    origin: str
    """Where it comes from: a distribution with its version, or HEXATAGGER_MODELS."""

    @property
    def elsewhere(self) -> str:
        """What another process, perhaps on another machine, finds the model by: variables may differ there."""
        return str(self.folder.absolute()) if self.origin == FOLDERS else self.name


def installed() -> dict[str, InstalledModel]:
    """Return all models that have a name, by name, in alphabetical order."""
    from hexatagger import __version__

    found: dict[str, InstalledModel] = {}
    for place in filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)):
        for path in Path(place).glob(f"*/{CONFIG}"):
            found.setdefault(path.parent.name, InstalledModel(path.parent.name, path.parent, FOLDERS))
    for model in _distributed():
        found.setdefault(model.name, model)
    if _is_model(EMBEDDED_FOLDER):
        found.setdefault(EMBEDDED, InstalledModel(EMBEDDED, EMBEDDED_FOLDER, f"hexatagger {__version__}"))
    return dict(sorted(found.items()))


def find_model(model: str | Path) -> Path:
    """Return the folder of a model. A path is returned as it is, whether it exists or not; an unknown name is an error.

    >>> find_model("en").name, str(find_model("runs/mine"))
    ('en', 'runs/mine')
    """
    found = _find(str(model))
    return found.folder if isinstance(found, InstalledModel) else found


def find_elsewhere(model: str | Path) -> str:
    """Return what another process, perhaps on another machine, finds a model by: its name, or an absolute path."""
    found = _find(str(model))
    return found.elsewhere if isinstance(found, InstalledModel) else str(found.absolute())


def _find(model: str) -> InstalledModel | Path:
    path = Path(model)
    if model in ("", ".", "..") or os.sep in model or (os.altsep and os.altsep in model) or _is_model(path):
        return path
    if model == AUTO:
        raise ConfigError(f"model '{AUTO}' needs a text to choose by: name a model here")
    models = installed()
    if model in models:
        return models[model]
    here = f"the folder {model} here has no {CONFIG}; " if path.is_dir() else ""
    raise ConfigError(
        f"there is no model '{model}': {here}installed: {', '.join(models) or 'none'}. More: pip install ./models in a "
        f"checkout of hexatagger, or the wheel of a model; or name a folder, or set {FOLDERS}"
    )


@cache
def _distributed() -> list[InstalledModel]:
    """Return the models of installed distributions. Asking all distributions takes a while, so it is done once."""
    found = []
    for folder in _distributions():
        from importlib.metadata import Distribution  # slow to import, and most installations have no such models

        for point in Distribution.at(folder).entry_points.select(group=GROUP):
            if (model := _folder_of(point)) is not None:
                origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
                found.append(InstalledModel(point.name, model, origin))
    return found


def _distributions() -> list[Path]:
    """Return the folders with the metadata of distributions that have entry points of the group.

    `importlib.metadata.entry_points` reads those of all distributions: a tenth of the time to the first tree. What is
    installed as an archive has no model folders, so it is left out.
    """
    found = []
    for place in filter(os.path.isdir, dict.fromkeys(each or "." for each in sys.path)):
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    with suppress(OSError):
                        if GROUP.encode() in Path(entry.path, "entry_points.txt").read_bytes():
                            found.append(Path(entry.path))
    return found


def _is_model(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def _folder_of(point: "EntryPoint") -> Path | None:
    """Return the folder that an entry point names, without importing anything; None if it is not there."""
    try:
        spec = importlib.util.find_spec(point.value)  # subtle: a top-level package is found, not imported
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec and "." not in point.value else None
    return next((folder for place in places or () if _is_model(folder := Path(place) / point.name)), None)
