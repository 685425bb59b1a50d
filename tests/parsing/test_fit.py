"""Deprels that fit together: learnt by counting, chosen in linear time, the same in any batch."""

import json
from pathlib import Path

import numpy as np
import pytest

from hexatagger.errors import FormatError
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.parsing.choose import arc_features, join_heads
from hexatagger.parsing.fit import WEIGHT, Fits, count_fits, fit_deprels, read_fits, write_fits
from hexatagger.sentence import Sentence

DEPRELS, UPOS = ["root", "nsubj", "obj", "punct"], ["VERB", "NOUN", "PUNCT"]
LABELS = Labels(LabelSet(DEPRELS), tasks={"upos": LabelSet(UPOS)})


def make_treebank() -> list[Sentence]:
    trees = [
        (["dogs", "bark", "."], [2, 0, 2], [1, 0, 3], [1, 0, 2]),
        (["dogs", "see", "cats", "."], [2, 0, 2, 2], [1, 0, 2, 3], [1, 0, 1, 2]),
    ]
    made = []
    for words, heads, deprels, upos in trees * 50:
        sentence = Sentence.from_words(words, heads=heads, deprels=[DEPRELS[each] for each in deprels])
        for word, tag in zip(sentence, upos, strict=True):
            word.upos = UPOS[tag]
        made.append(sentence)
    return made


@pytest.fixture(scope="module")
def fits() -> Fits:
    return count_fits(make_treebank(), LABELS, "head+path")


def scores(*rows: list[float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return log-probabilities; a root deprel is for a root word only."""
    values = np.log(np.array(rows, np.float32) + 1e-4)
    return np.asarray(values, np.float32)


TREE = np.array([2, 0, 2, 2])
TAGS = np.array([1, 0, 1, 2])


def test_a_verb_has_one_subject(fits: Fits) -> None:
    # The network would have two subjects; the second one is nearer to an object.
    given = scores([0, 0.9, 0.1, 0], [1, 0, 0, 0], [0, 0.55, 0.45, 0], [0, 0, 0, 1])
    assert given.argmax(1).tolist() == [1, 0, 1, 3]
    assert fit_deprels(given, TREE, TAGS, fits).tolist() == [1, 0, 2, 3]


def test_nothing_hangs_from_punctuation(fits: Fits) -> None:
    given = scores([0, 0.9, 0.1, 0], [1, 0, 0, 0], [0, 0, 0.4, 0.6], [0, 0.1, 0.1, 0.8])
    chain, tags = np.array([2, 0, 2, 3]), np.array([1, 0, 1, 2])
    assert fit_deprels(given, chain, tags, fits).tolist()[2] == 2  # it has a dependent, and it is a NOUN


def test_what_the_treebank_has_costs_nothing(fits: Fits) -> None:
    assert fits.word[1, 1] == fits.arc[1, 1] == fits.above[1, 0] == fits.beside[1, 2] == 0
    assert fits.beside[1, 1] < -3
    assert fits.above[1, 3] < -3
    assert fits.word[3, 1] < -3


def test_the_result_is_never_worse_and_the_same_in_any_batch(fits: Fits) -> None:
    random = np.random.default_rng(1)
    trees, tags, rows = [], [], []
    for size in (1, 2, 5, 9, 1, 7):
        heads = np.array([0, *(random.integers(1, place + 1) for place in range(1, size))])
        trees.append(heads)
        tags.append(random.integers(0, 3, size))
        values = random.normal(size=(size, 4)).astype(np.float32) * 2
        values[heads > 0, 0] = np.finfo(np.float32).min
        values[heads == 0, 1:] = np.finfo(np.float32).min
        rows.append(values)

    def total(values: np.ndarray, heads: np.ndarray, upos: np.ndarray, chosen: np.ndarray) -> float:
        found = values[np.arange(len(heads)), chosen].sum() + WEIGHT * fits.word[chosen, upos].sum()
        right = heads > np.arange(1, len(heads) + 1)
        found += WEIGHT * fits.arc[chosen, np.where(heads == 0, 6, 2 * upos[heads - 1] + right)].sum()
        for one, head in enumerate(heads):
            if head:
                found += WEIGHT * fits.above[chosen[one], chosen[head - 1]]
                found += (
                    WEIGHT
                    * sum(
                        fits.beside[chosen[one], chosen[each]] for each in np.flatnonzero(heads == head) if each != one
                    )
                    / 2
                )
        return float(found)

    together = fit_deprels(np.concatenate(rows), join_heads(trees), np.concatenate(tags), fits)
    start = 0
    for heads, upos, values in zip(trees, tags, rows, strict=True):
        alone = fit_deprels(values, heads, upos, fits)
        assert alone.tolist() == together[start : start + len(heads)].tolist()
        assert (values[np.arange(len(heads)), alone] > -1e9).all()
        plain = values.argmax(1)
        assert total(values, heads, upos, alone) >= total(values, heads, upos, plain) - 1e-4
        start += len(heads)


def test_costs_are_read_as_written(fits: Fits, tmp_path: Path) -> None:
    write_fits(fits, tmp_path / "fits.json")
    again = read_fits(tmp_path / "fits.json", LABELS)
    for name in Fits.__slots__:
        assert np.allclose(getattr(again, name), getattr(fits, name), atol=1e-6)
    values = json.loads((tmp_path / "fits.json").read_text())
    for broken, message in (
        (values | {"word": values["word"][:2]}, "'word' is not a table of 4 by 3"),
        (values | {"arc": "x"}, "arc"),
        ({}, "word"),
    ):
        (tmp_path / "fits.json").write_text(json.dumps(broken))
        with pytest.raises(FormatError, match=message):
            read_fits(tmp_path / "fits.json", LABELS)
    with pytest.raises(FormatError, match="predicts UPOS"):
        read_fits(tmp_path / "fits.json", Labels(LabelSet(DEPRELS)))


def test_features_say_where_a_word_is() -> None:
    found = arc_features(np.array([3, 3, 0, 3, 4, 3, 3]))
    assert found[:, 0].tolist() == [6, 5, 0, 1, 1, 3, 3]
    assert found[:, 1].tolist() == [9, 9, 9 + 6 + 2, 10, 9, 9, 9]
    assert found[:, 2].tolist() == [19, 18, 18, 18, 18, 19, 20]
    assert arc_features(np.zeros(0, np.int64)).shape == (0, 3)


def test_features_of_a_word_do_not_depend_on_other_trees() -> None:
    trees = [np.array([3, 3, 0, 3, 4, 3, 3]), np.zeros(0, np.int64), np.array([0]), np.array([2, 0, 4, 2])]
    alone = np.concatenate([arc_features(tree) for tree in trees])
    assert arc_features(join_heads(trees)).tolist() == alone.tolist()
