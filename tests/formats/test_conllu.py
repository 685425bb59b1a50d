import gzip
import io
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from hexatagger import FormatError, Sentence, TreeError, Word, read_conllu, write_conllu
from hexatagger.errors import ConfigError
from hexatagger.formats.conllu import Format, Roots, format_sentence
from strategies import sentences

ROW = "{}\t{}\t_\t_\t_\t_\t{}\t{}\t_\t_"


def rows(*heads: int | str) -> str:
    """A sentence w1 w2 … with these heads."""
    lines = [ROW.format(n, f"w{n}", head, "root" if head == 0 else "dep") for n, head in enumerate(heads, 1)]
    return "\n".join(lines) + "\n\n"


def read(text: str | bytes, roots: Roots = "any", format: Format = "conllu") -> list[Sentence]:  # noqa: A002
    stream = io.StringIO(text) if isinstance(text, str) else io.BytesIO(text)
    return list(read_conllu(stream, roots=roots, format=format))


def written(found: list[Sentence], format: Format = "conllu") -> str:  # noqa: A002
    stream = io.StringIO()
    assert write_conllu(found, stream, format=format) == len(found)
    return stream.getvalue()


def test_every_treebank_comes_back_byte_for_byte(shared: Path) -> None:
    files = sorted(shared.glob("ud/*/*.conllu"))
    assert len(files) >= 38
    for file in files:
        stream = io.BytesIO()
        write_conllu(read_conllu(file, roots="one"), stream)
        assert stream.getvalue() == file.read_bytes(), file


def test_our_example_comes_back_byte_for_byte(data: Path) -> None:
    text = (data / "example.conllu").read_text(encoding="utf-8")
    found = read(text, "one")
    assert written(found) == text
    assert found[1].multiwords[0].form == "doesn't"
    assert any(sentence.empty_nodes for sentence in found)


@given(sentences())
def test_what_is_written_is_read_again(sentence: Sentence) -> None:
    assert read(format_sentence(sentence), "one") == [sentence]


def test_crlf_and_byte_order_mark() -> None:
    plain = "# text = w1 w2\n" + rows(2, 0)
    assert read(("\ufeff" + plain.replace("\n", "\r\n")).encode()) == read(plain)


def test_several_carriage_returns_are_one_line_end() -> None:
    plain = "# text = w1 w2\n" + rows(2, 0)
    assert written(read(plain.replace("\n", "\r\r\n").encode())) == plain


def test_a_last_sentence_without_an_empty_line_is_read_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert read(rows(0) + rows(2, 0)[:-1]) == read(rows(0) + rows(2, 0))
    assert [record.getMessage() for record in caplog.records] == [
        "<stream>:4: no empty line after the last sentence: the file may be cut off"
    ]
    assert read(rows(0)[:-2]) == read(rows(0))


@pytest.mark.parametrize("form", ["a\tb", "a\nb", "a\r", "a\rb"])
@pytest.mark.parametrize("format_", ["conllu", "conllx"])
def test_forms_that_would_break_a_line_are_refused(form: str, format_: Format) -> None:
    sentence = Sentence([Word(1, "x"), Word(2, form)])
    with pytest.raises(FormatError, match=r"ID 2: FORM .* contains a tab or line end: remove it"):
        format_sentence(sentence, format=format_)


def test_other_columns_and_comments_that_would_break_a_line_are_refused() -> None:
    with pytest.raises(FormatError, match=r"ID 1: MISC .* contains a tab or line end"):
        Sentence([Word(1, "x", misc="a\n")]).to_conllu()
    with pytest.raises(FormatError, match=r"comment .* contains a line end"):
        Sentence([Word(1, "x")], ["# a\nb"]).to_conllu()
    assert "# a\tb" in Sentence([Word(1, "x")], ["# a\tb"]).to_conllu()


def test_unusual_spaces_stay_inside_words() -> None:
    text = ROW.format(1, "10\u00a0000\u2028x\u0085 y", 0, "root") + "\n\n"
    assert read(text.encode())[0][0].form == "10\u00a0000\u2028x\u0085 y"
    assert written(read(text.encode())) == text


def test_nothing_and_empty_lines() -> None:
    assert read("") == []
    assert read("\n\n\n") == []
    assert len(read("\n\n" + rows(0) + "\n\n" + rows(0) + "\n")) == 2


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_paths_plain_and_packed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file.conllu{suffix}"
    write_conllu(read(rows(2, 0)), path)
    unpack: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress}
    assert unpack[suffix](path.read_bytes()) == rows(2, 0).encode()
    assert list(read_conllu(path)) == list(read_conllu(str(path))) == read(rows(2, 0))


def test_standard_streams() -> None:
    program = "from hexatagger import *; write_conllu(read_conllu('-'), '-')"
    done = subprocess.run([sys.executable, "-c", program], input=rows(2, 0).encode(), capture_output=True, check=True)
    assert done.stdout == rows(2, 0).encode()


def test_binary_and_text_files_stay_open() -> None:
    for stream in (io.BytesIO(rows(0).encode()), io.StringIO(rows(0))):
        assert len(list(read_conllu(stream))) == 1
        assert not stream.closed
    binary = io.BytesIO()
    write_conllu(read(rows(0)), binary)
    assert binary.getvalue() == rows(0).encode()


def test_reading_is_streaming() -> None:
    endless = iter(lambda: rows(0).encode(), None)
    lines = (line for block in endless for line in block.splitlines(keepends=True))
    reader = read_conllu(lines)  # type: ignore[arg-type]
    assert [next(reader).forms for _ in range(1000)] == [["w1"]] * 1000


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.conllu"
    path.write_text("old")

    def failing() -> object:
        yield from read(rows(0))
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_conllu(failing(), path)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_conllx_has_words_only() -> None:
    text = rows(2, 0)
    assert written(read(text, format="conllx"), format="conllx") == text
    assert written(read("# text = x\n" + text), format="conllx") == text


BAD: list[tuple[str, str | bytes, Roots, int, str]] = [
    ("columns", "1\tHi\t0\n\n", "any", 1, "3 columns instead of 10, separated by tabs: '1 Hi 0'"),
    ("spaces", "1 Hi _ _ _ _ 0 root _ _\n\n", "any", 1, "separated by spaces instead of tabs?"),
    (
        "ids",
        rows(0) + rows(2, 0).replace("2\tw2", "3\tw2"),
        "any",
        4,
        "ID '3' is out of order: the next word here is '2'",
    ),
    ("id zero", ROW.format(0, "x", 0, "root") + "\n\n", "any", 1, "ID '0' is out of order"),
    ("id text", ROW.format("one", "x", 0, "root") + "\n\n", "any", 1, "ID 'one' is not a number, a range"),
    ("head outside", rows(0) + rows(0, 14), "any", 4, "HEAD '14' is outside the sentence (2 words)"),
    ("head text", rows("x"), "any", 1, "HEAD 'x' is not a number"),
    ("head minus", rows("-1"), "any", 1, "HEAD '-1' is not a number"),
    ("head missing", rows(0, "_"), "one", 2, "HEAD is '_': a tree is needed here"),
    ("cycle", rows(0, 3, 2), "one", 2, "the heads run in a cycle: 2 → 3 → 2"),
    ("no root", "# a comment\n" + rows(2, 1), "one", 2, "no word has HEAD 0: the sentence has no root"),
    ("several roots", rows(0, 1, 0), "one", 3, "2 words have HEAD 0 (1, 3): a sentence has one root; --roots attach"),
    ("cycle beside roots", rows(0, 3, 2, 0), "attach", 2, "the heads run in a cycle"),
    ("empty form", ROW.format(1, "", 0, "root") + "\n\n", "any", 1, "FORM is empty"),
    ("utf-8", b"# fine\n1\tcaf\xe9\t_\t_\t_\t_\t0\troot\t_\t_\n\n", "any", 2, "byte 0xe9 is not UTF-8"),
    ("cut off in a line", rows(2, 0)[:-8], "any", 2, "columns instead of 10"),
    ("plain text", "It rained.\nWe stayed.\n", "any", 1, "this is not CoNLL-U: 'It rained.' has no tabs"),
    ("long id", ROW.format("9" * 5000, "x", 0, "root") + "\n\n", "any", 1, "999…' is not a number, a range"),
    ("long range", ROW.format("1-" + "9" * 5000, "x", "_", "_") + "\n" + rows(0), "any", 1, "is not a number, a range"),
    ("long head", rows("9" * 5000), "any", 1, "999…' is not a number"),
    ("carriage return", rows(0).replace("w1", "w\r1"), "any", 1, "a carriage return inside the line"),
    ("no words", "# just a comment\n\n", "any", 1, "a sentence without words"),
    ("late comment", rows(0)[:-1] + "# late\n\n", "any", 2, "a comment after the first word"),
    ("range", ROW.format("2-3", "x", "_", "_") + "\n" + rows(0), "any", 1, "ID '2-3' is out of order"),
    (
        "range past the end",
        ROW.format("1-3", "x", "_", "_") + "\n" + rows(0),
        "any",
        1,
        "reaches past the last word (1)",
    ),
    ("range twice", (ROW.format("1-1", "x", "_", "_") + "\n") * 2 + rows(0), "any", 2, "ID '1-1' is out of order"),
    ("empty node", ROW.format("0.2", "x", "_", "_") + "\n" + rows(0), "any", 1, "the next empty node here is '0.1'"),
    ("empty node form", ROW.format("0.1", "", "_", "_") + "\n" + rows(0), "any", 1, "FORM is empty"),
]


@pytest.mark.parametrize(
    ("text", "roots", "line", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD]
)
def test_bad_input_is_told_with_its_place(
    tmp_path: Path, text: str | bytes, roots: Roots, line: int, message: str
) -> None:
    path = tmp_path / "bad.conllu"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError) as caught:
        list(read_conllu(path, roots=roots))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_conllx_refuses_what_it_does_not_have() -> None:
    with pytest.raises(FormatError, match="CoNLL-X has no comments"):
        read("# text = x\n" + rows(0), format="conllx")
    with pytest.raises(FormatError, match=r"ID '1-2' is not a number$"):
        read(ROW.format("1-2", "x", "_", "_") + "\n" + rows(2, 0), format="conllx")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"missing\.conllu: cannot be read: No such file"):
        list(read_conllu(tmp_path / "missing.conllu"))
    with pytest.raises(FormatError, match="cannot be read: Is a directory"):
        list(read_conllu(tmp_path))
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FormatError, match="loop: cannot be read: Too many levels of symbolic links"):
        list(read_conllu(tmp_path / "loop"))
    packed = tmp_path / "bad.conllu.gz"
    packed.write_bytes(b"no gzip")
    with pytest.raises(FormatError, match="cannot be decompressed"):
        list(read_conllu(packed))
    packed.write_bytes(gzip.compress(rows(*[0] * 1).encode() * 5000)[:-60])
    with pytest.raises(FormatError, match="cannot be decompressed"):
        list(read_conllu(packed))


def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.conllu"
    path.write_text(rows(0))
    path.chmod(0)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)  # root may read everything, nobody may not
    try:
        with pytest.raises(FormatError, match="cannot be read: Permission denied"):
            list(read_conllu(path))
    finally:
        os.seteuid(me)


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be written: No such file"):
        write_conllu(read(rows(0)), tmp_path / "no" / "folder")
    with pytest.raises(FormatError, match="is a directory"):
        write_conllu(read(rows(0)), tmp_path)


def test_several_roots_are_attached_and_no_word_is_dropped() -> None:
    [sentence] = read(rows(2, 0, 0, 3, 0), "attach")
    assert sentence.heads == [2, 0, 2, 3, 2]
    assert sentence.deprels == ["dep", "root", "dep", "dep", "dep"]
    [sentence] = read(rows(0, 0).replace("0\troot\t_\t_\n\n", "0\tpunct\t_\t_\n\n"), "attach")
    assert sentence.deprels == ["root", "punct"]


def test_wrong_options() -> None:
    with pytest.raises(ConfigError, match="format 'xml' is not one of: conllu, conllx"):
        read("", format="xml")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="roots 'two'"):
        read("", roots="two")  # type: ignore[arg-type]


def test_tree_errors_name_the_word() -> None:
    with pytest.raises(TreeError) as caught:
        read(rows(0, 3, 2), "one")
    assert (caught.value.word, caught.value.line, caught.value.source) == (2, 2, "<stream>")
