"""Stanza: tokenizer, splitter of multiword tokens, tagger and parser trained one after the other with its defaults.

Its defaults ask for pretrained word vectors and character models, which it downloads; here it learns without both. The
parser learns from tags that its own tagger gave, as Stanza prepares a treebank. There are no lemmas.
"""

import math
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from common import Block, Driver, Tree, blocks, problem, run, say, training_folder

SHARES = {"tokenizer": 1 / 10, "mwt_expander": 1 / 20, "tagger": 1 / 5}
"""What of the time a part may take at most; the parser has all that is left."""
QUICK = {
    "tokenizer": ["--steps=4", "--eval_steps=2"],
    "mwt_expander": ["--num_epoch=1"],
    "tagger": ["--max_steps=4", "--eval_interval=2", "--fix_eval_interval"],
    "parser": ["--max_steps=4", "--eval_interval=2"],
}


def train(args: Namespace) -> None:
    label = import_module("stanza.utils.datasets.prepare_tokenizer_data").main
    average_length = import_module("stanza.utils.avg_sent_len").avg_sent_len
    features = import_module("stanza.utils.training.run_tokenizer").default_feat_funcs("en")
    contract = import_module("stanza.utils.datasets.contract_mwt").contract_mwt
    folder, begin, stopped = training_folder(args.out), time.monotonic(), list[str]()
    made = folder / "model"

    def program(part: str) -> list[str]:
        """Return the command that trains or runs a part of the pipeline."""
        command = [sys.executable, "-m", f"stanza.models.{part}", "--lang=en", "--shorthand=en_ewt", "--cpu"]
        return [*command, f"--save_dir={made}", f"--save_name={part}.pt"]

    def learn(part: str, *settings: str | Path) -> None:
        """Train a part of the pipeline; when its time is over, its best model so far is taken."""
        left = 60 * args.minutes - (time.monotonic() - begin)
        seconds = 60 * args.minutes * SHARES[part] if part in SHARES else left
        if run([*program(part), *settings, *(QUICK[part] if args.quick else [])], seconds=seconds):
            stopped.append(part)
        if not (made / f"{part}.pt").exists():
            problem(f"the {part} had no model to save within the time")

    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    labels, words = dict[str, Path](), dict[str, Path]()
    for name, text, file in (("train", args.train_text, args.train), ("dev", args.dev_text, args.dev)):
        labels[name], words[name] = folder / f"{name}.toklabels", folder / f"{name}-mwt.json"
        label([str(text), str(file), "-o", str(labels[name]), "-m", str(words[name])])
    longest = math.ceil(average_length(str(labels["train"])) * 3 / 100) * 100  # as its own script has it
    learn(
        "tokenizer",
        *("--txt_file", args.train_text, "--label_file", labels["train"], "--max_seqlen", str(longest)),
        *("--dev_txt_file", args.dev_text, "--dev_label_file", labels["dev"], "--dev_conll_gold", args.dev),
        *("--mwt_json_file", words["dev"], "--feat_funcs", ",".join(features)),
    )
    contracted = folder / "dev-contracted.conllu"
    contract(str(args.dev), str(contracted))
    learn("mwt_expander", "--train_file", args.train, "--eval_file", contracted, "--gold_file", args.dev)
    # tagger and parser save a model only when they have looked at dev: oftener than by default, so that there is a late
    # one, as a step takes up to a minute of a core
    often = ["--no_pretrain", "--eval_interval=10", "--fix_eval_interval"]
    learn("tagger", *often, "--train_file", args.train, "--eval_file", args.dev)
    tagged = {path: folder / f"{path.stem}-tagged.conllu" for path in (args.train, args.dev)}
    for path, target in tagged.items():
        settings = ["--mode=predict", "--no_pretrain", "--eval_file", path, "--output_file", target]
        run([*program("tagger"), *settings])
    often = ["--no_pretrain", "--no_checkpoint", "--eval_interval=25"]
    learn("parser", *often, "--train_file", tagged[args.train], "--eval_file", tagged[args.dev])
    (made / "resources.json").write_text("{}")  # there is nothing to download
    made.rename(args.out)
    say(stopped=bool(stopped), stopped_parts=stopped)


def load(args: Namespace) -> Any:
    """Make a pipeline; of raw text if that is what is to be parsed, else of given words."""
    import_module("torch").set_num_threads(args.threads)
    words = args.command != "text"
    parts = {"pos": "tagger", "depparse": "parser"}
    if not words:
        parts |= {"tokenize": "tokenizer", "mwt": "mwt_expander"}
    return import_module("stanza").Pipeline(
        "en",
        dir=str(args.model),
        processors="tokenize,pos,lemma,depparse" if words else "tokenize,mwt,pos,lemma,depparse",
        download_method=None,
        allow_unknown_language=True,
        verbose=False,
        use_gpu=False,
        tokenize_pretokenized=words,
        lemma_use_identity=True,
        **{f"{processor}_model_path": str(args.model / f"{part}.pt") for processor, part in parts.items()},
    )


def parse(pipeline: Any, words: list[list[str]]) -> Any:
    return pipeline(words)


def trees(document: Any) -> Iterator[Tree]:
    for sentence in document.sentences:
        yield [word.head for word in sentence.words], [word.deprel for word in sentence.words]


def cut(pipeline: Any, text: str) -> list[Block]:
    return blocks(f"{pipeline(text):C}\n\n")


if __name__ == "__main__":
    Driver(train, load, parse, trees, cut).main()
