"""The paper's efficiency comparison on a CPU: the base system and a biaffine parser on the same encoder, in torch.

    python benchmarks/efficiency.py trained large growth --hexatagger DIR --biaffine DIR

Both folders are trained models with model.safetensors: one of the base system (`hexatagger train`, without extensions)
and one of the baseline (`benchmarks/biaffine.py`). The parts, each of which can be run alone:

trained   both parsers as they are trained. Sentences of exactly 32, 64, 128 and 256 words, cut from the words of EWT
          dev, and "overall": all sentences of EWT dev. Batches of 128, FP32, three runs.
large     the same with an encoder of the size of BERT-large and layers above it, all with random weights. Trees are
          decoded from the scores of the trained models, because the time of a decoder depends on its scores. One batch
          per length (64 sentences at 256 words) and four for "overall", each through the encoder once.
growth    decoding, the part after the encoder and the whole base system from 32 to 4,096 words.

Every length is a process of its own, and its figures are in results/efficiency-PART.json or results/growth.json as soon
as it is done; lengths that are not measured again stay there. On two quiet cores the parts take about 6, 7 and 3
minutes.

Time is split into the encoder (everything up to the word vectors) and what comes after it: scores, trees and relations.
Further tasks (UPOS, lemmas, …) are left out on both sides. Peak memory is counted beyond the loaded model in a round of
its own, in which glibc returns every freed block at once: by default it keeps blocks for later, and the peak of the
same encoder on the same input then varies by a factor of 1.7.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from biaffine import DECODERS, Biaffine, best_relations, find_heads, load_biaffine, square_scores
from hexatagger import decode, read_conllu
from hexatagger.model.threads import allowed_cores
from hexatagger.parsing.choose import Tree, best_trees
from hexatagger.parsing.pieces import Window
from hexatagger.parsing.predictions import Prediction, batch, stitch
from hexatagger.sentence import Sentence
from hexatagger.train.data import Example, Item, collate, encode
from hexatagger.train.encoder import build_encoder
from hexatagger.train.network import Network, reduce_scores
from hexatagger.train.weights import Model, load_model
from mst import greedy_heads
from results import RESULTS, growth, load, megabytes, save, treebank

LENGTHS = ("32", "64", "128", "256", "overall")
GROWTH = tuple(str(2**power) for power in range(5, 13))
LONGEST = 15  # letters of a word: addresses are cut into so many pieces that 256 words overrun the encoder's window
GROWTH_SENTENCES = 8
GROWTH_WINDOWS = 16  # windows in a batch
HEXATAGGER = "hexatagger"
KEEPING, RETURNING = 2**25, 2**18
"""Bytes from which on glibc returns a freed block at once: the most that it rises to by itself, and few."""
Inputs = dict[str, Tensor]
MEASURES = ("src/hexatagger/decode", "src/hexatagger/train", "benchmarks/biaffine.py", "benchmarks/mst.py")
Scores = Mapping[str, Tensor]
Batch = tuple[list[Item], Inputs]
After = Callable[[Tensor, Batch, Scores], Any]
"""What a parser does with the word vectors of a batch; scores in the last argument take the place of its own."""


def sentences(gold: Iterable[Sentence], length: str, count: int) -> list[Sentence]:
    """Cut the words of a treebank into sentences of one length, from the beginning again if they do not suffice.

    For "overall" these are the sentences themselves, evenly picked if there are more than `count`.
    """
    if length == "overall":
        whole = [Sentence.from_words(sentence.forms) for sentence in gold]
        return [whole[place] for place in np.linspace(0, len(whole) - 1, min(count, len(whole))).astype(int)]
    size = int(length)
    words = [word.form for sentence in gold for word in sentence if len(word.form) <= LONGEST]
    words *= -(-size * count // len(words))
    stream = iter(words)
    return [Sentence.from_words(list(islice(stream, size))) for _ in range(count)]


def make_batches(model: Model, given: Sequence[Sentence], size: int) -> list[Batch]:
    """Encode sentences and put those of similar length together; each must fit into the encoder's window."""
    cutter = model.cutter()
    examples = [encode(each, model.recipe.model, model.labels, cutter, gold=False) for each in given]
    if any(len(example.windows) != 1 for example in examples):
        sys.exit(f"a sentence of {max(map(len, given))} words does not fit into the encoder's window")
    items = sorted(((each, each.windows[0]) for each in examples), key=lambda item: len(item[1].pieces))
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    return [(part, collate(part, pad=model.pad).inputs) for part in parts]


def predictions(network: Network, roots: Tensor, vectors: Tensor, part: Batch, known: Scores) -> list[Prediction]:
    """Return the prediction of the base system for every window of a batch."""
    items, inputs = part
    reduced = reduce_scores({**network.score(vectors, inputs["lengths"]), **known}, roots)
    arrays = {name: values.numpy() for name, values in reduced.items() if name != "relations"}
    return [
        Prediction.of({name: values[row, : len(window)] for name, values in arrays.items()})
        for row, (_, window) in enumerate(items)
    ]


def after_hexatagger(network: Network, roots: Tensor) -> After:
    """Return what the base system does with word vectors."""

    def after(vectors: Tensor, part: Batch, known: Scores) -> list[Tree]:
        return best_trees(predictions(network, roots, vectors, part, known))

    return after


def after_biaffine(network: Biaffine, roots: Tensor, decoder: str) -> After:
    """Return what the baseline does with word vectors."""

    def after(vectors: Tensor, part: Batch, known: Scores) -> tuple[Tensor, Tensor]:
        lengths = part[1]["lengths"]
        scores = {**network.score(vectors, lengths), **known}
        heads = find_heads(scores, lengths.tolist(), DECODERS[decoder])
        return heads, best_relations(scores, heads, roots)

    return after


def load_base(folder: Path) -> Model:
    """Load a model of the base system, without extensions."""
    model = load_model(folder)
    config = model.recipe.model
    if config.scores_heads or config.relations in ("pairs", "tree") or config.hidden:
        sys.exit(
            f"{folder} has extensions: train a base system with --set model.hidden=0 --set model.pointers=0 "
            "--set model.head_scores=0 --set model.relations=separate (or joint)"
        )
    model.network.eval()
    return model


def baseline(model: Model) -> Biaffine:
    """Return the network of `load_biaffine`."""
    network = model.network
    assert isinstance(network, Biaffine)
    return network.eval()


def enlarged(model: Model, *, width: int, layers: int) -> tuple[Network, Biaffine]:
    """Return both networks on an encoder of another size, which they share, with random weights."""
    size = {"hidden_size": width, "intermediate_size": 4 * width}
    size |= {"num_hidden_layers": layers, "num_attention_heads": max(1, width // 64)}
    torch.manual_seed(1)
    encoder = build_encoder({**(model.encoder_config or {}), **size})
    config, labels = model.recipe.model, model.labels
    networks = Network(config, labels, encoder), Biaffine(Network(config, labels, encoder), labels)
    return networks[0].eval(), networks[1].eval()


def measure(name: str, job: Callable[[int], object], count: int, runs: int) -> dict[str, Any]:
    """Measure a job over `count` batches: seconds of every run and peak MB; without runs, both at the same time."""
    _tell_malloc(KEEPING)
    seconds = [_timed(f"{name}, run {run} of {runs}", job, range(count)) for run in range(1, runs + 1)]
    _tell_malloc(RETURNING)
    peaks: list[float] = []

    def watched(number: int) -> None:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # sets the peak to the present
        before = megabytes()
        job(number)
        peaks.append(megabytes(peak=True) - before)

    last = _timed(f"{name}, memory", watched, range(count))
    _tell_malloc(KEEPING)
    return {"seconds": [round(each, 5) for each in seconds or [last]], "peak MB": round(max(peaks), 1)}


def _timed(name: str, job: Callable[[int], object], numbers: Iterable[int]) -> float:
    begin = time.perf_counter()
    for number in numbers:
        job(number)
    taken = time.perf_counter() - begin
    print(f"    {name}: {taken:.2f} s", file=sys.stderr, flush=True)
    return taken


def _tell_malloc(size: int) -> None:
    """Tell glibc from which size on it returns freed blocks, and free memory at the end of the heap."""
    trim_threshold, mmap_threshold = -1, -3
    library = ctypes.CDLL(None)
    if not (library.mallopt(mmap_threshold, size) and library.mallopt(trim_threshold, size)):
        sys.exit("this C library cannot be told when to return memory: peak memory is measured with glibc only")


def measure_parsers(
    network: Network, batches: list[Batch], parsers: Mapping[str, tuple[After, list[Scores]]], *, runs: int, passes: int
) -> dict[str, Any]:
    """Measure an encoder, in `passes` runs, and the parsers above it, each with the scores it is to decode."""
    vectors = [torch.empty(0)] * len(batches)

    def run_encoder(number: int) -> None:
        vectors[number] = network.layers(**batches[number][1])[-1]

    network.layers(**{name: values[:4] for name, values in batches[0][1].items()})  # the first call takes longer
    encoder = measure("encoder", run_encoder, len(batches), passes)
    figures: dict[str, Any] = {}
    for name, (after, known) in parsers.items():
        after(vectors[0], batches[0], known[0])

        def run_after(number: int, after: After = after, known: list[Scores] = known) -> None:
            after(vectors[number], batches[number], known[number])

        figures[name] = {"encoder": encoder, "after the encoder": measure(name, run_after, len(batches), runs)}
        figures[name]["vectors MB"] = round(max(each.nbytes for each in vectors) / 2**20, 1)
    return figures


@torch.no_grad()
def measure_length(given: argparse.Namespace, part: str, length: str) -> dict[str, Any]:
    """Measure all parsers at one length."""
    base, other = load_base(given.hexatagger), load_biaffine(given.biaffine)
    network, rival, roots = base.network, baseline(other), torch.tensor(base.labels.root_mask)
    gold = read_conllu(treebank("UD_English-EWT/en_ewt-ud-dev.conllu"))
    size = given.batch // 2 if part == "large" and length == "256" else given.batch
    count = size if length != "overall" else (4 * size if part == "large" else sys.maxsize)
    chosen = sentences(gold, length, count)
    batches, own = make_batches(base, chosen, size), make_batches(other, chosen, size)
    none: list[Scores] = [{}] * len(batches)
    print("    scores of the trained models", file=sys.stderr, flush=True)
    rival_scores = [rival.score(rival.words.layers(**inputs)[-1], inputs["lengths"]) for _, inputs in own]
    trees = [
        tree
        for scores, (_, inputs) in zip(rival_scores, own, strict=True)
        for tree in greedy_heads(square_scores(scores), inputs["lengths"].tolist())[1]
    ]
    arcs: list[Scores] = [{"head": scores["head"]} for scores in rival_scores]
    del rival_scores
    layers = (base.encoder_config or {}).get("num_hidden_layers", 0)
    if part == "trained":
        own_roots = torch.tensor(other.labels.root_mask)
        rivals = {f"biaffine, {name}": (after_biaffine(rival, own_roots, name), none) for name in DECODERS}
        parsers = {HEXATAGGER: (after_hexatagger(network, roots), none)}
        figures = measure_parsers(network, batches, parsers, runs=given.runs, passes=given.runs)
        figures |= measure_parsers(rival.words, own, rivals, runs=given.runs, passes=given.runs)
    else:
        if base.tokenizer != other.tokenizer:
            sys.exit(f"{given.hexatagger} and {given.biaffine} have different tokenizers: train both on one encoder")
        tags: list[Scores] = [network.score(network.layers(**inputs)[-1], inputs["lengths"]) for _, inputs in batches]
        layers = given.layers
        network, rival = enlarged(base, width=given.width, layers=layers)
        parsers = {HEXATAGGER: (after_hexatagger(network, roots), tags)}
        parsers |= {f"biaffine, {name}": (after_biaffine(rival, roots, name), arcs) for name in DECODERS}
        figures = measure_parsers(network, batches, parsers, runs=given.runs, passes=0)
    return {
        "words": length,
        "sentences": len(chosen),
        "words per sentence": round(sum(map(len, chosen)) / len(chosen), 1),
        "batch": size,
        "encoder": {"layers": layers, "width": network.width},
        "greedy heads are a tree, percent": round(100 * sum(trees) / len(trees), 1),
        "parsers": figures,
    }


@torch.no_grad()
def measure_growth(given: argparse.Namespace, length: str) -> dict[str, list[float]]:
    """Measure the base system at one length: seconds per sentence of every part in every run."""
    model = load_base(given.hexatagger)
    gold = list(read_conllu(treebank("UD_English-EWT/en_ewt-ud-dev.conllu")))
    time_parts(model, sentences(gold, GROWTH[0], 2))  # the first call takes longer
    runs = [time_parts(model, sentences(gold, length, GROWTH_SENTENCES)) for _ in range(given.runs)]
    taken = {part: [run[part] for run in runs] for part in runs[0]}
    print(f"    {length} words: {statistics.mean(taken['whole']):.3f} s per sentence", file=sys.stderr, flush=True)
    return taken


def time_parts(model: Model, given: Sequence[Sentence]) -> dict[str, float]:
    """Parse sentences of any length with the base system; return the seconds per sentence of every part."""
    network, roots, cutter = model.network, torch.tensor(model.labels.root_mask), model.cutter()
    examples = [encode(each, model.recipe.model, model.labels, cutter, gold=False) for each in given]
    items = [(example, window) for example in examples for window in example.windows]
    parts = [items[start : start + GROWTH_WINDOWS] for start in range(0, len(items), GROWTH_WINDOWS)]
    batches = [(part, collate(part, pad=model.pad).inputs) for part in parts]
    times = [time.perf_counter()]
    vectors = [network.layers(**inputs)[-1] for _, inputs in batches]
    times.append(time.perf_counter())
    found = predict_windows(network, roots, vectors, batches, examples)
    best_trees(found)
    times.append(time.perf_counter())
    scores = batch(found)
    times.append(time.perf_counter())
    decode.heads(decode.best(*scores))
    times.append(time.perf_counter())
    start, encoded, parsed, laid, decoded = (each / len(given) for each in times)
    return {"decoding": decoded - laid, "after the encoder": parsed - encoded, "whole": parsed - start}


def predict_windows(
    network: Network, roots: Tensor, vectors: list[Tensor], batches: list[Batch], examples: list[Example]
) -> list[Prediction]:
    """Return the prediction for every sentence, put together from its windows."""
    parts: dict[int, list[tuple[Window, Prediction]]] = {id(example): [] for example in examples}
    for each, part in zip(vectors, batches, strict=True):
        for (example, window), found in zip(part[0], predictions(network, roots, each, part, {}), strict=True):
            parts[id(example)].append((window, found))
    return [stitch(parts[id(example)]) for example in examples]


def keep_growth(known: dict[str, Any], length: str, taken: dict[str, list[float]], runs: int) -> dict[str, Any]:
    """Return the figures of growth with those of one more length."""
    means = {name: dict(zip(known["lengths"], each, strict=True)) for name, each in known["parts"].items()}
    spreads = {name: dict(zip(known["lengths"], each, strict=True)) for name, each in known["spread"].items()}
    for name, values in taken.items():
        means.setdefault(name, {})[int(length)] = float(f"{statistics.mean(values):.4g}")
        spreads.setdefault(name, {})[int(length)] = float(f"{spread(values):.2g}")
    lengths = sorted(means["whole"])
    parts = {name: [each[size] for size in lengths] for name, each in means.items()}
    made = {"sentences": GROWTH_SENTENCES, "runs": runs, "lengths": lengths, "parts": parts}
    made["spread"] = {name: [each[size] for size in lengths] for name, each in spreads.items()}
    if len(lengths) > 1:
        made["exponents"] = {name: round(growth(lengths, values, start=0), 2) for name, values in parts.items()}
    return made


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation, 0 of a single value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def run_part(given: argparse.Namespace, part: str) -> None:
    """Measure a part, every length in its own process, and save after each."""
    lengths = [each for each in (GROWTH if part == "growth" else LENGTHS) if not given.lengths or each in given.lengths]
    name = "growth" if part == "growth" else f"efficiency-{part}"
    empty: dict[str, Any] = {"lengths": [], "parts": {}, "spread": {}} if part == "growth" else {"rows": []}
    known = load(name) if (RESULTS / f"{name}.json").exists() else empty
    for number, length in enumerate(lengths, 1):
        print(f"{part}, {length} words ({number} of {len(lengths)})", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, *sys.argv[1:], "--only", part, length]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{part}, {length} words failed; what was measured before is in results/{name}.json")
        row = json.loads(done.stdout)
        if part == "growth":
            known = keep_growth(known, length, row, given.runs)
        else:
            row["load"] = round(os.getloadavg()[0], 2)
            rows = {each["words"]: each for each in [*known["rows"], row]}
            known = {"rows": [rows[each] for each in LENGTHS if each in rows]}
        save(name, {"threads": given.threads, **known}, ("numpy", "torch", "transformers"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=["trained", "large", "growth"])
    parser.add_argument("--hexatagger", type=Path, required=True, help="folder of a trained base system")
    parser.add_argument("--biaffine", type=Path, help="folder of a trained baseline; `growth` does not need it")
    parser.add_argument("--lengths", nargs="+", choices=dict.fromkeys((*LENGTHS, *GROWTH)), help="only these")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=allowed_cores(), help="of torch; decoders use one")
    parser.add_argument("--width", type=int, default=1024, help="of the encoder in `large`")
    parser.add_argument("--layers", type=int, default=24, help="of the encoder in `large`")
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.biaffine is None and given.parts != ["growth"]:
        parser.error("--biaffine is needed for all parts but growth")
    torch.set_num_threads(given.threads)
    if given.only:
        part, length = given.only
        print(json.dumps(measure_growth(given, length) if part == "growth" else measure_length(given, part, length)))
        return
    for part in given.parts:
        run_part(given, part)


if __name__ == "__main__":
    main()
