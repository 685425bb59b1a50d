"""The plots of the docs are what `benchmarks/plots.py` makes of the results, and their text can be read."""

import doctest
import itertools
import json
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="plots need the extra 'train'")

import plots
import report
import results
from conftest import ROOT

PINNED = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)["matplotlib"]


@pytest.fixture
def invented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the results, to which results can be added."""
    folder = tmp_path / "results"
    shutil.copytree(results.RESULTS, folder)
    for module in (results, plots):
        monkeypatch.setattr(module, "RESULTS", folder)
    return folder


@pytest.mark.parametrize("name", plots.PLOTS)
def test_the_plots_are_those_of_the_results(name: str) -> None:
    if (found := version("matplotlib")) != PINNED:
        pytest.skip(f"matplotlib {found} may draw other bytes than {PINNED}, which constraints.txt names")
    path = plots.IMAGES / f"{name}.svg"
    committed = path.read_text(encoding="utf-8") if path.exists() else None
    assert plots.svg(name) == committed, "if this is as it should be: python benchmarks/plots.py"


def test_every_plot_has_one_place_and_there_are_no_others() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in report.documents())
    assert sorted(re.findall("<!-- figures: plot_(.*) -->", text)) == sorted(plots.PLOTS)
    assert {path.stem for path in plots.IMAGES.glob("*.svg")} <= set(plots.PLOTS)


@pytest.mark.parametrize("name", plots.PLOTS)
def test_text_is_text_that_covers_nothing(name: str, invented: Path) -> None:
    add_growth(invented)
    add_layers(invented)
    made = plots.svg(name)
    assert made is not None
    root = ElementTree.fromstring(made)
    assert root.attrib["width"] == "540pt"  # 720 pixels
    words = ["".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len(words) > 10
    with plots.figure(name) as figure:
        figure.draw_without_rendering()
        texts = [text for axes in figure.axes for text in texts_of(axes) if text.get_text() and text.get_visible()]
        boxes = {(number, text.get_text()): text.get_window_extent() for number, text in enumerate(texts)}
        assert {text.get_text() for text in texts if "$" not in text.get_text()} <= set(words)
        for (one, own), (other, box) in itertools.combinations(boxes.items(), 2):
            assert not own.overlaps(box), (one, other)
        for text, (x0, y0, x1, y1) in ((text, box.extents) for text, box in boxes.items()):
            assert min(x0, y0, figure.bbox.x1 - x1, figure.bbox.y1 - y1) >= 0, text


def texts_of(axes: Any) -> list[Any]:
    """All texts of a plot that are drawn: matplotlib has labels of ticks outside of the range, too."""
    texts = [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label]
    for side, axis in enumerate((axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        texts += [label for label in axis.get_ticklabels() if low <= label.get_position()[side] <= high]
    return texts


def add_growth(folder: Path) -> None:
    lengths = [32, 64, 128, 256, 512, 1024, 2048, 4096]
    parts = {
        "decoding": [1e-6 * each for each in lengths],
        "after the encoder": [3e-6 * each**1.1 for each in lengths],
        "whole": [1e-5 * each**1.5 for each in lengths],
    }
    (folder / "growth.json").write_text(
        json.dumps({"command": "python growth.py", "lengths": lengths, "parts": parts}), encoding="utf-8"
    )


def add_layers(folder: Path) -> None:
    rows = [
        {"name": "en-fast", "layers": 3, "LAS": 86.5, "speed to en": 1.8},
        {"name": "en-middle", "layers": 4, "LAS": 87.5, "speed to en": 1.4},
    ]
    (folder / "layers.json").write_text(json.dumps({"command": "python layers.py", "models": rows}), encoding="utf-8")
    set_english(folder, results.load("peers")["peers"]["hexatagger"]["words"]["LAS"])


def set_english(folder: Path, las: float) -> None:
    """Give the present `en` another LAS."""
    (folder / "model.json").write_text(json.dumps({"scores": {"words": {"LAS": las}}}), encoding="utf-8")


def test_exponents_are_in_the_labels(invented: Path) -> None:
    add_growth(invented)
    with plots.figure("growth") as figure:
        found = [text.get_text() for text in figure.axes[0].texts]
    assert found == ["decoding: $N^{1.00}$", "all after the encoder: $N^{1.10}$", "whole parser: $N^{1.50}$"]
    assert "At 4,096 words, decoding takes 0.2 % and all after the encoder takes" in plots.markdown("growth")


def test_models_with_fewer_layers_are_placed_relative_to_ours(invented: Path) -> None:
    add_layers(invented)
    [rate] = [rate for name, rate, _ in plots._parsers() if name == "hexatagger en"]
    with plots.figure("speed") as figure:
        axes: Any = figure.axes[0]
        [line] = [xs for xs in (line.get_xdata() for line in axes.lines) if len(xs) > 1]
        labels = {text.get_text(): text.xy for text in axes.texts}
    assert [x / rate for x in line] == pytest.approx([1, 1.4, 1.8])
    assert labels["en-fast, 3 layers"] == pytest.approx((1.8 * rate, 86.5))
    set_english(invented, 99.0)  # then the speeds are those of an earlier `en`
    assert plots._layers() == []


@pytest.mark.parametrize(("name", "metric"), [("speed", "LAS"), ("calibration", "UAS")])
def test_captions_say_what_was_measured_with_an_earlier_model(name: str, metric: str, invented: Path) -> None:
    own = {"speed": results.load("peers")["peers"]["hexatagger"]["words"], "calibration": results.load("calibration")}[
        name
    ]
    for difference, said in ((0.0, False), (1.5, True)):
        scores = {"words": {metric: own[metric] + difference}}
        (invented / "model.json").write_text(json.dumps({"scores": scores}), encoding="utf-8")
        assert ("measured with an earlier `en`" in plots.markdown(name)) == said


@pytest.mark.parametrize("name", plots.PLOTS)
def test_a_plot_without_results_is_not_drawn(name: str, invented: Path) -> None:
    for path in invented.iterdir():
        path.unlink()
    assert plots.svg(name) is None
    assert report.filled(f"<!-- figures: plot_{name} -->\n<!-- end -->").splitlines()[1] == "Not measured yet."


def test_growth_is_the_slope_of_the_logarithms() -> None:
    assert doctest.testmod(results).failed == 0
