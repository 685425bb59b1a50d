"""Where output goes: whole or not at all, and never in place of something that is not a plain file."""

import gzip
import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hexatagger import FormatError
from hexatagger.formats import files
from hexatagger.formats.files import open_output, read_text, replacing


def write(path: Path | str, text: str = "new\n") -> None:
    with open_output(path) as stream:
        stream.write(text)


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    node = tmp_path / "null"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        node.write_bytes(b"")
    except OSError:
        pytest.skip("making a device needs privileges")
    write(node)
    assert stat.S_ISCHR(node.stat().st_mode)
    assert list(tmp_path.iterdir()) == [node]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write(pipe)
    reader.join(10)
    assert found == ["new\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_and_its_target_stay(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link, dangling = tmp_path / "folder" / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_text("old")
    number = target.stat().st_ino
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "folder" / "later")
    write(link)
    write(dangling)
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert (target.read_text(), target.stat().st_ino) == ("new\n", number)
    assert (tmp_path / "folder" / "later").read_text() == "new\n"


def test_mode_and_hard_links_of_a_file_stay(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("old")
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    other.hardlink_to(path)
    write(path, "newer\n")
    assert other.read_text() == "newer\n"
    assert path.samefile(other)


@pytest.mark.parametrize("linked", [False, True])
def test_a_failure_keeps_the_old_content(tmp_path: Path, linked: bool) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    if linked:
        (tmp_path / "b").hardlink_to(path)

    def fail() -> None:
        with open_output(path) as stream:
            stream.write("new")
            stream.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_names_that_leave_no_room_for_more(tmp_path: Path) -> None:
    for name in ("x" * 250, "語" * 84):
        write(tmp_path / name)
        assert (tmp_path / name).read_text() == "new\n"
    assert not list(tmp_path.glob(".*"))


def test_part_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "[a].conllu"
    code = f"""
import os, signal
from hexatagger.formats.files import open_output
with open_output({str(path)!r}) as stream:
    stream.write("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(list(tmp_path.glob(".*.part"))) == 1
    with replacing(path) as mine:  # a file that is being written stays
        assert list(tmp_path.glob(".*.part")) == [mine]
        write(path)
        assert mine.exists()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the output has no name: name a file, or - for standard output"),
        (".", "is a directory: name a file"),
        ("file/below", "cannot be written: Not a directory"),
        ("missing/below", "cannot be written: No such file or directory"),
        ("x" * 300, "cannot be written: File name too long"),
    ],
)
def test_what_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match=message):
        write(name)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_line_has_a_greatest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"short\n" + b"x" * 999 + b"\n" + b"x" * 5000))
    lines = read_text(path)
    assert [len(next(lines)), len(next(lines))] == [6, 1000]
    with pytest.raises(FormatError, match=r"a\.gz:3: the line has more than 1,000 bytes"):
        next(lines)


def test_half_of_a_surrogate_pair_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for file in (path, io.BytesIO()):
        with pytest.raises(FormatError, match=r"cannot be written: 'x\\ud800' has half"), open_output(file) as stream:
            stream.write("x\ud800y")
    assert list(tmp_path.iterdir()) == []
