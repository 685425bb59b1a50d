"""Language identification: learn a profile of each language in ud/languages.tsv, then judge dev sentences with them.

Measured on sentences of five words or more, as raw text: how often `auto` finds the language where models of all of
them are installed, how often a text of the model's own language is called foreign (also where the range of scores was
fitted on the other half of dev), and how often a text of another language is.
"""

import argparse
import csv
import dataclasses
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hexatagger
from hexatagger import read_conllu
from hexatagger.model.folder import LANGUAGE
from hexatagger.model.language import (
    LANGUAGES,
    READ,
    WORDS,
    LanguageProfile,
    choose,
    find_foreign,
    fit_range,
    learn,
    write_profile,
)
from results import SHARED, save

MEASURES = ("src/hexatagger/model/language.py", "src/hexatagger/model/languages.npz")
DOCUMENT = 10  # sentences in a document
FOREIGN = 50  # sentences per language that all other models judge
SELDOM = 90  # percent of right warnings below which a pair of languages is listed
PAIRS = 40  # confusions that are listed
ROUNDS = 20


def read_table() -> dict[str, tuple[str, list[Path], Path]]:
    """Return name, train files and dev file of each language."""
    table = SHARED / "ud" / "languages.tsv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return {
        code: (name, [table.parent / each for each in train.split()], table.parent / dev)
        for code, name, train, dev, *_ in rows
    }


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    sentences, folders, half_folders = dict[str, list[str]](), dict[str, Path](), dict[str, list[Path]]()
    with tempfile.TemporaryDirectory() as place:

        def keep(profile: LanguageProfile, name: str) -> Path:
            folder = Path(place) / name
            folder.mkdir()
            write_profile(folder, profile)
            return folder

        for code, (_, train, file) in read_table().items():
            dev = list(read_conllu(file))
            profile = learn([sentence for each in train for sentence in read_conllu(each)], dev, language=code)
            if profile is None:
                raise SystemExit(f"{code}: too little text")
            texts = [sentence.text for sentence in dev if len(sentence) >= WORDS]
            sentences[code], folders[code], half_folders[code] = texts, keep(profile, code), []
            for half in (0, 1):
                low, spread = fit_range(profile.weights, texts[half::2])
                fitted = dataclasses.replace(profile, low=low, spread=spread)
                half_folders[code].append(keep(fitted, f"{code}.{half}"))
            print(f"{code}: {len(texts)} sentences of dev", flush=True)
        save("language", measure(folders, half_folders, sentences))


def measure(
    folders: dict[str, Path], half_folders: dict[str, list[Path]], sentences: dict[str, list[str]]
) -> dict[str, Any]:
    """Return all figures."""
    figures, confused, confused_documents = dict[str, dict[str, float]](), Counter[str](), Counter[str]()
    right = Counter[str]()
    seldom: dict[str, float] = {}
    for code, texts in sentences.items():
        chosen = [choose(text, folders) for text in texts]
        confused.update(f"{code} → {name}" for name in chosen if name != code)
        documents = [" ".join(texts[start : start + DOCUMENT]) for start in range(0, len(texts), DOCUMENT)]
        chosen_documents = [choose(text, folders) for text in documents]
        confused_documents.update(f"{code} → {name}" for name in chosen_documents if name != code)
        counts = {
            "auto": chosen.count(code),
            "auto_documents": chosen_documents.count(code),
            "wrong_warnings": sum(bool(find_foreign(text, folders[code], {})) for text in texts),
            "wrong_warnings_halves": sum(
                bool(find_foreign(text, half_folders[code][1 - number % 2], {})) for number, text in enumerate(texts)
            ),
        }
        told = {
            other: percent(
                sum(bool(find_foreign(text, folders[code], {})) for text in rest[:FOREIGN]), len(rest[:FOREIGN])
            )
            for other, rest in sentences.items()
            if other != code
        }
        seldom |= {f"{other} for {code}": rate for other, rate in told.items() if rate < SELDOM}
        figures[code] = {
            "sentences": len(texts),
            **{name: percent(n, len(documents if name == "auto_documents" else texts)) for name, n in counts.items()},
            "right_warnings": round(statistics.mean(told.values()), 3),
        }
        print(code, figures[code], flush=True)
        right.update(counts | {"sentences": len(texts), "documents": len(documents)})
    text = " ".join(sentences["en"])[:READ]
    return {
        "languages": len(sentences),
        "sentences": right["sentences"],
        "documents": right["documents"],
        "auto": percent(right["auto"], right["sentences"]),
        "auto_macro": round(statistics.mean(each["auto"] for each in figures.values()), 3),
        "auto_documents": percent(right["auto_documents"], right["documents"]),
        "wrong_warnings": percent(right["wrong_warnings"], right["sentences"]),
        "wrong_warnings_halves": percent(right["wrong_warnings_halves"], right["sentences"]),
        "right_warnings": round(statistics.mean(each["right_warnings"] for each in figures.values()), 3),
        "milliseconds": {
            "characters": len(text),
            "warning": milliseconds(lambda: find_foreign(text, folders["en"], {})),
            "auto": milliseconds(lambda: choose(text, folders)),
            "parse": milliseconds(partial(hexatagger.load(threads=1).parse, text)),
        },
        "bytes_per_model": round(statistics.mean((folder / LANGUAGE).stat().st_size for folder in folders.values())),
        "bytes_of_package": LANGUAGES.stat().st_size,
        "confused": dict(confused.most_common(PAIRS)),
        "confused_documents": dict(confused_documents.most_common(PAIRS)),
        "seldom_warned": dict(sorted(seldom.items(), key=lambda item: item[1])),
        "by_language": figures,
    }


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 3) if whole else 0.0


def milliseconds(work: Callable[[], object]) -> float:
    """Return the median time that something takes, once it has been done before."""
    seconds = []
    for _ in range(ROUNDS + 1):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return round(1000 * statistics.median(seconds[1:]), 3)


if __name__ == "__main__":
    main()
