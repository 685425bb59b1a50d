"""Which file in results/ comes from which command, and which of them are older than the code they measure.

    python benchmarks/stale.py

A result is older if a commit that is not part of what it measured changed a path that its script measures: the constant
MEASURES of the script. What it measured is the commit in the file. If there is none, if it had changes that were not
committed (+), or if it is not in this repository, it is the commit that last changed the file. A shallow clone cannot
tell.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from results import RESULTS, ROOT, git, load, measured

MADE_BY = {
    "make fuzz": "tests/fuzz/__main__.py",
    "make release-check": "tools/release_check.py",
}
"""The scripts behind commands that are not scripts themselves."""


@dataclass(frozen=True)
class Origin:
    """Where a file of results comes from."""

    file: Path
    command: str
    script: str
    date: str
    commit: str
    """Empty for a file from before results had one."""


def origins() -> list[Origin]:
    """Return where all results come from, by file."""
    found = []
    for path in sorted(RESULTS.glob("*.json")):
        result = load(path.stem)
        command = result["command"]
        script = next((each for start, each in MADE_BY.items() if command.startswith(start)), None)
        found.append(Origin(path, command, script or command.split()[1], result["date"], result.get("commit", "")))
    return found


def can_tell() -> bool:
    """Say whether git knows the history here."""
    return git("rev-parse", "--is-shallow-repository") == "false"


def newer_commits(origin: Origin) -> list[str]:
    """Return the commits that changed what a result measures and are not in what it measured, the newest first."""
    base = origin.commit
    if not base or base.endswith("+") or git("cat-file", "-e", f"{base}^{{commit}}") is None:
        if git("status", "--porcelain", "--", str(origin.file)):
            return []  # new, and not committed yet
        base = git("log", "-1", "--format=%h", "--", str(origin.file)) or "HEAD"
    paths = measured(ROOT / origin.script)
    return (git("log", "--format=%h %cs %s", f"{base}..HEAD", "--", *paths) or "").splitlines()


def cheap_scripts() -> set[str]:
    """Return the scripts that `make benchmark` runs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^benchmark:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    return set(re.findall(r"benchmarks/\w+\.py", recipe))


def main() -> None:
    if not can_tell():
        sys.exit("this is not a whole clone of the repository: git fetch --unshallow")
    old = [(origin, commits) for origin in origins() if (commits := newer_commits(origin))]
    for origin, commits in old:
        print(f"{origin.file.stem}, {origin.date}: {len(commits)} commits since, the last: {commits[0]}")
        print(f"  {origin.command}")
    print(f"{len(old)} of {len(origins())} results are older than the code they measure")


if __name__ == "__main__":
    main()
