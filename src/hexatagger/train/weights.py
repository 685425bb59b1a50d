"""A model with its torch network, and weights in files."""

from dataclasses import dataclass, field, fields
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from hexatagger.errors import FormatError
from hexatagger.formats.files import replacing
from hexatagger.model.config import CHARACTERS
from hexatagger.model.folder import CONFIG, WEIGHTS, ModelFolder, read_folder
from hexatagger.parsing.pieces import Grams, Pieces, make_cutter
from hexatagger.train.encoder import build_encoder
from hexatagger.train.network import Network


@dataclass(slots=True)
class Model(ModelFolder):
    """A model folder with its torch network."""

    network: Network = field(kw_only=True)

    @property
    def pad(self) -> int:
        """The padding piece."""
        return self.piece_config.pad if self.piece_config else 0

    def cutter(self) -> Pieces | Grams:
        """Return what cuts words into pieces for this model."""
        return make_cutter(self.recipe.model, self.tokenizer, self.piece_config, self.labels.words)


def save_weights(weights: dict[str, Tensor], path: Path) -> None:
    """Write tensors; the file appears whole or not at all."""
    with replacing(path) as temporary:
        save_file({name: tensor.detach().contiguous().cpu() for name, tensor in weights.items()}, temporary)


def load_weights(path: Path) -> dict[str, Tensor]:
    """Read tensors."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise FormatError(f"has no weights: {error}", source=str(path)) from None


def load_model(folder: Path) -> Model:
    """Read a model folder with its weights."""
    read = read_folder(folder)
    encoder = None
    if read.recipe.model.encoder != CHARACTERS:
        if not read.encoder_config:
            raise FormatError("does not describe the encoder: encoder is missing", source=str(folder / CONFIG))
        encoder = build_encoder(read.encoder_config)
    network = Network(read.recipe.model, read.labels, encoder)
    try:
        network.load_state_dict(load_weights(folder / WEIGHTS))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise FormatError(f"does not fit {CONFIG}: {reason}", source=str(folder / WEIGHTS)) from None
    return Model(**{each.name: getattr(read, each.name) for each in fields(read)}, network=network)
