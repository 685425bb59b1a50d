"""Pretrained encoders: load one by name or folder, or rebuild one from its configuration."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from torch import nn

from hexatagger.errors import ConfigError
from hexatagger.model.config import PieceConfig
from hexatagger.parsing.pieces import read_config, word_tokenizer

_LONGEST = 512  # pieces at a time, even if an encoder can read more: attention is quadratic


@dataclass(slots=True)
class Encoder:
    """A pretrained encoder with everything that is needed to rebuild it."""

    module: nn.Module
    config: dict[str, Any]  # its own configuration, for `build_encoder`
    tokenizer: str  # tokenizer.json, adapted to single words
    pieces: PieceConfig


def load_encoder(name: str, *, depth: int = 0) -> Encoder:
    """Load an encoder from a folder or from Hugging Face; code that comes with a model is not run.

    `depth` > 0 takes its lowest layers only.
    """
    import torch
    from transformers import AutoModel

    hf = check_encoder(name)
    if depth > hf.num_hidden_layers:
        raise ConfigError(f"model.depth is {depth}, but encoder '{name}' has {hf.num_hidden_layers} layers")
    hf.num_hidden_layers = depth or hf.num_hidden_layers
    with _silence():
        module = _without_pooler(AutoModel.from_pretrained(name, config=hf, dtype=torch.float32))
    tokenizer = word_tokenizer(_tokenizer_json(name))
    # subtle: RoBERTa and its kin number positions from 2 up, so two of max_position_embeddings are never used
    positions = getattr(hf, "max_position_embeddings", None) or 0
    limit = min(_LONGEST, positions - 2) if positions > 2 else _LONGEST
    pieces = read_config(tokenizer, limit=limit, pad=getattr(hf, "pad_token_id", None))
    return Encoder(module, hf.to_diff_dict() | {"model_type": hf.model_type}, tokenizer, pieces)


def build_encoder(config: dict[str, Any]) -> nn.Module:
    """Build an encoder with random weights from its configuration."""
    from transformers import AutoConfig, AutoModel

    auto: Any = AutoModel
    return _without_pooler(auto.from_config(AutoConfig.for_model(**config)))


def check_encoder(name: str) -> Any:
    """Return the configuration of an encoder, or raise ConfigError with the reason why there is none."""
    from transformers import AutoConfig

    if Path(name).is_dir() and not (Path(name) / "config.json").is_file():
        raise ConfigError(f"encoder '{name}' is a folder without config.json: give the folder of a Hugging Face model")
    try:
        return AutoConfig.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(
            f"encoder '{name}' is neither a folder nor a model that can be reached ({reason}): "
            "give a folder with config.json, tokenizer.json and model.safetensors, or 'characters'"
        ) from None


def _tokenizer_json(name: str) -> str:
    """Find the tokenizer of an encoder as JSON; one in an older format is converted."""
    from transformers import AutoTokenizer
    from transformers.utils.hub import cached_file

    path = cached_file(name, "tokenizer.json", _raise_exceptions_for_missing_entries=False)
    if path is not None:
        return Path(path).read_text(encoding="utf-8")
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name, use_fast=True, trust_remote_code=False)
        return str(tokenizer.backend_tokenizer.to_str())
    except (OSError, ValueError, AttributeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"encoder '{name}' has no tokenizer.json, and none can be made ({reason})") from None


@contextmanager
def _silence() -> Iterator[None]:
    """Silence the progress bars and reports of transformers."""
    from transformers.utils import logging as hf_logging

    logging: Any = hf_logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _without_pooler(module: Any) -> nn.Module:
    """Remove the pooling layer that some encoders have: nothing here uses it."""
    if getattr(module, "pooler", None) is not None:
        module.pooler = None
    return cast("nn.Module", module)
