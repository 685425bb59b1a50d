"""What all tests share: where the treebanks are, and how hard hypothesis tries."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The tests give the same result every time; `pytest --hypothesis-profile explore` looks for new examples.
settings.register_profile("default", deadline=None, max_examples=100, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=300, print_blob=True)
settings.load_profile("default")

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HEXATAGGER_SHARED", ROOT / ".." / "shared")).resolve()
NO_SHARED = "the treebanks are not here: set HEXATAGGER_SHARED to the folder that has ud/ and malt/"


@pytest.fixture
def shared() -> Path:
    """The folder of treebanks; a test that asks for it is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(NO_SHARED)
    return SHARED


@pytest.fixture
def data() -> Path:
    """The test data of this repository."""
    return ROOT / "tests" / "data"
