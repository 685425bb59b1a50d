"""Profiles of languages: learnt from text, stored and read, and what they say about texts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexatagger.errors import ConfigError, FormatError
from hexatagger.model.language import (
    BUCKETS,
    READ,
    LanguageProfile,
    choose,
    find_foreign,
    fit_range,
    hash_grams,
    learn,
    letters,
    own_texts,
    read_profile,
    write_profile,
)
from hexatagger.model.registry import EMBEDDED_FOLDER
from hexatagger.sentence import Sentence
from invented import add_profile, speak, texts

CODES = ("qaa", "qab")
ENGLISH = "The children walked home through the rain, and their mother was waiting for them at the door."
FOREIGN = {
    "French": "Les enfants sont rentrés à la maison sous la pluie, et leur mère les attendait à la porte.",
    "German": "Die Kinder gingen durch den Regen nach Hause, und ihre Mutter wartete schon an der Tür auf sie.",
    "Russian": "Дети шли домой под дождём, а мать ждала их у двери.",
    "Japanese": "子供たちは雨の中を歩いて家に帰り、母親は玄関で待っていた。",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models of English and of two invented languages that share their letters; they have nothing but a profile."""
    place = tmp_path_factory.mktemp("models")
    return {"en": EMBEDDED_FOLDER} | {code: add_profile(place / code, n, code) for n, code in enumerate(CODES)}


def test_letters_alone_are_read() -> None:
    assert letters("Ab-c 1,2 D!") == letters("ab c\td") == " ab c d "
    assert letters("हिन्दी") == " हिन्दी "  # vowel signs belong to letters
    assert letters("e\u0301") == letters("é")
    assert len(hash_grams("12 … 3")) == 0
    grams = hash_grams("straße")
    assert len(grams) == 8 + 7 + 6
    assert grams.min() >= 0
    assert grams.max() < BUCKETS
    assert hash_grams("ab").tolist() == hash_grams("AB!").tolist()
    assert hash_grams("\ud800").tolist() == []  # half a pair is not a letter


def test_n_grams_are_hashed_the_same_everywhere() -> None:
    """Profiles are stored: another hash would make all of them useless."""
    assert hash_grams("a").tolist() == [3626, 7497, 3626, 15494, 8156, 2414]  # ' ', 'a', ' ', ' a', 'a ', ' a '


def test_a_profile_is_stored(models: dict[str, Path], tmp_path: Path) -> None:
    for folder in models.values():
        profile = read_profile(folder)
        assert profile is not None
        write_profile(tmp_path, profile)
        again = read_profile(tmp_path)
        assert again is not None
        assert (again.weights == profile.weights).all()
        assert again.language == profile.language
        assert (again.low, again.spread) == pytest.approx((profile.low, profile.spread), abs=1e-4)
    assert read_profile(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format 2 is newer than this hexatagger knows"),
        ({"format": None}, "format null is not a whole number"),
        ({"weights": "AAAA"}, "weights are 3 numbers, not 16384"),
        ({"weights": "é"}, "weights are not base64"),
        ({"low": "x"}, 'low "x" is not a number'),
        ({"spread": None}, "spread null is not a number"),
        ({"language": 3}, "language 3 is not a string"),
    ],
)
def test_a_broken_profile_is_named(
    change: dict[str, Any], message: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    values = json.loads((EMBEDDED_FOLDER / "language.json").read_text(encoding="utf-8"))
    (tmp_path / "language.json").write_text(json.dumps(values | change), encoding="utf-8")
    with pytest.raises(FormatError, match=rf"language\.json: {message}"):
        read_profile(tmp_path)
    # parsing does not depend on it
    assert choose(ENGLISH, {"broken": tmp_path, "en": EMBEDDED_FOLDER}) == "en"
    assert find_foreign(ENGLISH, EMBEDDED_FOLDER, {"broken": tmp_path}) == ""
    assert find_foreign(FOREIGN["Russian"], tmp_path, {}) == ""
    [record] = caplog.records
    assert record.getMessage().endswith(": the language of texts is not checked")


def test_a_language_is_chosen(models: dict[str, Path]) -> None:
    assert choose(ENGLISH, models) == "en"
    for seed, code in enumerate(CODES):
        assert sum(choose(text, models) == code for text in texts(seed)) >= 99
    assert choose("42", models) == "en"
    assert choose("42", {"qab": models["qab"], "qaa": models["qaa"]}) == "qab"
    assert choose(ENGLISH, {"bare": Path("no-such-folder"), **models}) == "en"
    with pytest.raises(ConfigError, match=r"none of bare has a language\.json: name one"):
        choose(ENGLISH, {"bare": Path("no-such-folder")})


def test_only_the_beginning_counts(models: dict[str, Path]) -> None:
    assert find_foreign(ENGLISH * 100 + FOREIGN["French"] * 1000, EMBEDDED_FOLDER, {}) == ""
    assert len(ENGLISH * 100) > READ


@pytest.mark.parametrize("text", ["x", "a b", "zzz", "Hmm", "tsk tsk", "ok", "42", "🙂"])
def test_that_a_few_letters_are_no_evidence(text: str) -> None:
    assert find_foreign(text, EMBEDDED_FOLDER, {}) == ""


@pytest.mark.parametrize(("text", "language"), [("你好", "Chinese"), ("Привет", "Russian")])
def test_that_a_word_in_another_script_is_evidence(text: str, language: str) -> None:
    assert language in find_foreign(text, EMBEDDED_FOLDER, {})


@pytest.mark.parametrize("language", FOREIGN)
def test_foreign_text_is_recognised(language: str) -> None:
    message = f"the text looks like {language}, not like the language of the model"
    assert find_foreign(FOREIGN[language], EMBEDDED_FOLDER, {}) == message
    assert find_foreign(FOREIGN[language], Path("no-profile"), {}) == ""


def test_nothing_is_said_about_the_right_language(models: dict[str, Path]) -> None:
    for text in (ENGLISH, "42", "", "OK.", "Hello!", "http://example.org/a?b=1", "Anna and I saw 10 000 birds."):
        assert find_foreign(text, EMBEDDED_FOLDER, models) == ""
    for seed, code in enumerate(CODES):
        assert sum(bool(find_foreign(text, models[code], models)) for text in texts(seed)) <= 1


def test_models_of_other_languages_are_compared(models: dict[str, Path]) -> None:
    told = [find_foreign(text, models["qaa"], models) for text in texts(1)]
    assert told.count("the text looks like model 'qab', not like the language of the model") >= 95


def test_a_profile_without_a_language_has_its_range_only(tmp_path: Path) -> None:
    profile = read_profile(EMBEDDED_FOLDER)
    assert profile is not None
    write_profile(tmp_path, LanguageProfile(profile.weights, profile.low, profile.spread))
    assert find_foreign(ENGLISH, tmp_path, {"en": EMBEDDED_FOLDER}) == ""
    assert find_foreign(FOREIGN["Russian"], tmp_path, {}) == "the text does not look like the language of the model"


def test_little_text_teaches_nothing(tmp_path: Path) -> None:
    few = speak(0, 20)
    assert learn(few, few) is None
    profile = learn(speak(0, 900), few)
    assert profile is not None
    assert profile.fits(-99.0, 10)  # too few sentences of dev for a range
    write_profile(tmp_path, profile)
    assert read_profile(tmp_path) is not None
    assert find_foreign(ENGLISH, tmp_path, {}) == ""


def test_the_range_is_that_of_dev() -> None:
    both = speak(0, 2000)
    profile, dev = learn(both[1000:], both[:1000]), [sentence.text for sentence in both[:1000]]
    assert profile is not None
    low, spread = fit_range(profile.weights, dev)
    assert (low, spread) == (profile.low, profile.spread)
    outside = [text for text in dev if not profile.fits(profile.score(hash_grams(text)), len(hash_grams(text)))]
    assert len(outside) <= 2
    assert not profile.fits(low - 0.01, 10**9)
    assert profile.fits(low, 10**9)


def test_sentences_of_a_related_language_are_left_out() -> None:
    def said(word: str, treebank: str) -> Sentence:
        return Sentence(Sentence.from_words([word]).words, [f"# treebank = {treebank}"] if treebank else [])

    train = [said("et", "UD_Danish-DDT r2.17"), said("ein", "UD_Norwegian-Bokmaal r2.16"), said("to", "")]
    assert own_texts(train, [said("en", "UD_Danish-DDT")]) == ["et", "to"]
    assert own_texts(train, [said("en", "")]) == ["et", "ein", "to"]


def test_the_embedded_model_has_a_profile() -> None:
    profile = read_profile(EMBEDDED_FOLDER)
    assert profile is not None
    assert profile.language == "en"
    assert profile.weights.shape == (BUCKETS,)
    assert profile.weights.dtype == np.int8
    assert (EMBEDDED_FOLDER / "language.json").stat().st_size < 25_000
