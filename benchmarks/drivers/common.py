"""What the drivers of the peers share.

A driver runs in the environment of its peer, where there is no hexatagger, and has four commands:

driver.py train --train F --dev F --train-text F --dev-text F --out MODEL --minutes M
driver.py words --model MODEL --input gold.conllu --output out.conllu --threads T      parse the words that are there
driver.py text --model MODEL --input raw.txt --output out.conllu --threads T           cut raw text and parse it
driver.py first --model MODEL                                                          load, and parse one sentence

The last line that a driver prints is JSON. MODEL is a folder that appears when training is done; all else that training
leaves behind is in a folder `training` beside it.
"""

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

FIRST = ["She", "reads", "fascinating", "papers", "."]
"""The sentence of a cold start."""

Block = list[list[str]]
"""The rows of a sentence, of ten columns each; empty nodes are left out."""
Tree = tuple[Sequence[int], Sequence[str]]
"""Heads and relations."""


@dataclass(frozen=True)
class Driver:
    """What a peer can do."""

    train: Callable[[argparse.Namespace], None]
    load: Callable[[argparse.Namespace], Any]
    parse: Callable[[Any, list[list[str]]], Any]
    """Parse given words with what was loaded; this is timed."""
    trees: Callable[[Any], Iterable[Tree]]
    """Read the trees from what parsing gave."""
    cut: Callable[[Any, str], Iterable[Block]]
    """Cut raw text and parse it."""

    def main(self) -> None:
        """Carry out what the command line says."""
        args = options()
        if args.command == "train":
            self.train(args)
            return
        loaded, figures = self.load(args), dict[str, Any]()
        if args.command == "first":
            list(self.trees(self.parse(loaded, [FIRST])))
        elif args.command == "text":
            text = args.input.read_text(encoding="utf-8")
            found, seconds = timed(lambda: list(self.cut(loaded, text)))
            write(found, args.output)
            figures = {"seconds": seconds, "words": sum(len(words_of(block)) for block in found)}
        else:
            sentences = blocks(args.input.read_text(encoding="utf-8"))
            words = [words_of(block) for block in sentences]
            result, seconds = timed(lambda: self.parse(loaded, words))
            trees = zip(sentences, self.trees(result), strict=True)
            write((filled(block, *tree) for block, tree in trees), args.output)
            figures = {"seconds": seconds, "words": sum(map(len, words)), "megabytes": peak()}
        say(**figures)  # always: a peer may have printed something before, and the last line is read


def options() -> argparse.Namespace:
    """Read the command line of a driver."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["train", "words", "text", "first"])
    for name in ("train", "dev", "train-text", "dev-text", "out", "model", "input", "output", "encoder"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="train a few steps only, to try it out")
    return parser.parse_args()


def say(**figures: Any) -> None:
    """Print the result of a command."""
    print(json.dumps(figures))


def problem(reason: str) -> NoReturn:
    """Say why the peer cannot do this, and leave."""
    say(problem=reason)
    sys.exit(0)


def training_folder(out: Path) -> Path:
    """Make the folder for what training leaves behind."""
    folder = out.parent / "training"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(command: Sequence[str | Path], *, seconds: float | None = None) -> bool:
    """Run a command, its output on standard error; interrupt it at the limit. Return whether it had to be."""
    process = subprocess.Popen([str(each) for each in command], stdout=sys.stderr)
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            process.send_signal(number)
            try:
                process.wait(60)
                break
            except subprocess.TimeoutExpired:
                pass
        return True
    if status:
        sys.exit(f"{' '.join(map(str, command))} ended with {status}")
    return False


def blocks(text: str) -> list[Block]:
    """Read CoNLL-U."""
    found: list[Block] = [[]]
    for line in text.split("\n"):
        columns = line.split("\t")
        if len(columns) == 10 and "." not in columns[0]:
            found[-1].append(columns)
        elif not line and found[-1]:
            found.append([])
    return [block for block in found if block]


def words_of(block: Block) -> list[str]:
    """Return the words of a sentence."""
    return [columns[1] for columns in block if "-" not in columns[0]]


def filled(block: Block, heads: Sequence[int], deprels: Sequence[str]) -> Block:
    """Return a sentence with this tree and nothing else but its words and tokens."""
    trees = iter(zip(heads, deprels, strict=True))
    rows = []
    for columns in block:
        head, deprel = ("_", "_") if "-" in columns[0] else next(trees)
        rows.append([*columns[:2], "_", "_", "_", "_", str(head), deprel, "_", columns[9]])
    return rows


def rows_of(words: Sequence[str], heads: Sequence[int], deprels: Sequence[str]) -> Block:
    """Return the rows of a sentence of which there are only words."""
    return filled([[str(number), word, *"_" * 8] for number, word in enumerate(words, 1)], heads, deprels)


def write(sentences: Iterable[Block], path: Path) -> None:
    """Write CoNLL-U."""
    lines = ("\n".join("\t".join(columns) for columns in block) + "\n\n" for block in sentences)
    path.write_text("".join(lines), encoding="utf-8")


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    """Do a job twice; return the result and the seconds of the second time: the first has to make a thing or two."""
    job()
    begin = time.perf_counter()
    result = job()
    return result, time.perf_counter() - begin


def peak() -> float:
    """Return the most megabytes that this process has had in memory."""
    try:  # subtle: getrusage begins with what the parent process had
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
