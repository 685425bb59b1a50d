"""Streams, paths and disks that fail: one line on standard error, exit code 1, nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HEXATAGGER = f"'{sys.executable}' -m hexatagger"


def shell(command: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False, env=os.environ | environment)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("encode '{file}' >/dev/full", b"Error: No space left on device"),
        ("stats '{file}' >/dev/full", b"Error: No space left on device"),
        ("info >/dev/full", b"Error: No space left on device"),
        ("--help >/dev/full", b"Error: No space left on device"),
        ("--version >/dev/full", b"Error: No space left on device"),
        ("encode '{file}' >&-", b"Error: standard output is closed: name a file with --output"),
        ("draw '{file}' >&-", b"Error: standard output is closed: name a file with --output"),
        ("encode <&-", b"Error: standard input is closed: name a file"),
        ("encode '{file}' -o ''", b"Error: the output has no name: name a file, or - for standard output"),
        ("encode '{file}' -o .", b"Error: .: is a directory: name a file"),
        ("encode '{file}' -o '{file}/below'", b"below: cannot be written: Not a directory"),
        ("encode '{file}' -o /dev/full", b"Error: /dev/full: cannot be written: No space left on device"),
        ("encode '{file}' -o /proc/new", b"Error: /proc/new: cannot be written:"),
        ("package . '{file}/below'", b"Error: "),
        ("parse --from words $'caf\\xe9'", b"Error: TEXT: byte 0xe9 is not UTF-8"),
        ("parse --from words -f $'caf\\xe9'", b"cannot be read: No such file or directory"),
        ("encode $'caf\\xe9'", b"cannot be read: No such file or directory"),
        ("draw '{file}' --sentence $'caf\\xe9'", b"Error: "),
    ],
)
def test_a_failure_is_one_line_and_exit_code_1(data: Path, command: str, message: bytes) -> None:
    done = shell(f"{HEXATAGGER} {command.replace('{file}', str(data / 'example.conllu'))}")
    lines = done.stderr.splitlines()
    assert b"Traceback" not in done.stderr
    assert message in lines[0]
    assert len(lines) == 1, done.stderr
    assert done.returncode == 1


def test_devices_are_written_to(data: Path) -> None:
    assert shell(f"{HEXATAGGER} encode '{data / 'example.conllu'}' -o /dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()
    assert b"l/nsubj" in shell(f"{HEXATAGGER} encode '{data / 'example.conllu'}' -o /dev/stdout | cat").stdout


def test_a_closed_standard_error_is_no_traceback(data: Path) -> None:
    done = shell(f"{HEXATAGGER} encode '{data / 'example.conllu'}' 2>&-")
    assert (done.returncode, b"l/nsubj" in done.stdout) == (0, True)


def test_encode_writes_what_decode_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    row = "1\tHi\t_\t_\t_\t_\t0\t{}\t_\t_\n\n"
    for text in ("# a\ttab\n" + row.format("root"), row.format("")):
        path.write_text(text)
        done = shell(f"{HEXATAGGER} encode '{path}' | {HEXATAGGER} decode -")
        assert done.stdout.decode() == text, done.stderr


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_told_to_end_leaves_nothing(tmp_path: Path, stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "hexatagger", "encode", "-o", str(tmp_path / "out.tags")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not list(tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(stop)
        assert process.wait(60) == (1 if stop == signal.SIGINT else -stop)
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []
