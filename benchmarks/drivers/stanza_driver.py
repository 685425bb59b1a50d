"""Stanza: tokenizer, splitter of multiword tokens, tagger and parser trained one after the other with its defaults.

Its defaults ask for pretrained word vectors and character models, which it downloads; here it learns without both. The
parser learns from tags that its own tagger gave, as Stanza prepares a treebank. There are no lemmas.
"""

import math
import shutil
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from common import (
    FIRST,
    filled,
    options,
    peak,
    problem,
    read,
    run,
    say,
    timed,
    training_folder,
    words_of,
    write,
)

SHARES = {"tokenizer": 1 / 10, "mwt_expander": 1 / 20, "tagger": 1 / 5}
"""What of the time a part may take at most; the parser has all that is left."""
QUICK = {
    "tokenizer": ["--steps=4", "--eval_steps=2"],
    "mwt_expander": ["--num_epoch=1"],
    "tagger": ["--max_steps=4", "--eval_interval=2", "--fix_eval_interval"],
    "parser": ["--max_steps=4", "--eval_interval=2"],
}


def train(args: Any) -> None:
    label = import_module("stanza.utils.datasets.prepare_tokenizer_data").main
    average_length = import_module("stanza.utils.avg_sent_len").avg_sent_len
    features = import_module("stanza.utils.training.run_tokenizer").default_feat_funcs("en")
    contract = import_module("stanza.utils.datasets.contract_mwt").contract_mwt
    folder, begin, stopped = training_folder(args.out), time.monotonic(), list[str]()
    made = folder / "model"

    def learn(part: str, *settings: str | Path) -> None:
        """Train a part of the pipeline; when its time is over, its best model so far is taken."""
        left = 60 * args.minutes - (time.monotonic() - begin)
        seconds = 60 * args.minutes * SHARES[part] if part in SHARES else left
        command = [sys.executable, "-m", f"stanza.models.{part}", "--lang=en", "--shorthand=en_ewt", "--cpu"]
        places = [f"--save_dir={made}", f"--save_name={part}.pt"]
        if run([*command, *places, *settings, *(QUICK[part] if args.quick else [])], seconds=seconds):
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
    learn("tagger", "--no_pretrain", "--train_file", args.train, "--eval_file", args.dev)
    tagged = {path: folder / f"{path.stem}-tagged.conllu" for path in (args.train, args.dev)}
    for path, target in tagged.items():
        command = [sys.executable, "-m", "stanza.models.tagger", "--mode=predict", "--lang=en", "--shorthand=en_ewt"]
        places = ["--cpu", "--no_pretrain", f"--save_dir={made}", "--save_name=tagger.pt"]
        run([*command, *places, "--eval_file", path, "--output_file", target])
    # it saves a model only when it has looked at dev: oftener than by default, so that there is a late one
    settings = ["--no_pretrain", "--no_checkpoint", "--eval_interval=25"]
    learn("parser", *settings, "--train_file", tagged[args.train], "--eval_file", tagged[args.dev])
    (made / "resources.json").write_text("{}")  # there is nothing to download
    made.rename(args.out)
    say(minutes=(time.monotonic() - begin) / 60, stopped=bool(stopped), stopped_parts=stopped)


def load(model: Path, *, words: bool) -> Any:
    """Make a pipeline; of given words if so wanted."""
    parts = {"pos": "tagger", "depparse": "parser"}
    if not words:
        parts |= {"tokenize": "tokenizer", "mwt": "mwt_expander"}
    return import_module("stanza").Pipeline(
        "en",
        dir=str(model),
        processors="tokenize,pos,lemma,depparse" if words else "tokenize,mwt,pos,lemma,depparse",
        download_method=None,
        allow_unknown_language=True,
        verbose=False,
        use_gpu=False,
        tokenize_pretokenized=words,
        lemma_use_identity=True,
        **{f"{processor}_model_path": str(model / f"{part}.pt") for processor, part in parts.items()},
    )


def main() -> None:
    args = options()
    if args.command == "train":
        train(args)
        return
    import_module("torch").set_num_threads(args.threads)
    pipeline = load(args.model, words=args.command != "text")
    if args.command == "first":
        pipeline([FIRST])
        return
    if args.command == "text":
        result = pipeline(args.input.read_text(encoding="utf-8"))
        import_module("stanza.utils.conll").CoNLL.write_doc2conll(result, str(args.output))
        say(megabytes=peak())
        return
    blocks = read(args.input)
    words = [words_of(block) for block in blocks]
    result, seconds = timed(lambda: pipeline(words))
    trees = ([word.head for word in sentence.words] for sentence in result.sentences)
    relations = ([word.deprel for word in sentence.words] for sentence in result.sentences)
    write((filled(*each) for each in zip(blocks, trees, relations, strict=True)), args.output)
    say(seconds=seconds, words=sum(map(len, words)), megabytes=peak())


if __name__ == "__main__":
    main()
