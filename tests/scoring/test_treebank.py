from pathlib import Path

import pytest

from hexatagger import read_conllu
from hexatagger.scoring.breakdown import percent
from hexatagger.scoring.treebank import collect


def test_our_example(data: Path) -> None:
    stats = collect(read_conllu(data / "example.conllu", roots="one"))
    assert (stats.sentences, stats.words, stats.longest) == (5, 30, 10)
    assert (stats.nonprojective_sentences, stats.nonprojective_words) == (1, 1)
    assert {scheme: len(loss.labels) for scheme, loss in stats.losses.items()} == {"head": 1, "path": 2, "head+path": 2}
    assert all(loss.words == 0 for loss in stats.losses.values())
    assert stats.to_json()["nonprojective_sentences"] == 20


def test_nothing() -> None:
    assert collect([]).to_json()["nonprojective_words"] == 0
    assert percent(1, 3) == pytest.approx(33.3333, abs=1e-3)


# Share of non-projective sentences, as the treebanks' own README says.
@pytest.mark.parametrize(
    ("file", "sentences", "words", "nonprojective"),
    [
        ("UD_English-EWT/en_ewt-ud-dev.conllu", 2001, 25147, 1.55),
        ("UD_Irish-IDT/ga_idt-ud-dev.conllu", 451, 10000, 19.51),
        ("UD_Korean-GSD/ko_gsd-ud-dev.conllu", 950, 11958, 15.68),
    ],
)
def test_treebanks(shared: Path, file: str, sentences: int, words: int, nonprojective: float) -> None:
    stats = collect(read_conllu(shared / "ud" / file, roots="one"))
    assert (stats.sentences, stats.words) == (sentences, words)
    assert percent(stats.nonprojective_sentences, stats.sentences) == pytest.approx(nonprojective, abs=0.005)
    assert stats.losses["head+path"].words <= stats.losses["head"].words
    assert stats.depth_left <= 9
