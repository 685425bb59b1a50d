r"""What a training run is told: a recipe in TOML, checked when it is read and saved with every model.

A recipe has three sections, one frozen dataclass each: `[model]` says what the network is, and is all that is needed to
run it later; `[training]` says how it learns; `[card]` is what people are told about it. Every key has a default, an
unknown key is an error that names the nearest right one.

    >>> recipe = Recipe.from_toml('[model]\nencoder = "characters"\n')
    >>> recipe.model.encoder, recipe.training.epochs
    ('characters', 10)
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from hexatagger.errors import ConfigError, FormatError, check_choice

CHARACTERS = "characters"
"""The name of the encoder that is trained from the treebank alone."""

Task = Literal["upos", "xpos", "feats", "lemma"]
"""What can be predicted besides the tree."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What the network is: `[model]` in a recipe."""

    encoder: str = CHARACTERS
    """A Hugging Face encoder (name or folder), or "characters": n-gram word vectors of our own, nothing to download."""
    pooling: Literal["last", "first", "mean"] = "last"
    """Which pieces of a word stand for it."""
    layers: int = 1
    """Mix the upper n layers of the encoder with learnt weights; 1 takes the last one as it is."""
    shape: bool = False
    """Tell the encoder how a word is capitalised: for encoders that lower-case their input."""
    pos: Literal["", "upos", "xpos"] = ""
    """A column of the treebank that is given to the parser as input, also when it runs; empty: none."""
    pos_width: int = 256
    """Width of the embedding of that column."""
    lstm_layers: int = 0
    """Layers of the BiLSTM over the word vectors; 0: none."""
    lstm_width: int = 400
    """Width of the BiLSTM, in each direction."""
    dropout: float = 0.33
    """After the embeddings, between LSTM layers and before the projections."""
    hidden: int = 0
    """Width of a hidden layer under tags and relations that sees a word and its neighbours; 0: none (the paper)."""
    pointers: int = 0
    """Width of attention under that layer which is taught what to look at: a word its head, the gap between two words
    its arc and the gap above it in the binary head tree; 0: none (the paper)."""
    piece_dropout: float = 0.0
    """Share of the pieces that a pretrained encoder does not get to see in training, against learning by heart."""
    relations: Literal["separate", "joint", "pairs"] = "separate"
    """Relations by a projection of their own, or joined with the leaf tag in one tag set as in the paper; or scored for
    a word with every head that it could have, where there are pointers."""
    order: Literal["left", "right"] = "left"
    """Which dependents of a word the binary head tree takes in first."""
    lift: Literal["head", "path", "head+path"] = "head+path"
    """How words are marked that the pseudo-projective transformation lifted."""
    tasks: tuple[Task, ...] = ()
    """What else is predicted, each by one linear projection."""
    char_width: int = 192
    """Width of the n-gram vectors ("characters" only)."""
    char_buckets: int = 20000
    """How many n-gram vectors there are; n-grams share them by a hash ("characters" only)."""

    @property
    def char_window(self) -> int:
        """How many words are read at once ("characters" only): fewer where every two of them are looked at."""
        return 400 if self.pointers else 2000

    def __post_init__(self) -> None:
        _check_types("model", self)
        hints = get_type_hints(type(self))
        for name in ("pooling", "relations", "order", "lift"):
            check_choice(f"model.{name}", getattr(self, name), get_args(hints[name]))
        if self.pos not in ("", "upos", "xpos"):
            raise ConfigError(f"model.pos '{self.pos}' is not one of: upos, xpos (or empty for none)")
        for task in self.tasks:
            check_choice("model.tasks", task, get_args(Task))
        if len(set(self.tasks)) < len(self.tasks):
            raise ConfigError(f"model.tasks names a task twice: {', '.join(self.tasks)}")
        if not self.encoder:
            raise ConfigError(f"model.encoder is empty: name a folder, a Hugging Face model or '{CHARACTERS}'")
        _check_range("model", self, least=1, names=("layers", "pos_width", "lstm_width", "char_width", "char_buckets"))
        _check_range("model", self, least=0, names=("lstm_layers", "hidden", "pointers"))
        if self.pointers and not self.hidden:
            raise ConfigError(
                "model.pointers needs a hidden layer above it: set model.hidden too, or model.pointers to 0"
            )
        if self.relations == "pairs" and not self.pointers:
            raise ConfigError(
                "model.relations 'pairs' needs to know the heads: set model.pointers too, or model.relations to "
                "'separate'"
            )
        for name in ("dropout", "piece_dropout"):
            if not 0 <= (share := getattr(self, name)) < 1:
                raise ConfigError(f"model.{name} {share} is not between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How the network learns: `[training]` in a recipe."""

    epochs: int = 10
    """How often the treebank is gone through."""
    batch: int = 32
    """Size of a batch, in `batch_unit`."""
    batch_unit: Literal["sentences", "words", "pieces"] = "sentences"
    """What the size of a batch counts; words and pieces include padding."""
    rate: float = 2e-5
    """Greatest learning rate of a pretrained encoder."""
    head_rate: float = 1e-4
    """Greatest learning rate of everything else (all of "characters")."""
    warmup: float = 0.1
    """Share of all steps in which the rate climbs."""
    decay: Literal["linear", "cosine", "none"] = "linear"
    """How the rate falls after the warm-up, to zero at the last step."""
    weight_decay: float = 0.01
    """Weight decay of AdamW, on matrices."""
    clip: float = 1.0
    """Greatest norm of a gradient; 0: no clipping."""
    average: float = 0.0
    """Decay of a running average of the weights, which is then what is scored and saved; 0: none."""
    loss: Literal["tags", "legal"] = "tags"
    """Likelihood of the gold tags among all (the paper's), or among legal tag sequences only."""
    task_weight: float = 0.3
    """Weight of the loss of each further task; the tree's is 1."""
    pointer_weight: float = 0.2
    """Weight of the loss of each of the four things that `model.pointers` are taught to look at."""
    teacher_weight: float = 0.7
    """Share of the teacher in the loss, if one is given."""
    teacher_tasks: tuple[Task, ...] = ("upos", "xpos", "feats", "lemma")
    """Further tasks in which the teacher is listened to, as for the tree; the others are learnt from gold alone."""
    seed: int = 1
    """Seed of everything random."""
    patience: int = 0
    """Stop when dev LAS has not risen for this many epochs; 0: never."""
    checkpoint_minutes: float = 15.0
    """Save a checkpoint this often, besides the one after every epoch."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Arithmetic; auto takes bf16 on a GPU that has it and fp32 elsewhere."""
    rare: int = 1
    """FEATS values and lemma scripts seen fewer times than this in training are not learnt."""

    def __post_init__(self) -> None:
        _check_types("training", self)
        hints = get_type_hints(type(self))
        for name in ("batch_unit", "decay", "loss", "precision"):
            check_choice(f"training.{name}", getattr(self, name), get_args(hints[name]))
        for task in self.teacher_tasks:
            check_choice("training.teacher_tasks", task, get_args(Task))
        _check_range("training", self, least=1, names=("epochs", "batch", "rare"))
        zero = ("rate", "head_rate", "weight_decay", "clip", "task_weight", "pointer_weight", "seed", "patience")
        _check_range("training", self, least=0, names=(*zero, "checkpoint_minutes"))
        for name in ("warmup", "average", "teacher_weight"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise ConfigError(f"training.{name} {value} is not between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class CardConfig:
    """What the model's README says: `[card]` in a recipe."""

    title: str = ""
    """Its first line."""
    language: str = ""
    """The language as a code, `en`."""
    description: str = ""
    """What else there is to say."""
    licence: str = ""
    """Under what terms the model may be used: those of the treebank and of the encoder bind it."""

    def __post_init__(self) -> None:
        _check_types("card", self)


Config = ModelConfig | TrainConfig | CardConfig


@dataclass(frozen=True, slots=True)
class PieceConfig:
    """How an encoder wants its pieces: part of a model's config.json."""

    before: tuple[int, ...]
    """Special pieces in front of a sentence."""
    after: tuple[int, ...]
    """Special pieces after it; XLNet has all of its own here."""
    unknown: int
    """The piece of a word that has none."""
    pad: int
    """What fills a batch."""
    limit: int
    """How many pieces the encoder reads at once, special ones included."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what `to_dict` made."""
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**plain)


@dataclass(frozen=True)
class Recipe:
    """A whole recipe."""

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainConfig = field(default_factory=TrainConfig)
    card: CardConfig = field(default_factory=CardConfig)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, source: str = "recipe") -> Self:
        """Make a recipe of nested dictionaries, as TOML or JSON gives them."""
        sections: dict[str, Any] = {"model": ModelConfig, "training": TrainConfig, "card": CardConfig}
        made = {}
        for section, keys in values.items():
            if section not in sections:
                raise ConfigError(_unknown(source, "section", section, sections))
            if not isinstance(keys, Mapping):
                raise ConfigError(f"{source}: {section} is a section: write [{section}] on a line of its own")
            names = [each.name for each in fields(sections[section])]
            for key in keys:
                if key not in names:
                    raise ConfigError(_unknown(source, "key", key, names, prefix=f"{section}."))
            plain = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
            made[section] = sections[section](**plain)
        return cls(**made)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return nested dictionaries of plain values, every key spelt out.

        >>> Recipe.from_dict(Recipe().to_dict()) == Recipe()
        True
        """
        return {"model": _plain(self.model), "training": _plain(self.training), "card": _plain(self.card)}

    @classmethod
    def from_toml(cls, text: str, *, source: str = "recipe") -> Self:
        """Read a recipe from the text of a TOML file."""
        import tomllib  # here and below: running a model reads none, and starts without

        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise FormatError(f"is not TOML: {error}", source=source) from None
        return cls.from_dict(values, source=source)

    def to_toml(self) -> str:
        """Write the recipe as TOML, every key spelt out."""
        lines: list[str] = []
        for section, keys in self.to_dict().items():
            lines += [
                f"[{section}]",
                *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()),
                "",
            ]
        return "\n".join(lines)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the TOML file of a recipe."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror}", source=str(path)) from None
        except UnicodeDecodeError:
            raise FormatError("is not UTF-8: convert the file to UTF-8", source=str(path)) from None
        return cls.from_toml(text, source=str(path))

    def with_settings(self, settings: Iterable[str]) -> Self:
        """Change single keys, each given as `section.key=value`, the value as in TOML or a bare word.

        >>> Recipe().with_settings(["training.epochs=3", "model.encoder=characters"]).training.epochs
        3
        """
        import tomllib

        values = self.to_dict()
        for setting in settings:
            name, equals, text = setting.partition("=")
            section, dot, key = name.strip().partition(".")
            if not equals or not dot:
                raise ConfigError(f"'{setting}' is not a setting: write section.key=value, as training.epochs=5")
            try:
                value = tomllib.loads(f"value = {text}")["value"]
            except tomllib.TOMLDecodeError:
                value = text.strip()
            values.setdefault(section, {})[key] = value
        return self.from_dict(values, source="setting")

    def with_encoder(self, encoder: str) -> Self:
        """Take another encoder."""
        return replace(self, model=replace(self.model, encoder=encoder))


def _plain(config: Config) -> dict[str, Any]:
    """Turn a config into plain values; tuples become lists, as in JSON."""
    values = {each.name: getattr(config, each.name) for each in fields(config)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _unknown(source: str, kind: str, name: str, known: Iterable[str], *, prefix: str = "") -> str:
    """Say that a name is unknown, and which is nearest."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f"did you mean '{prefix}{near[0]}'?" if near else f"there are: {', '.join(known)}"
    return f"{source}: unknown {kind} '{prefix}{name}': {hint}"


def _check_types(section: str, config: Config) -> None:
    """Check that every value has the type its field declares; a whole number will do for a float."""
    hints = get_type_hints(type(config))
    for each in fields(config):
        value, hint = getattr(config, each.name), hints[each.name]
        wanted: type | UnionType
        if get_origin(hint) is Literal:
            wanted = str
        elif get_origin(hint) is tuple:
            wanted = tuple
        else:
            wanted = int | float if hint is float else hint
        # subtle: bool is a subclass of int
        if not isinstance(value, wanted) or (isinstance(value, bool) and hint is not bool):
            names = {str: "a string", tuple: "a list", int: "a whole number", float: "a number", bool: "true or false"}
            kind = names[float if hint is float else wanted]  # type: ignore[index]
            raise ConfigError(f"{section}.{each.name} {json.dumps(value, default=str)} is not {kind}")


def _check_range(section: str, config: Config, *, least: int, names: Iterable[str]) -> None:
    """Check that numbers are at least so great."""
    for name in names:
        if (value := getattr(config, name)) < least:
            raise ConfigError(f"{section}.{name} {value} is too small: at least {least}")
