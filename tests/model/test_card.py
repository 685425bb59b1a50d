import json
from dataclasses import replace
from pathlib import Path

import pytest

from hexatagger.errors import FormatError
from hexatagger.model.card import Card, DataFile, Packaged, read_card, render, update_card, write_card
from hexatagger.model.config import Recipe
from hexatagger.model.registry import find_model
from hexatagger.model.temperature import Calibration, Temperature

CALIBRATION = Calibration(Temperature(1.5, 1.25), 789, 1234, (0.05, 0.06), (0.01, 0.02))
CARD = Card(
    title="English, small",
    language="en",
    description="One paragraph.",
    licence="CC BY-SA 4.0",
    version="0.1.0",
    encoder="some/encoder",
    parameters=22_800_000,
    scores={"UAS": 91.214, "LAS": 88.6},
    epoch=6,
    epochs=7,
    minutes=53.2,
    data=(DataFile("train", "a.conllu", "ab" * 32), DataFile("unlabelled", "b.conllu", "cd" * 32)),
    notes="Taught by another model.",
    recipe={name: keys for name, keys in Recipe().to_dict().items() if name != "card"},
)
WHOLE = replace(CARD, calibration=CALIBRATION, package=Packaged("int8", {"LAS": 88.67}, {"Words": 99.0}, "make it"))


@pytest.mark.parametrize("card", [Card(), CARD, WHOLE], ids=["empty", "trained", "packaged"])
def test_facts_and_back(card: Card, tmp_path: Path) -> None:
    write_card(tmp_path, card)
    assert read_card(tmp_path) == card
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == render(card)


def test_a_card_says_everything_once() -> None:
    text = render(WHOLE)
    for said in (
        "# English, small\n\nA dependency parser: encoder `some/encoder`, 22.8 million parameters",
        "epoch 6 of 7, chosen by LAS",
        "| UAS | LAS |\n| ---: | ---: |\n| 91.21 | 88.60 |",
        "in 8 bits",
        "| given | Words | LAS |\n| --- | ---: | ---: |\n| words |  | 88.67 |\n| text | 99.00 |  |",
        "Made with `make it`.",
        "divided by a temperature of 1.5, those of relations by 1.25",
        "fitted on 789 words of dev",
        "over 1,234 words",
        "| head | 5.00 % | 1.00 % |",
        f"| train | a.conllu | `{'ab' * 32}` |",
        "| without trees, for the teacher | b.conllu |",
        "Taught by another model.",
        "Trained in 53 minutes with `hexatagger train`",
    ):
        assert text.count(said) == 1, said
    toml = text.partition("```toml\n")[2].partition("```")[0]
    recipe = Recipe.from_toml(toml)
    assert (recipe.model, recipe.card.title, recipe.card.licence) == (Recipe().model, CARD.title, CARD.licence)


def test_facts_are_added_one_by_one(tmp_path: Path) -> None:
    update_card(tmp_path, calibration=CALIBRATION)
    assert not list(tmp_path.iterdir())  # no card, nothing to add to
    write_card(tmp_path, CARD)
    update_card(tmp_path, calibration=CALIBRATION)
    update_card(tmp_path, package=WHOLE.package)
    update_card(tmp_path, calibration=CALIBRATION)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == render(WHOLE)


def test_wrong_facts_are_named(tmp_path: Path) -> None:
    write_card(tmp_path, WHOLE)
    values = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    values["calibration"]["temperature"]["tags"] = "warm"
    (tmp_path / "card.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(FormatError, match=r'card\.json: card\.calibration\.temperature\.tags "warm" is not a number'):
        read_card(tmp_path)


def test_the_embedded_card_is_written_from_its_facts() -> None:
    folder = find_model("en")
    card = read_card(folder)
    assert card is not None
    assert (folder / "README.md").read_text(encoding="utf-8") == render(card)
