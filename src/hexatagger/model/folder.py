"""A model folder, read without torch.

config.json        format version first, then the recipe, how pieces are cut, the encoder's own configuration, and the
                   temperatures of probabilities
labels.json        the strings that are predicted
tokenizer.json     of pretrained encoders
model.onnx         the network, and model.int8.onnx the same in 8 bits
model.safetensors  its weights, for training on
README.md          the model card
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import replacing
from hexatagger.model.config import CHARACTERS, PieceConfig, Recipe
from hexatagger.model.labels import Labels

FORMAT = 1
"""Version of the folder's format; a folder with a greater one was written by a newer hexatagger."""


@dataclass(frozen=True, slots=True)
class Temperature:
    """What scores are divided by for probabilities (see `calibrate`)."""

    tags: float = 1.0
    relations: float = 1.0
    """That of relations; where they are predicted jointly with the leaf tag, they are tags."""


@dataclass(slots=True)
class Folder:
    """What a model folder says besides the weights."""

    path: Path
    recipe: Recipe
    labels: Labels
    piece_config: PieceConfig | None
    """How words are cut into pieces; None for the encoder "characters"."""
    tokenizer: str | None
    """tokenizer.json; None for the encoder "characters"."""
    encoder_config: dict[str, Any] | None
    temperature: Temperature = Temperature()
    """1 where config.json says none."""


def read_folder(path: str | Path) -> Folder:
    """Read a model folder; what is missing, broken or too new is named."""
    place = Path(path)
    if not place.is_dir():
        raise ConfigError(f"model '{path}' is no folder: name the folder of a trained model")
    source = str(place / "config.json")
    values = _json(place / "config.json")
    version = values.get("format")
    if not isinstance(version, int):
        raise FormatError("says no format version: this is no model of hexatagger", source=source)
    if version > FORMAT:
        message = f"format {version} is newer than this hexatagger knows ({FORMAT}): install a newer one"
        raise FormatError(message, source=source)
    sections = {key: part for key, part in values.items() if key in ("model", "training", "card")}
    recipe = Recipe.from_dict(sections, source=source)
    labels = Labels.from_json(read_file(place / "labels.json"), source=str(place / "labels.json"))
    pretrained = recipe.model.encoder != CHARACTERS
    try:
        piece_config = PieceConfig.from_dict(values["pieces"]) if pretrained else None
    except (KeyError, TypeError) as error:
        raise FormatError(f"does not say how pieces are cut ({error})", source=source) from None
    tokenizer = read_file(place / "tokenizer.json") if pretrained else None
    temperature = _temperature(values.get("temperature", {}), source)
    return Folder(place, recipe, labels, piece_config, tokenizer, values.get("encoder"), temperature)


def _temperature(values: Any, source: str) -> Temperature:
    """Check the temperatures that config.json has."""
    if not isinstance(values, dict) or not values.keys() <= {"tags", "relations"}:
        raise FormatError("temperature is not an object of tags and relations", source=source)
    for name, value in values.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            message = f"temperature of {name} {json.dumps(value)} is not a number above 0"
            raise FormatError(f"{message}: hexatagger calibrate finds it again", source=source)
    return Temperature(**{name: float(value) for name, value in values.items()})


def store_temperature(path: Path, temperature: Temperature) -> None:
    """Write the temperatures into config.json, in place of any that are there."""
    values = _json(path / "config.json")
    with replacing(path / "config.json") as temporary:
        text = json.dumps(values | {"temperature": asdict(temperature)}, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def read_file(path: Path) -> str:
    """Read a text file of a model folder."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(
            f"cannot be read: {error.strerror}: the model folder is not whole", source=str(path)
        ) from None
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8: the model folder is broken", source=str(path)) from None


def _json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(read_file(path))
    except json.JSONDecodeError as error:
        raise FormatError(f"is not JSON: {error}", source=str(path)) from None
    if not isinstance(values, dict):
        raise FormatError("is not a JSON object", source=str(path))
    return values
