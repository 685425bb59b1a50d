"""`hexatagger package` that is stopped midway: nothing half-made stays, or the next run removes it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="making a model needs the extra [train]")

from hexatagger.errors import FormatError
from hexatagger.formats.files import temporary_folder
from hexatagger.model.folder import read_folder
from hexatagger.parsing.package import package
from onnx_model import write_model


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_package_that_is_stopped_midway(data: Path, tmp_path: Path, stop: signal.Signals) -> None:
    model, out = write_model(tmp_path / "model"), tmp_path / "packages" / "[mine]"
    dev = tmp_path / "dev.conllu"
    dev.write_text((data / "example.conllu").read_text(encoding="utf-8") * 500, encoding="utf-8")  # takes a while
    command = [sys.executable, "-m", "hexatagger", "package", str(model), str(out), "--precision", "fp32"]
    process = subprocess.Popen([*command, "--dev", str(dev)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(out.parent.glob(".*/*/model.onnx")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (1 if stop == signal.SIGINT else -stop)
    assert "Traceback" not in errors
    left = names(out.parent)
    assert len(left) == (1 if stop == signal.SIGKILL else 0), left
    package(model, out, precision="fp32")
    assert names(out.parent) == [out.name]
    assert names(out) == [{"labels.json": "labels.json.gz"}.get(name, name) for name in names(model)]
    assert read_folder(out).labels == read_folder(model).labels
    (out / "labels.json.gz").write_bytes((out / "labels.json.gz").read_bytes()[:-9])
    with pytest.raises(FormatError, match=r"labels\.json\.gz: is cut off or too large"):
        read_folder(out)


def test_a_package_that_is_being_made_stays(tmp_path: Path) -> None:
    model, out = write_model(tmp_path / "model"), tmp_path / "mine"
    with temporary_folder(out) as other:  # of another process, as far as locks can tell
        package(model, out, precision="fp32")
        assert other.is_dir()
    assert names(tmp_path) == ["mine", "model"]
