"""`hexatagger.__all__` is the public surface: each name is importable and documented, and nothing else is public."""

import subprocess
import sys
import types

import pytest

import hexatagger
from conftest import ROOT

API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
DOCUMENTED = [line.removeprefix("::: ") for line in API.splitlines() if line.startswith("::: ")]
LAZY = {"Constraints", "Parser", "identify", "load"}


def test_all_is_sorted_and_without_duplicates() -> None:
    assert hexatagger.__all__ == sorted(set(hexatagger.__all__))


def test_dir_shows_just_the_public_names() -> None:
    assert dir(hexatagger) == hexatagger.__all__
    assert set(hexatagger.__all__) >= LAZY


def test_nothing_else_is_public() -> None:
    names = {
        name
        for name, value in vars(hexatagger).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert names - {"TYPE_CHECKING"} <= set(hexatagger.__all__)


@pytest.mark.parametrize("name", hexatagger.__all__)
def test_every_name_is_documented(name: str) -> None:
    member = getattr(hexatagger, name)
    if name == "__version__":
        return
    assert member.__doc__, f"{name} has no docstring"
    path = f"{member.__module__}.{name}"
    packages = ("hexatagger.decode", "hexatagger.integrations")  # documented as a whole, by what they export
    found = [page for page in DOCUMENTED if page in (path, member.__module__) or (page in packages and page in path)]
    assert found, f"docs/api.md does not document {path}"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        hexatagger.no_such_name  # noqa: B018


def test_names_that_need_no_numpy_do_not_load_it() -> None:
    names = ", ".join(sorted(set(hexatagger.__all__) - LAZY))
    program = f"from hexatagger import {names}; import sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
