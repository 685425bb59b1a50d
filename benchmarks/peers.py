"""Compare hexatagger with other parsers: same train and dev of EWT, same machine, one run.

python benchmarks/peers.py --work DIR --encoder MINILM --characters MODEL [--only NAME]... [--minutes 60]
                           [--train | --speed] [--brief] [--rounds 2] [--part N]

Each peer has its own environment in DIR/NAME/venv and is trained with its documented defaults within the time limit.
Its driver in `benchmarks/drivers/` runs in that environment. What is already in DIR is not installed or trained again.
With --train, nothing is measured, and several trainings may run at once, one per core, for as many hours as there are
cores. With --speed, only words/s are measured again. With --speed --brief, peers whose trained model is gone are
trained for a few steps: their words/s are measured, and their scores stay those of the earlier run. With --part,
everything is tried on N sentences and a few steps, and nothing is saved.

LAS, UAS     CoNLL 2018 on dev, from gold words and from raw text; a second root is attached to the first
words/s      from gold words in memory, and from raw text in memory, to trees in memory, second time in the process,
             with 1 and with 2 threads (or processes, where a peer has no threads); the best of several rounds (two by
             default) in which all peers take turns
peak         peak memory of the process with one thread, model included
first tree   a whole process that loads the model and parses one sentence of five words, median of five
installed    everything that `pip install` installed, without pip, and the part of it that only GPUs need

hexatagger has three models here. `en` and `en-fast` were not trained in this run: they were distilled from larger
models, also on text without trees, which the other parsers did not have. MODEL is like the others:
`recipes/language.toml` trained on the same file, without a pretrained encoder.
"""

import argparse
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexatagger import read_conllu, write_conllu
from hexatagger.errors import HexataggerError
from hexatagger.formats.text import ud_text
from hexatagger.model.card import read_card
from hexatagger.model.registry import find_model
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from results import RESULTS, ROOT, load, save, treebank

MEASURES = ("src/hexatagger/decode", "src/hexatagger/models", "src/hexatagger/parsing", "src/hexatagger/segment")
FILES = {part: f"UD_English-EWT/en_ewt-ud-{part}.conllu" for part in ("train", "dev")}
DRIVERS = ROOT / "benchmarks" / "drivers"
STARTS = 5
FOR_GRAPHICS = ("nvidia", "triton", "cuda")
NOT_COUNTED = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")


@dataclass(frozen=True)
class Peer:
    """A parser to compare with."""

    title: str
    packages: tuple[str, ...]
    """What pip installs; the first is the parser."""
    gives: str
    """What it predicts."""
    driver: str = ""
    """The name of its driver, if it is not that of the peer; it shares the environment of that peer too."""


_ALL = "tags, features, lemmas, trees"
PEERS = {
    "hexatagger": Peer("hexatagger `en`", (str(ROOT),), _ALL),
    "hexatagger-fast": Peer("hexatagger `en-fast`", (str(ROOT),), _ALL, driver="hexatagger"),
    "hexatagger-characters": Peer("hexatagger on EWT alone", (str(ROOT),), _ALL, driver="hexatagger"),
    "spacy": Peer("spaCy, tok2vec", ("spacy",), "tags, features, trees"),
    "udpipe": Peer("UDPipe 1", ("ufal.udpipe",), _ALL),
    "supar": Peer("SuPar, biaffine on MiniLM", ("supar", "transformers"), "trees"),
}


class PeerError(Exception):
    """A peer could not do something; the message is what the table says."""


@dataclass(frozen=True)
class Place:
    """Where a peer is, and where its model and its output are."""

    name: str
    venv: Path
    folder: Path

    @property
    def model(self) -> Path:
        """The folder that is there when training is done."""
        return self.folder / "model"

    @property
    def python(self) -> Path:
        """Its own interpreter."""
        return self.venv / "bin" / "python"

    def install(self) -> str:
        """Install the peer if it is not there; return its version."""
        packages = PEERS[self.name].packages
        if not self.python.exists():
            venv.create(self.venv, with_pip=True)
        if not (found := self._version()):
            print(f"{self.name}: installing", flush=True)
            done = self._run([self.python, "-m", "pip", "install", "--quiet", *packages], "install")
            if done.returncode or not (found := self._version()):
                raise PeerError(f"cannot be installed: {_last(done.stderr)}")
        return found

    @property
    def driver(self) -> str:
        """The name of its driver, and of the package that it drives."""
        return PEERS[self.name].driver or self.name

    def drive(self, command: str, *arguments: str | Path, threads: int | None = None) -> dict[str, Any]:
        """Let the driver do something and return what it says."""
        driver = DRIVERS / f"{self.driver}_driver.py"
        words = [self.python, driver, command, *arguments, *(["--threads", str(threads)] if threads else [])]
        done = self._run(words, command, threads=threads)
        if done.returncode:
            raise PeerError(f"{command} failed: {_last(done.stderr).replace(str(self.folder), '…')}")
        said: dict[str, Any] = json.loads(lines[-1]) if (lines := done.stdout.splitlines()) else {}
        if "problem" in said:
            raise PeerError(said["problem"])
        return said

    def parse(self, given: str, path: Path, *, threads: int) -> dict[str, Any]:
        """Parse a file of words or text; the trees are in a file of that name."""
        output = self.folder / f"{given}.conllu"
        return self.drive(given, "--model", self.model, "--input", path, "--output", output, threads=threads)

    def weight(self) -> dict[str, float]:
        """Return the megabytes of what was installed, and of what of it is for graphics cards only."""
        [site] = self.venv.resolve().glob("lib/python*/site-packages")
        sizes = {each.name: _bytes(each) for each in site.iterdir() if not each.name.startswith(NOT_COUNTED)}
        graphics = sum(size for name, size in sizes.items() if name.startswith(FOR_GRAPHICS))
        return {"installed_megabytes": _mega(sum(sizes.values())), "graphics_megabytes": _mega(graphics)}

    def _version(self) -> str:
        package = self.driver if self.driver == "hexatagger" else PEERS[self.name].packages[0]
        code = f"import importlib.metadata as m; print(m.version('{package}'))"
        return self._run([self.python, "-c", code], "version").stdout.strip()

    def _run(
        self, command: Sequence[str | Path], log: str, *, threads: int | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command as if nothing of this project were around; what it says is kept in a log as it comes."""
        hidden = ("PYTHON", "VIRTUAL_ENV", "HEXATAGGER", "OMP_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        environment |= {"HF_HUB_OFFLINE": "1"} | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
        words = [str(each) for each in command]
        with (self.folder / f"{log}.log").open("w+", encoding="utf-8") as errors:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
            errors.seek(0)
            done.stderr = errors.read()
        return done


def _last(text: str) -> str:
    """Return the last line of a message."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")[:200]


def _bytes(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(each.stat().st_size for each in files if each.is_file() and each.parent.name != "__pycache__")


def _computed() -> float:
    """Return the seconds that all child processes have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _mega(size: float) -> float:
    return round(size / 1e6, 1)


def prepare(folder: Path, part: int | None) -> tuple[dict[str, Path], list[Sentence]]:
    """Write train, dev, their raw text and the bare words of dev; return the files and gold dev."""
    folder.mkdir(parents=True, exist_ok=True)
    files, gold = {}, list[Sentence]()
    for name, path in FILES.items():
        most = part and (part if name == "train" else (part + 1) // 2)
        sentences = list(itertools.islice(read_conllu(treebank(path)), most))
        files[name], files[f"{name}-text"] = folder / f"{name}.conllu", folder / f"{name}.txt"
        write_conllu(sentences, files[name])
        files[f"{name}-text"].write_text(ud_text(sentences), encoding="utf-8", newline="")
        gold = sentences
    bare = list(read_conllu(files["dev"]))
    for sentence in bare:
        sentence.empty_nodes.clear()
        for word in sentence:
            word.lemma = word.upos = word.xpos = word.feats = word.deprel = word.deps = "_"
            word.head = None
    files["words"] = folder / "words.conllu"
    write_conllu(bare, files["words"])
    return files, gold


def own_models(options: argparse.Namespace) -> dict[str, Path]:
    """Return the folders of the models of hexatagger."""
    found = {"hexatagger": find_model("en"), "hexatagger-fast": ROOT / "models" / "en-fast"}
    return found | ({"hexatagger-characters": options.characters} if options.characters else {})


def trained(place: Place, files: dict[str, Path], options: argparse.Namespace) -> dict[str, Any]:
    """Train the peer if that was not done; return how much computing it took and whether its time was over."""
    notes = place.folder / "training.json"
    if not (place.model.exists() and notes.exists()):
        if place.name == "supar" and not options.encoder:
            raise PeerError("needs --encoder, the folder of a MiniLM")
        print(f"{place.name}: training", flush=True)
        for left in (place.model, place.folder / "training"):
            shutil.rmtree(left, ignore_errors=True)
        arguments: list[str | Path] = ["--out", place.model, "--minutes", str(options.minutes)]
        for name in ("train", "dev", "train-text", "dev-text"):
            arguments += [f"--{name}", files[name]]
        if options.encoder:
            arguments += ["--encoder", options.encoder.resolve()]
        if place.driver == "hexatagger":
            arguments += ["--model", (own_models(options)[place.name]).resolve()]
        before = _computed()
        said = place.drive("train", *arguments, *(["--quick"] if options.part or options.brief else []))
        said["core_minutes"] = round((_computed() - before) / 60, 1)
        if place.name == "hexatagger-characters" and (card := read_card(options.characters)):  # it is not included
            said |= {"brought": False, "core_minutes": card.minutes}
        notes.write_text(json.dumps(said))
    found: dict[str, Any] = json.loads(notes.read_text())
    return found


def scores(gold: list[Sentence], path: Path) -> dict[str, float]:
    """Score what a peer wrote; count the sentences in which it had several roots."""
    several = sum(sum(head == 0 for head in sentence.heads) > 1 for sentence in read_conllu(path))
    metrics = evaluate(gold, read_conllu(path, roots="attach")).metrics
    found = {name: round(metrics[name].f1, 2) for name in ("Sentences", "Words", "UAS", "LAS")}
    return found | {"several roots": several}


def first_tree(place: Place) -> float:
    """Return the seconds from a command to its first tree."""
    taken = []
    for _ in range(STARTS + 1):  # the first one finds nothing in the cache of the disk
        begin = time.perf_counter()
        place.drive("first", "--model", place.model)
        taken.append(time.perf_counter() - begin)
    return round(statistics.median(taken[1:]), 2)


def measure(place: Place, files: dict[str, Path], gold: list[Sentence], options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures of a peer."""
    figures: dict[str, Any] = {"version": place.install()}
    figures |= trained(place, files, options)
    if options.train:
        return figures
    print(f"{place.name}: measuring", flush=True)
    figures["peak_megabytes"] = round(place.parse("words", files["words"], threads=1)["megabytes"])
    figures["words"] = scores(gold, place.folder / "words.conllu")
    try:
        place.parse("text", files["dev-text"], threads=1)
        figures["text"] = scores(gold, place.folder / "text.conllu")
    except (PeerError, HexataggerError) as error:
        figures |= {"text": None, "text_problem": str(error)}
    figures["first_seconds"] = first_tree(place)
    return figures | place.weight() | {"model_megabytes": _mega(_bytes(place.model))}


def speeds(places: Sequence[Place], files: dict[str, Path], rounds: int) -> dict[str, dict[str, dict[str, list[int]]]]:
    """Return words per second of every peer, from words and from text, with 1 and with 2 threads, of every round."""
    found: dict[str, dict[str, dict[str, list[int]]]] = {place.name: {} for place in places}
    inputs = {"words_per_second": ("words", "words"), "text_words_per_second": ("text", "dev-text")}
    for number, place, threads, kind in itertools.product(range(rounds), places, (1, 2), inputs):
        command, file = inputs[kind]
        try:
            said = place.parse(command, files[file], threads=threads)
        except PeerError:  # it takes no raw text
            continue
        rate = round(said["words"] / said["seconds"])
        found[place.name].setdefault(kind, {"1": [], "2": []})[str(threads)].append(rate)
        print(f"round {number + 1}, {place.name}, {command}, {threads}: {rate:,} words/s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=list(PEERS))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--part", type=int)
    parser.add_argument("--characters", type=Path)
    parser.add_argument("--encoder", type=Path)
    options = parser.parse_args()
    if options.brief and not (options.speed or options.train):
        parser.error("--brief is for --speed: the scores of peers that were trained for a few steps say nothing")
    known = [name for name in PEERS if PEERS[name].driver != "hexatagger" or name in own_models(options)]
    work = options.work.resolve()
    # What is only tried is never taken for trained.
    here = work / f"part-{options.part}" if options.part else work / "brief" if options.brief else work
    files, gold = prepare(here / "data", options.part)
    earlier = load("peers") if (options.only or options.speed) and (RESULTS / "peers.json").exists() else {}
    found: dict[str, Any] = dict(earlier.get("peers", {}))
    places = {
        name: Place(name, work / (PEERS[name].driver or name) / "venv", here / name) for name in options.only or known
    }
    for name, place in places.items():
        place.folder.mkdir(exist_ok=True)
        if (options.speed or options.brief) and place.driver != "hexatagger":
            if options.brief:
                place.install()
                trained(place, files, options)
                found.setdefault(name, {"problem": "was not trained"})["scored"] = earlier.get("date")
            continue
        try:
            figures = measure(place, files, gold, options)
        except (PeerError, HexataggerError) as error:
            figures = {"problem": str(error).replace(str(work), "…")}
        found[name] = {"title": PEERS[name].title, "gives": PEERS[name].gives, **figures}
        print(json.dumps({name: found[name]}, indent=2), flush=True)
    if options.train:
        return

    def keep() -> None:
        counts = {"file": FILES["dev"], "sentences": len(gold), "words": sum(map(len, gold))}
        minutes = earlier.get("minutes", options.minutes)
        peers = {each: found[each] for each in PEERS if each in found}
        if not options.part:
            save("peers", counts | {"minutes": minutes, "peers": peers})

    keep()
    able = [place for name, place in places.items() if "problem" not in found.get(name, {"problem": "not measured"})]
    for name, rates in speeds(able, files, 1 if options.part else options.rounds).items():
        found[name] |= rates
    keep()


if __name__ == "__main__":
    main()
