"""Decoding speed from scores to heads on one core, by sentence length.

Scores resemble those of a trained tagger: for each sentence a random projective tree of bounded depth is drawn, its
tags get a bonus, and all tags get noise, so that some sequences are illegal before decoding. Pure noise, where the best
path goes deep, is measured too.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is loaded: one core

import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode import best, heads
from hexatagger.tags import from_heads, is_legal
from results import save

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import reference

MEASURES = ("src/hexatagger/decode/heads.py", "src/hexatagger/decode/lattice.py", "src/hexatagger/decode/viterbi.py")
LENGTHS = (8, 25, 64, 128, 256, 512, 1024, 4096)
BATCH = 128
ROUNDS = 40
"""Runs of a batch; fewer for long sentences."""

Scores = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]


def random_tree(randomness: np.random.Generator, size: int) -> list[int]:
    """Draw a projective tree like those of language: clauses of about 12 words, each attached to the one before."""
    result = [0] * size
    anchor = 0
    for begin in range(0, size, 12):
        end = min(size, begin + 12)
        todo = [(begin, end, anchor)]
        while todo:
            low, high, head = todo.pop()
            word = int(randomness.integers(low, high))
            result[word] = head
            if head == anchor:
                top = word + 1
            for first, last in ((low, word), (word + 1, high)):
                while first < last:
                    cut = int(randomness.integers(first + 1, last + 1))
                    todo.append((first, cut, word + 1))
                    first = cut
        anchor = top
    return result


def tagger_scores(randomness: np.random.Generator, batch: int, size: int) -> Scores:
    leaf, internal = randomness.normal(size=(batch, size, 2)), randomness.normal(size=(batch, size - 1, 4))
    for row in range(batch):
        tags = np.array(from_heads(random_tree(randomness, size)))
        leaf[row, np.arange(size), tags[::2]] += 4
        internal[row, np.arange(size - 1), tags[1::2] - 2] += 4
    return leaf, internal, np.full(batch, size)


def flat_scores(randomness: np.random.Generator, batch: int, size: int) -> Scores:
    leaf, internal = randomness.normal(size=(batch, size, 2)), randomness.normal(size=(batch, size - 1, 4))
    return leaf, internal, np.full(batch, size)


def illegal_share(scores: Scores) -> float:
    leaf, internal, _ = scores
    tags = np.zeros((len(leaf), 2 * leaf.shape[1] - 1), int)
    tags[:, ::2], tags[:, 1::2] = leaf.argmax(-1), internal.argmax(-1) + 2
    return statistics.mean(not is_legal(row.tolist()) for row in tags)


def seconds(scores: Scores) -> float:
    """Return the time of one batch from scores to heads: the best of several runs, as other work slows some down."""
    runs = []
    for _ in range(max(5, ROUNDS * 64 // max(64, scores[0].shape[1]))):
        begin = time.perf_counter()
        heads(best(*scores))
        runs.append(time.perf_counter() - begin)
    return min(runs)


def reference_seconds(scores: Scores) -> float:
    leaf, internal, _ = scores
    begin = time.perf_counter()
    for one, other in zip(leaf.tolist(), internal.tolist(), strict=True):
        reference.best(one, other)
    return time.perf_counter() - begin


def main() -> None:
    randomness = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for size in LENGTHS:
        scores = tagger_scores(randomness, BATCH, size)
        taken, flat = seconds(scores), seconds(flat_scores(randomness, BATCH, size))
        rows.append(
            {
                "words": size,
                "sentences_per_second": round(BATCH / taken),
                "words_per_second": round(BATCH * size / taken),
                "flat_noise_words_per_second": round(BATCH * size / flat),
                "illegal_before_decoding": round(100 * illegal_share(scores), 1),
            }
        )
        print(rows[-1])
    per_word = {row["words"]: 1 / row["words_per_second"] for row in rows}
    flat_per_word = {row["words"]: 1 / row["flat_noise_words_per_second"] for row in rows}
    small = tagger_scores(randomness, BATCH, 25)
    figures = {
        "batch": BATCH,
        "lengths": rows,
        "growth_exponent_64_to_4096": round(1 + math.log(per_word[4096] / per_word[64], 4096 / 64), 3),
        "flat_noise_growth_exponent_64_to_4096": round(1 + math.log(flat_per_word[4096] / flat_per_word[64], 64), 3),
        "factor_to_reference_25_words_batch_128": round(reference_seconds(small) / seconds(small)),
    }
    save("decode", figures)
    print({key: value for key, value in figures.items() if key != "lengths"})


if __name__ == "__main__":
    main()
