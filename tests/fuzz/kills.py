"""`parse`, `corpus` and `train` are killed at a random moment: output is whole or absent; the next run completes it."""

import functools
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.cases import Counts, check, run_cases
from onnx_model import write_model
from tiny import RECIPE, write_treebank

_LINES = 3000
_EPOCHS = 12
_FILES = 3
"""Files of the corpus, each with all lines."""
_SHARES = {"train": 0.12, "corpus": 0.2}
"""Shares of the kills that hit commands which take longer than parsing a file."""


@dataclass
class _Bench:
    """Commands with what they write and how long they take when nobody kills them."""

    place: Path
    model: Path
    slow: bool = True
    whole: dict[str, bytes] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def run(seed: int, *, count: int | None = None, seconds: float | None = None, slow: bool = True) -> Counts:
    """Kill commands; unless `slow`, only `parse`."""
    with tempfile.TemporaryDirectory() as place:
        bench = _Bench(Path(place), write_model(Path(place) / "model"), slow)
        chance = random.Random(0)
        words = ["Dogs", "bark", "at", "cats", ".", "é", "漢字", "10"]
        lines = (" ".join(chance.choices(words, k=chance.randrange(1, 12))) for _ in range(_LINES))
        (bench.place / "in.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (bench.place / "texts").mkdir()
        for number in range(_FILES):
            shutil.copyfile(bench.place / "in.txt", bench.place / "texts" / f"{number}.txt")
        (bench.place / "recipe.toml").write_text(RECIPE, encoding="utf-8")
        write_treebank(bench.place)
        return run_cases("kills", functools.partial(case, bench=bench), seed, count=count, seconds=seconds)


def case(chance: random.Random, bench: _Bench) -> Iterable[str]:
    with tempfile.TemporaryDirectory(dir=bench.place) as place:
        drawn = chance.random()  # in any case, so that a seed gives the same moment with the slow commands and without
        if bench.slow and drawn < _SHARES["train"]:
            return _train(chance, bench, Path(place))
        if bench.slow and drawn < _SHARES["train"] + _SHARES["corpus"]:
            try:
                return _corpus(chance, bench, Path(place))
            except _NoRayError:
                return ["Ray did not start"]  # it gives itself half a minute, which a busy machine may not have
        return _parse(chance, bench, Path(place))


def _parse(chance: random.Random, bench: _Bench, place: Path) -> Iterable[str]:
    resumed, workers = chance.random() < 0.6, chance.choice(["1", "1", "1", "2"])
    command = ["parse", "--model", str(bench.model), "--from", "words", "-f", str(bench.place / "in.txt")]
    command += ["--workers", workers]
    if "parse" not in bench.whole:
        bench.seconds["parse"] = _finish([*command, "-o", str(place / "whole")])
        bench.whole["parse"] = (place / "whole").read_bytes()
        (place / "whole").unlink()
    target, old = place / "out.conllu", chance.choice([b"", b"old\n"])
    if old:
        target.write_bytes(old)
    command += ["-o", str(target), *["--resume"] * resumed]
    ended = _kill(command, chance.uniform(0.1, 1.1) * bench.seconds["parse"])
    found = target.read_bytes() if target.exists() else b""
    check(found in (old, bench.whole["parse"]), f"{target.name} is neither old nor whole: {len(found)} bytes")
    if not ended or found == old:
        _finish(command)
    check(target.read_bytes() == bench.whole["parse"], f"the next run wrote {target.stat().st_size} other bytes")
    left = sorted(path.name for path in place.iterdir() if path != target)
    check(not left, f"{left} stay behind")
    return ["parse resumed" if resumed else "parse", "ended before" if ended else "killed"]


def _corpus(chance: random.Random, bench: _Bench, place: Path) -> Iterable[str]:
    command = ["corpus", "--model", str(bench.model), "--from", "words", "--workers", "1", str(bench.place / "texts")]
    if "corpus" not in bench.whole:
        bench.seconds["corpus"] = _finish([*command, "-o", str(place / "whole")])
        bench.whole |= {f"corpus {path.name}": path.read_bytes() for path in (place / "whole").glob("*.conllu")}
        bench.whole["corpus"] = b""
    out, whole = place / "out", {name for name in bench.whole if name.startswith("corpus ")}
    command += ["-o", str(out)]
    # Ray's own start takes about half of the time.
    ended = _kill(command, chance.uniform(0.3, 1.02) * bench.seconds["corpus"])
    early = list(out.glob("*.conllu"))
    for shard in early:
        check(shard.read_bytes() == bench.whole.get(f"corpus {shard.name}"), f"{shard.name} is not whole")
    if not ended:
        _finish(command)
    found = {f"corpus {path.name}": path.read_bytes() for path in out.glob("*.conllu")}
    check(found.keys() == whole, f"{sorted(found)} is not {sorted(whole)}")
    check(all(found[name] == bench.whole[name] for name in whole), "the next run wrote other shards")
    left = sorted(path.name for path in out.iterdir() if path.suffix == ".part" or "problems" in path.name)
    check(not left, f"{left} stay behind")
    midway = ["corpus midway"] if early and len(early) < len(whole) else []
    return ["corpus", *midway, "ended before" if ended else "killed"]


def _train(chance: random.Random, bench: _Bench, place: Path) -> Iterable[str]:
    treebank = str(bench.place / "tiny-1.conllu")
    command = ["train", str(bench.place / "recipe.toml"), "--train", treebank, "--dev", treebank, "--no-export"]
    command += ["--set", f"training.epochs={_EPOCHS}", "--set", "training.checkpoint_minutes=0"]
    if "train" not in bench.whole:
        bench.seconds["train"] = _finish([*command, "--out", str(place / "whole")])
        bench.whole["train"] = (place / "whole" / "model.safetensors").read_bytes()
    command += ["--out", str(place / "out")]
    ended = _kill(command, chance.uniform(0.3, 1.05) * bench.seconds["train"])
    weights = place / "out" / "model.safetensors"
    check(ended or not (place / "out" / "training.json").exists() or weights.exists(), "finished, but without weights")
    if not ended:
        begun = (place / "out" / "run.json").exists()
        _finish([*command, *["--resume"] * begun])
    check(_digest(weights.read_bytes()) == _digest(bench.whole["train"]), "the weights are not those of a whole run")
    left = [path.name for path in (place / "out").iterdir() if path.name.startswith("checkpoint-")]
    check(not left, f"{left} stay behind")
    return ["train", "ended before" if ended else "killed"]


def _start(command: list[str]) -> "subprocess.Popen[str]":
    started = [sys.executable, "-m", "hexatagger", *command]
    # Ray's workers would run with the lowest priority, and would never get to work beside anything else.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        started, env=environment, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, text=True, process_group=0
    )


class _NoRayError(Exception):
    """Ray could not be started."""


def _check_end(command: list[str], process: "subprocess.Popen[str]", errors: str) -> None:
    if "Ray cannot be started here" in errors:
        raise _NoRayError
    check(process.returncode == 0, f"{command} ended with {process.returncode}: {errors[-1500:]}")


def _finish(command: list[str]) -> float:
    """Run a command to its end, which must be a good one; return the seconds it took."""
    begin = time.monotonic()
    process = _start(command)
    try:
        _, errors = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    _check_end(command, process, errors)
    return time.monotonic() - begin


def _kill(command: list[str], seconds: float) -> bool:
    """Kill a command after some seconds; say whether it had ended before."""
    process = _start(command)
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()  # the process alone: its workers must end by themselves
        process.communicate()
        return False
    _check_end(command, process, errors)
    return True


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
