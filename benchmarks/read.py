"""Reading speed: hexatagger against the `conllu` package on EWT train, in turns, in one run."""

import statistics
import time

import conllu

from hexatagger import read_conllu
from results import save, treebank

MEASURES = ("src/hexatagger/formats/conllu.py", "src/hexatagger/formats/files.py", "src/hexatagger/sentence.py")
FILE = "UD_English-EWT/en_ewt-ud-train.conllu"
ROUNDS = 5


def main() -> None:
    path = treebank(FILE)
    words = sum(len(sentence) for sentence in read_conllu(path))
    ours, theirs = [], []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        assert sum(len(sentence) for sentence in read_conllu(path)) == words
        ours.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        with path.open(encoding="utf-8") as stream:
            assert sum(1 for _ in conllu.parse_incr(stream))
        theirs.append(time.perf_counter() - begin)
    figures = {
        "file": FILE,
        "words": words,
        "rounds": ROUNDS,
        "hexatagger_words_per_second": round(words / statistics.median(ours)),
        "conllu_words_per_second": round(words / statistics.median(theirs)),
        "factor": round(statistics.median(theirs) / statistics.median(ours), 2),
    }
    save("read", figures, ("conllu",))
    print(figures)


if __name__ == "__main__":
    main()
