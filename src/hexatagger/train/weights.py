"""A model folder with its torch weights: what training writes; see `hexatagger.model.folder` for what is in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from hexatagger.errors import FormatError
from hexatagger.formats.files import replacing
from hexatagger.model.config import CHARACTERS, PieceConfig, Recipe
from hexatagger.model.folder import FORMAT, read_folder
from hexatagger.model.labels import Labels
from hexatagger.parsing.pieces import Grams, Pieces, make_cutter
from hexatagger.train.encoder import build_encoder
from hexatagger.train.network import Network


@dataclass(slots=True)
class Model:
    """A network with all that belongs to it."""

    recipe: Recipe
    labels: Labels
    network: Network
    piece_config: PieceConfig | None = None
    tokenizer: str | None = None
    encoder_config: dict[str, Any] | None = None

    @property
    def pad(self) -> int:
        """The piece that fills a batch."""
        return self.piece_config.pad if self.piece_config else 0

    def cutter(self) -> Pieces | Grams:
        """Return what cuts words for this model."""
        return make_cutter(self.recipe.model, self.tokenizer, self.piece_config)


def save_model(model: Model, folder: Path) -> None:
    """Write everything but the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {
        "format": FORMAT,
        **model.recipe.with_encoder(portable(model.recipe.model.encoder)).to_dict(),
        "pieces": model.piece_config.to_dict() if model.piece_config else None,
        "encoder": model.encoder_config,
    }
    write_text(folder / "config.json", json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / "labels.json", model.labels.to_json())
    if model.tokenizer is not None:
        write_text(folder / "tokenizer.json", model.tokenizer)


def portable(encoder: str) -> str:
    """Return the name of an encoder as it is written down: a folder without its path, which means nothing elsewhere."""
    return Path(encoder).resolve().name if Path(encoder).is_dir() else encoder


def save_weights(weights: dict[str, Tensor], path: Path) -> None:
    """Write tensors; the file appears whole or not at all."""
    with replacing(path) as temporary:
        save_file({name: tensor.detach().contiguous().cpu() for name, tensor in weights.items()}, temporary)


def load_weights(path: Path) -> dict[str, Tensor]:
    """Read tensors."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise FormatError(f"holds no weights: {error}", source=str(path)) from None


def load_model(folder: Path) -> Model:
    """Read a model folder with its weights."""
    read = read_folder(folder)
    pretrained = read.recipe.model.encoder != CHARACTERS
    if pretrained and not read.encoder_config:
        raise FormatError("does not say what the encoder is like", source=str(folder / "config.json"))
    encoder = build_encoder(read.encoder_config) if read.encoder_config and pretrained else None
    network = Network(read.recipe.model, read.labels, encoder)
    try:
        network.load_state_dict(load_weights(folder / "model.safetensors"))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise FormatError(f"does not fit config.json: {reason}", source=str(folder / "model.safetensors")) from None
    return Model(read.recipe, read.labels, network, read.piece_config, read.tokenizer, read.encoder_config)


def write_text(path: Path, text: str) -> None:
    """Write a text file; it appears whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
