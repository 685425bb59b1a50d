"""Raw text in, the same text out; offsets, chunks, windows. The network here is a stand-in that needs no training."""

import io
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hexatagger import FormatError, Sentence, Word, read_conllu, write_conllu
from hexatagger.formats import text as rawtext
from hexatagger.formats.conllu import format_sentence
from hexatagger.formats.text import PARAGRAPHS, VISIBLE, cut, escape, restore, unescape, words_of
from hexatagger.model.folder import SEGMENTER as JSON
from hexatagger.model.folder import SEGMENTER_NETWORK as ONNX
from hexatagger.segment import segmenter as segment
from hexatagger.segment.alphabet import BREAK, NEWLINE, OUTSIDE, REACH, Ids, mark_breaks
from hexatagger.segment.multiword import Rewrites, expand, fold, learn_rewrites, split_places
from hexatagger.segment.segmenter import Segmenter, from_json, to_json
from hexatagger.sentence import Multiword
from stand_ins import BREAKS, NOISE, REWRITES, RULES, SPACED, Noise, Rules, make, texts


def conllu(sentences: list[Sentence]) -> str:
    return "".join(map(format_sentence, sentences))


def check(text: str, sentences: list[Sentence]) -> None:
    """Check everything that must hold for any text."""
    if not VISIBLE.search(text):
        assert sentences == []
        return
    assert restore(sentences) == text
    assert restore(read_conllu(io.StringIO(conllu(sentences)))) == text
    tokens = [token for sentence in sentences for token in sentence.tokens]
    for token in tokens:
        assert token.start is not None
        assert token.end is not None
        assert " ".join(text[token.start : token.end].split()) == token.form
        assert f"TokenRange={token.start}:{token.end}" in token.misc.split("|")
        assert VISIBLE.match(text, token.start)
    for one, other in pairwise(tokens):
        assert cast("int", one.end) <= cast("int", other.start)
        assert not VISIBLE.search(text[one.end : other.start])
    for sentence in sentences:
        for token in sentence.tokens:
            if isinstance(token, Multiword):
                words = sentence.words[token.first - 1 : token.last]
                assert len(words) > 1
                ranges = [(cast("int", word.start), cast("int", word.end)) for word in words]
                rest = text[token.start : token.end]
                for word in words:
                    rest = rest.lstrip().removeprefix(word.form) if rest.lstrip().startswith(word.form) else "none"
                if rest:  # the token does not spell its words
                    assert set(ranges) == {(token.start, token.end)}
                else:
                    assert [text[start:end] for start, end in ranges] == [word.form for word in words]
                    assert (ranges[0][0], ranges[-1][1]) == (token.start, token.end)
                    assert not any(text[one[1] : other[0]].strip() for one, other in pairwise(ranges))
                assert all(word.form for word in words)
        given = sentence.text
        sentence.comments = []
        assert sentence.text == given


@given(texts)
@example("")
@example(" \n\u200b\t")
@example("\n\n\u200b\n\na\n\u200b\n\nb\u200b \u200b")
@example("\ufeffa")
@settings(max_examples=200)
def test_any_text_comes_back_exactly(text: str) -> None:
    check(text, NOISE.segment(text))
    check(text, SPACED.segment(text))
    check(text, NOISE.segment(text, lines=True))
    check(text, list(words_of([text])))


@given(texts, st.lists(st.integers(0, 100), max_size=5))
def test_the_result_does_not_depend_on_chunks(text: str, places: list[int]) -> None:
    bounds = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    chunks = [text[begin:end] for begin, end in pairwise(bounds)]
    assert conllu(list(NOISE.stream(chunks))) == conllu(NOISE.segment(text))
    assert conllu(list(NOISE.stream(chunks, lines=True))) == conllu(NOISE.segment(text, lines=True))
    assert conllu(list(words_of(chunks))) == conllu(list(words_of([text])))


gaps = st.sampled_from([" ", "\n", "\n\n"])
lines = st.lists(st.tuples(st.text("ab.", min_size=1, max_size=60), gaps).map("".join), max_size=60).map("".join)


@given(st.one_of(st.lists(texts, max_size=8).map("".join), lines), st.integers(1, 9), st.integers(1, 40))
@settings(max_examples=100)
def test_the_result_does_not_depend_on_windows(text: str, window: int, batch: int) -> None:
    whole = [conllu(each.segment(text)) for each in (NOISE, SPACED, BREAKS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment, "_WINDOW", window)
        patch.setattr(segment, "_WINDOWS", 2)
        patch.setattr(segment, "_BATCH", batch)
        patch.setattr(rawtext, "_BLOCK", batch)
        assert [conllu(each.segment(text)) for each in (NOISE, SPACED, BREAKS)] == whole
        patch.setattr(segment, "cut", lambda chunks, breaks: cut(chunks, breaks, longest=batch))
        assert [conllu(each.segment(text)) for each in (NOISE, SPACED, BREAKS)] == whole


@given(lines)
def test_a_break_is_where_the_next_word_would_have_fitted(text: str) -> None:
    def breaks(paragraph: str) -> list[int]:
        """Look at one line end after the other."""
        found = []
        rows = paragraph.split("\n")
        for row, following in pairwise(rows):
            wide = max(min(len(following), REACH), 40)
            found.append(BREAK if len(row) + 1 + len(following.split(" ")[0]) <= wide else NEWLINE)
        return found

    paragraphs = [each.strip() for each in re.split(r"\s*\n\n\s*", text) if each.strip()]
    ids = [NOISE.alphabet.read(paragraph).ids for paragraph in paragraphs]
    row = np.concatenate([np.append(each, OUTSIDE) for each in ids]) if ids else np.zeros(0, np.int32)
    marked = mark_breaks(row)
    expected = [kind for paragraph in paragraphs for kind in breaks(re.sub(r" *\n *", "\n", paragraph))]
    assert marked[row == NEWLINE].tolist() == expected
    assert (marked[row != NEWLINE] == row[row != NEWLINE]).all()


def test_a_long_text_without_spaces_or_paragraphs() -> None:
    for text in (
        "x" * 100_000,
        "漢字。" * 33_333,
        "ab. " * 25_000,
        " " * 100_000 + "a" + "\n" * 100_000,
        "a\u200b" * 50_000,
    ):
        began = time.process_time()
        sentences = RULES.segment(text)
        assert restore(sentences) == text
        assert time.process_time() - began < 10
    assert RULES.segment("x" * 100_000)[0].forms == ["x" * 100_000]
    assert len(RULES.segment("ab. " * 25_000)) == 25_000


def test_a_stream_is_read_as_it_is_used() -> None:
    taken = 0

    def chunks() -> Any:
        nonlocal taken
        while True:
            taken += 1
            yield "One more line. And another one.\n"

    stream = RULES.stream(chunks())
    assert [next(stream).text for _ in range(1000)][-1] == "And another one."
    assert taken < 6000


@pytest.mark.parametrize(
    "gap", ["\n\n", "\r\n\r\n", "\n \t\n", "\n\u200b\n", "\u2029", "\n\n\n\n", "\r\r", " \n\u00a0\n "]
)
def test_an_empty_line_ends_a_sentence(gap: str) -> None:
    sentences = RULES.segment(f"no stop{gap}here")
    assert [sentence.forms for sentence in sentences] == [["no", "stop"], ["here"]]
    assert [sentence.comments[0] for sentence in sentences] == ["# newpar", "# newpar"]
    assert sentences[0][1].misc == f"SpacesAfter={escape(gap)}|TokenRange=3:7"


@pytest.mark.parametrize("gap", ["\n", "\r\n", " \r\n\t", "\u00a0", "\u200b \u200b"])
def test_one_line_end_does_not(gap: str) -> None:
    [sentence] = RULES.segment(f"no stop{gap}here")
    assert sentence.text == "no stop here" if gap[0] != "\u200b" else "no stop\u200b here"


def test_lines_are_sentences() -> None:
    sentences = RULES.segment("One. Two\nthree\r\n\r\nfour.", lines=True)
    assert [sentence.forms for sentence in sentences] == [["One", ".", "Two"], ["three"], ["four", "."]]
    assert [sentence.comment("text") for sentence in sentences] == ["One. Two", "three", "four."]


def test_words_are_taken_as_they_are() -> None:
    text = "He does n't .\n\n10\u00a0000\tpapers\n"
    first, second = words_of([text])
    assert first.forms == ["He", "does", "n't", "."]
    assert [(word.form, word.start, word.end) for word in second] == [("10 000", 15, 21), ("papers", 22, 28)]
    assert second[0].misc == "SpacesAfter=\\t|SpacesInToken=10\u00a0000|TokenRange=15:21"


def test_emoji_accents_and_direction() -> None:
    def tokens(text: str) -> list[str]:
        return [token.form for sentence in make(Noise, rewrites=Rewrites()).segment(text) for token in sentence.tokens]

    for whole in ("👩\u200d👩\u200d👧", "👍🏽", "❤\ufe0f", "e\u0301\u0323"):
        assert all(whole in token for token in tokens(f"a{whole}b {whole}") if set(token) & set(whole) - {"e"})
    text = "\u202bשלום עולם\u202c\u200f. ئۇيغۇر."
    sentences = RULES.segment(text)
    check(text, sentences)
    assert [[text[cast("int", word.start) : word.end] for word in sentence] for sentence in RULES.segment(text)] == [
        ["שלום", "עולם\u202c\u200f", "."],
        ["ئۇيغۇر", "."],
    ]


def test_spaces_inside_a_token() -> None:
    class One(Noise):
        def run(self, names: list[str], inputs: dict[str, Ids]) -> list[np.ndarray[Any, Any]]:
            return [np.full((*inputs["ids"].shape, 4), -1.0, np.float32)]

    text = "10 \n 000|\\"
    [sentence] = make(One, spaces=True).segment(text)
    assert [(word.form, word.misc) for word in sentence] == [
        ("10 000|\\", "SpaceAfter=No|SpacesInToken=10\\s\\n\\s000\\p\\\\|TokenRange=0:10")
    ]
    assert restore([sentence]) == text
    assert [sentence.forms for sentence in make(One).segment(text)] == [["10", "000|\\"]]


def test_multiword_tokens_have_their_words_and_one_range() -> None:
    class All(Rules):
        def run(self, names: list[str], inputs: dict[str, Ids]) -> list[np.ndarray[Any, Any]]:
            [scores] = super().run(names, inputs)
            scores[..., 2] = 1
            return [scores]

    [sentence] = make(All).segment("Du cafe.")
    assert [(type(row).__name__, row.columns[:2]) for row in sentence.rows()] == [
        ("Multiword", ("1-2", "Du")),
        ("Word", ("1", "De")),
        ("Word", ("2", "le")),
        ("Word", ("3", "cafe")),
        ("Word", ("4", ".")),
    ]
    assert sentence.multiwords[0].misc == "TokenRange=0:2"
    assert [(word.start, word.end, word.misc) for word in sentence][:2] == [(0, 2, "_"), (0, 2, "_")]


def test_words_of_a_token_with_spaces_inside_have_none_around_them() -> None:
    assert expand("ab cd", Rewrites(), [2, 3]) == ("ab", "cd")
    assert expand("ab cd", Rewrites(), [2]) == expand("ab cd", Rewrites(), [3]) == ("ab", "cd")
    assert expand("do n't", REWRITES) == ("do", "n't")
    assert expand(" n't", REWRITES) == ()


def test_threads_share_a_segmenter() -> None:
    text = "".join(chr(code) for code in range(32, 1500))
    alone = conllu(make(Noise).segment(text))
    shared = make(Noise)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: conllu(shared.segment(text)), range(16))) == {alone}


def test_restore_reads_treebanks() -> None:
    first = Sentence([Word(1, "Hi"), Word(2, "!", misc="SpaceAfter=No")])
    second = Sentence([Word(1, "a", misc="SpacesAfter=No"), Word(2, "b", misc="SpacesBefore=\\n")], ["# newpar id = x"])
    third = Sentence([Word(1, "c", misc="SpacesAfter=\\n\\n")], ["# newdoc"])
    assert restore([first, first, second, third, third]) == "Hi !Hi !\n\na\nb\n\nc\n\nc\n\n"
    assert restore([]) == ""


@given(texts)
def test_escapes_come_back(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not re.search(r"[ \t\r\n|]", escape(text))


@given(texts, st.integers(1, 30))
def test_parts_are_the_text(text: str, longest: int) -> None:
    parts = list(cut([text], PARAGRAPHS, longest=longest))
    assert "".join(part for part, _ in parts) == text
    assert all(parts_end for _, parts_end in parts[-1:])


words = st.text(st.sampled_from("aAbBÀ'’-漢"), min_size=1, max_size=4)


@given(st.lists(st.tuples(words, st.lists(words, min_size=2, max_size=3))))
def test_seen_multiword_tokens_are_rewritten_as_seen(tokens: list[tuple[str, list[str]]]) -> None:
    rewrites = learn_rewrites(tokens)
    assert Rewrites.from_dict(rewrites.to_dict()) == rewrites
    for token, _ in tokens:
        options = [tuple(map(fold, words)) for other, words in tokens if fold(other) == fold(token)]
        found = expand(token, rewrites)
        assert tuple(map(fold, found)) in [tuple(map(fold, words)) for words in options]


def test_rewrites() -> None:
    tokens = [("don't", ["do", "n't"]), ("can't", ["ca", "n't"]), ("amá-lo", ["amar", "lo"]), ("dá-lo", ["dar", "lo"])]
    rewrites = learn_rewrites([*tokens, ("do", ["de", "o"])])
    assert expand("DON’T", rewrites) == ("DO", "N’T")
    assert expand("Shouldn't", rewrites) == ("Should", "n't")
    assert expand("Lavá-lo", rewrites) == ("Lavar", "lo")
    assert expand("DO", rewrites) == ("DE", "O")
    assert expand("n't", rewrites) == ()
    assert expand("xyz", rewrites) == ()
    assert expand("xyz", rewrites, [1]) == ("x", "yz")
    assert split_places("Xyz", ["x", "yz"]) == [1]
    assert split_places("İx", ["i̇", "x"]) is None


def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path) -> None:
    def said() -> str:
        with pytest.raises(FormatError) as caught:
            Segmenter.load(tmp_path)
        return str(caught.value)

    assert (
        said()
        == f"{tmp_path / JSON}: cannot be read: No such file or directory: the model was trained without a segmenter"
    )
    (tmp_path / JSON).write_text("{}")
    (tmp_path / ONNX).write_bytes(b"x")
    pytest.importorskip("onnxruntime")
    assert "segmenter.json: is not a valid segmenter description" in said()
    (tmp_path / JSON).write_text('{"format": 99}')
    assert "format 99 is newer" in said()
    (tmp_path / JSON).write_text(to_json(NOISE.settings, REWRITES))
    assert "segmenter.onnx: cannot be loaded" in said()


def test_settings_come_back() -> None:
    assert from_json(to_json(NOISE.settings, REWRITES, {"Words": 99.0}), source="x") == (NOISE.settings, REWRITES)


def test_segmenting_written_files_again_is_the_same(tmp_path: Path) -> None:
    text = "One. Two  three.\n\nFour."
    sentences = RULES.segment(text)
    write_conllu(sentences, tmp_path / "x.conllu")
    assert list(read_conllu(tmp_path / "x.conllu")) == sentences


def test_onnx_runtime_is_started_without_telemetry(tmp_path: Path) -> None:
    program = "from hexatagger.model.onnx import runtime; print(runtime().__version__)"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_", "CI"))}
    subprocess.run([sys.executable, "-c", program], env=env | {"HOME": str(tmp_path)}, check=True)
    assert list(tmp_path.iterdir()) == []
