"""What helps small models: scores on dev before and after a change of their training.

python benchmarks/gains.py CHANGE BEFORE AFTER [CHANGE BEFORE AFTER …]

BEFORE and AFTER are model folders of one language, trained or packaged, whose cards have the scores in 32 bits. A row
of the same change and language replaces the one that results/gains.json has; the others stay.
"""

import argparse
from pathlib import Path

from hexatagger.errors import ConfigError
from hexatagger.model.card import Card, read_card
from results import RESULTS, load, save

MEASURES = ("recipes/language.toml",)
SCORES = ("LAS", "UPOS", "UFeats", "Lemmas")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("given", nargs="+", metavar="CHANGE BEFORE AFTER")
    given = options.parse_args().given
    if len(given) % 3:
        raise ConfigError(f"{len(given)} values: give CHANGE, BEFORE and AFTER, once or several times")
    rows = load("gains")["rows"] if (RESULTS / "gains.json").is_file() else []
    for change, before, after in zip(given[::3], given[1::3], given[2::3], strict=True):
        first, second = _card(Path(before)), _card(Path(after))
        language = second.language or first.language
        row = {"language": language, "change": change}
        for name, card in (("before", first), ("after", second)):
            row[name] = {score: card.scores[score] for score in SCORES if score in card.scores}
        rows = [each for each in rows if (each["language"], each["change"]) != (language, change)] + [row]
    save("gains", {"rows": rows})


def _card(folder: Path) -> Card:
    card = read_card(folder)
    if card is None:
        raise ConfigError(f"{folder} has no card: name the folder of a model")
    return card


if __name__ == "__main__":
    main()
