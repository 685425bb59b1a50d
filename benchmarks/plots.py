"""Draw the plots of the docs from `benchmarks/results/`; with --check, only report whether they are current.

    python benchmarks/plots.py [--check]

Every plot is docs/images/NAME.svg, with the same bytes from the same results and the same matplotlib. A plot whose
results are absent is not drawn. `report.py` places it in the docs where they say `<!-- figures: plot_NAME -->`.
Text in the files is text, on a white card, so that it is readable on light and dark pages.
"""

import io
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hexatagger.model.folder import write_file
from results import RESULTS, ROOT, growth, load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

IMAGES = ROOT / "docs" / "images"
WIDTH = 7.5  # inches: 720 pixels
OURS, FIRST, SECOND, THIRD, GREY = "#0072b2", "#c85200", "#007a5a", "#8a4f9e", "#666666"
LOWEST = 70
"""Where the axis of LAS begins in `speed`. A parser below it is drawn at the edge, with its LAS."""
STYLE: dict[Any, Any] = {
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.constrained_layout.h_pad": 0.12,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.dpi": 72,  # as in a file: text is placed by its size
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],  # matplotlib has the first, and it is the widest
    "font.size": 10,
    "grid.color": "#e4e4e4",
    "lines.markersize": 6,
    "svg.fonttype": "none",
    "svg.hashsalt": "hexatagger",
}


@dataclass(frozen=True)
class Label:
    """A text to be put beside one of some points, preferably the last."""

    text: str
    color: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    """A plot, and what stands beside it."""

    height: float
    draw: "Callable[[Figure], None]"
    alt: str
    caption: Callable[[], str]


def speed(figure: "Figure") -> None:
    """Draw LAS against words per second of all parsers in results/peers.json, and of models with fewer layers."""
    axes = figure.add_subplot()
    labels = []
    for name, x, y in _parsers():
        own = name.startswith("hexatagger")
        low = y < LOWEST
        place, marker = (LOWEST, "v") if low else (y, "o")
        axes.plot(x, place, marker, color=OURS if own else GREY, clip_on=False, zorder=3)
        labels.append(Label(f"{name} (LAS {y:.0f})" if low else name, OURS if own else GREY, [(x, place)]))
    if fewer := _layers():
        line = [_point(load("peers")["peers"]["hexatagger"]), *((x, y) for _, x, y in fewer)]
        axes.plot(*zip(*sorted(line), strict=True), "o-", color=OURS, linewidth=1, zorder=2)
        labels += [Label(name, OURS, [(x, y)]) for name, x, y in fewer]
    speeds, scores = zip(*(each.points[0] for each in labels), strict=True)
    highest = 5 * math.ceil(max(scores) / 5)
    axes.set(xlabel="words per second, one thread", ylabel="LAS", ylim=(LOWEST, highest))
    axes.set_yticks(range(LOWEST, highest + 1, 5))
    _logarithmic(axes, speeds, [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000])
    _place(axes, labels)


def speed_caption() -> str:
    result = load("peers")
    points = _parsers()
    best, fastest = (max(points, key=lambda each: each[n])[0].partition(",")[0] for n in (2, 1))
    said = f"Higher is more accurate, further to the right is faster: {best} has the highest LAS, "
    said += f"{fastest} the highest speed" if best != fastest else "and the highest speed"
    if fewer := _layers():
        names = " and ".join(name for name, _, _ in fewer)
        said += f". {names}: placed by their speed relative to `en` (`{load('layers')['command']}`)"
    return f"{said}.{earlier_model('LAS', result['peers']['hexatagger']['words']['LAS'])} `{result['command']}`"


def earlier_model(metric: str, value: float) -> str:
    """Say so where a result is that of an earlier `en`, which scored differently."""
    now = load("model")["scores"]["words"][metric]
    if abs(now - value) < 0.1:
        return ""
    return (
        f" This was measured with an earlier `en`: its {metric} is {value:.1f}, and that of the present one {now:.1f}."
    )


def _parsers() -> list[tuple[str, float, float]]:
    """Return name, words/s and LAS of the parsers that ran; `_layers` has the models with fewer layers."""
    peers = load("peers")["peers"]
    ran = {name: row for name, row in peers.items() if "words_per_second" in row and name != "hexatagger-fast"}
    return [(row["title"].replace("`", ""), *_point(row)) for row in ran.values()]


def _point(row: dict[str, Any]) -> tuple[float, float]:
    """Return words/s and LAS of a parser, as in the table of `report.py`."""
    return max(row["words_per_second"]["1"]), row["words"]["LAS"]


def _layers() -> list[tuple[str, float, float]]:
    """Return name, words/s and LAS of models with fewer layers than `en`; none beside an earlier `en`."""
    english, las = _point(load("peers")["peers"]["hexatagger"])
    if not (RESULTS / "layers.json").exists() or earlier_model("LAS", las):
        return []
    return [
        (f"{row['name']}, {row['layers'] or 'all'} layers", row["speed to en"] * english, row["LAS"])
        for row in load("layers")["models"]
    ]


def decoders(figure: "Figure") -> None:
    """Draw the time of decoding by sentence length: tags, compared with the decoders of arc scores."""
    result = load("decode")
    _growth(figure, _decoders(), ticks=[row["words"] for row in result["lengths"]])


def decoders_caption() -> str:
    curves = _decoders()
    own, _, *others = (curve.seconds[curve.lengths.index(256)] for curve in curves)
    factors = [f"{each / own:.0f}" for each in others]
    return (
        f"Time per sentence on one core, from tag scores in batches of {load('decode')['batch']}, and from arc scores "
        f"one sentence at a time with the programs of the biaffine baseline (`benchmarks/mst.py`). At 256 words, those "
        f"take {' and '.join(factors)} times as long. How a program is written changes such factors "
        "and, at these lengths, exponents too. "
        f"`{load('decode')['command']}`"
    )


@dataclass(frozen=True)
class Curve:
    """Seconds per sentence by length."""

    name: str
    color: str
    style: str
    lengths: Sequence[int]
    seconds: Sequence[float]
    start: int = 64
    """The exponent is fitted from this length on."""


def _decoders() -> list[Curve]:
    result = load("decode")
    rows, arcs = result["lengths"], result["arcs"]
    lengths = [row["words"] for row in rows]
    clear, noise = (
        [row["words"] / row[rate] for row in rows] for rate in ("words_per_second", "flat_noise_words_per_second")
    )
    return [
        Curve("hexatagger", OURS, "o-", lengths, clear),
        Curve("hexatagger, random scores", THIRD, "o:", lengths, noise),
        *(
            Curve(name, color, "s-", arcs["lengths"], seconds)
            for (name, seconds), color in zip(arcs["seconds_per_sentence"].items(), (FIRST, SECOND), strict=True)
        ),
    ]


def parts(figure: "Figure") -> None:
    """Draw the time of the parser and of its parts by sentence length."""
    _growth(figure, _parts(), ticks=load("growth")["lengths"])


def parts_caption() -> str:
    curves = _parts()
    shares = {curve.name: 100 * curve.seconds[-1] / curves[-1].seconds[-1] for curve in curves[:-1]}
    said = " and ".join(f"{name} takes {share:.1f} %" for name, share in shares.items())
    return (
        f"At {curves[0].lengths[-1]:,} words, {said} of the time of the whole parser; the rest is the encoder. "
        f"`{load('growth')['command']}`"
    )


def _parts() -> list[Curve]:
    result = load("growth")
    lengths, seconds = result["lengths"], result["parts"]
    looks = {"decoding": ("decoding", OURS), "after the encoder": ("all after the encoder", SECOND)}
    looks["whole"] = ("whole parser", FIRST)
    return [
        Curve(title, color, "o-", lengths, seconds[part], start=lengths[0]) for part, (title, color) in looks.items()
    ]


def _growth(figure: "Figure", curves: Sequence[Curve], *, ticks: Sequence[int]) -> None:
    """Draw time by length on logarithmic scales; the exponent of each curve is in its label."""
    axes = figure.add_subplot()
    for curve in curves:
        values = [1000 * each for each in curve.seconds]
        axes.plot(curve.lengths, values, curve.style, color=curve.color, markersize=4, linewidth=1.5)
    axes.set(xlabel="words in the sentence (N)", ylabel="milliseconds per sentence", yscale="log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    _logarithmic(axes, [length for curve in curves for length in curve.lengths], ticks, room=1.2)
    labels = []
    for curve in curves:
        power = growth(curve.lengths, curve.seconds, start=curve.start)
        text = f"{curve.name}: $N^{{{power:.2f}}}$"
        points = [(length, 1000 * taken) for length, taken in zip(curve.lengths, curve.seconds, strict=True)]
        labels.append(Label(text, curve.color, points))
    _place(axes, labels)


def calibration(figure: "Figure") -> None:
    """Draw reliability diagrams without and with temperatures."""
    result = load("calibration")
    for place, (kind, bins) in zip(figure.subplots(1, 2), result["bins"].items(), strict=True):
        place.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":")
        errors = result["expected calibration error, percent"][kind]
        named = (("without", "uncalibrated", FIRST, "s--"), ("with", "calibrated", OURS, "o-"))
        for row, (name, title, color, style) in enumerate(named):
            known = [(sure, right) for words, sure, right in bins[name] if words >= 10]  # fewer say nothing
            place.plot(*zip(*known, strict=True), style, color=color, markersize=4)
            text = f"{title}: error {errors[name]:.1f} %"
            place.text(0.03, 0.94 - 0.08 * row, text, color=color, transform=place.transAxes)
        place.set(title=kind, xlabel="probability", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    figure.axes[0].set(ylabel="share that is right")


def calibration_caption() -> str:
    result = load("calibration")
    return (
        "Words with similar probabilities form a bin; on the dotted line, they are right as often as their "
        "probability says. Below the line, the parser is too sure. Bins with fewer than 10 words are left out."
        f"{earlier_model('UAS', result['UAS'])} `{result['command']}`"
    )


def coverage(figure: "Figure") -> None:
    """Draw LAS without the least probable words."""
    rows = load("calibration")["LAS by coverage"]
    axes = figure.add_subplot()
    axes.plot([row["coverage"] for row in rows], [row["LAS"] for row in rows], "o-", color=OURS, markersize=4)
    axes.set(xlabel="most probable words kept, percent", ylabel="LAS")
    axes.invert_xaxis()
    named = [row for row in rows if row["coverage"] % 10 == 0]
    _place(axes, [Label(f"{row['LAS']:.1f}", OURS, [(row["coverage"], row["LAS"])]) for row in named])


def coverage_caption() -> str:
    rows = {row["coverage"]: row for row in load("calibration")["LAS by coverage"]}
    return (
        f"Without the least probable 10 % of the words, LAS rises from {rows[100]['LAS']:.1f} to "
        f"{rows[90]['LAS']:.1f}: errors are where the probability is low. `{load('calibration')['command']}`"
    )


def illegal(figure: "Figure") -> None:
    """Draw the share of illegal sequences, and what exact decoding and reranking gain, against LAS."""
    results = _illegal()
    shares, gains = figure.subplots(1, 2)
    ways = (
        ("exact", OURS, "o", "circles: exact decoding"),
        ("voted", FIRST, "^", "triangles: then reranked with pointers"),
    )
    las = [each["exact"]["LAS"] for each in results]
    for row, (way, color, marker, title) in enumerate(ways):
        known = [each for each in results if way in each]
        gained = [each[way]["LAS"] - each["greedy"]["LAS"] for each in known]
        gains.plot([each["exact"]["LAS"] for each in known], gained, marker, color=color)
        gains.text(0.97, 0.94 - 0.09 * row, title, color=color, ha="right", transform=gains.transAxes)
    shares.plot(las, [each["illegal percent"] for each in results], "o", color=OURS)
    room = 0.2 * (max(las) - min(las)) or 1
    for axes in (shares, gains):
        axes.set(xlabel="LAS with exact decoding", xlim=(min(las) - room, max(las) + room))
        axes.set_ylim(0, 1.25 * axes.get_ylim()[1])
        axes.xaxis.get_major_locator().set_params(integer=True)
        [points] = [line.get_xydata() for line in axes.lines[:1]]
        _place(axes, [Label(_named(each), OURS, [point]) for each, point in zip(results, points, strict=True)])
    shares.set(title="sentences without a tree, percent")
    gains.set(title="LAS gained over greedy repair")


def illegal_caption() -> str:
    results = _illegal()
    worst, best = results[0], results[-1]
    gains = [each["exact"]["LAS"] - each["greedy"]["LAS"] for each in results]
    return (
        f"{worst['illegal percent']:.0f} % of the sequences are illegal at a LAS of {worst['exact']['LAS']:.1f}, and "
        f"{best['illegal percent']:.0f} % at {best['exact']['LAS']:.1f}. Exact decoding "
        f"gains between {min(gains):.1f} and {max(gains):.1f} LAS over greedy repair. linear, hidden, bilstm and "
        "pointers are those of the table of all of EWT above. `python benchmarks/accuracy.py illegal` "
        "`python benchmarks/claims.py`"
    )


def _illegal() -> list[dict[str, Any]]:
    """Return the results of all models, the least accurate first; those of claims.py too."""
    found = [load(path.stem) for path in sorted(RESULTS.glob("illegal-*.json"))]
    claims = load("claims-minilm")
    systems = {run["system"]: run for run in claims["runs"]}
    ways = {"exact": "tags", "greedy": "greedy repair", "voted": "reranked"}
    for side in dict.fromkeys(run["side"] for run in claims["runs"]):
        found_ways = {way: systems[f"{side}, {name}"] for way, name in ways.items() if f"{side}, {name}" in systems}
        if side != "legal" and "greedy" in found_ways:  # the legal loss never asks a tag to be right by itself
            share = {"illegal percent": found_ways["exact"]["illegal"]}
            found.append({"treebank": claims["treebank"], "model": side, **share, **found_ways})
    if not found:
        raise FileNotFoundError("illegal")
    return sorted(found, key=lambda each: float(each["exact"]["LAS"]))


def _named(result: dict[str, Any]) -> str:
    treebank, model = result["treebank"].removeprefix("UD_"), result["model"]
    return model if treebank == "English-EWT" else f"{treebank}, {model}"


LENGTH_SYSTEMS = {  # of results/claims-minilm.json
    "biaffine, projective": ("s-", FIRST),
    "pointers, reranked": ("o--", SECOND),
    "hidden, tags": ("o-", THIRD),
    "linear, tags": ("o-", OURS),
}


def _by_length(kind: str) -> dict[str, dict[str, float]]:
    """Return a figure of each parser by the length of sentences or arcs."""
    return {run["system"]: run[f"by {kind} length"] for run in load("claims-minilm")["runs"] if run["seed"] == 1}


def lengths(figure: "Figure") -> None:
    """Draw LAS by the length of sentences, and the share of gold arcs that are found by their length."""
    titles = {"sentence": "LAS by words in the sentence", "arc": "gold arcs found by length, percent"}
    for (kind, title), axes in zip(titles.items(), figure.subplots(1, 2, sharey=True), strict=True):
        systems = _by_length(kind)
        for row, (system, (style, color)) in enumerate(LENGTH_SYSTEMS.items()):
            found = systems[system]
            axes.plot(range(len(found)), list(found.values()), style, color=color, markersize=4, linewidth=1.5)
            axes.set_xticks(range(len(found)), list(found))
            if kind == "sentence":
                axes.text(0.04, 0.31 - 0.085 * row, system, color=color, transform=axes.transAxes)
        axes.set(title=title)


def lengths_caption() -> str:
    result = load("claims-minilm")
    behind = {}
    for kind in ("sentence", "arc"):
        found = _by_length(kind)
        linear, biaffine = found["linear, tags"], found["biaffine, projective"]
        behind[kind] = [f"{biaffine[length] - linear[length]:.1f}" for length in linear if length != "root"]
    sentence, arc = behind["sentence"], behind["arc"]
    return (
        f"Linear layers are {sentence[0]} LAS below the biaffine parser in the shortest sentences and {sentence[-1]} "
        f"in the longest. Of the arcs between neighbours they find {arc[0]} points fewer, of the longest {arc[-1]}. "
        f"{result['treebank']}, MiniLM, {result['epochs']} epochs, one seed. `python benchmarks/claims.py`"
    )


PLOTS = {
    "lengths": Plot(
        3.6, lengths, "LAS by sentence length, and arcs found by arc length, of four parsers", lengths_caption
    ),
    "speed": Plot(4.0, speed, "LAS of hexatagger and other parsers against their words per second", speed_caption),
    "decoders": Plot(
        4.4, decoders, "Decoding time against sentence length: hexatagger, Eisner, Chu–Liu–Edmonds", decoders_caption
    ),
    "growth": Plot(
        4.4, parts, "Time of decoding, of all after the encoder and of the whole parser against length", parts_caption
    ),
    "calibration": Plot(
        3.8, calibration, "Reliability diagrams of heads, and of heads with relations", calibration_caption
    ),
    "coverage": Plot(3.0, coverage, "LAS against the share of words kept, least probable left out", coverage_caption),
    "illegal": Plot(
        3.6, illegal, "Share of illegal sequences, and LAS gained by exact decoding, against LAS", illegal_caption
    ),
}


def _logarithmic(axes: "Axes", values: Sequence[float], ticks: Sequence[float], *, room: float = 1.6) -> None:
    """Make the x axis logarithmic, with ticks that can be read."""
    axes.set(xscale="log", xlim=(min(values) / room, max(values) * room))
    low, high = axes.get_xlim()
    shown = [each for each in ticks if low <= each <= high]
    axes.set_xticks(shown, [f"{each:,}" for each in shown])
    axes.set_xticks([], minor=True)


SIDES = (  # where a label is put beside a point: its own edges, and the direction
    *(("left", "center", 1.0, 0.0), ("right", "center", -1.0, 0.0), ("center", "bottom", 0.0, 1.0)),
    *(("center", "top", 0.0, -1.0), ("left", "bottom", 0.7, 0.7), ("right", "bottom", -0.7, 0.7)),
    *(("left", "top", 0.7, -0.7), ("right", "top", -0.7, -0.7)),
)


def _place(axes: "Axes", labels: Sequence[Label]) -> None:
    """Put every label as near as possible to its points, where it covers no point, line or other text."""
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]  # the layout is decided now
    frame, taken = axes.get_window_extent(), [text.get_window_extent() for text in axes.texts]
    ink = [point for line in axes.lines for point in _ink(line)]
    for label in labels:
        made = axes.annotate(label.text, label.points[-1], (0, 0), textcoords="offset points", color=label.color)
        made.set_in_layout(False)
        for step, point, side in itertools.product(range(7, 60, 4), reversed(label.points), SIDES):
            made.xy = point
            made.set(ha=side[0], va=side[1], position=(step * side[2], step * side[3]))
            box = made.get_window_extent()
            wide = box.padded(3)
            if not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1):
                continue
            if not any(map(wide.overlaps, taken)) and not any(wide.contains(*each) for each in ink):
                break
        else:
            raise ValueError(f"no room for the label {label.text!r}: make the plot higher")
        taken.append(box)


def _ink(line: "Line2D") -> Iterator[tuple[float, float]]:
    """Return the points of a line on the page, and where it is drawn, what is between them in steps of 3 pixels."""
    points = line.get_transform().transform(line.get_xydata())
    yield from points
    if line.get_linestyle() == "None":
        return
    for (x, y), (next_x, next_y) in itertools.pairwise(points):
        steps = math.ceil(math.hypot(next_x - x, next_y - y) / 3)
        for step in range(1, steps):
            yield x + (next_x - x) * step / steps, y + (next_y - y) * step / steps


@contextmanager
def figure(name: str) -> "Iterator[Figure]":
    """Draw a plot, in our style; FileNotFoundError where its results are absent."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    plot = PLOTS[name]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own matplotlibrc says
        matplotlib.rcParams.update(STYLE)
        made = Figure(figsize=(WIDTH, plot.height), layout="constrained", facecolor="white")
        FigureCanvasSVG(made)
        plot.draw(made)
        yield made


def svg(name: str) -> str | None:
    """Return a plot as SVG, or None where its results are absent."""
    written = io.StringIO()
    try:
        with figure(name) as made:
            made.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Title": PLOTS[name].alt})
    except FileNotFoundError:
        return None
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"


def markdown(name: str) -> str:
    """Return what stands in the docs: the picture, what it shows, and the command."""
    plot = PLOTS[name]
    return f"![{plot.alt}](images/{name}.svg)\n\n{plot.caption()}\n"


def main() -> None:
    stale = []
    for name in PLOTS:
        path, made = IMAGES / f"{name}.svg", svg(name)
        if made == (path.read_text(encoding="utf-8") if path.exists() else None):
            continue
        stale.append(path.name)
        if "--check" in sys.argv:
            continue
        if made is None:
            path.unlink()
        else:
            write_file(path, made)
    if "--check" in sys.argv and stale:
        sys.exit(f"plots out of date: {', '.join(stale)}; run python benchmarks/plots.py")


if __name__ == "__main__":
    main()
