from pathlib import Path

import pytest

from conftest import ROOT
from hexatagger.errors import ConfigError, FormatError
from hexatagger.model.config import CardConfig, ModelConfig, Recipe, TrainConfig

RECIPES = sorted((ROOT / "recipes").glob("*.toml"))


def test_toml_and_back() -> None:
    recipe = Recipe(
        ModelConfig(encoder="a/b", tasks=("upos", "lemma"), shape=True, dropout=0.1),
        TrainConfig(rate=3e-4, batch_unit="pieces", epochs=3),
        CardConfig(title='An "English" model', licence="CC BY-SA 4.0"),
    )
    assert Recipe.from_toml(recipe.to_toml()) == recipe
    assert Recipe.from_dict(recipe.to_dict()) == recipe


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_our_recipes_are_valid(path: Path) -> None:
    recipe = Recipe.load(path)
    assert Recipe.from_toml(recipe.to_toml()) == recipe
    assert not Path(recipe.model.encoder).is_absolute()


@pytest.mark.parametrize(
    ("name", "encoder", "lstm_width", "pos", "lift"),
    [
        ("ptb-xlnet-large", "xlnet-large-cased", 1024, "xpos", "head+path"),
        ("ctb-chinese-xlnet-mid", "hfl/chinese-xlnet-mid", 1024, "xpos", "head+path"),
        ("ud-mbert", "bert-base-multilingual-cased", 768, "upos", "head"),
    ],
)
def test_the_papers_settings(name: str, encoder: str, lstm_width: int, pos: str, lift: str) -> None:
    """As the paper's appendix "Hyperparameter Settings" has them; it does not name the lifting scheme."""
    recipe = Recipe.load(ROOT / "recipes" / f"{name}.toml")
    model, training = recipe.model, recipe.training
    assert (model.encoder, model.lstm_width, model.pos, model.lift) == (encoder, lstm_width, pos, lift)
    assert (model.pos_width, model.lstm_layers, model.dropout, model.relations) == (256, 3, 0.33, "joint")
    assert (model.pooling, model.order) == ("last", "left")
    assert (model.hidden, model.pointers, model.shape, model.layers, model.tasks) == (
        0,
        0,
        False,
        1,
        (),
    )  # no extension
    assert (training.rate, training.head_rate, training.clip) == (2e-5, 1e-4, 1.0)
    assert (training.batch, training.batch_unit) == (32, "sentences")
    assert (training.loss, training.average) == ("tags", 0.0)


def test_settings_change_single_keys() -> None:
    recipe = Recipe().with_settings(
        ["training.epochs=3", 'model.tasks=["upos"]', "model.encoder=some/where", "model.shape=true"]
    )
    assert (recipe.training.epochs, recipe.model.tasks) == (3, ("upos",))
    assert (recipe.model.encoder, recipe.model.shape) == ("some/where", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[training]\nepoch = 3", "unknown key 'training.epoch': did you mean 'training.epochs'?"),
        ("[trainig]\nepochs = 3", "unknown section 'trainig': did you mean 'training'?"),
        ("[model]\nzzzz = 3", "there are: encoder, pooling"),
        ("model = 3", "is a section"),
        ("[training]\nepochs = 0", "training.epochs 0 is too small"),
        ("[training]\nepochs = 1.5", "training.epochs 1.5 is not a whole number"),
        ("[training]\nepochs = true", "training.epochs true is not a whole number"),
        ('[training]\nrate = "fast"', 'training.rate "fast" is not a number'),
        ("[training]\nwarmup = 2", "training.warmup 2 is not between 0 and 1"),
        ('[model]\nshape = "yes"', "is not true or false"),
        ('[model]\ntasks = "upos"', 'model.tasks "upos" is not a list'),
        ('[model]\ntasks = ["pos"]', "model.tasks 'pos' is not one of: upos, xpos, feats, lemma"),
        ('[model]\ntasks = ["upos", "upos"]', "names a task twice"),
        ('[model]\npooling = "max"', "model.pooling 'max' is not one of: last, first, mean"),
        ('[model]\npos = "feats"', "model.pos 'feats' is not one of"),
        ('[model]\nencoder = ""', "model.encoder is empty"),
        ("[model]\ndropout = 1.0", "model.dropout 1.0 is not between"),
        ("[model]\npiece_dropout = -0.1", "model.piece_dropout -0.1 is not between"),
        ("[model]\npointers = 8", "model.pointers needs a hidden layer above it: set model.hidden too"),
        ('[model]\nrelations = "pairs"', "'pairs' needs to know the heads: set model.pointers too"),
    ],
)
def test_errors_name_the_key_the_value_and_the_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Recipe.from_toml(text)
    assert message in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        Recipe.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[model\n")
    with pytest.raises(FormatError, match=r"bad\.toml: is not TOML"):
        Recipe.load(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes(b'[card]\ntitle = "\xe9"\n')
    with pytest.raises(FormatError, match="UTF-8"):
        Recipe.load(tmp_path / "latin.toml")
    with pytest.raises(ConfigError, match="not a setting"):
        Recipe().with_settings(["epochs=3"])
