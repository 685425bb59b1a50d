"""Make src/hexatagger/model/languages.npz, which tells texts apart by language: see `hexatagger.model.language`.

    python recipes/identifier.py LANGUAGES.TSV

LANGUAGES.TSV has a line per language, after a header: its code, its name, the files that train its model and the one
that selects it, separated by tabs; paths are relative to its folder. All languages count the same in the background,
however large their treebanks are. Profiles that were learnt with another background cannot be compared with new ones:
make the language.json of all models again (`hexatagger package --train`).
"""

import csv
import sys
from pathlib import Path

import numpy as np

from hexatagger import read_conllu
from hexatagger.formats.files import replacing
from hexatagger.model.language import BUCKETS, LANGUAGES, count_grams, own_texts, pack_logarithms, weigh

_SMOOTHING = 0.5  # added to every count


def main() -> None:
    """Read all treebanks and write the file."""
    table = Path(sys.argv[1])
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    counted = []
    for code, _, train, dev, *_ in rows:
        sentences = [sentence for name in train.split() for sentence in read_conllu(table.parent / name)]
        size, counts = count_grams(own_texts(sentences, list(read_conllu(table.parent / dev))))
        counted.append(counts)
        print(f"{code}: {size:,} letters", flush=True)
    shares = [(counts + _SMOOTHING) / (counts.sum() + _SMOOTHING * BUCKETS) for counts in counted]
    background = pack_logarithms(np.mean(shares, axis=0))
    with replacing(LANGUAGES) as temporary, temporary.open("wb") as out:
        np.savez(  # not compressed: every command that parses reads it
            out,
            codes=np.array([row[0] for row in rows]),
            names=np.array([row[1] for row in rows]),
            background=background,
            weights=np.stack([weigh(counts, background) for counts in counted], axis=1),
        )


if __name__ == "__main__":
    main()
