import json
import threading
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger.errors import ConfigError, FormatError
from hexatagger.model.config import ModelConfig, PieceConfig
from hexatagger.model.values import build
from hexatagger.parsing.pieces import (
    Grams,
    Pieces,
    make_cutter,
    read_config,
    shape,
    spread,
    stack_windows,
    word_tokenizer,
)
from tiny import FAMILIES, make_tokenizer

pytest.importorskip("tokenizers", reason="pieces of pretrained encoders need the package tokenizers")

AFTER = {"xlnet": 2}  # special pieces behind a sentence; all others have one on each side


def make_pieces(family: str, limit: int = 64) -> Pieces:
    text = word_tokenizer(make_tokenizer(family).to_str())
    return Pieces(text, read_config(text, limit=limit))


@pytest.mark.parametrize("family", FAMILIES)
def test_special_pieces_come_from_the_tokenizer(family: str) -> None:
    pieces = make_pieces(family)
    config, after = pieces.config, AFTER.get(family, 1)
    assert (len(config.before), len(config.after)) == (2 - after, after)
    [window] = pieces.windows(["She", "reads", "papers"])
    assert window.pieces[: len(config.before)].tolist() == list(config.before)
    assert window.pieces[-after:].tolist() == list(config.after)
    assert window.spans[0, 0] == len(config.before)
    assert window.spans[-1, 1] == len(window.pieces) - after - 1
    assert (window.spans[1:, 0] == window.spans[:-1, 1] + 1).all()
    assert build(PieceConfig, json.loads(json.dumps(asdict(config))), "pieces") == config


@pytest.mark.parametrize("family", FAMILIES)
def test_every_word_gets_pieces_of_its_own(family: str) -> None:
    pieces = make_pieces(family)
    words = ["She", "\u00ad", "10 000", "\u200b", "\ufeff", "…", "👍🏽", "[SEP]", "</s>", "reads", " ", "\ufe0f"]
    [window] = pieces.windows(words)
    assert len(window) == len(words)
    assert (window.spans[:, 0] <= window.spans[:, 1]).all()
    inside = window.pieces[window.spans[0, 0] : window.spans[-1, 1] + 1].tolist()
    assert len(inside) == sum(map(len, pieces.ids(words)))
    assert (window.shapes[window.spans[0, 0] : window.spans[-1, 1] + 1] > 0).all()


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "xlnet"])
def test_a_word_is_cut_as_inside_a_text(family: str) -> None:
    tokenizer = make_tokenizer(family)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    text = tokenizer.encode("x reads papers", add_special_tokens=False).ids
    words = [each for ids in make_pieces(family).ids(["reads", "papers"]) for each in ids]
    assert text[-len(words) :] == words


def test_word_tokenizer_is_idempotent() -> None:
    for family in FAMILIES:
        once = word_tokenizer(make_tokenizer(family).to_str())
        assert word_tokenizer(once) == once


@given(st.lists(st.integers(1, 8), max_size=200), st.integers(16, 40))
def test_windows_keep_every_word_once(lengths: list[int], room: int) -> None:
    windows = spread(lengths, room)
    assert [word for _, (first, last) in windows for word in range(first, last)] == list(range(len(lengths)))
    for (start, stop), (first, last) in windows:
        assert start <= first <= last <= stop
        assert sum(lengths[start:stop]) <= room


def test_windows_have_context_on_both_sides() -> None:
    windows = spread([1] * 10_000, 510)
    assert len(windows) < 45
    for (start, stop), (first, last) in windows:
        assert first - start >= 100 or start == 0
        assert stop - last >= 100 or stop == 10_000


def test_long_sentences_and_words_become_windows() -> None:
    pieces = make_pieces("bert", limit=32)
    words = ["reads"] * 100 + ["x" * 99] + ["papers"] * 100
    windows = pieces.windows(words)
    assert len(windows) > 1
    assert max(len(window.pieces) for window in windows) <= 32
    assert sum(window.keep[1] - window.keep[0] for window in windows) == len(words)
    assert pieces.windows([]) == []


def test_threads_share_one_cutter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hexatagger.parsing.pieces._CACHE", 5)
    pieces, words = make_pieces("bert"), [f"{word}{number}" for word in ("reads", "dog") for number in range(20)]
    expected = [ids for word in words for ids in pieces.ids([word])]
    found: list[list[list[tuple[int, ...]]]] = []

    def work() -> None:
        found.append([pieces.ids(words) for _ in range(20)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == expected for each in found for ids in each)


def test_grams() -> None:
    grams = Grams(100, limit=16)
    [window] = grams.windows(["Cat", "a"])
    assert window.pieces.shape[0] == 2
    assert window.pieces.max() < 100
    assert (window.pieces[1] == 0).any()
    assert (grams.ids("CAT") == grams.ids("cat")).all()
    assert len(grams.ids("x" * 5000)) < 300
    assert len(grams.windows(["a"] * 40)) > 1
    # The same numbers in every process and on every machine: models depend on them.
    assert Grams(1000).ids("a").tolist() == [431, 370, 172, 113, 511, 698, 88]
    twice = Grams(1000, hashes=2).ids("a").reshape(-1, 2)
    assert twice[:, 0].tolist() == Grams(1000).ids("a").tolist()
    assert twice[:, 1].tolist() == [963, 474, 177, 583, 109, 527, 31]


def test_two_hashes_tell_n_grams_apart_that_share_one() -> None:
    words = [f"{number}" for number in range(500)]
    pairs = Grams(100, hashes=2), Grams(100)
    distinct = [len({tuple(sorted(set(grams.ids(word)[: grams.hashes]))) for word in words}) for grams in pairs]
    assert distinct[1] < 100
    assert distinct[0] > 450


@given(st.text(min_size=1))
def test_every_word_has_a_shape(word: str) -> None:
    assert 1 <= shape(word) <= 11


def test_broken_tokenizers() -> None:
    with pytest.raises(FormatError, match="is not a tokenizer"):
        Pieces('{"model": 3}', PieceConfig((), (), 0, 0, 512))
    values = json.loads(make_tokenizer("bert").to_str())
    del values["model"]["vocab"]["[UNK]"]  # missed only by words that have characters of their own
    for name in ("added_tokens", "post_processor"):
        values[name] = None if name == "post_processor" else []
    pieces = Pieces(json.dumps(values), PieceConfig((), (), 0, 0, 512))
    with pytest.raises(FormatError, match=r"tokenizer.json: is not a tokenizer: .*UNK"):
        pieces.windows(["漢字"])
    with pytest.raises(ConfigError, match="reads only 5 pieces at once is too short"):
        Pieces(make_tokenizer("bert").to_str(), PieceConfig((1,), (2,), 0, 0, 5))
    assert np.asarray(make_pieces("bert").windows(["a"])[0].pieces).dtype == np.int64


@pytest.mark.parametrize("kind", ["pieces", "grams"])
def test_windows_side_by_side_hold_what_each_holds_alone(kind: str) -> None:
    cutter = make_pieces("bert", limit=16) if kind == "pieces" else Grams(100, limit=8)
    sentences = [["reads"], ["She", "reads", "papers"], ["a"] * 30]
    windows = [(words, window) for words in sentences for window in cutter.windows(words)]
    pos = [np.arange(1, len(words) + 1) for words, _ in windows]
    together = stack_windows([window for _, window in windows], pad=7, pos=pos)
    assert together["mask"].sum(1).tolist() == [len(window.pieces) for _, window in windows]
    for row, (_, window) in enumerate(windows):
        alone = stack_windows([window], pos=[pos[row]])
        for name, array in alone.items():
            inside = tuple(slice(size) for size in array.shape[1:])
            assert (together[name][row][inside] == array[0]).all(), name
            rest = together[name][row].sum() - array[0].sum()
            assert rest == (7 * (together[name][row].size - array[0].size) if name == "pieces" else 0), name
    assert together["pos"][-1, : len(windows[-1][1])].tolist() == list(range(31 - len(windows[-1][1]), 31))


def test_padding_in_the_file_is_ignored() -> None:
    """It could be of any length: 10⁹ took all memory."""
    config = PieceConfig(before=(2,), after=(3,), unknown=1, pad=0, limit=16)
    tokenizer = make_tokenizer("bert")
    tokenizer.no_padding()
    found = []
    for length in (0, 64):
        if length:
            tokenizer.enable_padding(length=length)
        [window] = make_cutter(ModelConfig(encoder="bert"), tokenizer.to_str(), config).windows(["Dogs", "bark"])
        found.append(window.pieces.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("cutter", [make_pieces("bert"), Grams(1000)])
def test_half_of_a_surrogate_pair_is_no_word(cutter: Pieces | Grams) -> None:
    with pytest.raises(FormatError, match=r"'a\\ud800' has half of a surrogate pair"):
        cutter.windows(["fine", "a\ud800"])


def test_an_unknown_emoji_is_read_as_an_emoticon() -> None:
    pieces = make_pieces("bert")
    emoticon, emoji, several, unknown = pieces.ids([":)", "😀", "👍🏽🎉", "\ufeff"])
    assert emoji == several == emoticon
    assert unknown == (pieces.config.unknown,)
