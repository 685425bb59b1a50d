"""Every fuzzer with a few cases, the same ones every time; `make fuzz` runs them for long with new ones."""

import random

import pytest

pytest.importorskip("onnx", reason="making models needs the extra 'train'")
pytest.importorskip("fastapi", reason="the service needs the extra 'serve'")
pytest.importorskip("httpx2", reason="the tests of the service need httpx2")

from fuzz import conllu, decoder, kills, models, requests, texts
from fuzz.cases import Fault, run_cases


def test_conllu() -> None:
    counts = conllu.run(1, count=4000)
    assert min(counts[kind] for kind in ("refused", "read", "lifted", "encoded", "not projective")) > 100


def test_texts() -> None:
    counts = texts.run(1, count=600)
    assert min(counts[kind] for kind in ("noise", "spaced", "rules", "words", "en", "parsed")) > 20


def test_decoder() -> None:
    counts = decoder.run(1, count=250)
    assert min(counts[kind] for kind in ("best", "constrained", "contradiction", "forbidden", "too large")) > 5


def test_requests() -> None:
    counts = requests.run(1, count=25)
    assert min(counts["answered"], counts["refused"]) > 100


def test_models() -> None:
    counts = models.run(1, count=200)
    assert min(counts["accepted"], counts["refused"]) > 20


def test_kills() -> None:
    counts = kills.run(1, count=2, slow=False)
    assert counts["killed"] + counts["ended before"] == 2  # which of them depends on the load of the machine


def test_a_fault_names_its_seed() -> None:
    def case(chance: random.Random) -> list[str]:
        return ["odd"] if chance.randrange(10) else [str(1 // 0)]

    with pytest.raises(Fault, match="ZeroDivisionError") as caught:
        run_cases("mine", case, 1, count=100)
    with pytest.raises(Fault, match=f"mine, seed {caught.value.seed}: ZeroDivisionError"):
        run_cases("mine", case, caught.value.seed, count=1)
    assert run_cases("mine", case, 1, count=caught.value.seed - 1)["cases"] == caught.value.seed - 1
