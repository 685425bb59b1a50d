"""Decoding speed from scores to heads on one core, by sentence length.

Scores resemble those of a trained tagger: for each sentence a random projective tree of bounded depth is drawn, its
tags get a bonus, and all tags get noise, so that some sequences are illegal before decoding. Pure noise, where the best
path goes deep, is measured too. So are the decoders of arc scores that a biaffine parser needs (`mst.py`), with the
same noise and bonus: from some dozens of words on, the best head of every word is then no tree, and they must search.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is loaded: one core

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexatagger.decode import best, heads
from hexatagger.tags import from_heads, is_legal
from mst import best_projective, best_tree
from results import growth, save

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import reference

MEASURES = ("src/hexatagger/decode/heads.py", "src/hexatagger/decode/lattice.py", "src/hexatagger/decode/viterbi.py")
LENGTHS = (8, 25, 64, 128, 256, 512, 1024, 4096)
BATCH = 128
BONUS = 4  # of the tags or arcs of a tree; the standard deviation of the noise is 1
ARC_DECODERS = {"Eisner, projective trees": best_projective, "Chu–Liu–Edmonds, all trees": best_tree}
ARC_LENGTHS = (8, 25, 64, 128, 256, 512)
ARC_BATCH = 4  # their time per sentence does not depend on it
ROUNDS = 80
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
        leaf[row, np.arange(size), tags[::2]] += BONUS
        internal[row, np.arange(size - 1), tags[1::2] - 2] += BONUS
    return leaf, internal, np.full(batch, size)


def flat_scores(randomness: np.random.Generator, batch: int, size: int) -> Scores:
    leaf, internal = randomness.normal(size=(batch, size, 2)), randomness.normal(size=(batch, size - 1, 4))
    return leaf, internal, np.full(batch, size)


def illegal_share(scores: Scores) -> float:
    leaf, internal, _ = scores
    tags = np.zeros((len(leaf), 2 * leaf.shape[1] - 1), int)
    tags[:, ::2], tags[:, 1::2] = leaf.argmax(-1), internal.argmax(-1) + 2
    return statistics.mean(not is_legal(row.tolist()) for row in tags)


def arc_scores(randomness: np.random.Generator, batch: int, size: int) -> list[NDArray[np.float64]]:
    """Draw arc scores as `mst.py` takes them."""
    scores = list(randomness.normal(size=(batch, size + 1, size + 1)))
    for square in scores:
        square[np.arange(1, size + 1), random_tree(randomness, size)] += BONUS
    return scores


def seconds(job: Callable[[], object], size: int) -> float:
    """Return the time of a job for sentences of `size` words: the best of several, as other work slows some down.

    It is the time of the processor, which other jobs hardly change.
    """
    runs = []
    for _ in range(max(5, ROUNDS * 64 // max(64, size))):
        begin = time.process_time()
        job()
        runs.append(time.process_time() - begin)
    return min(runs)


def tag_seconds(scores: Scores) -> float:
    """Return the time of one batch from scores to heads."""
    return seconds(lambda: heads(best(*scores)), scores[0].shape[1])


def arc_seconds(find: Callable[[NDArray[np.float64]], list[int]], squares: list[NDArray[np.float64]]) -> float:
    """Return the time of one sentence from arc scores to heads."""
    return seconds(lambda: [find(square) for square in squares], len(squares[0]) - 1) / len(squares)


def reference_seconds(scores: Scores) -> float:
    leaf, internal, _ = scores
    begin = time.process_time()
    for one, other in zip(leaf.tolist(), internal.tolist(), strict=True):
        reference.best(one, other)
    return time.process_time() - begin


def main() -> None:
    randomness = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for size in LENGTHS:
        scores = tagger_scores(randomness, BATCH, size)
        taken, flat = tag_seconds(scores), tag_seconds(flat_scores(randomness, BATCH, size))
        rows.append(
            {
                "words": size,
                "sentences_per_second": round(BATCH / taken),
                "words_per_second": round(BATCH * size / taken),
                "flat_noise_words_per_second": round(BATCH * size / flat),
                "illegal_before_decoding": round(100 * illegal_share(scores), 1),
            }
        )
        print(rows[-1], flush=True)
    arcs: dict[str, list[float]] = {name: [] for name in ARC_DECODERS}
    for size in ARC_LENGTHS:
        squares = arc_scores(randomness, ARC_BATCH, size)
        for name, find in ARC_DECODERS.items():
            arcs[name].append(float(f"{arc_seconds(find, squares):.3g}"))
            print(f"{size} words, {name}: {arcs[name][-1]} s", flush=True)
    per_sentence, flat_per_sentence = (
        [row["words"] / row[rate] for row in rows] for rate in ("words_per_second", "flat_noise_words_per_second")
    )
    small = tagger_scores(randomness, BATCH, 25)
    figures = {
        "batch": BATCH,
        "lengths": rows,
        "growth_exponent_64_to_4096": round(growth(LENGTHS, per_sentence), 3),
        "flat_noise_growth_exponent_64_to_4096": round(growth(LENGTHS, flat_per_sentence), 3),
        "factor_to_reference_25_words_batch_128": round(reference_seconds(small) / tag_seconds(small)),
        "arcs": {"lengths": ARC_LENGTHS, "seconds_per_sentence": arcs},
    }
    save("decode", figures)
    print({key: value for key, value in figures.items() if key not in ("lengths", "arcs")})


if __name__ == "__main__":
    main()
