"""Given word vectors: the file is read as others write it, and training, parsing and export use what it has."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")
pytest.importorskip("onnx", reason="exporting needs the extra 'train'")
pytest.importorskip("accelerate", reason="learning needs the extra 'train'")

import torch

import hexatagger
from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.conllu import read_conllu
from hexatagger.model.config import Recipe
from hexatagger.model.folder import read_folder
from hexatagger.scoring.evaluate import evaluate
from hexatagger.train.job import Job, train
from hexatagger.train.network import Characters
from hexatagger.train.vectors import compress, read_vectors, restore
from hexatagger.train.weights import load_model
from tiny import RECIPE, make_encoder, write_treebank

LINES = ["the 1 0 2", "10 000 0 1 0", "Paris 0.5 -1e-1 0", "\u00a0 1 1 1", "rare 9 9 9"]


def write_vectors(path: Path, lines: list[str]) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    else:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_with_and_without_a_first_line_of_counts(tmp_path: Path) -> None:
    words, table = read_vectors(write_vectors(tmp_path / "a.vec", LINES), words=4, width=3)
    assert words == ["the", "10 000", "Paris", "\u00a0"]
    assert table.shape == (4, 3)
    counted = write_vectors(tmp_path / "b.vec.gz", ["5 3", *(line + " " for line in LINES)])
    again, same = read_vectors(counted, words=4, width=3)
    assert again == words
    assert (same == table).all()


def test_distances_stay_in_all_directions_and_the_first_are_the_longest(tmp_path: Path) -> None:
    path = write_vectors(tmp_path / "a.vec", LINES)
    _, table = read_vectors(path, words=9, width=3)
    given = np.array([[1, 0, 2], [0, 1, 0], [0.5, -0.1, 0], [1, 1, 1], [9, 9, 9]])
    before, after = (np.linalg.norm(each[:, None] - each[None], axis=-1) for each in (given, table))
    assert np.allclose(before / before.max(), after / after.max(), atol=1e-5)
    assert np.allclose((table**2).mean(), 1)
    sizes = (table**2).sum(0)
    assert sizes[0] > sizes[1] > sizes[2]
    _, narrow = read_vectors(path, words=9, width=1)
    assert np.allclose(np.abs(np.corrcoef(narrow[:, 0], table[:, 0])[0, 1]), 1)
    _, wide = read_vectors(path, words=9, width=5)
    assert wide.shape == (5, 5)
    assert not wide[:, 3:].any()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "has no word vectors"),
        (["5 3"], "has no word vectors"),
        (["a 1 2 3", "b 1 x 3"], r"a\.vec:2: could not convert string to float: 'x': a line is a word and 3 numbers"),
        (["a 1 2 3", "1 2 3"], r"a\.vec:2: '1 2 3' is too short: a line is a word and 3 numbers"),
        (["word"], r"a\.vec:1: 'word' is too short: a line is a word and its numbers"),
        (["a 1 2 3", "b 1 nan 3"], "has a number that is not finite"),
    ],
)
def test_broken_files(lines: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        read_vectors(write_vectors(tmp_path / "a.vec", lines), words=9, width=3)


def test_few_bytes_keep_most_of_many_vectors() -> None:
    random = np.random.default_rng(0)
    table = (random.normal(size=(3000, 24)) * np.linspace(2, 0.2, 24)).astype(np.float32)
    lost = []
    for size in (3, 6, 12):
        codes, centres = compress(table, size)
        assert codes.shape == (3000, size)
        assert centres.shape == (256 * size, 24 // size)
        lost.append(((restore(codes, centres) - table) ** 2).sum() / (table**2).sum())
    assert lost[0] > lost[1] > lost[2]
    assert lost[1] < 0.15


def test_words_without_a_vector_get_nothing_from_the_table() -> None:
    config = replace(Recipe.from_toml(RECIPE).model, vector_width=12, vector_bytes=4)
    encoder = Characters(config, 2).eval()
    encoder.centres.normal_()
    pieces = torch.ones((1, 3, 2), dtype=torch.long)
    mask, shapes = torch.ones((1, 3)), torch.zeros((1, 3), dtype=torch.long)
    spans = torch.zeros((1, 3, 2), dtype=torch.long)
    plain = encoder(pieces, mask, spans, shapes)
    known = encoder(pieces, mask, spans, shapes, torch.tensor([[0, 1, 2]]))
    assert torch.equal(known[:, 0], plain[:, 0])
    assert not torch.allclose(known[:, 1], plain[:, 1])


def test_the_width_is_a_multiple_of_the_bytes() -> None:
    with pytest.raises(ConfigError, match=r"model.vector_width is 50: it must be a multiple of model.vector_bytes, 12"):
        Recipe.from_toml(RECIPE).with_settings(["model.vector_width=50"])


def make_job(folder: Path, vectors: Path, *settings: str, encoder: str = "characters") -> Job:
    recipe = Recipe.from_toml(RECIPE).with_encoder(encoder).with_settings(settings)
    treebank = write_treebank(folder)
    return Job(recipe=recipe, train=[treebank], dev=[treebank], out=folder / "model", vectors=vectors)


def test_a_model_learns_with_vectors_and_runs_with_them(tmp_path: Path) -> None:
    forms = dict.fromkeys(word.form for sentence in read_conllu(write_treebank(tmp_path)) for word in sentence)
    random = np.random.default_rng(0)
    lines = [f"{form} {' '.join(map(str, random.normal(size=20).round(3)))}" for form in ["zebra", *forms]]
    vectors = write_vectors(tmp_path / "a.vec.gz", lines)
    events: list[dict[str, Any]] = []
    job = make_job(tmp_path, vectors, "model.vector_words=30", "model.vector_width=12", "model.vector_bytes=4")
    assert train(job, events.append).best > 95
    assert not [event for event in events if event["event"] == "warning"]
    assert read_folder(job.out).labels.words.strings == ("zebra", *forms)[:30]
    assert "| word vectors | a.vec.gz |" in (job.out / "README.md").read_text(encoding="utf-8")
    gold = list(read_conllu(tmp_path / "tiny-1.conllu"))
    network = load_model(job.out).network
    codes, centres = (network.get_buffer(f"encoder.{name}").numpy() for name in ("codes", "centres"))
    given = read_vectors(vectors, words=30, width=12)[1]
    assert np.allclose(restore(codes[1:], centres), given, atol=1e-6)  # training does not change them
    for precision in ("fp32", "int8"):
        parser = hexatagger.load(job.out, precision=precision)
        parsed = parser.parse_words([sentence.forms for sentence in gold])
        assert evaluate(gold, parsed).metrics["LAS"].f1 > 95
    cutter = load_model(job.out).cutter()
    [window] = cutter.windows(["zebra", "ZEBRA", "zebr", *forms][:4])
    assert window.known is not None
    assert window.known.tolist() == [1, 1, 0, 2]


def test_vectors_are_for_characters(tmp_path: Path) -> None:
    vectors = write_vectors(tmp_path / "a.vec", LINES)
    with pytest.raises(ConfigError, match="word vectors are for the encoder 'characters'"):
        train(make_job(tmp_path, vectors, encoder=str(make_encoder(tmp_path))))
