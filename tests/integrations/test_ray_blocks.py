"""A corpus cut into blocks and made into shards, without a cluster: what comes out is what comes of the whole file."""

import gzip
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hexatagger import ConfigError, FormatError, Parser, Sentence
from hexatagger.formats import files
from hexatagger.formats.conllu import format_sentence
from hexatagger.formats.text import Source, words_of
from hexatagger.integrations.ray.blocks import Block, check_source, cut_file, find_files
from hexatagger.integrations.ray.documents import read_documents
from hexatagger.integrations.ray.job import MANIFEST, add_files, blocks_of, read_manifest, write_manifest
from hexatagger.integrations.ray.shards import CorpusOptions, Tally, make_shard, read_problems, unfinished
from invented import add_profile
from invented import texts as spoken
from same import ids_of, without_ids
from stand_ins import NOISE, texts


class Stub:
    """Stands in for a parser: every word depends on the one before, and the word "bad" cannot be parsed."""

    segmenter = NOISE
    folder = SimpleNamespace(path=Path("no-such-folder"))

    def parse_sentences(self, sentences: Sequence[Sentence], **options: Any) -> list[Sentence]:
        if any("bad" in sentence.forms for sentence in sentences):
            raise ValueError("bad is not good")
        for sentence in sentences:
            sentence.set_tree(range(len(sentence)), ["dep"] * len(sentence))
        return list(sentences)


STUB = cast("Parser", Stub())


def make(path: Path, out: Path, **options: Any) -> tuple[str, list[Tally], list[str]]:
    """Return all shards of a file together, what they hold, and what could not be parsed."""
    settings = CorpusOptions(**options)
    blocks = cut_file(path.name, path, settings.source, settings.block_size(path.stat().st_size))
    tallies = [make_shard(STUB, block, settings, out) for block in blocks]
    assert [tally.failure for tally in tallies] == [None] * len(tallies)
    raw = [(out / tally.shard).read_bytes() for tally in tallies] if settings.target != "parquet" else []
    shards = map(gzip.decompress, raw) if settings.packed else raw
    problems = [f"{each['line']}: {each['message']}" for each in read_problems(out, settings, blocks)]
    return b"".join(shards).decode(), tallies, problems


def trees(*texts: str) -> str:
    return "".join(
        f"# text = {text}\n"
        + "".join(
            f"{number}\t{form}\t_\t_\t_\t_\t{number - 1}\tdep\t_\t_\n" for number, form in enumerate(text.split(), 1)
        )
        + "\n"
        for text in texts
    )


@pytest.mark.parametrize("source", ["text", "lines", "words"])
@given(text=texts, size=st.integers(1, 30))
@example(text="\n\na\n\nb\n\n\u200bc\n \n\n d\n\ne", size=1)
@example(text="\u200b\n\na\n\nb", size=1)
@example(text="a\r\n\r\nb\r\nc\r\n", size=1)
def test_blocks_of_plain_text_are_together_the_whole(
    tmp_path_factory: pytest.TempPathFactory, source: Source, text: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"{source}.txt"
    path.write_bytes(text.encode())
    whole = words_of([text]) if source == "words" else NOISE.stream([text], lines=source == "lines")
    made: list[Sentence] = []
    for block in cut_file("a", path, source, size):
        documents = list(read_documents(block, source, "text", lambda: NOISE))
        assert any(document.sentences for document in documents) or block.number == 0
        made += [sentence for document in documents for sentence in document.sentences]
    assert list(map(format_sentence, made)) == list(map(format_sentence, whole))


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_blocks_of_conllu_are_together_the_whole(tmp_path: Path, suffix: str, pack: Any) -> None:
    path = tmp_path / f"a.conllu{suffix}"
    text = "\ufeff# newdoc\n" + trees("Hi", "Bye bye", "So long") + "\n\n" + trees("The end")
    path.write_bytes(pack(text.replace("\n", "\r\n").encode()))
    made, tallies, problems = make(path, tmp_path / "out", source="conllu", block=20, packed=bool(suffix))
    assert without_ids(made) == "# newdoc\n" + trees("Hi", "Bye bye", "So long", "The end")
    assert ids_of(made) == [f"{path.name}.0000{number}-s1" for number in range(4)]
    packed = ".gz" if suffix else ""
    assert [tally.shard for tally in tallies] == [f"{path.name}.0000{number}.conllu{packed}" for number in range(4)]
    assert (sum(tally.words for tally in tallies), problems) == (7, [])


def test_a_file_without_an_empty_line_is_one_block(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One.\nTwo.\n" * 100)
    assert len(cut_file("a", path, "text", 10)) == 1
    assert len(cut_file("a", path, "lines", 10)) == 100
    path.write_text("")
    assert make(path, tmp_path / "out", source="words")[0] == ""


def test_bad_sentences_are_reported_and_the_rest_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    broken = "1\tonly\ttwo\n\n" + "1\tx\t_\t_\t_\t_\t5\tdep\t_\t_\n\n" + "1\t\xff\t_\n\n"
    path.write_bytes((trees("Hi") + broken + trees("bad dog", "Bye")).encode("latin-1") + b"1\tcut off")
    made, _, problems = make(path, tmp_path / "out", source="conllu")
    assert without_ids(made) == trees("Hi", "Bye")
    assert ids_of(made) == ["a.conllu.00000-s1", "a.conllu.00000-s3"]  # the second could not be parsed
    assert [problem.partition(":")[0] for problem in problems] == ["4", "6", "8", "10", "17"]
    for problem, message in zip(
        problems,
        [
            "columns instead of 10",
            "HEAD '5'",
            "0xff is not UTF-8",
            "'bad dog' cannot be parsed: ValueError",
            "2 columns instead of 10",
        ],
        strict=True,
    ):
        assert message in problem


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_last_sentence_that_is_not_closed_is_parsed_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, pack: Callable[[bytes], bytes], end: str
) -> None:
    path = tmp_path / ("a.conllu" if pack is bytes else "a.conllu.gz")
    whole = trees("Hi", "you there").replace("\n", end).encode()
    for size in (1, 1000):
        for cut in (0, len(end)):
            caplog.clear()
            path.write_bytes(pack(whole[: len(whole) - cut]))
            made, _, problems = make(path, tmp_path / f"{size}{cut}", source="conllu", block=size)
            assert (without_ids(made), problems) == (trees("Hi", "you there"), [])
            assert ("no empty line after the last sentence" in caplog.text) == (cut > 0)


def test_a_line_has_a_greatest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"short\n\n" + b"x" * 5000))
    with pytest.raises(FormatError, match=r"a\.txt\.gz:3: the line has more than 1,000 bytes"):
        cut_file("a", path, "text", 10)


def test_bytes_that_are_not_utf8_are_replaced_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntw\xe9\n")
    made, _, problems = make(path, tmp_path / "out", source="words")
    assert "\ttw\ufffd\t" in made
    assert problems == ["2: byte 0xe9 is not UTF-8; it is read as U+FFFD"]


RECORDS = [
    '{"id": 7, "text": "Hi you", "author": "Anna\\nB.", "n": [1], "none": null}',
    "",
    '{"text": ""}',
    '{"text": 3}',
    "[1]",
    "{",
    '{"body": "x"}',
    '{"text": "\\ud83d"}',
    '{"text": "Bye \\ud83d\\ude00"}',
]


def test_records_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(RECORDS) + "\n")
    for size in (1, 0):
        made, _, problems = make(path, tmp_path / str(size), source="words", block=size)
        assert "".join(line for line in without_ids(made).splitlines(keepends=True) if "Range" not in line) == (
            '# newdoc id = 7\n# meta::author = "Anna\\nB."\n# meta::n = [1]\n# text = Hi you\n\n'
            "# newdoc id = a.jsonl:9\n# text = Bye 😀\n\n"
        )
        assert [problem.split(":")[0] for problem in problems] == ["4", "5", "6", "7", "8"]
        for problem, message in zip(
            problems,
            ["its text is int '3'", "not a JSON object", "not JSON", "has no column", "half of"],
            strict=True,
        ):
            assert message in problem
    made, _, _ = make(path, tmp_path / "json", source="words", target="json")
    values = [json.loads(line) for line in made.splitlines()]
    assert [(each.get("id"), len(each["sentences"])) for each in values] == [(7, 1), (None, 0), (None, 1)]
    made, _, _ = make(path, tmp_path / "tags", source="words", target="tags")
    assert "# newdoc id = 7" in made
    assert "\tl/dep\t" in made


def test_texts_that_are_words_or_trees(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"w": ["Hi", "you"]}\n{"w": [["Hi"], [], ["Bye"]]}\n{"w": []}\n{"w": [1]}\n')
    made, _, problems = make(path, tmp_path / "words", source="words", text_column="w")
    found = without_ids(made).replace("# newdoc id = a.jsonl:1\n", "").replace("# newdoc id = a.jsonl:2\n", "")
    assert found == trees("Hi you", "Hi", "Bye")
    assert ids_of(made) == [f"a.jsonl.00000-s{number}" for number in (1, 2, 3)]
    assert len(problems) == 1
    path.write_text(json.dumps({"text": trees("Hi", "Bye").rstrip()}) + '\n{"text": "1\\tx"}\n')
    made, _, problems = make(path, tmp_path / "trees", source="conllu")
    assert without_ids(made) == "# newdoc id = a.jsonl:1\n" + trees("Hi", "Bye")
    assert problems == ["2: line 1 of its text: 2 columns instead of 10, separated by tabs: '1 x'"]


def test_parquet_in_and_out(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs the extra [ray]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra [ray]")
    path = tmp_path / "a.parquet"
    rows = {"id": pa.array(range(7), pa.int16()), "text": ["Hi", "Bye bye", "", None, "So long", "bad", "The end"]}
    parquet.write_table(pa.table(rows), path, row_group_size=2)
    for size in (1, 60, 0):
        made, _, problems = make(path, tmp_path / str(size), source="words", block=size)
        assert [line for line in made.splitlines() if "newdoc" in line] == [f"# newdoc id = {n}" for n in (0, 1, 4, 6)]
        assert problems == [
            "4: its text is null: a string is needed",
            "6: sentence 'bad' cannot be parsed: ValueError: bad is not good",
        ]
    assert len(cut_file("a", path, "words", 1)) == 7
    _, [tally], _ = make(path, tmp_path / "table", source="words", target="parquet")
    table = parquet.read_table(tmp_path / "table" / tally.shard)
    assert table.schema.field("id").type == pa.int16()
    found = table.to_pylist()
    assert [(row["id"], row["sentence"], row["text"]) for row in found] == [
        (0, 1, "Hi"),
        (1, 1, "Bye bye"),
        (2, None, None),
        (4, 1, "So long"),
        (6, 1, "The end"),
    ]
    assert [(word["form"], word["head"], word["deprel"]) for word in found[1]["words"]] == [
        ("Bye", 0, "dep"),
        ("bye", 1, "dep"),
    ]
    lines = tmp_path / "b.jsonl"
    lines.write_text('{"text": "Hi", "n": 1}\n{"text": "Bye", "m": "x"}\n')
    _, [tally], _ = make(lines, tmp_path / "lines", source="words", target="parquet")
    found = parquet.read_table(tmp_path / "lines" / tally.shard).to_pylist()
    assert [(row["n"], row["m"]) for row in found] == [("1", None), (None, "x")]
    plain = tmp_path / "c.txt"
    plain.write_text("Hi\nBye\n")
    _, [tally], _ = make(plain, tmp_path / "plain", source="words", target="parquet")
    assert parquet.read_table(tmp_path / "plain" / tally.shard)["sentence"].to_pylist() == [1, 2]
    path.write_text("nonsense")
    with pytest.raises(FormatError, match="cannot be read as Parquet"):
        cut_file("a", path, "words", 1)


def test_columns_that_the_output_needs(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Hi", "sentences": 1}\n')
    settings = CorpusOptions(source="words", target="json")
    [block] = cut_file("a", path, "words", 100)
    tally = make_shard(STUB, block, settings, tmp_path)
    assert tally.failure is not None
    assert tally.failure.startswith("records have a column 'sentences', which the output has too: rename it")
    assert not (tmp_path / tally.shard).exists()


def test_a_shard_in_another_language_is_told(tmp_path: Path) -> None:
    """Its text is that of all documents together."""
    parser: Any = Stub()
    parser.folder = SimpleNamespace(path=add_profile(tmp_path / "qaa", 0, "qaa"))
    path = tmp_path / "a.txt"
    for text, told in (
        ("\n".join(spoken(0, 20)), ""),
        ("Les enfants\nsont rentrés\nà la maison\n", "the text looks like French, not like the language of the model"),
    ):
        path.write_text(text, encoding="utf-8")
        [block] = cut_file("a.txt", path, "words", 10_000)
        assert make_shard(parser, block, CorpusOptions(source="words"), tmp_path).foreign == told


def test_a_block_that_kills_its_workers_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Hi\n")
    settings = CorpusOptions(source="words")
    [block] = cut_file("a.txt", path, "words", 100)
    for number in range(4):
        (tmp_path / f".a.txt.00000.conllu.{number}.part").touch()
    assert make_shard(STUB, block, settings, tmp_path).failure is None
    assert unfinished(tmp_path / "a.txt.00000.conllu") == []
    for number in range(5):
        (tmp_path / f".a.txt.00000.conllu.{number}.part").touch()
    assert "a worker died 5 times" in str(make_shard(STUB, block, settings, tmp_path).failure)


def test_what_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"Hi\n" * 100)[:-9])
    with pytest.raises(FormatError, match=r"a\.txt\.gz: cannot be decompressed"):
        cut_file("a", path, "words", 1)
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        cut_file("a", tmp_path / "missing.txt", "words", 1)
    block = Block("a.txt", str(tmp_path / "missing.txt"), 0, 0, None)
    assert "missing.txt: cannot be read" in str(
        make_shard(STUB, block, CorpusOptions(source="words"), tmp_path).failure
    )
    (tmp_path / "file").touch()
    assert "cannot be written" in str(make_shard(STUB, block, CorpusOptions(source="words"), tmp_path / "file").failure)


def test_finding_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/x.txt", "a/b/x.txt", "a/b/y.jsonl.gz", "a/b/z.md", "a/.hidden/x.txt", "out/x.txt", "a/[1].txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"

    def found(*patterns: str) -> list[str]:
        return list(find_files(patterns, outside=out))

    assert found("a") == ["[1].txt", "b/x.txt", "b/y.jsonl.gz", "x.txt"]
    assert found("a/**/*.txt") == ["[1].txt", "b/x.txt", "x.txt"]
    assert found("a/*.txt", "a/x.txt") == ["[1].txt", "x.txt"]
    assert found("a/[1].txt") == ["[1].txt"]
    assert found(str(tmp_path / "*" / "b" / "z.md")) == ["a/b/z.md"]
    assert found(".") == ["a/[1].txt", "a/b/x.txt", "a/b/y.jsonl.gz", "a/x.txt"]
    with pytest.raises(FormatError, match=r"nothing\*: no such file"):
        found("nothing*")
    with pytest.raises(ConfigError, match="would have the same name in the output"):
        found("a/x.txt", "a/b/x.txt")
    with pytest.raises(ConfigError, match=r"x\.conllu\.gz is CoNLL-U, but would be read as text"):
        check_source(Path("x.conllu.gz"), "text")


def test_the_manifest_knows_what_shards_were_made_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out, settings = tmp_path / "a.txt", tmp_path / "out", CorpusOptions(source="lines", block=4)
    path.write_text("One.\nTwo.\n")
    out.mkdir()
    assert read_manifest(out, settings, "d") == {}
    files: dict[str, Any] = {}
    assert add_files(files, {"a.txt": path}, out, settings) == {}
    write_manifest(out, settings, "d", files)
    known = read_manifest(out, settings, "d")
    assert blocks_of(known, ["a.txt"]) == blocks_of(files, ["a.txt"]) == cut_file("a.txt", path, "lines", 4)
    assert len(blocks_of(known, ["a.txt"])) == 2
    with monkeypatch.context() as patch:
        patch.setattr("hexatagger.integrations.ray.job.cut_file", lambda *_: pytest.fail("cut again"))
        add_files(known, {"a.txt": path}, out, settings)

    with pytest.raises(ConfigError, match=r"were made with text_column text, not body: name another output folder"):
        read_manifest(out, CorpusOptions(source="lines", block=4, text_column="body"), "d")
    with pytest.raises(ConfigError, match="were made with model d, not e"):
        read_manifest(out, settings, "e")

    broken = tmp_path / "broken.txt.gz"
    broken.write_bytes(b"nonsense")
    [reason] = add_files(known, {"broken.txt.gz": broken}, out, settings).values()
    assert reason.startswith(f"{broken}: cannot be decompressed")
    path.write_text("One.\nTwo.\nThree.\n")
    add_files(dict(known), {"a.txt": path}, out, settings)  # nothing is made of it yet
    (out / "a.txt.00001.conllu").touch()
    with pytest.raises(ConfigError, match=r"a\.txt has changed since .*a\.txt\.00001\.conllu was made"):
        add_files(known, {"a.txt": path}, out, settings)
    (out / "a.txt.00000.conllu").touch()
    with pytest.raises(ConfigError, match=r"a\.txt\.00000\.conllu exists, but is not in"):
        add_files({}, {"a.txt": path}, out, settings)
    (out / MANIFEST).write_text("{}")
    with pytest.raises(FormatError, match="is not the manifest of a corpus"):
        read_manifest(out, settings, "d")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "speech"}, "source 'speech' is not one of"),
        ({"target": "svg"}, "target 'svg' is not one of"),
        ({"block": -1}, "block -1 is too small"),
        ({"target": "parquet", "packed": True}, "compressed already"),
        ({"target": "parquet", "parsing": {"k": 2}}, "no place for the k best trees"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CorpusOptions(**options)
