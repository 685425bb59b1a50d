"""Run the examples in README and docs and write their real output; with --check, only report what is out of date.

    python tools/refresh_docs.py [--check] [FILE ...]

`console` blocks hold commands after `$ ` and their output; `pycon` blocks hold Python examples, as in docstrings. The
blocks of a document run in order, in a temporary folder that looks like this repository, so they may write files. A
command may fail only where the document shows its `Error: `. A command that ends in `&` is a service: it runs until the
document ends, and port 8000 stands for a free port. Comments control the rest:

    <!-- needs: model, torch -->   skip the document where something is missing: `model` is the embedded model, any
                                   other name a Python package or a program
    <!-- numbers vary -->          before a block: a check accepts any numbers
    <!-- output varies -->         before a block: a check only runs it, for example because it trains a model
    <!-- commands -->              until `<!-- end -->`: one section per command, with its `--help`

The tests call the same functions: a document is correct if refreshing it changes nothing.
"""

import argparse
import contextlib
import doctest
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hexatagger.cli import COMMANDS
from hexatagger.formats.files import replacing

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
MODEL = SOURCE / "hexatagger" / "models" / "en"

BLOCK = re.compile(
    r"(^<!-- (?:numbers vary|output varies) -->\n\n?)?^```(console|pycon)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
HELP = re.compile(r"(<!-- commands -->\n).*?(<!-- end -->)", re.DOTALL)
NEEDS = re.compile(r"^<!-- needs: (.*?) -->$", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
ROOM = re.compile(r"[ \t─┄]+")  # grows and shrinks with numbers
PORT = "8000"
# One thread, so that training adds the same numbers in the same order everywhere.
SETTINGS = {"COLUMNS": "80", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
_PATIENCE = 300  # seconds for a service to answer


class ExampleError(Exception):
    """An example that does not run and has no output to show."""


def documents() -> list[Path]:
    """Return every document that may have examples."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def missing(text: str) -> list[str]:
    """Return what a document needs and this machine does not have."""
    names = [name.strip() for found in NEEDS.findall(text) for name in found.split(",")]
    return [name for name in names if not _present(name)]


def _present(name: str) -> bool:
    if name == "model":
        return MODEL.is_dir()
    return importlib.util.find_spec(name) is not None or shutil.which(name) is not None


def refreshed(text: str, *, exact: bool = True) -> str:
    r"""Return a document with the real output of its examples.

    Without `exact`, numbers or all output may differ in the blocks that are marked so.

    >>> print(refreshed("```console\n$ echo one word\ntwo words\n```"))
    ```console
    $ echo one word
    one word
    ```
    """
    with _session() as session:

        def rewritten(match: re.Match[str]) -> str:
            note, kind, block = match[1] or "", match[2], match[3]
            same = _Checker("" if exact else note)
            made = session.console(block, same) if kind == "console" else session.python(block, same)
            return f"{note}```{kind}\n{made}```"

        return BLOCK.sub(rewritten, HELP.sub(_sections, text))


def _sections(match: re.Match[str]) -> str:
    """Write a section for every command, without its output."""
    sections = (f"\n## {name}\n\n```console\n$ hexatagger {name} --help\n```\n" for name in COMMANDS)
    return match[1] + "".join(sections) + match[2]


class _Checker(doctest.OutputChecker):
    """Says whether output equals what a document shows, apart from permitted differences."""

    def __init__(self, note: str) -> None:
        self.note = note

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if "output varies" in self.note:
            return True
        if "numbers vary" in self.note and _without_numbers(want) == _without_numbers(got):
            return True
        return super().check_output(want, got, optionflags)


class _Runner(doctest.DocTestRunner):
    """Runs Python examples and keeps their output."""

    def __init__(self, checker: _Checker) -> None:
        super().__init__(checker, verbose=False)
        self.printed: list[str] = []

    def report_success(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.printed.append(example.want)

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        lines = [line or "<BLANKLINE>" for line in got.splitlines()]
        if example.exc_msg is not None and lines[:1] == ["Traceback (most recent call last):"]:
            lines = [lines[0], "    ...", lines[-1]]
        self.printed.append("".join(f"{line}\n" for line in lines))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        raise ExampleError(f">>> {example.source.rstrip()}\n{exc_info[0].__name__}: {exc_info[1]}") from exc_info[1]


class _Session:
    """What the blocks of one document share: a folder, Python names, background services."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.names, self.port = folder, dict[str, Any](), PORT
        self.services: list[subprocess.Popen[str]] = []
        program = folder / ".program" / "hexatagger"  # called by this name, so that usage lines have it
        program.parent.mkdir()
        program.write_text("from hexatagger.cli import main\n\nif __name__ == '__main__':\n    main()\n")
        self.shell = f'hexatagger() {{ "{sys.executable}" "{program}" "$@"; }}\n'

    def python(self, block: str, checker: _Checker) -> str:
        """Run Python examples; a block may use the names of earlier blocks."""
        parts = doctest.DocTestParser().parse(block)
        examples = [part for part in parts if isinstance(part, doctest.Example)]
        test = doctest.DocTest(examples, self.names, "document", None, None, None)
        runner = _Runner(checker)
        with contextlib.chdir(self.folder):
            runner.run(test, clear_globs=False)
        self.names = test.globs
        printed = iter(runner.printed)
        return "".join(part if isinstance(part, str) else _prompted(part.source) + next(printed) for part in parts)

    def console(self, block: str, checker: _Checker) -> str:
        """Run commands as a reader would, with the `hexatagger` of this repository."""

        def rewritten(match: re.Match[str]) -> str:
            command, shown = match[1], match[2]
            if command.endswith(" &"):
                printed = self._serve(command.removesuffix(" &"))
            else:
                printed = self._run(command, may_fail=re.search("^Error: ", shown, re.MULTILINE) is not None)
            printed = printed.replace(self.port, PORT)
            if printed and not printed.endswith("\n"):
                printed += "\n"
            return f"$ {command}\n{shown if checker.check_output(shown, printed, 0) else printed}"

        return COMMAND.sub(rewritten, block)

    def _popen(self, command: str) -> subprocess.Popen[str]:
        path = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
        return subprocess.Popen(
            ["bash", "-c", self.shell + command.replace(PORT, self.port)],
            cwd=self.folder,
            env={**os.environ, **SETTINGS, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def _run(self, command: str, *, may_fail: bool) -> str:
        """Return the output of a command, or its standard error if there is no output or if it may fail."""
        process = self._popen(command)
        output, errors = process.communicate()
        if (process.returncode != 0) != may_fail:
            raise ExampleError(f"$ {command}\nexit code {process.returncode}\n{output}{errors}")
        return errors if may_fail else output or errors

    def _serve(self, command: str) -> str:
        """Start a service, wait until it answers, and return its first line."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        service = self._popen(command)
        self.services.append(service)
        assert service.stderr is not None
        said = service.stderr.readline()
        for _ in range(10 * _PATIENCE):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(self.port))):
                return said
            if service.poll() is not None:
                break
            time.sleep(0.1)
        raise ExampleError(f"$ {command} &\nno service: {said}{service.stderr.read() if service.poll() else ''}")

    def close(self) -> None:
        """Stop the services."""
        for service in self.services:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(service.pid, signal.SIGTERM)
            service.communicate()


@contextlib.contextmanager
def _session() -> Iterator[_Session]:
    """Make a temporary folder that looks like this repository."""
    with tempfile.TemporaryDirectory() as place:
        for entry in ROOT.iterdir():
            if not entry.name.startswith("."):
                (Path(place) / entry.name).symlink_to(entry)
        session = _Session(Path(place))
        try:
            yield session
        finally:
            session.close()


def _without_numbers(text: str) -> str:
    return ROOM.sub("", NUMBER.sub("#", text))


def _prompted(source: str) -> str:
    """Write Python as in an interactive session."""
    first, *others = source.splitlines()
    return f">>> {first}\n" + "".join(f"... {line}".rstrip() + "\n" for line in others)


def main(arguments: Sequence[str] | None = None) -> None:
    """Refresh the named documents, or all of them."""
    options = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is out of date")
    options.add_argument("files", nargs="*", type=Path, help="README.md and docs/**/*.md if none is named")
    given = options.parse_args(arguments)
    stale = 0
    for path in given.files or documents():
        text = path.read_text(encoding="utf-8")
        if absent := missing(text):
            print(f"{path.name}: skipped, needs {', '.join(absent)}")
            continue
        try:
            new = refreshed(text, exact=not given.check)
        except ExampleError as error:
            sys.exit(f"{path.name}: {error}")
        if new == text:
            continue
        stale += 1
        print(f"{path.name}: {'out of date' if given.check else 'refreshed'}")
        if not given.check:
            with replacing(path) as temporary:
                temporary.write_text(new, encoding="utf-8")
    sys.exit(1 if given.check and stale else 0)


if __name__ == "__main__":
    main()
