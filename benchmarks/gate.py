"""Hold every shipped model to the scores that it has reached: the floors in floors.json.

    python benchmarks/gate.py                    all models on a fixed part of dev, as CI does
    python benchmarks/gate.py --whole            all models on all of dev: `make gate`
    python benchmarks/gate.py --record fr        measure a model on both, and record what it reaches as its floors
    python benchmarks/gate.py --record fr --allow-regression "why"

The shipped models are the embedded one and the folders in models/. Their dev files are those of ud/languages.tsv, found
by the name of the model, or else by the language in its card. The part of dev is its first sentences, up to PART words.

A model fails if a figure is below its floor by more than the margin, if it has no floors, or if the dev file is not the
one that its floors were recorded with. Floors without a model fail too. On all of dev, a model must also reach the
scores in its card. Floors only rise: `--record` refuses a lower figure unless `--allow-regression` says why, and keeps
the reason in floors.json. With `--whole` and without names, the figures and the speed of each model as a ratio to `en`
go to results/gate.json. Speed is recorded, not gated.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import hexatagger
from hexatagger import read_conllu
from hexatagger.errors import ConfigError, FormatError, HexataggerError
from hexatagger.formats.files import replacing
from hexatagger.formats.text import ud_text
from hexatagger.model.card import DataFile, read_card
from hexatagger.model.folder import CONFIG, has_segmenter, read_folder
from hexatagger.model.registry import EMBEDDED, EMBEDDED_FOLDER
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from language import read_table
from results import ROOT, SHARED, save, treebank

MEASURES = ("src/hexatagger", "models")
MODELS = ROOT / "models"
FLOORS = ROOT / "benchmarks" / "floors.json"

PART = 2_000
"""Words in the part of dev; its last sentence may go beyond. A model then takes about a second, loading included."""

MARGIN_WORDS, MARGIN_POINTS = 4, 0.1
"""How far a figure may be below its floor: by so many words of dev, and in any case by so many points.

The same model gives the same trees in every run and with every number of threads. Machines differ in how they round:
with ONNX Runtime's optimisations switched off, `en` lost 2 of 8,761 words, and two small models lost none.
"""

ROUNDS = 3  # of the speed

FIGURES = {
    "LAS": ("words", "LAS"),
    "UPOS": ("words", "UPOS"),
    "Lemmas": ("words", "Lemmas"),
    "Words from text": ("text", "Words"),
    "LAS from text": ("text", "LAS"),
}
"""The figures: what is given to the parser, and the CoNLL 2018 metric, F1 in percent."""

Table = Mapping[str, tuple[str, list[Path], Path]]
Floors = dict[str, dict[str, Any]]
"""By model: `dev` and its `sha256`, and for `part` and `whole` the number of `words` and the figures."""


@dataclass(frozen=True)
class Reached:
    """What a model reaches on some sentences."""

    words: int
    figures: dict[str, float]
    """Without those that the model does not predict: lemmas, or anything from text without a segmenter."""

    def to_json(self) -> dict[str, float]:
        """Return what the file of floors keeps."""
        return {"words": self.words, **self.figures}


class Fall(NamedTuple):
    """A figure below what it is held to."""

    model: str
    figure: str
    floor: float
    now: float
    margin: float


class Problem(NamedTuple):
    """Anything else that is wrong with a model or its floors."""

    model: str
    message: str


def shipped(models: Path = MODELS) -> dict[str, Path]:
    """Return the folders of all shipped models by name, the embedded one first."""
    folders = sorted(path.parent for path in models.glob(f"*/{CONFIG}"))
    return {EMBEDDED: EMBEDDED_FOLDER} | {folder.name: folder for folder in folders}


def find_dev(name: str, folder: Path, table: Table) -> Path:
    """Return the dev file of a model: by its name, or else by the language that its card states."""
    language = read_folder(folder).recipe.card.language
    found = table.get(name) or table.get(language)
    if found is None:
        raise ConfigError(f"no row of languages.tsv is called '{name}' or '{language}', so the model has no dev file")
    return found[2]


def read_dev(path: Path, most: int | None) -> list[Sentence]:
    """Return the first sentences of a dev file, up to so many words and the end of a sentence; None: all."""
    found, words = list[Sentence](), 0
    for sentence in read_conllu(path):
        if most is not None and words >= most:
            break
        found.append(sentence)
        words += len(sentence)
    return found


def measure(parser: hexatagger.Parser, gold: Sequence[Sentence]) -> Reached:
    """Return what a parser reaches, given words and given raw text."""
    parsed = {"words": parser.parse_sentences(gold)}
    if has_segmenter(parser.folder.path):
        parsed["text"] = parser.parse(ud_text(gold))
    scores = {given: evaluate(gold, each, columns=parser.config.tasks).metrics for given, each in parsed.items()}
    figures = {
        figure: round(scores[given][metric].f1, 3)
        for figure, (given, metric) in FIGURES.items()
        if metric in scores.get(given, {})
    }
    return Reached(sum(map(len, gold)), figures)


def compare_speed(sides: Sequence[tuple[hexatagger.Parser, Sequence[Sentence]]]) -> tuple[float, float]:
    """Return words per second of the first parser, and its speed as a ratio to the second; both take turns.

    Counts processor time, given words, after a first round: medians of the rounds.
    """
    rates: list[list[float]] = [[], []]
    for _ in range(ROUNDS + 1):
        for (parser, sentences), taken in zip(sides, rates, strict=True):
            began = time.process_time()
            parser.parse_sentences(sentences)
            taken.append(sum(map(len, sentences)) / (time.process_time() - began))
    one, other = (statistics.median(taken[1:]) for taken in rates)
    return one, one / other


def margin(words: int) -> float:
    """Return how many points a figure may be below its floor.

    >>> margin(2_000), margin(25_000)
    (0.2, 0.1)
    """
    return max(MARGIN_POINTS, 100 * MARGIN_WORDS / words)


def find_falls(name: str, floors: Mapping[str, float], found: Reached, where: str) -> list[Fall]:
    """Return the figures that are below their floors by more than the margin."""
    allowed = margin(found.words)
    if floors.get("words", found.words) != found.words:
        return []  # of other sentences
    return [
        Fall(name, f"{figure}, {where}", floors[figure], now, allowed)
        for figure, now in found.figures.items()
        if now < floors.get(figure, 0) - allowed
    ]


def find_mismatches(name: str, floors: Mapping[str, float], found: Reached, where: str) -> list[Problem]:
    """Say which floors and figures cannot be compared."""
    again = f"python benchmarks/gate.py --record {name}"
    if floors["words"] != found.words:
        return [Problem(name, f"{where} has {found.words:,} words, but {floors['words']:,} when recorded: {again}")]
    lost, new = set(floors) - {"words", *found.figures}, set(found.figures) - set(floors)
    problems = [Problem(name, f"the model no longer gives {each}, {where}") for each in sorted(lost)]
    return problems + [Problem(name, f"there is no floor for {each}, {where}: {again}") for each in sorted(new)]


def claimed(folder: Path, sha256: str) -> dict[str, float]:
    """Return the figures in the card of a model, if they are of this dev file; floors of their own."""
    card = read_card(folder)
    if card is None or card.package is None or [each.sha256 for each in card.data if each.part == "dev"] != [sha256]:
        return {}
    scores = {"words": card.package.words, "text": card.package.text}
    return {
        figure: round(scores[given][metric], 3)
        for figure, (given, metric) in FIGURES.items()
        if metric in scores[given]
    }


def read_floors(path: Path = FLOORS) -> tuple[Floors, list[dict[str, Any]]]:
    """Return the floors by model, and the regressions that were allowed."""
    if not path.is_file():
        return {}, []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found["models"], found["regressions"]
    except (ValueError, KeyError) as error:
        raise FormatError(f"is not a file of floors: {error}: restore it with git", source=str(path)) from None


def write_floors(floors: Floors, regressions: Sequence[dict[str, Any]], path: Path = FLOORS) -> None:
    """Write what `read_floors` reads, with one line per model and per regression."""
    models = [f"  {json.dumps(name)}: {json.dumps(floors[name])}" for name in sorted(floors)]
    allowed = [f"  {json.dumps(each, ensure_ascii=False)}" for each in regressions]
    parts = [' "models": {', ",\n".join(models), " },", ' "regressions": [', ",\n".join(allowed), " ]"]
    with replacing(path) as temporary:
        temporary.write_text("\n".join(["{", *filter(None, parts), "}", ""]), encoding="utf-8")


def raised(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the floors of a model that was measured again, and what would fall: `{"LAS, whole": [91.3, 90.8]}`.

    A figure that is lower within the margin keeps its floor: otherwise floors would sink by a margin each time.
    """
    if old is None:
        return dict(new), {}
    if old["sha256"] != new["sha256"]:
        return dict(new), {"sha256": [old["sha256"], new["sha256"]]}
    made, falls = dict(new), dict[str, list[Any]]()
    for where in ("part", "whole"):
        if old[where]["words"] != new[where]["words"]:
            falls[f"words, {where}"] = [old[where]["words"], new[where]["words"]]
            continue
        allowed = margin(new[where]["words"])
        for figure, floor in old[where].items():
            now = new[where].get(figure)
            if now is None or now < floor - allowed:
                falls[f"{figure}, {where}"] = [floor, now]
        made[where] = {key: max(now, old[where].get(key, now)) for key, now in new[where].items()}
        made[where] |= {key: now for key, now in new[where].items() if f"{key}, {where}" in falls}
    return made, falls


def record(names: Sequence[str], models: Mapping[str, Path], table: Table, floors_file: Path, why: str | None) -> bool:
    """Measure models on both parts and raise their floors; return whether all were recorded."""
    done = True
    for name in names:
        if name in models:
            made = _measure_both(name, models[name], table)
        elif name in read_floors(floors_file)[0]:
            made = None
        else:
            raise ConfigError(f"there is no model '{name}', and there are no floors of it: {', '.join(models)}")
        floors, regressions = read_floors(floors_file)  # now: another process may have added a model meanwhile
        old = floors.pop(name, None)
        made, falls = raised(old, made) if made else (None, {"model": [name, None]})
        if falls and why is None:
            done = False
            print(f"{name}: not recorded, because floors only rise:")
            for what, (before, now) in falls.items():
                print(f"  {what}: {before} → {now}")
            print('  if it has to be: --allow-regression "why"', flush=True)
            continue
        if falls:
            date = datetime.now(UTC).strftime("%Y-%m-%d")
            regressions.append({"model": name, "date": date, "why": why, "fell": falls})
        write_floors(floors | ({name: made} if made else {}), regressions, floors_file)
        print(f"{name}: {'floors removed' if made is None else made['whole']}", flush=True)
    return done


def _measure_both(name: str, folder: Path, table: Table) -> dict[str, Any]:
    """Return the entry of a model in the file of floors, as it is now."""
    dev = find_dev(name, folder, table)
    parser = hexatagger.load(folder, threads=1)
    return {
        "dev": dev.relative_to(SHARED / "ud").as_posix(),
        "sha256": DataFile.read("dev", dev).sha256,
        "part": measure(parser, read_dev(dev, PART)).to_json(),
        "whole": measure(parser, read_dev(dev, None)).to_json(),
    }


def check(
    names: Sequence[str], models: Mapping[str, Path], table: Table, floors: Floors, *, whole: bool
) -> tuple[dict[str, Any], list[Fall], list[Problem]]:
    """Hold models to their floors; return the figures by model, what fell, and what else is wrong."""
    where = "whole" if whole else "part"
    english = (hexatagger.load(EMBEDDED_FOLDER, threads=1), read_dev(table[EMBEDDED][2], PART)) if whole else None
    rows, falls, problems = dict[str, Any](), list[Fall](), list[Problem]()
    for name in names:
        if name not in floors:
            problems.append(Problem(name, f"the model has no floors: python benchmarks/gate.py --record {name}"))
            continue
        began = time.perf_counter()
        try:
            dev = find_dev(name, models[name], table)
            sha256 = DataFile.read("dev", dev).sha256
            if sha256 != floors[name]["sha256"]:
                message = f"{floors[name]['dev']} is not the file that the floors were recorded with (sha256 "
                message += f"{sha256[:12]}, not {floors[name]['sha256'][:12]}): restore it, or record the model again"
                raise ConfigError(message)
            parser, gold = hexatagger.load(models[name], threads=1), read_dev(dev, None if whole else PART)
            found = measure(parser, gold)
            card = claimed(models[name], sha256) if whole else {}
        except HexataggerError as error:
            problems.append(Problem(name, str(error)))
            continue
        problems += find_mismatches(name, floors[name][where], found, where)
        falls += find_falls(name, floors[name][where], found, where)
        falls += find_falls(name, card, found, "card")
        rows[name] = found.to_json()
        if english:
            rate, ratio = compare_speed([(parser, read_dev(dev, PART)), english])
            rows[name] |= {"words_per_second": round(rate), "speed_to_english": round(ratio, 2)}
        _show(name, rows[name], time.perf_counter() - began)
    return rows, falls, problems


def _show(name: str, row: Mapping[str, float], seconds: float) -> None:
    """Print the figures of a model."""
    cells = [f"{figure} {row[figure]:6.2f}" if figure in row else " " * (len(figure) + 7) for figure in FIGURES]
    speed = f"   {row['speed_to_english']:.2f} × en" if "speed_to_english" in row else ""
    print(f"{name:14}{row['words']:>7,} words   {'   '.join(cells)}{speed}   {seconds:.1f} s", flush=True)


def show_failures(falls: Sequence[Fall], problems: Sequence[Problem]) -> None:
    """Print which figures fell by how much, and what else is wrong."""
    if falls:
        print(f"\n{'model':14}{'figure':24}{'floor':>8}{'now':>8}{'fell by':>9}{'margin':>8}")
    for model, figure, floor, now, allowed in falls:
        print(f"{model:14}{figure:24}{floor:8.2f}{now:8.2f}{floor - now:9.2f}{allowed:8.2f}")
    if problems:
        print()
    for model, message in problems:
        print(f"{model}: {message}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MODEL", help="names of models; default: all")
    parser.add_argument("--whole", action="store_true", help="all of dev, not a part of it")
    parser.add_argument("--record", action="store_true", help="record what the models reach as their floors")
    parser.add_argument("--allow-regression", metavar="WHY", help="record lower floors too, for this reason")
    parser.add_argument("--models", type=Path, default=MODELS, help="where the folders of models are")
    parser.add_argument("--floors", type=Path, default=FLOORS, help="the file of floors")
    given = parser.parse_args(arguments)
    if given.allow_regression is not None and not (given.record and given.allow_regression.strip()):
        parser.error('--allow-regression "why" needs a reason, and --record')
    treebank("languages.tsv")  # ends with a message where the treebanks are not here
    table, models, began = read_table(), shipped(given.models), time.perf_counter()
    names = given.names or list(models)
    try:
        if given.record:
            sys.exit(0 if record(names, models, table, given.floors, given.allow_regression) else 1)
        floors, _ = read_floors(given.floors)
        if unknown := [name for name in given.names if name not in models]:
            raise ConfigError(f"there is no model '{unknown[0]}': {', '.join(models)}")
    except HexataggerError as error:
        sys.exit(f"Error: {error}")
    rows, falls, problems = check(names, models, table, floors, whole=given.whole)
    where = "whole" if given.whole else "part"
    if not given.names:
        problems += [
            Problem(
                name,
                f"there are floors, but no model: put it back into {given.models.name}/, or remove them with "
                f'python benchmarks/gate.py --record {name} --allow-regression "why"',
            )
            for name in sorted(set(floors) - set(models))
        ]
        if given.whole and given.models == MODELS:
            save("gate", {"margin": {"words": MARGIN_WORDS, "points": MARGIN_POINTS}, "models": rows}, ("onnxruntime",))
    show_failures(falls, problems)
    if higher := [name for name, row in rows.items() if _is_higher(row, floors[name][where])]:
        print(f"\nabove their floors: {', '.join(higher)}: python benchmarks/gate.py --record {' '.join(higher)}")
    failed = sorted({fall.model for fall in falls} | {problem.model for problem in problems})
    told = f"{len(set(rows) - set(failed))} of {len(names)} models reach their floors on "
    told += f"{'all' if given.whole else 'a part'} of dev ({time.perf_counter() - began:.0f} s)"
    print(f"\n{told}; failed: {', '.join(failed)}" if failed else f"\n{told}")
    sys.exit(1 if failed else 0)


def _is_higher(row: Mapping[str, float], floors: Mapping[str, float]) -> bool:
    """Say whether a figure is so far above its floor that the floor should rise."""
    return any(row[figure] > floors.get(figure, 100) + margin(int(row["words"])) for figure in FIGURES if figure in row)


if __name__ == "__main__":
    main()
