"""Check a release before publishing it: build it from the tracked files, inspect it, install it alone and parse.

    python tools/release_check.py [--save]        (or: make release-check)

1. sdist and wheel are built from a copy of the tracked files, the wheel from the sdist;
2. they contain the tracked files and nothing else, and are small enough;
3. the wheel installs into an empty environment, which then takes at most 280 MB and has no torch;
4. the installed program parses (or encodes, if no model is tracked) without a network;
5. the first command of README works in a copy.

Every check prints one line, `ok` or `FAIL`; the exit code is 1 if one fails. With --save, the installed size is written
to `benchmarks/results/install.json`, from which the documents take it.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hexatagger import __version__
from hexatagger.formats.files import replacing

MEASURES = ("pyproject.toml", "src/hexatagger/models")
ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "install.json"
PACKAGE = "src/hexatagger/"
MODEL = "src/hexatagger/models/en/config.json"
MOST_INSTALLED = 280  # megabytes, of 1,000,000 bytes each
MOST_PACKED = 60
NOT_IN_SDIST = (".ci/", "benchmarks/results/", "models/")  # as pyproject.toml says
HEAVY = ("torch", "transformers", "accelerate", "matplotlib", "starlette", "spacy", "ray")

failures = 0


def check(holds: bool, fact: str, *details: str) -> None:
    """Print whether something holds; count failures."""
    global failures
    failures += not holds
    print("ok  " if holds else "FAIL", fact, flush=True)
    for detail in details if not holds else ():
        print("       ", detail)


def run(
    command: Sequence[str | Path], *, folder: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program and capture its output."""
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=False)


def tracked_files() -> list[str]:
    """Return the names of all files that git tracks here."""
    listed = run(["git", "ls-files", "-z"], folder=ROOT)
    if listed.returncode:
        sys.exit(f"a release is checked in a clone of the repository: {listed.stderr.strip()}")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def copy_to(folder: Path, names: Sequence[str]) -> Path:
    """Copy tracked files to a folder, as they are now."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
        shutil.copymode(ROOT / name, folder / name)
    return folder


def megabytes(size: float) -> str:
    """Format a number of bytes."""
    return f"{size / 1e6:.1f} MB"


def weight(folder: Path) -> int:
    """Return the total size of all files under a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def build(copy: Path, out: Path) -> tuple[Path, Path] | None:
    """Build sdist and wheel."""
    done = run([sys.executable, "-m", "build", "--outdir", out, copy], folder=copy)
    sdists, wheels = list(out.glob("*.tar.gz")), list(out.glob("*.whl"))
    good = done.returncode == 0 and len(sdists) == len(wheels) == 1
    check(good, "sdist and wheel are built", *(done.stdout + done.stderr).splitlines()[-20:])
    return (sdists[0], wheels[0]) if good else None


def check_sdist(path: Path, tracked: Sequence[str]) -> None:
    """Compare the sdist with what git tracks."""
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    strays = sorted(names - set(tracked) - {"PKG-INFO"})
    lost = [name for name in tracked if name not in names and not name.startswith(NOT_IN_SDIST)]
    check(not strays, f"the sdist holds tracked files only ({len(names)} files)", *strays)
    check(not lost, "the sdist holds all of them but .ci, results and models", *lost)
    size = path.stat().st_size
    check(size <= MOST_PACKED * 1e6, f"{path.name} has {megabytes(size)}, at most {MOST_PACKED}")


def check_wheel(path: Path, tracked: Sequence[str]) -> None:
    """Compare the wheel with the tracked package, and its metadata with the code."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        about = archive.read(f"hexatagger-{__version__}.dist-info/METADATA").decode()
    package = {"hexatagger/" + name.removeprefix(PACKAGE) for name in tracked if name.startswith(PACKAGE)}
    inside = {name for name in names if not name.startswith(f"hexatagger-{__version__}.dist-info/")}
    check(inside == package, f"the wheel holds the package only ({len(names)} files)", *sorted(inside ^ package))
    check(f"hexatagger-{__version__}.dist-info/licenses/LICENSE" in names, "the wheel has the licence")
    check(f"\nVersion: {__version__}\n" in about, f"its version is that of the code, {__version__}")
    size = path.stat().st_size
    check(size <= MOST_PACKED * 1e6, f"{path.name} has {megabytes(size)}, at most {MOST_PACKED}")


def install(wheel: Path, place: Path) -> tuple[int, dict[str, int]] | None:
    """Install the wheel into an empty environment; return the bytes that it adds, in all and by package."""
    venv.create(place, with_pip=True)
    before = weight(place)
    done = run([place / "bin" / "python", "-m", "pip", "install", "--quiet", wheel], folder=place.parent, env=outside())
    check(done.returncode == 0, "the wheel installs into an empty environment", *done.stderr.splitlines()[-20:])
    if done.returncode:
        return None
    [site] = place.glob("lib/python*/site-packages")
    sizes: dict[str, int] = {}
    for package in importlib.metadata.distributions(path=[str(site)]):
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        sizes[package.name.lower()] = sum(path.stat().st_size for path in paths if path.is_file())
    return weight(place) - before, {name: size for name, size in sizes.items() if name not in ("pip", "setuptools")}


def outside() -> dict[str, str]:
    """Return environment variables without any trace of this repository."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return env | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def check_installed(place: Path, sizes: Mapping[str, int], total: int) -> None:
    """Check the size of the environment, and that it has nothing that only training or serving needs."""
    heaviest = sorted(sizes.items(), key=lambda item: -item[1])[:6]
    shares = ", ".join(f"{name} {megabytes(size)}" for name, size in heaviest)
    check(
        total <= MOST_INSTALLED * 1e6, f"installed it takes {megabytes(total)}, at most {MOST_INSTALLED}: {shares}, …"
    )
    extras = sorted(set(HEAVY) & set(sizes))
    check(not extras, "it brings neither torch nor anything else of the extras", *extras)
    done = run([place / "bin" / "python", "-m", "pip", "check"], folder=place, env=outside())
    check(done.returncode == 0, "what it needs is there (pip check)", done.stdout)


def check_program(place: Path, copy: Path, *, has_model: bool) -> None:
    """Run the installed program without a network and with an empty home folder."""
    alone = ["unshare", "--net", "--map-root-user"]
    cut_off = shutil.which("unshare") is not None and run([*alone, "true"], folder=copy).returncode == 0
    if has_model:
        arguments, expected = ["parse", "She reads fascinating papers."], "\t0\troot\t"
    else:
        arguments, expected = ["encode", str(copy / "tests" / "data" / "example.conllu")], "\tr/root\t"
    with tempfile.TemporaryDirectory() as home:
        command = [*(alone if cut_off else ()), place / "bin" / "hexatagger", *arguments]
        done = run(command, folder=Path(home), env=outside() | {"HOME": home})
        left = [path.name for path in Path(home).iterdir()]
    good = done.returncode == 0 and expected in done.stdout
    where = "without a network" if cut_off else "(the network cannot be switched off here)"
    check(good, f"hexatagger {arguments[0]} works {where}", *(done.stdout + done.stderr).splitlines())
    check(not left, "it leaves nothing in the home folder", *left)
    if not has_model:
        print("note the embedded model is not tracked by git, so nothing was parsed")


def first_command(readme: str) -> str:
    r"""Return the first command in README.

    >>> first_command("# Title\n\n```sh\npip install .\n```\n")
    'pip install .'
    """
    found = re.search(r"^```sh\n(.*?)\n```$", readme, re.DOTALL | re.MULTILINE)
    return found[1] if found else "false  # README has no sh block"


def check_readme(copy: Path) -> None:
    """Run the first command of README in a copy."""
    command = first_command((copy / "README.md").read_text(encoding="utf-8"))
    done = run(["bash", "-ec", command], folder=copy, env=outside())
    good = done.returncode == 0 and done.stdout.strip() != ""
    check(good, f"README's first command works: {command}", *(done.stdout + done.stderr).splitlines()[-20:])


def save(total: int, sizes: Mapping[str, int]) -> None:
    """Save the installed size for the documents."""
    figures = {
        "command": "make release-check",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "platform": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "bytes": total,
        "packages": dict(sorted(sizes.items(), key=lambda item: -item[1])),
    }
    with replacing(RESULT) as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Check everything."""
    options = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    options.add_argument("--save", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    given = options.parse_args()
    tracked = tracked_files()
    if changed := run(["git", "diff", "--name-only", "HEAD"], folder=ROOT).stdout.split():
        print(f"note {len(changed)} tracked files are changed and not committed: {', '.join(changed[:5])} …")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy = copy_to(place / "copy", tracked)
        if built := build(copy, place / "dist"):
            check_sdist(built[0], tracked)
            check_wheel(built[1], tracked)
            if added := install(built[1], place / "venv"):
                check_installed(place / "venv", added[1], added[0])
                check_program(place / "venv", copy, has_model=MODEL in tracked)
                if given.save:
                    save(*added)
        check_readme(copy_to(place / "reader", tracked))
    if failures:
        sys.exit(f"{failures} of the checks failed")


if __name__ == "__main__":
    main()
