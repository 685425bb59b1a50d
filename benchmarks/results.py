"""Write a result together with the command, the commit, the machine, its load and the versions.

A script that writes results says in its constant MEASURES which paths of the repository it measures: `stale.py` lists
the results that are older than them.
"""

import ast
import json
import math
import os
import platform
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hexatagger.formats.files import replacing
from hexatagger.model.threads import allowed_cores

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SHARED = Path(os.environ.get("HEXATAGGER_SHARED", ROOT / ".." / "shared"))


def git(*arguments: str) -> str | None:
    """Return what git says about this repository; None where there is no git, or no such thing in the repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout.strip()


def measured(script: Path) -> list[str]:
    """Return the paths that a script measures: its constant MEASURES, read without importing; all code without one."""
    if script.suffix == ".py":
        for node in ast.parse(script.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == ["MEASURES"]:
                return list(ast.literal_eval(node.value))
    return ["src/hexatagger"]


def current_commit(paths: list[str]) -> str:
    """Return the commit of the checkout, with a + if any of the paths has changes that are not committed."""
    changed = git("status", "--porcelain", "--", *paths)
    return (git("rev-parse", "--short", "HEAD") or "") + ("+" if changed else "")


# Now and not when a result is saved: that may be hours later, with other code in the checkout.
_COMMIT = current_commit(measured(Path(sys.argv[0])))


def treebank(name: str) -> Path:
    """Find a file of a treebank, like `UD_English-EWT/en_ewt-ud-train.conllu`."""
    path = SHARED / "ud" / name
    if not path.exists():
        sys.exit(f"{name} is not in $HEXATAGGER_SHARED/ud: set HEXATAGGER_SHARED to the folder that has the treebanks")
    return path


def save(name: str, figures: dict[str, Any], packages: tuple[str, ...] = ("numpy",)) -> None:
    """Save figures as `results/name.json`."""
    result = {
        "command": shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *map(_named, sys.argv[1:])]),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _COMMIT,
        "machine": {
            "processor": _processor(),
            "cores": allowed_cores(),
            "load": round(os.getloadavg()[0], 2),
            "python": platform.python_version(),
            **{package: _version(package) for package in packages},
        },
        **figures,
    }
    with replacing(RESULTS / f"{name}.json") as temporary:
        temporary.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load(name: str) -> dict[str, Any]:
    """Load the figures of `results/name.json`."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def growth(lengths: Sequence[int], seconds: Sequence[float], *, start: int = 64) -> float:
    """Return the power of the length with which time grows: the slope of a line fitted to the logarithms.

    Lengths below `start` do not count: there, time is mostly what every call costs.

    >>> round(growth([2, 64, 128, 256], [1, 1, 4, 16]), 6)
    2.0
    """
    points = [(math.log(each), math.log(taken)) for each, taken in zip(lengths, seconds, strict=True) if each >= start]
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def megabytes(process: int | str = "self", *, peak: bool = False) -> float:
    """Return the memory that a process has now, or the most that it has had since its start or the last reset."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:" if peak else "VmRSS:")[1].split()[0]) / 1024


def _named(argument: str) -> str:
    """Return an argument as it may be published: of a path on this machine the name alone."""
    return Path(argument).name if argument.startswith("/") else argument


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
