"""The documentation is a site that builds without a warning and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

ASSET = re.compile(
    r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>|url\(["']?http"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the site needs the extra [docs]")
    pytest.importorskip("mkdocstrings", reason="the site needs the extra [docs]")
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def test_every_document_is_a_page(site: Path) -> None:
    names = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert names <= {path.parent.name for path in site.glob("*/index.html")}
    assert (site / "index.html").is_file()


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    found = [match[0] for path in pages for match in ASSET.finditer(path.read_text(encoding="utf-8"))]
    assert found == []


def test_examples_of_docstrings_are_code(site: Path) -> None:
    page = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert '<code><span class="gp">&gt;&gt;&gt; </span>' in page
    assert "<blockquote>" not in page


def test_fences_are_put_around_examples() -> None:
    pytest.importorskip("griffe", reason="the site needs the extra [docs]")
    from fenced_docstrings import fenced

    once = fenced("Add.\n\n>>> 1 + 1\n2\n\nThat is all.")
    assert once == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nThat is all."
    assert fenced(once) == once
