"""A model folder, read without torch. This is the only module that knows the names of its files.

What running needs:
config.json        format version first, then the recipe, how words are cut into pieces, the encoder's own
                   configuration and the temperatures of probabilities
labels.json        the strings that are predicted; a package has them as labels.json.gz
tokenizer.json     tokenizer of a pretrained encoder
lemmas.tsv.gz      the lemmas of the training set (see `lemmas`); optional
words.txt.gz       the words that have a given vector, one per line; only of models trained with --vectors
model.onnx         the network, and model.int8.onnx the same in 8 bits; one of them is enough. A package has a small one
                   as model.int8.onnx.gz
deprels.onnx       the second network, which chooses deprels given the tree; only with relations = "tree"
fits.json          which deprels go together (see `parsing.fit`); optional beside it
segmenter.json     settings of the segmenter, and segmenter.onnx its network; both optional
language.json      what the language of the model looks like (see `language`); optional
card.json          facts about the model, and README.md the model card that is written from them (see `card`)

What only training needs:
model.safetensors  the weights
run.json           the files that training reads, with their digests
training.json      the history of a finished run
log.jsonl, curve.png, .lock, checkpoint-N/
"""

import gzip
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import reading, replacing
from hexatagger.model.config import CHARACTERS, PieceConfig, Recipe
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.model.lemmas import Lemmas, unpack, unpack_text
from hexatagger.model.temperature import Temperature
from hexatagger.model.values import build, checked, checking, parse_json

FORMAT = 1  # version of the folder's format; a folder with a greater one was written by a newer hexatagger

CONFIG, LABELS, TOKENIZER = "config.json", "labels.json", "tokenizer.json"
LABELS_PACKED, LEMMAS, WORDS = "labels.json.gz", "lemmas.tsv.gz", "words.txt.gz"
NETWORK, NETWORK_INT8, NETWORK_PACKED = "model.onnx", "model.int8.onnx", "model.int8.onnx.gz"
DEPRELS, FITS = "deprels.onnx", "fits.json"
SEGMENTER, SEGMENTER_NETWORK = "segmenter.json", "segmenter.onnx"
LANGUAGE, CARD, README = "language.json", "card.json", "README.md"
WEIGHTS, RUN, FINISHED, LOG, CURVE = "model.safetensors", "run.json", "training.json", "log.jsonl", "curve.png"
LOCK, CHECKPOINT = ".lock", "checkpoint-"
_SMALL = 4_000_000  # bytes of a network that is packed: to unpack it takes at most 0.03 seconds

NETWORKS = {
    "auto": (NETWORK_INT8, NETWORK_PACKED, NETWORK),
    "fp32": (NETWORK,),
    "int8": (NETWORK_INT8, NETWORK_PACKED),
}
"""The files of the network by precision, the preferred one first."""
SEGMENTER_FILES = (SEGMENTER, SEGMENTER_NETWORK)
PARSING_FILES = (
    CONFIG,
    LABELS,
    LABELS_PACKED,
    TOKENIZER,
    LEMMAS,
    WORDS,
    NETWORK,
    NETWORK_INT8,
    NETWORK_PACKED,
    DEPRELS,
    FITS,
    *SEGMENTER_FILES,
)
"""All files that the result of parsing depends on."""
RUNNING_FILES = (*PARSING_FILES, LANGUAGE, CARD, README)  # all files that go along when a model is passed on


@dataclass(slots=True)
class ModelFolder:
    """A model folder without its networks."""

    path: Path
    recipe: Recipe
    labels: Labels
    # of a pretrained encoder; None for "characters"
    piece_config: PieceConfig | None = None
    tokenizer: str | None = None  # text of tokenizer.json
    encoder_config: dict[str, Any] | None = None
    temperature: Temperature = field(default_factory=Temperature)
    lemmas: Lemmas | None = None  # of the training set


def read_folder(path: str | Path) -> ModelFolder:
    """Read a model folder; an error names what is missing, broken or too new."""
    place = Path(path)
    if not place.is_dir():
        raise ConfigError(f"model '{path}' is not a folder: name the folder of a trained model")
    check_links(place)
    values = read_json(place / CONFIG)
    version, source = values.get("format"), str(place / CONFIG)
    if not isinstance(version, int) or isinstance(version, bool):
        raise FormatError("has no format version: this is not a hexatagger model", source=source)
    if version > FORMAT:
        message = f"format {version} is newer than this hexatagger knows ({FORMAT}): install a newer one"
        raise FormatError(message, source=source)
    labels = _read_labels(place)
    if (place / WORDS).is_file():
        labels = replace(labels, words=_read_words(place / WORDS))
    with checking(source):
        recipe = Recipe.from_dict({key: values[key] for key in ("model", "training", "card") if key in values})
        pretrained = recipe.model.encoder != CHARACTERS
        pieces = build(PieceConfig, values.get("pieces", {}), "pieces") if pretrained else None
        encoder = checked(values.get("encoder"), dict[str, Any] | None, "encoder")
        temperature = build(Temperature, values.get("temperature", {}), "temperature")
        for task in recipe.model.tasks:
            if task not in labels.tasks:
                raise ConfigError(f"model.tasks has '{task}', but {LABELS} has no label set 'task.{task}'")
    tokenizer = read_file(place / TOKENIZER) if pretrained else None
    lemmas = read_lemmas(place) if "lemma" in recipe.model.tasks else None
    return ModelFolder(place, recipe, labels, pieces, tokenizer, encoder, temperature, lemmas)


def write_folder(model: ModelFolder) -> None:
    """Write what `read_folder` reads, except temperatures; networks and weights are not written."""
    model.path.mkdir(parents=True, exist_ok=True)
    pieces = asdict(model.piece_config) if model.piece_config else None
    described = {"pieces": pieces, "encoder": model.encoder_config}
    write_json(model.path / CONFIG, {"format": FORMAT, **model.recipe.portable().to_dict(), **described})
    write_file(model.path / LABELS, model.labels.to_json())
    if len(model.labels.words):
        _write_packed(model.path / WORDS, "".join(f"{word}\n" for word in model.labels.words))
    if model.tokenizer is not None:
        write_file(model.path / TOKENIZER, model.tokenizer)
    if model.lemmas is not None:
        write_lemmas(model.path, model.lemmas)


def check_links(folder: Path) -> None:
    """Raise FormatError if a file of a model folder is a link to a place outside: it could be any file."""
    for path in folder.iterdir():
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            message = "is a link out of the model folder, which is not followed: copy the file into the folder"
            raise FormatError(message, source=str(path))


def network_file(folder: Path, precision: str) -> Path:
    """Return the file of a folder's network in a precision."""
    for name in NETWORKS[precision]:
        if (folder / name).is_file():
            return folder / name
    wanted = " or ".join(name for name in NETWORKS[precision] if name != NETWORK_PACKED)
    raise FormatError(f"has no {wanted}: make it with hexatagger export {folder}", source=str(folder))


def read_network(file: Path) -> Path | bytes:
    """Return a network as ONNX Runtime takes it: a file that is not packed is read by ONNX Runtime itself."""
    return unpack(_read_bytes(file), str(file)) if file.name == NETWORK_PACKED else file


def has_segmenter(folder: Path) -> bool:
    """Say whether a model folder has a segmenter."""
    return all((folder / name).is_file() for name in SEGMENTER_FILES)


def store_temperature(path: Path, temperature: Temperature) -> None:
    """Write the temperatures into config.json, in place of any that are there."""
    write_json(path / CONFIG, read_json(path / CONFIG) | {"temperature": asdict(temperature)})


def read_lemmas(folder: Path) -> Lemmas | None:
    """Read the lemmas of a model's training set, still packed; None for a folder that has none."""
    path = folder / LEMMAS
    if not path.is_file():
        return None
    with reading(str(path)):
        return Lemmas(path.read_bytes(), source=str(path))


def write_lemmas(folder: Path, lemmas: Lemmas) -> None:
    """Write the lemmas of a training set into a model folder, in place of any that are there."""
    with replacing(folder / LEMMAS) as temporary:
        temporary.write_bytes(lemmas.data)


def _read_labels(folder: Path) -> Labels:
    """Read the strings that are predicted, packed or not."""
    if not (folder / LABELS).exists() and (path := folder / LABELS_PACKED).is_file():
        return Labels.from_json(_read_packed(path), source=str(path))
    return Labels.from_json(read_file(folder / LABELS), source=str(folder / LABELS))


def pack(folder: Path) -> None:
    """Pack labels.json, to a tenth of its size where features or lemmas are many, and a small network, to 7/8."""
    if (folder / LABELS).is_file():
        _write_packed(folder / LABELS_PACKED, read_file(folder / LABELS))
        (folder / LABELS).unlink()
    network = folder / NETWORK_INT8
    if network.is_file() and network.stat().st_size <= _SMALL:
        with replacing(folder / NETWORK_PACKED) as temporary:
            temporary.write_bytes(gzip.compress(network.read_bytes(), mtime=0))
        network.unlink()


def _read_words(path: Path) -> LabelSet:
    """Read the words that have a given vector."""
    words = _read_packed(path).removesuffix("\n").split("\n")
    with checking(str(path)):
        return LabelSet(words)


def _read_packed(path: Path) -> str:
    """Read a packed text file of a model folder."""
    return unpack_text(_read_bytes(path), str(path))


def _read_bytes(path: Path) -> bytes:
    with reading(str(path)):
        return path.read_bytes()


def _write_packed(path: Path, text: str) -> None:
    """Write a packed text file; it appears whole or not at all, and is the same whenever it is written."""
    with replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def read_file(path: Path) -> str:
    """Read a text file of a model folder."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"cannot be read: {error.strerror}: the model folder is incomplete"
        raise FormatError(message, source=str(path)) from None
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8: the model folder is broken", source=str(path)) from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model folder."""
    return parse_json(read_file(path), str(path))


def write_file(path: Path, text: str) -> None:
    """Write a text file; it appears whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object; the file appears whole or not at all."""
    write_file(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
