"""Packages installed into a folder of their own, and the program run with them."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT


def install(wheel: Path, site: Path) -> None:
    """Install a wheel as pip does, without a network."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True)


def run_with(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run hexatagger with more packages on its path."""
    path = os.pathsep.join([str(ROOT / "src"), str(site)])
    return subprocess.run(
        [sys.executable, "-m", "hexatagger", *arguments],
        env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )
