"""Write the figures in README and docs from `benchmarks/results/`; with --check, only report whether they are current.

A document marks a place for figures with `<!-- figures: NAME -->` … `<!-- end -->`. The function NAME below fills it.
"""

import json
import re
import statistics
import sys
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from hexatagger.model.folder import write_file
from plots import PLOTS, earlier_model, markdown
from results import RESULTS, ROOT, load
from stale import can_tell, cheap_scripts, newer_commits, origins

OLDER = " (older)"  # marks results in docs; whether they have it depends on the history, so --check ignores it
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def table(header: list[str], rows: list[list[str]]) -> str:
    sides = ["---" if place == 0 or name in ("", "language") else "---:" for place, name in enumerate(header)]
    lines = [header, sides, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def decode() -> str:
    result = load("decode")
    header = ["words", "sentences/s", "words/s", "words/s, random scores", "illegal before decoding"]
    rows = [
        [
            str(row["words"]),
            f"{row['sentences_per_second']:,}",
            f"{row['words_per_second']:,}",
            f"{row['flat_noise_words_per_second']:,}",
            f"{row['illegal_before_decoding']} %",
        ]
        for row in result["lengths"]
    ]
    machine, growth = result["machine"]["processor"], result["growth_exponent_64_to_4096"]
    noise, factor = result["flat_noise_growth_exponent_64_to_4096"], result["factor_to_reference_25_words_batch_128"]
    return (
        table(header, rows)
        + f"\nFrom scores to heads in batches of {result['batch']}, on one core of an {machine}, best of several runs, "
        f"processor time. From 64 to 4,096 words, time grows with the length to the power of {growth} ({noise} "
        f"with random scores, whose best path is deep). At 25 words it is {factor} times as fast as the "
        f"reference program. `{result['command']}`\n"
    )


def read() -> str:
    result = load("read")
    return (
        f"hexatagger reads EWT train at {result['hexatagger_words_per_second']:,} words/s, {result['factor']} times as "
        f"fast as the `conllu` package in the same run ({result['conllu_words_per_second']:,}). `{result['command']}`\n"
    )


def segment() -> str:
    result = load("segment")
    header = ["treebank", "Tokens", "Sentences", "Words", "size", "training, core-seconds"]
    rows = [
        [
            name.removeprefix("UD_").replace("_", " "),
            *(f"{row[f'{metric}_f1']:.2f}" for metric in ("Tokens", "Sentences", "Words")),
            f"{row['bytes'] / 1e6:.2f} MB",
            str(row["train_cpu_seconds"]),
        ]
        for name, row in sorted(result["treebanks"].items())
    ]
    return table(header, rows) + "\nF1 on dev from raw text, CoNLL-18 metric. `python benchmarks/segment.py --again`\n"


def lemmas() -> str:
    result = load("lemmas")
    header = ["language", "words of train", "Lemmas", "Inflected lemmas", "size of the table"]
    rows = [
        [name, f"{row['words']:,}", *(f"{row[each]:.2f}" for each in header[2:4]), f"{row['bytes'] / 1e3:.0f} KB"]
        for name, row in sorted(result["languages"].items())
    ]
    before, after = ({name: f"{row[name]:.2f}" for name in header[2:4]} for row in result["en"].values())
    return (
        f"Given words, the `en` network alone finds {before['Lemmas']} % of the lemmas of EWT dev, and "
        f"{before['Inflected lemmas']} % of those of inflected words. With a table from EWT train it finds "
        f"{after['Lemmas']} % and {after['Inflected lemmas']} %.\n\nWith gold UPOS and FEATS and without a network:\n\n"
        f"{table(header, rows)}\nPercent on dev. `{result['command']}`\n"
    )


def model() -> str:
    result = load("model")
    names = ["Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS"]
    rows = [
        [given, *("" if given == "words" and name in names[:3] else f"{scores[name]:.2f}" for name in names)]
        for given, scores in result["scores"].items()
    ]
    return (
        table(["input", *names], rows)
        + f"\nThe embedded English model ({result['megabytes']} MB, 8 bits) on the dev set of UD_English-EWT, "
        f"CoNLL 2018 F1 in percent. The model was selected on this set. `{result['command']}`\n"
    )


def crossing() -> str:
    result = load("model")
    counts = result["crossing"]
    return (
        f"Of the {counts['gold']} words of the dev set whose arcs cross others, the English model finds "
        f"{counts['right']}; of the {counts['predicted']} that it predicts, {counts['predicted'] - counts['right']} "
        f"have a wrong head. `{result['command']}`\n"
    )


def rate() -> str:
    result = load("speed")
    return (
        f"{result['words_per_second']:,} words/s from words and {result['text_words_per_second']:,} words/s from raw "
        f"text, on {result['machine']['cores']} cores of an {result['machine']['processor']}, without a GPU. In a "
        f"shell, "
        f"the first tree appears after {result['first_tree_seconds']:.1f} s. `{result['command']}`\n"
    )


def speed() -> str:
    result = load("speed")
    alone, imports = "sentence by sentence", "`import numpy, onnxruntime, tokenizers`"
    rows = [
        ["parsing words", "the network alone", result["from_words_to_network"]],
        ["parsing raw text", "the network alone", result["from_text_to_network"]],
        ["32 bits", "8 bits", result.get("int8_to_fp32")],
        [f"32 bits, {alone}", "8 bits", result.get("int8_to_fp32_alone")],
        ["torch", "ONNX Runtime in 32 bits", result.get("fp32_to_torch")],
        [f"torch, {alone}", "ONNX Runtime in 32 bits", result.get("fp32_to_torch_alone")],
        ["the first tree in a shell", imports, result["first_tree_to_imports"]],
    ]
    cells = [[one, other, f"{factor:.2f}"] for one, other, factor in rows if factor is not None]  # only 8 bits shipped
    return table(["", "takes longer than", "by a factor of"], cells) + f"\nEWT dev, measured in one run. {rate()}"


def threads() -> str:
    result = load("threads")
    numbers = list(result["peak_megabytes"])
    rows = [
        ["words/s, from words", *(f"{result['words_per_second']['words'][each]:,}" for each in numbers)],
        ["words/s, from raw text", *(f"{result['words_per_second']['text'][each]:,}" for each in numbers)],
        ["time from raw text / from words", *(f"{result['text_to_words'][each]:.2f}" for each in numbers)],
        ["a sentence by itself, ms", *(f"{result['latency_ms'][each]:.1f}" for each in numbers)],
        ["peak memory, MB", *(str(result["peak_megabytes"][each]) for each in numbers)],
    ]
    factors = result["two_threads_to_one"]
    return (
        table(["", *(f"{each} thread{'s' * (each != '1')}" for each in numbers)], rows)
        + f"\nTwo threads are {factors['words']:.2f} times as fast as one from words and {factors['text']:.2f} times "
        f"from raw text, with the same output. EWT dev, best of several rounds, load {result['machine']['load']}. "
        f"`{result['command']}`\n"
    )


def memory() -> str:
    result = load("memory")
    sizes, step = result["megabytes"], result["step"]
    return (
        f"While it parses a stream of {result['sentences']:,} sentences ({result['words']:,} words), the process uses "
        f"{sizes[0]:.0f} MB after the first {step:,} sentences and {sizes[-1]:.0f} MB after the last, with a maximum "
        f"of "
        f"{max(sizes):.0f} MB. `{result['command']}`\n"
    )


def serve() -> str:
    result = load("serve")
    header = ["clients", "requests/s", "words/s", "median", "99 %", "errors", "wrong answers", "memory"]

    def row(name: str, run: dict[str, Any]) -> list[str]:
        speed = [f"{run['requests_per_second']:,}", f"{run['words_per_second']:,}"]
        times = [f"{run['median_ms']} ms", f"{run['p99_ms']} ms"]
        memory = f"{run['megabytes_before']:.0f} → {run['megabytes_after']:.0f} MB"
        return [name, *speed, *times, str(run["errors"]), str(run["wrong_answers"]), memory]

    rows = [row(str(run["clients"]), run) for run in result["runs"]]
    alone = result["one_call_per_request"]
    rows.append(row(f"{alone['clients']}, without batching", alone))
    return (
        table(header, rows)
        + f"\nOne sentence of EWT dev per request, {result['seconds']:.0f} s per row, clients and service on the same "
        f"{result['machine']['cores']} cores. Every client checks its answers. Batching requests gains a factor of "
        f"{result['batching_gain']} with {alone['clients']} clients. `{result['command']}`\n"
    )


EARLIER_RECIPES = {
    "accuracy-UD_English-EWT-en-ewt-minilm": "an earlier `en-ewt-minilm.toml`, the base system (linear layers, "
    "separate relations)"
}
"""Results of a recipe that has changed since: what it was."""


def accuracy() -> str:
    names = {
        "hexatagger": "hexatagger, recipe as it is",
        "pointers": "hexatagger with pointers",
        "pairs": "hexatagger with pointers and relations given the head",
    }
    return _compared([*names, "biaffine, projective", "biaffine, all trees"], names, spare={"pointers", "pairs"})


def claims() -> str:
    """Return a table of all ways to read trees from the sides that were trained on all of EWT."""
    result = load("claims-minilm")
    sides = " ".join(dict.fromkeys(run["side"] for run in result["runs"]))  # trained in several runs
    command = f"python benchmarks/claims.py {sides} --encoder {result['encoder']} --runs claims"
    lengths, arcs = (list(result["runs"][0][f"by {kind} length"]) for kind in ("sentence", "arc"))
    header = ["", "UAS", "LAS", "illegal %", *(f"{each} words" for each in lengths), *(f"arc {each}" for each in arcs)]
    rows = []
    for run in result["runs"]:
        figures = [run["UAS"], run["LAS"], run.get("illegal"), *run["by sentence length"].values()]
        rows.append(
            [
                run["system"],
                *("" if each is None else f"{each:.1f}" for each in [*figures, *run["by arc length"].values()]),
            ]
        )
    seeds = len({run["seed"] for run in result["runs"]})
    budget = f"{result['epochs']} epochs, {seeds} seed{'s' * (seeds > 1)}"
    return (
        table(header, rows)
        + f"\n{result['treebank']}, all of train, MiniLM, {budget}. Dev, gold words, CoNLL 2018. *bilstm* has three "
        "layers of width 400 in each direction; *legal* is *linear* with the loss over legal sequences. *Illegal*: "
        "sentences whose best tags, chosen one by one, are no tree. *Words*: LAS by the length of sentences. *Arc*: "
        f"share of gold arcs of a length that are found with their relation. `{command}`\n"
    )


def curve() -> str:
    """Return a table of a student's dev LAS by the words of text that its teacher labelled."""
    result = load("curve")
    most = max(len(run["epochs"]) for run in result["runs"])
    header = ["labelled words", *(f"epoch {number}" for number in range(1, most + 1)), "UPOS at the end", "minutes"]
    rows = [
        [
            f"{run['words']:,}",
            *(f"{epoch['LAS']:.2f}" for epoch in run["epochs"]),
            f"{run['epochs'][-1]['UPOS']:.2f}",
            str(run["minutes"]),
        ]
        for run in result["runs"]
    ]
    return (
        table(header, rows) + "\nEWT dev, gold words, LAS in 32 bits after each epoch; in the last "
        f"{'epoch' if result['gold epochs'] == 1 else str(result['gold epochs'])} the student sees gold trees only. "
        f"Student: {result['layers']} layers of MiniLM, no head scores. Teacher: `{result['teachers']}`. "
        f"Minutes on one core beside other work. `{result['command']}`\n"
    )


def gains() -> str:
    """Return a table of what changed the scores of small models."""
    result = load("gains")
    names = list(dict.fromkeys(name for row in result["rows"] for name in row["after"]))
    rows = [
        [
            f"`{row['language']}`",
            row["change"],
            *(
                f"{row['before'][name]:.1f} → {row['after'][name]:.1f}" if name in row["after"] else "–"
                for name in names
            ),
        ]
        for row in result["rows"]
    ]
    return (
        table(["", "change", *names], rows)
        + "\nDev, gold words, 32 bits, one seed: differences below half a point mean "
        "little. `python benchmarks/gains.py CHANGE BEFORE AFTER …`\n"
    )


def hidden() -> str:
    names = {
        "linear": "base system: linear layers",
        "hidden": "+ hidden layer",
        "pointers": "+ pointers",
        "pairs": "+ relations given the head",
        "hexatagger": "recipe as it is",
    }
    return _compared(list(names), names)


def order() -> str:
    return _compared(["hexatagger", "right-first"], {"hexatagger": "left-first"})


def relations() -> str:
    return _compared(["hexatagger", "joint"], {"hexatagger": "separate"})


def loss() -> str:
    return _compared(["hexatagger", "legal"], {"hexatagger": "tags"})


def lift() -> str:
    names = {"hexatagger": "head+path", "lift-path": "path", "lift-head": "head"}
    return _compared(["hexatagger", "lift-path", "lift-head"], names)


def _compared(sides: list[str], names: dict[str, str], spare: Collection[str] = ()) -> str:
    """Return a table of all treebanks on which at least two sides were trained, over the seeds that they share.

    A `spare` side is left out where it was trained with fewer seeds than the others.
    """
    rows, budgets = [], []
    for path in sorted(RESULTS.glob("accuracy-*.json")):
        result = load(path.stem)
        runs = {side: own for side in sides if (own := [run for run in result["runs"] if run["side"] == side])}
        trained_with = {side: {run["seed"] for run in own} for side, own in runs.items()}
        needed = [own for side, own in trained_with.items() if side not in spare]
        common = set.intersection(*needed) if needed else set()
        runs = {side: own for side, own in runs.items() if trained_with[side] >= common}
        if len(runs) < 2 or not common:
            continue
        seeds = f"{len(common)} seed{'s' * (len(common) > 1)}"
        budget = f"{result['train sentences']:,} sentences, {result['epochs']} epochs, {seeds}"
        treebank = result["treebank"].removeprefix("UD_").replace("_", " ")
        earlier = EARLIER_RECIPES.get(path.stem)
        recipe = earlier or f"`{result['recipe']}`"
        budgets.append(f"{treebank}: {budget}, {recipe}")
        for side, own in runs.items():
            own = [run for run in own if run["seed"] in common]
            minutes = statistics.mean(run["minutes"] for run in own)
            cells = [_spread([run[metric] for run in own]) for metric in ("UAS", "LAS")]
            name = names.get(side, side).replace("recipe as it is", "base system" if earlier else "recipe as it is")
            rows.append([treebank, name, *cells, f"{minutes:.1f}"])
    if not rows:
        raise FileNotFoundError("accuracy")
    return (
        table(["treebank", "", "UAS", "LAS", "minutes per run"], rows)
        + f"\nDev, gold words, CoNLL 2018, mean and standard deviation. {'; '.join(budgets)}. "
        "`python benchmarks/accuracy.py`\n"
    )


def _spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else "")


def trained() -> str:
    result = load("trained")
    metrics = ("UAS", "LAS", "UPOS", "XPOS", "UFeats", "Lemmas")
    rows = [
        [
            each["name"],
            *(f"{each[metric]:.2f}" for metric in metrics),
            str(each["epochs"]),
            f"{each['minutes'] / each['epochs']:.0f}",
            str(each.get("gigabytes") or "–"),
        ]
        for each in sorted(result["models"], key=lambda each: float(each["LAS"]))
    ]
    return (
        table(["32 bits", *metrics, "epochs", "minutes per epoch", "GB"], rows)
        + f"\n{result['treebank']}, all of train, dev with gold words, CoNLL 2018. Minutes on "
        f"{result['machine']['cores']} cores that other jobs used too; peak memory (–: not recorded). "
        "`python benchmarks/accuracy.py trained`\n"
    )


def shapes() -> str:
    """Return a table of the shapes that were tried, one row per run."""
    result = load("shapes")
    header = ["language", "", "UAS", "LAS", "UPOS", "UFeats", "epochs", "weights", "8 bits", "speed", "training"]
    rows = [
        [
            run["language"],
            run["name"],
            *(f"{run[metric]:.2f}" for metric in ("UAS", "LAS", "UPOS", "UFeats")),
            f"{run['epochs']}" + (f" of {run['planned epochs']}" if "planned epochs" in run else ""),
            f"{sum(run['weights'].values()) / 1e6:.1f} million",
            f"{run['int8 megabytes']} MB" if "int8 megabytes" in run else "–",
            f"{run['speed to en']}" if "speed to en" in run else "–",
            f"{run['train words per second']:,}" if "train words per second" in run else "–",
        ]
        for run in result["runs"]
    ]
    settings = {run["name"]: run["settings"] for run in result["runs"] if not run["name"].endswith(".toml")}
    named = [
        f"*{name}*: " + ", ".join(f"`{each.removeprefix('model.')}`" for each in own)
        for name, own in settings.items()
        if own
    ]
    counts = ", ".join(f"{run['train words']:,} ({run['language']})" for run in _first_by(result["runs"], "language"))
    return (
        table(header, rows)
        + f"\nDev, gold words, CoNLL 2018, one seed, 32 bits; words of train: {counts}. Size of the network in 8 bits; "
        "words per second of parsing with one thread, as a ratio to `en` in the same run; words per second of training "
        f"on one core. {'; '.join(named)}. `python benchmarks/shapes.py`\n"
    )


def parts() -> str:
    """Return a table of the weights of each part, of the first run with each name."""
    runs = _first_by(load("shapes")["runs"], "name")
    names = list(runs[0]["weights"]) + [name for name in runs[-1]["weights"] if name not in runs[0]["weights"]]
    rows = [[name, *(f"{run['weights'].get(name, 0) / 1e3:,.0f}" for run in runs)] for name in names]
    rows.append(["sum", *(f"{sum(run['weights'].values()) / 1e3:,.0f}" for run in runs)])
    return table(["thousand weights", *(run["name"] for run in runs)], rows)


def grams() -> str:
    """Return a table of n-gram encoders, scored on single words."""
    result = load("grams")
    rows = [
        [
            row["name"],
            f"{row['table'] / 1e3:,.0f}",
            f"{row['UFeats']:.2f}",
            f"{row['UFeats of new words']:.2f}",
            f"{row['seconds']:.0f}",
        ]
        for row in result["shapes"]
    ]
    return (
        table(["", "thousand weights in the table", "UFeats", "UFeats of new words", "core-seconds"], rows)
        + f"\nDev of {result['language']} ({result['dev words']:,} words, {result['new']} % with a form that is not in "
        f"train), one seed. `{result['command']}`\n"
    )


def _first_by(runs: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Return the first run with each value of a key."""
    return list({run[key]: run for run in reversed(runs)}.values())[::-1]


def illegal() -> str:
    rows = []
    for path in sorted(RESULTS.glob("illegal-*.json")):
        result = load(path.stem)
        share = f"{result['illegal']:,} of {result['sentences']:,} ({result['illegal percent']} %)"
        scores = [f"{result[how][metric]:.2f}" for how in ("greedy", "exact") for metric in ("UAS", "LAS")]
        scores += [f"{result['voted'][metric]:.2f}" if "voted" in result else "–" for metric in ("UAS", "LAS")]
        rows.append([f"{result['treebank'].removeprefix('UD_')}, {result['model']}", share, *scores])
    kinds = [f"{metric} {how}" for how in ("repaired", "exact", "reranked") for metric in ("UAS", "LAS")]
    header = ["", "sentences without a tree", *kinds]
    small = load("accuracy-UD_English-EWT-en-ewt-minilm")
    return (
        table(header, rows)
        + f"\nEWT dev, gold words, CoNLL 2018; one seed each. minilm-pointers-1500: {small['train sentences']:,} "
        f"sentences of EWT train, {small['epochs']} epochs; the others: all of EWT train, {'; '.join(_epochs())}. "
        "*Reranked*: the 32 best sequences. "
        "`python benchmarks/accuracy.py illegal`\n"
    )


def _epochs() -> list[str]:
    """Return the models of the table of illegal sequences that were trained on all of EWT, with their epochs."""
    names = {"MiniLM": "minilm", "MiniLM, taught by MPNet": "minilm-taught", "MPNet": "mpnet"}
    return [
        f"{names[each['name']]} {each['epochs']} epochs" for each in load("trained")["models"] if each["name"] in names
    ]


BASELINES = ("biaffine, projective", "biaffine, all trees")
PARTS = ("encoder", "after the encoder")


def efficiency() -> str:
    """Return sentences/s and peak memory of hexatagger and the baseline: whole, and after the encoder."""
    made, notes = "", list[str]()
    for part in ("whole parser", "after the encoder"):
        header = [part, "words", *("hexatagger", *BASELINES), *(f"{name}, MB" for name in ("hexatagger", *BASELINES))]
        rows = []
        for encoder, row in _efficiency_rows():
            times = [_seconds(row, name)[part] for name in ("hexatagger", *BASELINES)]
            rates = [[row["sentences"] / each for each in runs] for runs in times]
            peaks = [_peak(row["parsers"][name], part) for name in ("hexatagger", *BASELINES)]
            rows.append([encoder, row["words"], *map(_mean_rate, rates), *(f"{peak:,.0f}" for peak in peaks)])
        made += table(header, rows) + "\n"
    for kind in ("trained", "large"):
        result = load(f"efficiency-{kind}")
        first = result["rows"][0]
        taken = {part: len(each["seconds"]) for part, each in first["parsers"]["hexatagger"].items() if part in PARTS}
        runs = f"{taken['after the encoder']} runs"
        if taken["encoder"] < taken["after the encoder"]:
            runs += " after the encoder, which ran once (the ± of the whole parser has no part of the encoder)"
        load_average = max(row["load"] for row in result["rows"])
        notes.append(
            f"{_encoder(first)}: batches of {_listed(row['batch'] for row in result['rows'])} sentences, {runs}, "
            f"load up to {load_average}. `{result['command']}`"
        )
    return (
        made + f"Sentences/s, mean ± standard deviation, in torch with {result['threads']} threads; peak memory beyond "
        "the loaded model, in MB. " + " ".join(notes) + "\n"
    )


def proportions() -> str:
    """Return the encoder's share of the time, and how fast it must be for hexatagger to be 10 times as fast."""
    header = ["", "words", "encoder, ms per sentence", "its share of hexatagger"]
    header += [f"{what}, {name}" for what in ("whole", "after", "10 × at") for name in ("projective", "all trees")]
    rows = []
    for encoder, row in _efficiency_rows():
        own = {part: statistics.mean(each) for part, each in _seconds(row, "hexatagger").items()}
        others = [{part: statistics.mean(each) for part, each in _seconds(row, name).items()} for name in BASELINES]
        # The encoder is the same on both sides; its mean is closer to the truth than either.
        shared = statistics.mean(each["encoder"] for each in (own, *others))
        mine, theirs = own["after the encoder"], [each["after the encoder"] for each in others]
        cells = [f"{1000 * shared / row['sentences']:,.1f}", f"{100 * shared / (shared + mine):.1f} %"]
        cells += [f"{(shared + each) / (shared + mine):.2f} ×" for each in theirs]
        cells += [f"{each / mine:.1f} ×" for each in theirs]
        cells += [needed_speed(shared, mine, each) for each in theirs]
        rows.append([encoder, row["words"], *cells])
    return table(header, rows)


def needed_speed(encoder: float, own: float, other: float) -> str:
    """Return how many times as fast the encoder must be for hexatagger to be 10 times as fast as the baseline.

    With E, H and B for the encoder, hexatagger and the baseline above it, (E/k + B) / (E/k + H) = 10 at
    k = 9 E / (B − 10 H). If B is less than 10 H, no encoder is fast enough.

    >>> needed_speed(1000.0, 1.0, 100.0), needed_speed(1000.0, 1.0, 9.0)
    ('100 ×', 'never')
    """
    return f"{9 * encoder / (other - 10 * own):,.0f} ×" if other > 10 * own else "never"


def growth() -> str:
    """Return how time grows with the length of a sentence."""
    result = load("growth")
    rows = [
        [f"{length:,}", *(_milliseconds(each[place]) for each in result["parts"].values())]
        for place, length in enumerate(result["lengths"])
    ]
    runs = "one run" if result["runs"] == 1 else f"mean of {result['runs']} runs"
    rows.append(["exponent", *(f"{each:.2f}" for each in result["exponents"].values())])
    return (
        table(["words", *(f"{name}, ms" for name in result["parts"])], rows)
        + f"\nMilliseconds per sentence, {result['sentences']} sentences at a time, {runs}. The "
        "exponent is the slope of a line through the logarithms of all lengths: 1 is linear time. "
        f"`{result['command']}`\n"
    )


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.{0 if seconds >= 0.1 else 1 if seconds >= 0.01 else 2}f}"


def _efficiency_rows() -> list[tuple[str, dict[str, Any]]]:
    """Return every measured length, with the name of its encoder."""
    parts = [load(f"efficiency-{part}")["rows"] for part in ("trained", "large")]
    return [(_encoder(row), row) for rows in parts for row in rows]


def _encoder(row: dict[str, Any]) -> str:
    return f"{row['encoder']['layers']} layers of {row['encoder']['width']:,}"


def _seconds(row: dict[str, Any], name: str) -> dict[str, list[float]]:
    """Return the seconds of every run of a parser, by part; an encoder that ran once counts for all runs."""
    encoder, after = (row["parsers"][name][part]["seconds"] for part in ("encoder", "after the encoder"))
    encoders = encoder if len(encoder) == len(after) else encoder * len(after)
    whole = [one + other for one, other in zip(encoders, after, strict=True)]
    return {"encoder": encoder, "after the encoder": after, "whole parser": whole}


def _peak(figures: dict[str, Any], part: str) -> float:
    after = float(figures["after the encoder"]["peak MB"])
    return max(float(figures["encoder"]["peak MB"]), figures["vectors MB"] + after) if part == "whole parser" else after


def _mean_rate(rates: list[float]) -> str:
    mean, digits = statistics.mean(rates), 0 if statistics.mean(rates) >= 100 else 2
    return f"{mean:,.{digits}f} ± {statistics.stdev(rates) if len(rates) > 1 else 0:,.{digits}f}"


def _listed(numbers: Iterable[int]) -> str:
    return " or ".join(str(number) for number in sorted(set(numbers), reverse=True))


def install() -> str:
    result = load("install")
    heaviest = [f"{name} {size / 1e6:.0f}" for name, size in list(result["packages"].items())[:4]]
    return (
        f"A plain install takes {result['bytes'] / 1e6:.0f} MB including its dependencies ({result['platform']}). The "
        f"largest parts are {', '.join(heaviest[:-1])} and {heaviest[-1]} MB. `{result['command']}`\n"
    )


def corpora() -> str:
    result = load("corpora")
    rates, start, corpus = result["words_per_second_and_core"], result["start_seconds"], result["projection"]
    prices, sizes = corpus["assumptions"]["dollars_per_core_hour"], corpus["terabytes"]
    header = ["10 billion words", *(f"{int(cores):,} core{'s' * (cores != '1')}" for cores in corpus["hours"])]
    times = [f"{each:.1f} hours" if each < 48 else f"{each / 24:,.0f} days" for each in corpus["hours"].values()]
    costs = [f"{corpus['dollars'][name]:,} US$ at {price} US$ per hour ({name})" for name, price in prices.items()]
    return (
        f"On {result['cores']} cores of an {result['machine']['processor']}, with the raw text of EWT train "
        f"({result['words']['whole']:,} words), {_runs(result['rounds'])}: `hexatagger corpus` takes "
        f"{result['ray_to_workers']} times as long as `hexatagger parse --workers {result['cores']}` including its "
        f"start ({start['ray']} s vs {start['workers']} s), and {result['ray_to_workers_without_start']} times as long "
        f"without it. On Ray, one core parses {rates['ray']:,} words/s, "
        f"**{corpus['words_per_day_and_core'] / 1e6:,.0f} million words per day**. `{result['command']}`\n\n"
        + table(header, [["time", *times]])
        + f"\n**{corpus['core_hours']:,} core-hours**: {' or '.join(costs)}. The text takes {sizes['text']} TB, the "
        f"trees take {sizes['CoNLL-U']} TB as CoNLL-U and {sizes['CoNLL-U packed']} TB compressed. A process uses "
        f"about "
        f"{result['megabytes_of_a_process']} MB of memory.\n"
    )


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"median of {count} runs"


def calibration() -> str:
    result = load("calibration")
    errors, train, cost = result["expected calibration error, percent"], result["train"], result["cost"]
    rows = [[kind, f"{each['without']:.2f} %", f"{each['with']:.2f} %"] for kind, each in errors.items()]
    by_coverage = result["LAS by coverage"]
    kept = [[f"{row['coverage']} %", f"{row['LAS']:.2f}", f"{row['least sure']:.2f}"] for row in by_coverage]
    one, other = (half["tags"] for half in result["temperatures of halves"])
    return (
        table(["expected calibration error", "uncalibrated", "calibrated"], rows)
        + f"\nThe embedded English model on EWT dev ({result['words']:,} words, UAS {result['UAS']:.2f})."
        f"{earlier_model('UAS', result['UAS'])} Each half of the sentences is evaluated with the temperature "
        f"fitted on the other half: {one} and {other} for tags, compared with "
        f"{result['temperature']['tags']} on all of dev. On train, where the network has a UAS of "
        f"{train['UAS']:.2f}, the "
        f"fit would give {train['temperature']['tags']}. `{result['command']}`\n\n"
        + table(["most probable words kept", "LAS", "lowest probability of a head"], kept)
        + f"\nParsing takes {cost['both']:.2f} times as long with probabilities and the 5 best trees "
        f"({cost['probabilities']:.2f} with probabilities only, {cost['5 best trees']:.2f} with the trees only), "
        f"measured "
        f"alternately in one run on {result['machine']['cores']} cores.\n"
    )


def peers() -> str:
    result = load("peers")
    ran = {name: row for name, row in result["peers"].items() if "words_per_second" in row}
    header = ["", "LAS", "UAS", "LAS from text", "words/s, 1 thread", "2 threads", "from text, 1 thread", "2 threads"]
    header += ["core-seconds per million words", "peak MB", "first tree", "installed MB", "model MB"]
    header += ["training, core-minutes"]
    rows, text = [], "text_words_per_second"
    for row in ran.values():
        training = "included" if row.get("brought") else f"{row['core_minutes']:.0f}{', stopped' * row['stopped']}"
        installed = f"{row['installed_megabytes']:,.0f}"
        if row["graphics_megabytes"]:
            installed += f" ({row['installed_megabytes'] - row['graphics_megabytes']:,.0f} without CUDA)"
        rows.append(
            [
                f"{row['title']} ({row['version']})",
                *(f"{row['words'][metric]:.2f}" for metric in ("LAS", "UAS")),
                f"{row['text']['LAS']:.2f}" if row["text"] else "—",
                *(f"{_rate(row, threads):,}" for threads in (1, 2)),
                *(f"{_rate(row, threads, text):,}" if text in row else "—" for threads in (1, 2)),
                f"{1e6 / _rate(row, 1, text if text in row else 'words_per_second'):,.0f}",
                f"{row['peak_megabytes']:,}",
                f"{row['first_seconds']:.2f} s",
                installed,
                f"{row['model_megabytes']:,.1f}",
                training,
            ]
        )
    notes = [f"{row['title']} could not run: {row['problem']}." for row in result["peers"].values() if "problem" in row]
    notes += [f"{row['title']} from text: {row['text_problem']}." for row in ran.values() if row.get("text_problem")]
    if brief := {row["title"].partition(",")[0]: row["scored"] for row in ran.values() if "scored" in row}:
        notes.append(
            f"The scores, memory, first trees and sizes of {', '.join(brief)} are those of their training on "
            f"{', '.join(sorted(set(brief.values())))}; their words/s were measured beside those of hexatagger with "
            "models of the same shape that were trained for a few steps."
        )
    most = max(len(rounds) for row in ran.values() for rounds in row["words_per_second"].values())
    notes.append(
        f"All parsers took turns; words/s are {'of one round' if most == 1 else f'the best of {most} rounds'}."
    )
    return (
        table(header, rows)
        + f"\n{_better(ran)}\n\nEWT dev ({result['words']:,} words), CoNLL 2018. Each parser was trained on EWT train "
        f"with its defaults, for at most {result['minutes']:.0f} minutes on both cores of an "
        f"{result['machine']['processor']}. `en` and `en-fast` have a pretrained encoder and were distilled from "
        "larger models, also on text without trees. hexatagger on EWT alone is like spaCy and UDPipe 1 here: "
        "`recipes/language.toml` trained on EWT train, without a pretrained encoder or a teacher. Core-seconds are "
        "those of one thread from text (SuPar: from words). All models were selected on this set. "
        f"{' '.join([*notes, ''])}`{result['command']}`\n"
    )


def _rate(row: dict[str, Any], threads: int, kind: str = "words_per_second") -> int:
    rounds: list[int] = row[kind][str(threads)]
    return max(rounds)  # other jobs on the machine can only make it slower


def _better(ran: dict[str, Any]) -> str:
    """List what other parsers do better than `en`, and than the model that was trained like them, and by how much."""
    pairs = (("hexatagger", "`en`"), ("hexatagger-characters", "hexatagger on EWT alone"))
    told = [_better_than(ran, name, title) for name, title in pairs if name in ran]
    return "\n\n".join(each for each in told if each)


def _better_than(ran: dict[str, Any], name: str, title: str) -> str:
    own, others = ran[name], [row for other, row in ran.items() if "hexatagger" not in other]
    kinds: list[tuple[str, bool, Any]] = [  # what, whether more is better, how to get it
        ("LAS from words", True, lambda row: row["words"]["LAS"]),
        ("LAS from text", True, lambda row: row["text"] and row["text"]["LAS"]),
        *(
            (
                f"words/s from {given}, {threads} thread{'s' * (threads > 1)}",
                True,
                partial(_rate_or_none, threads, kind),
            )
            for given, kind in (("words", "words_per_second"), ("text", "text_words_per_second"))
            for threads in (1, 2)
        ),
        ("memory", False, lambda row: row["peak_megabytes"]),
        ("time to the first tree", False, lambda row: row["first_seconds"]),
        ("installed size", False, lambda row: row["installed_megabytes"]),
        ("model size", False, lambda row: row["model_megabytes"]),
    ]
    ahead, first = [], []
    for kind, more, get in kinds:
        sign, mine = 1 if more else -1, get(own)
        values = {row["title"].partition(",")[0]: get(row) for row in others}
        better = {other: value for other, value in values.items() if value and sign * value > sign * mine}
        if not better:
            first.append(kind)
            continue
        ordered = sorted(better.items(), key=lambda item: -sign * item[1])
        names = " and ".join(f"{other} ({_times(kind, more, value, mine, title)})" for other, value in ordered)
        ahead.append(f"{kind}: {names}")
    if not others:
        return ""
    told = f"**What others do better than {title}**: {'; '.join(ahead)}." if ahead else f"None is better than {title}."
    return told + (f" {title[0].upper()}{title[1:]} is best in {'; '.join(first)}." if first and ahead else "")


def _rate_or_none(threads: int, kind: str, row: dict[str, Any]) -> int | None:
    return _rate(row, threads, kind) if kind in row else None


def _times(kind: str, more: bool, value: float, mine: float, title: str) -> str:
    """Say how much better: points of a score, a factor of everything else."""
    if kind.startswith("LAS"):
        return f"{value - mine:.2f} points more"
    return f"{value / mine:.2f} times as fast" if more else f"{100 * value / mine:.2g} % of that of {title}"


_FUZZED = {  # what each fuzzer counts, and what it compares
    "conllu": ("mutated CoNLL-U", "refused with the line, or read and written without loss; tags and lifting undone"),
    "texts": ("odd texts", "restored exactly, offsets right, output valid"),
    "decoder": ("score tables", "equal to enumeration, or refused"),
    "requests": ("HTTP requests, up to 64 at a time", "a documented status; answers equal to the parser's"),
    "models": ("model folders", "an error of ours, or a model that works"),
    "kills": ("kills of `parse`, `corpus` and `train`", "output whole or absent; the next run completes it"),
}


def fuzz() -> str:
    result = load("fuzz")
    rows = []
    for name, (what, promise) in _FUZZED.items():
        counts = dict(result["counts"][name])
        total = counts.get("requests", counts.get("cases", 0))  # a case of the requests sends several
        kinds = ["refused", "read", "encoded", "parsed", "answered", "accepted", "constrained"]
        kinds += ["killed", "corpus", "train"]
        shown = ", ".join(f"{kind} {counts[kind]:,}" for kind in kinds if kind in counts)
        faults = sum(each.startswith(f"{name} ") for each in result["faults"])
        rows.append([f"{what}: {promise}", f"{total:,}", shown or "–", str(faults)])
    return (
        table(["", "cases", "among them", "faults"], rows)
        + f"\n{result['seconds'] / 60:.0f} minutes on {result['machine']['cores']} cores that other "
        f"jobs used too, {result['date']}, commit `{result['commit']}`. `{result['command']}`\n"
    )


def language() -> str:
    result, times = load("language"), load("language")["milliseconds"]
    count, sentences = result["languages"], f"{result['sentences']:,}"
    rows = [
        [f"`auto` finds the language of a sentence among {count} installed models", f"{result['auto']:.1f}"],
        ["… of ten sentences together", f"{result['auto_documents']:.1f}"],
        ["text of the model's own language, with a warning", f"{result['wrong_warnings']:.2f}"],
        ["… where the range of scores was fitted on the other half of dev", f"{result['wrong_warnings_halves']:.2f}"],
        ["text of another language, with a warning", f"{result['right_warnings']:.1f}"],
    ]
    names = [f"{pair} ({number})" for pair, number in list(result["confused"].items())[:8]]
    return (
        table([f"{count} languages, {sentences} dev sentences of 5 words or more", "%"], rows)
        + f"\nMost frequent confusions: {', '.join(names)}. Checking {times['characters']:,} characters takes "
        f"{times['warning']:.1f} ms, {100 * times['warning'] / times['parse']:.1f} % of parsing them in the same run. "
        f"`{result['command']}`\n"
    )


def languages() -> str:
    result = load("languages")
    header = ["", "", "LAS", "UPOS", "UFeats", "lemmas", "LAS from text", "Words", "Sentences", "MB", "minutes"]
    others = ["UDPipe 1", "UDPipe 2", "Stanza, from text"]
    rows = []
    for code, row in result["languages"].items():
        words, text, published = row["words"], row["text"], row.get("published", {})
        rows.append(
            [
                f"`{code}`",
                row["name"],
                *(_score(words.get(name)) for name in ("LAS", "UPOS", "UFeats", "Lemmas")),
                *(_score(text.get(name)) for name in ("LAS", "Words", "Sentences")),
                f"{row['bytes'] / 1e6:.1f}",
                f"{row['minutes']:.0f}",
                *(_score(published.get(name, {}).get("words", {}).get("LAS")) for name in others[:2]),
                _score(published.get("Stanza", {}).get("text", {}).get("LAS")),
            ]
        )
    speeds = [row["speed_to_english"] for row in result["languages"].values()]
    return (
        table([*header, *others], rows)
        + "\nOurs: F1 on dev in 8 bits, given gold words unless it says from text; minutes of training on one core. "
        "Others: published LAS on test, given gold words unless it says from text, so compare with care. "
        f"{' '.join(map(_beside, others[:2]))} Speed on one thread: {min(speeds):.2f} to {max(speeds):.2f} times that "
        f"of `en` in the same run. `{result['command']}`\n"
    )


def _with_english() -> dict[str, Any]:
    """Return the results of all languages by the name of the model: the embedded `en` and those of the repository."""
    published = json.loads((ROOT / "benchmarks" / "published.json").read_text(encoding="utf-8"))["languages"]["en"]
    english = {"name": "English", "language": "en", "published": published, **load("model")["scores"]}
    return {"en": english, **load("languages")["languages"]}


def _beside(other: str) -> str:
    """Say how our LAS compares with that of another parser, where it is published for the language of a model."""
    rows = [row for code, row in _with_english().items() if code == row["language"]]
    known = [row for row in rows if other in row.get("published", {})]
    pairs = [(row["words"]["LAS"], row["published"][other]["words"]["LAS"]) for row in known]
    ours, theirs = (statistics.mean(column) for column in zip(*pairs, strict=True))
    better = sum(mine > their for mine, their in pairs)
    return f"{other}: mean LAS {theirs:.1f} in {len(pairs)} languages, ours {ours:.1f}, higher in {better} of them."


def names() -> str:
    """Return a short table of all languages, three in a row."""
    result, known = load("languages"), _with_english()
    cells = [
        [f"`{code}` {row['name']}", *(_score(row[given]["LAS"]) for given in ("words", "text"))]
        for code, row in sorted(known.items())
    ]
    count, height = len({row["language"] for row in known.values()}), -(-len(cells) // 3)
    columns = [[*cells[start : start + height], *[["", "", ""]] * height][:height] for start in (0, height, 2 * height)]
    rows = [[*first, *second, *third] for first, second, third in zip(*columns, strict=True)]
    return (
        table(["language", "LAS", "from text"] * 3, rows)
        + f"\n{count} languages. LAS on dev, given words and given raw text, in 8 bits. `{result['command']}`\n"
    )


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def commands() -> str:
    """Return a table of all files of results and the commands that write them."""
    cheap, known = cheap_scripts(), can_tell()
    rows = [
        [
            f"`{origin.file.name}`",
            f"`{origin.command}`",
            f"{origin.date}{OLDER if known and newer_commits(origin) else ''}",
            f"`{origin.commit}`" if origin.commit else "–",
            "yes" if origin.script in cheap else "–",
        ]
        for origin in origins()
    ]
    return table(["file in `benchmarks/results/`", "command", "measured", "commit", "`make benchmark`"], rows)


FIGURES: dict[str, Callable[[], str]] = {
    "decode": decode,
    "read": read,
    "segment": segment,
    "lemmas": lemmas,
    "language": language,
    "languages": languages,
    "names": names,
    "model": model,
    "crossing": crossing,
    "rate": rate,
    "speed": speed,
    "threads": threads,
    "efficiency": efficiency,
    "proportions": proportions,
    "growth": growth,
    "install": install,
    "corpora": corpora,
    "calibration": calibration,
    "memory": memory,
    "serve": serve,
    "accuracy": accuracy,
    "claims": claims,
    "curve": curve,
    "hidden": hidden,
    "order": order,
    "relations": relations,
    "loss": loss,
    "lift": lift,
    "illegal": illegal,
    "gains": gains,
    "trained": trained,
    "shapes": shapes,
    "parts": parts,
    "grams": grams,
    "commands": commands,
    "peers": peers,
    "fuzz": fuzz,
    **{f"plot_{name}": partial(markdown, name) for name in PLOTS},
}


def filled(text: str) -> str:
    """Return a document with its figures filled in."""

    def made(match: re.Match[str]) -> str:
        try:
            return match[1] + FIGURES[match[2]]() + match[3]
        except FileNotFoundError:
            return f"{match[1]}Not measured yet.\n{match[3]}"

    return BLOCK.sub(made, text)


def main() -> None:
    stale = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        made = filled(text)
        if made.replace(OLDER, "") != text.replace(OLDER, ""):
            stale.append(str(path.relative_to(ROOT)))
        if "--check" not in sys.argv and made != text:
            write_file(path, made)
    if "--check" in sys.argv and stale:
        sys.exit(f"figures out of date in {', '.join(stale)}: run python benchmarks/report.py")


if __name__ == "__main__":
    main()
