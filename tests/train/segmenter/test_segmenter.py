"""The segmenter learns a small treebank of our own by heart, and what it writes runs without torch."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra [train]")
pytest.importorskip("onnx", reason="needs the extra [train]")

from hexatagger import ConfigError, FormatError, Sentence, read_conllu
from hexatagger.formats.conllu import format_sentence
from hexatagger.formats.text import restore
from hexatagger.model.folder import SEGMENTER as JSON
from hexatagger.model.folder import SEGMENTER_NETWORK as ONNX
from hexatagger.segment.alphabet import Floats, Ids
from hexatagger.segment.multiword import learn_rewrites
from hexatagger.segment.segmenter import END, MULTIWORD, SENTENCE, SPLIT, Segmenter
from hexatagger.train.segmenter.augment import Changes
from hexatagger.train.segmenter.data import IGNORE, read_treebank, usable
from hexatagger.train.segmenter.loop import config_for, score_segmenter, train_segmenter
from hexatagger.train.segmenter.material import collect
from hexatagger.train.segmenter.network import SegmenterConfig
from hexatagger.train.segmenter.windows import windows
from segmented import sentences_of

TEXT = """
She reads papers|.
He does=n't sleep|.
We do=n't know him|.
They did=n't come home|, did they|?
Is=n't she here|?
I='m tired|.
You=’re late|, Anna|!
It was=n't me|.
The dog|(|an old one|) barks|.

Where is the old house|?
I have=n't seen it|.
Nobody saw the U.S. ship leave|.
Mr. Brown paid 10|.|50 for it|.
Stop|!
Dr. Green does=n't agree|.
He=’ll sing "|No more|" tonight|.
She could=n't have known|.
What a day|!

Birds sing|, dogs bark|.
On parle du:de+le chat|.
Il vient du:de+le nord|.
We wo=n't go|.
Ca=n't you see|?
Let=’s go home|.
Rain fell all day long|...
Then the sun came out|.
Who would=n't like that|?
She=’d said so|.
Nothing is lost|.
They are=n't old|.
"""

UNCHANGED = Changes(**dict.fromkeys(asdict(Changes()), 0.0))
SMALL = SegmenterConfig(
    embedding=16, width=32, dilations=(1, 2, 4), steps=300, batch=8, window=64, checks=2, dropout=0.0
)


def gold() -> list[Sentence]:
    return sentences_of(TEXT)


def conllu(sentences: list[Sentence]) -> str:
    return "".join(map(format_sentence, sentences))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a segmenter trained on TEXT."""
    place = tmp_path_factory.mktemp("segmenter")
    events: list[dict[str, Any]] = []
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # faster for so small a network, above all on busy cores
    scores = train_segmenter(gold(), gold(), place / "out", config=SMALL, report=events.append)
    torch.set_num_threads(threads)
    assert [event["event"] for event in events if event["event"] != "step"] == ["start", "epoch", "epoch"]
    assert {event["part"] for event in events} == {"segmenter"}
    assert events[-2]["done"] == 1
    assert any(scores.items() <= event.items() for event in events if event["event"] == "epoch")
    return place / "out"


@pytest.fixture(scope="session")
def segmenter(folder: Path) -> Segmenter:
    return Segmenter.load(folder, threads=1)


def test_it_learns_its_treebank(folder: Path, segmenter: Segmenter) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [JSON, ONNX]
    scores = score_segmenter(segmenter, gold(), restore(gold()))
    assert scores["Words"] > 97
    assert scores["Sentences"] > 90
    assert (folder / JSON).read_text(encoding="utf-8").startswith('{\n "format": 2,')


def test_contractions(segmenter: Segmenter) -> None:
    text = "We don't know him.  She couldn’t\r\nhave known."
    first, second = segmenter.segment(text)
    assert first.forms == ["We", "do", "n't", "know", "him", "."]
    assert second.forms == ["She", "could", "n’t", "have", "known", "."]
    assert [(token.form, text[slice(token.start, token.end)]) for token in second.tokens][1] == ("couldn’t", "couldn’t")
    assert segmenter.segment("Il vient du nord.")[0].forms == ["Il", "vient", "de", "le", "nord", "."]


def test_the_result_does_not_depend_on_windows_chunks_or_threads(
    segmenter: Segmenter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = restore(gold()) * 3 + restore(gold()).replace("\n", " ") * 5 + "😀 שלום 漢字"
    whole = conllu(segmenter.segment(text))
    assert restore(segmenter.segment(text)) == text
    assert conllu(list(segmenter.stream(text[start : start + 7] for start in range(0, len(text), 7)))) == whole
    assert conllu(Segmenter.load(folder, threads=2).segment(text)) == whole
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: conllu(segmenter.segment(text)), range(8))) == {whole}
    monkeypatch.setattr("hexatagger.segment.segmenter._WINDOW", 37)
    monkeypatch.setattr("hexatagger.segment.segmenter._BATCH", 100)
    monkeypatch.setattr("hexatagger.formats.text._BLOCK", 50)
    assert conllu(segmenter.segment(text)) == whole


def test_training_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    config = SegmenterConfig(embedding=4, width=8, dilations=(1,), steps=4, batch=2, window=32, checks=1)
    for name in ("a", "b"):
        train_segmenter(gold(), gold(), tmp_path / name, config=config)
    assert (tmp_path / "a" / ONNX).read_bytes() == (tmp_path / "b" / ONNX).read_bytes()
    assert (tmp_path / "a" / JSON).read_bytes() == (tmp_path / "b" / JSON).read_bytes()


def test_the_network_is_wider_where_spaces_do_not_separate_words() -> None:
    def width(text: str) -> int:
        return config_for(read_treebank(sentences_of(text), radius=1)).width

    assert width("She reads papers|.\nHe sleeps|.\n") == 48
    assert width("她|读|书|。\n他|睡觉|。\n") == 96
    assert width("Hà_Nội đẹp|.\nViệt_Nam đẹp lắm|.\n") == 96


def test_what_cannot_be_trained_is_said(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="has no sentence that a segmenter can be trained on"):
        train_segmenter([], gold(), tmp_path / "out")
    with pytest.raises(ConfigError, match=r"segmenter\.width 0 is too small"):
        SegmenterConfig(width=0)
    with pytest.raises(ConfigError, match="dilations"):
        SegmenterConfig(dilations=())


def test_windows_hold_the_text_and_its_labels() -> None:
    sentences = gold()
    bank = read_treebank(sentences, radius=5)
    ids, labels = windows(collect(bank), UNCHANGED, size=16, random=np.random.default_rng(1))
    assert ids.shape == (len(labels), 26)
    assert labels.shape[1:] == (16, 4)
    assert (labels[..., END] == 1).sum() == sum(len(sentence.tokens) for sentence in sentences)
    assert (labels[..., SENTENCE] == 1).sum() == len(sentences)
    assert (labels[..., MULTIWORD] == 1).sum() == sum(len(sentence.multiwords) for sentence in sentences)
    assert (labels[..., SPLIT] == 1).sum() == sum(
        len(sentence.multiwords) for sentence in sentences
    ) - 2  # "du" has none
    inner = ids[:, 5:-5]
    assert ((labels[..., END] == IGNORE) == (inner <= 2)).all()


class Oracle(Segmenter):
    """Says what the treebank says."""

    gold: Floats
    place = 0

    def score(self, row: Ids) -> Floats:
        return self.gold[self.place : self.place + len(row) - 2 * self.settings.margin]

    def _score_batch(self, batch: Any, left: Ids, ends: bool) -> tuple[Ids, str]:
        found = super()._score_batch(batch, left, ends)
        self.place += sum(len(part.ids) + self.settings.radius for part in batch) - self.settings.radius * (not ends)
        return found


@pytest.mark.parametrize("name", ["UD_Portuguese-Bosque", "UD_Classical_Chinese-Kyoto", "UD_Vietnamese-VTB"])
def test_labels_give_the_treebank_back(name: str, shared: Path) -> None:
    [path] = (shared / "ud" / name).glob("*-dev.conllu")
    sentences = usable([sentence for _, sentence in zip(range(300), read_conllu(path), strict=False)])
    bank = read_treebank(sentences, radius=5)
    rows: list[Any] = []
    for paragraph in bank.paragraphs:
        for sentence in paragraph:
            rows += [sentence.labels, np.zeros((int(sentence.space != 0 and sentence is not paragraph[-1]), 4))]
        rows.append(np.zeros((5, 4)))
    oracle = Oracle(None, bank.settings, learn_rewrites(bank.multiwords))
    oracle.gold = np.concatenate(rows).astype(np.float32)
    text = restore(sentences)
    made = oracle.segment(text)
    assert restore(made) == text
    assert [[token.form for token in sentence.tokens] for sentence in made] == [
        [token.form for token in sentence.tokens] for sentence in sentences
    ]
    words = sum(map(len, sentences))
    assert sum(one.forms == other.forms for one, other in zip(made, sentences, strict=True)) > 0.95 * len(sentences)
    assert abs(sum(map(len, made)) - words) < 0.01 * words
