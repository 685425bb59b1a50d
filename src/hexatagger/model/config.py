r"""Recipes: what a training run is told, in TOML; checked when it is read and saved with every model.

A recipe has three sections, one frozen dataclass each. `[model]` describes the network, and is all that is needed to
run it later; `[training]` says how it is trained; `[card]` is what people are told about it. Every key has a default,
and the defaults of `[model]` are the base system (the paper). An unknown key is an error that names the nearest one.

    >>> recipe = Recipe.from_toml('[model]\nencoder = "characters"\n')
    >>> recipe.model.encoder, recipe.training.epochs
    ('characters', 10)
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import read_text
from hexatagger.model.values import build, check_fields, check_keys, check_range

CHARACTERS = "characters"  # name of the encoder that is trained from the treebank alone

Task = Literal["upos", "xpos", "feats", "lemma"]
"""What can be predicted besides the tree."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The network: `[model]` in a recipe."""

    encoder: str = CHARACTERS
    """A Hugging Face encoder (name or folder), or "characters": our own n-gram word vectors, nothing to download."""
    pooling: Literal["last", "first", "mean"] = "last"
    """Which pieces of a word represent it."""
    depth: int = 0
    """Number of encoder layers that are used, from the lowest up; 0: all. Fewer are faster."""
    layers: int = 1
    """Number of upper encoder layers that are mixed with learnt weights; 1: only the last layer."""
    shape: bool = False
    """Tell the encoder how a word is capitalised; for encoders that lower-case their input."""
    pos: Literal["", "upos", "xpos"] = ""
    """A column of the treebank that the parser gets as input, in training and when it runs; empty: none."""
    pos_width: int = 256
    """Width of the embedding of that column."""
    lstm_layers: int = 0
    """Layers of the BiLSTM over the word vectors; 0: none."""
    lstm_width: int = 400
    """Width of the BiLSTM, in each direction."""
    dropout: float = 0.33
    """Dropout after the embeddings, between LSTM layers and before the projections."""
    hidden: int = 0
    """Extension: width of a hidden layer below tags and relations that sees a word and its neighbours; 0: none."""
    pointers: int = 0
    """Extension: width of supervised attention below that layer; 0: none. A word attends to its head, the gap between
    two words to its arc and to the gap above it in the binary head tree."""
    head_scores: int = 0
    """Extension: width of scores of heads that only rerank trees, where there are no `pointers`; 0: none."""
    piece_dropout: float = 0.0
    """Share of the pieces that are hidden from a pretrained encoder in training, against overfitting."""
    relations: Literal["separate", "joint", "pairs", "tree"] = "separate"
    """How relations are predicted: "joint" with the leaf tag, in one tag set (the paper); by a "separate" projection;
    in "pairs", given each possible head (extension, needs `pointers`); or after the "tree" is decoded, given each
    word's head and place in it (extension, linear time)."""
    pair_width: int = 100
    """Width of the vectors of a word and its head that score the relations in "pairs"."""
    order: Literal["left", "right"] = "left"
    """Which dependents of a word the binary head tree attaches first."""
    lift: Literal["head", "path", "head+path"] = "head+path"
    """Marking scheme of the pseudo-projective transformation."""
    tasks: tuple[Task, ...] = ()
    """Columns that are predicted besides the tree, each by one linear projection."""
    task_hidden: int = 0
    """Extension: width of a hidden layer below these projections that sees all layers of the BiLSTM and the encoder;
    0: none, they see the last layer only."""
    feats: Literal["bundles", "attributes"] = "bundles"
    """How FEATS are scored: each string of the treebank for itself, or as the sum of its attributes (extension)."""
    treebanks: bool = False
    """Extension: tell the network in training which treebank a sentence is from, if train has treebanks that dev does
    not have. When it runs, it annotates as the treebanks in dev do."""
    char_width: int = 192
    """Width of the n-gram vectors ("characters" only)."""
    char_buckets: int = 20000
    """Number of n-gram vectors; n-grams are hashed to them ("characters" only)."""
    char_grams: int = 6
    """Length of the longest n-grams, word boundaries included ("characters" only)."""
    char_hashes: int = 1
    """Number of vectors per n-gram, 1 or 2; the n-gram is their sum. With 2, few n-grams are the same, even in a small
    table."""
    vector_words: int = 16000
    """Number of words that keep a given vector: the first of the file (`train --vectors`, "characters" only)."""
    vector_width: int = 48
    """Width of these vectors in the model: the principal components of those in the file."""
    vector_bytes: int = 12
    """Bytes that each of these vectors takes; vector_width is a multiple of it."""

    @property
    def char_window(self) -> int:
        """Words that are read at once ("characters" only); fewer with pointers, which are quadratic."""
        return 400 if self.scores_heads else 2000

    @property
    def scores_heads(self) -> bool:
        """Say whether the network scores heads, so that trees are reranked and probabilities take a chart."""
        return self.pointers > 0 or self.head_scores > 0

    def __post_init__(self) -> None:
        check_fields("model", self)
        if len(set(self.tasks)) < len(self.tasks):
            raise ConfigError(f"model.tasks names a task twice: {', '.join(self.tasks)}")
        if not self.encoder:
            raise ConfigError(f"model.encoder is empty: name a folder, a Hugging Face model or '{CHARACTERS}'")
        check_range(
            "model", self, "layers", "pos_width", "lstm_width", "char_width", "char_grams", "pair_width", least=1
        )
        check_range("model", self, "char_buckets", least=2)
        check_range("model", self, "char_hashes", least=1, most=2)
        check_range("model", self, "vector_words", "vector_width", "vector_bytes", least=1)
        if self.vector_width % self.vector_bytes:
            raise ConfigError(
                f"model.vector_width is {self.vector_width}: it must be a multiple of model.vector_bytes, "
                f"{self.vector_bytes}"
            )
        check_range("model", self, "depth", "lstm_layers", "hidden", "pointers", "head_scores", "task_hidden")
        check_range("model", self, "dropout", "piece_dropout", most=0.99)
        if self.pointers and not self.hidden:
            raise ConfigError("model.pointers needs a hidden layer above it: set model.hidden too, or pointers to 0")
        if self.pointers and self.head_scores:
            raise ConfigError("model.pointers have scores of heads already: set model.head_scores to 0")
        if self.relations == "pairs" and not self.pointers:
            raise ConfigError("model.relations 'pairs' needs to know the heads: set model.pointers too, or 'separate'")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How the network is trained: `[training]` in a recipe."""

    epochs: int = 10
    """Number of passes over the treebank, at most."""
    words: int = 0
    """Bound on the words that are seen in all passes together: a large treebank gets fewer passes, though no fewer than
    three; 0: no bound."""
    batch: int = 32
    """Size of a batch, in `batch_unit`."""
    batch_unit: Literal["sentences", "words", "pieces"] = "sentences"
    """Unit of the batch size; words and pieces include padding."""
    rate: float = 2e-5
    """Peak learning rate of a pretrained encoder."""
    head_rate: float = 1e-4
    """Peak learning rate of everything else (for "characters": of everything)."""
    warmup: float = 0.1
    """Share of all steps in which the learning rate rises."""
    decay: Literal["linear", "cosine", "none"] = "linear"
    """How the learning rate falls after the warm-up, to zero at the last step."""
    weight_decay: float = 0.01
    """Weight decay of AdamW, applied to matrices."""
    clip: float = 1.0
    """Gradient clipping threshold (norm); 0: no clipping."""
    average: float = 0.0
    """Decay of a running average of the weights, which is then scored and saved; 0: none."""
    loss: Literal["tags", "legal"] = "tags"
    """Likelihood of the gold tags, normalised per tag (the paper) or over legal tag sequences only."""
    task_weight: float = 0.3
    """Loss weight of each further task; the tree has 1."""
    pointer_weight: float = 0.2
    """Loss weight of each of the four pointers (`model.pointers`)."""
    teacher_weight: float = 0.7
    """Share of the teacher in the loss, if there is one."""
    teacher_trees: float = 0.5
    """How much of what is learnt from a teacher is its best tree; the rest is the probabilities of its tags."""
    teacher_tasks: tuple[Task, ...] = ("upos", "xpos", "feats", "lemma")
    """Further tasks that are learnt from the teacher too, as the tree is; the others are learnt from gold alone."""
    teacher_words: int = 0
    """Number of words labelled by a teacher that are used, from the first on; 0: all."""
    gold_epochs: int = 0
    """Number of last epochs that see the treebank alone, without the teacher."""
    seed: int = 1
    """Random seed."""
    patience: int = 0
    """Stop when dev LAS has not risen for this many epochs; 0: never."""
    checkpoint_minutes: float = 15.0
    """Minutes between checkpoints, besides the one after every epoch."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Arithmetic; auto: bf16 on a GPU that has it, fp32 elsewhere."""
    rare: int = 1
    """FEATS values and lemma scripts that occur fewer times than this in training are not learnt."""

    def __post_init__(self) -> None:
        check_fields("training", self)
        check_range("training", self, "epochs", "batch", "rare", least=1)
        check_range("training", self, "rate", "head_rate", "weight_decay", "clip", "task_weight", "pointer_weight")
        check_range("training", self, "seed", "patience", "checkpoint_minutes", "words", "gold_epochs", "teacher_words")
        check_range("training", self, "warmup", "average", "teacher_weight", "teacher_trees", most=1)


@dataclass(frozen=True, kw_only=True)
class CardConfig:
    """What the model card says: `[card]` in a recipe."""

    title: str = ""
    language: str = ""  # a code, as `en`
    treebanks: str = ""  # with their releases, as `UD_English-EWT r2.17`
    description: str = ""  # one paragraph about the model
    licence: str = ""  # those of the treebank and of the encoder bind it


@dataclass(frozen=True, slots=True)
class PieceConfig:
    """How an encoder wants its pieces: `pieces` in config.json."""

    before: tuple[int, ...]  # special pieces before a sentence
    after: tuple[int, ...]  # and after it; XLNet has all of its special pieces here
    unknown: int  # the piece for a word that maps to none
    pad: int
    limit: int  # number of pieces that the encoder reads at once, special ones included

    def __post_init__(self) -> None:
        check_range("pieces", self, "before", "after", "unknown", "pad", "limit", most=2**31 - 1)


@dataclass(frozen=True)
class Recipe:
    """A whole recipe."""

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainConfig = field(default_factory=TrainConfig)
    card: CardConfig = field(default_factory=CardConfig)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, source: str = "recipe") -> Self:
        """Make a recipe from nested dictionaries, as TOML and JSON give them."""
        sections: dict[str, Any] = {"model": ModelConfig, "training": TrainConfig, "card": CardConfig}
        try:
            check_keys(values, sections, "section")
            for section, keys in values.items():
                if not isinstance(keys, Mapping):
                    raise ConfigError(f"{section} is a section: write [{section}] on a line of its own")
            return cls(**{section: build(sections[section], keys, section) for section, keys in values.items()})
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return nested dictionaries of plain values, every key included.

        >>> Recipe.from_dict(Recipe().to_dict()) == Recipe()
        True
        """
        return {
            section: {key: list(value) if isinstance(value, tuple) else value for key, value in keys.items()}
            for section, keys in asdict(self).items()
        }

    @classmethod
    def from_toml(cls, text: str, *, source: str = "recipe") -> Self:
        """Read a recipe from the text of a TOML file."""
        import tomllib  # here and below: not needed to run a model, so start-up does without it

        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise FormatError(f"is not TOML: {error}", source=source) from None
        return cls.from_dict(values, source=source)

    def to_toml(self) -> str:
        """Write the recipe as TOML, every key included."""
        return to_toml(self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the TOML file of a recipe."""
        return cls.from_toml("".join(read_text(path)), source=str(path))

    def with_settings(self, settings: Iterable[str]) -> Self:
        """Change single keys, each given as `section.key=value`; the value is TOML or a bare word.

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
        """Return the recipe with another encoder."""
        return replace(self, model=replace(self.model, encoder=encoder))

    def portable(self) -> Self:
        """Return the recipe for files: the encoder's folder without its path, which means nothing elsewhere."""
        folder = Path(self.model.encoder)
        return self.with_encoder(folder.resolve().name) if folder.is_dir() else self


def to_toml(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Write sections of plain values as TOML."""
    lines: list[str] = []
    for section, keys in sections.items():
        rows = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())
        lines += [f"[{section}]", *rows, ""]
    return "\n".join(lines)
