"""SuPar: a biaffine parser on a transformer that is fine-tuned with it, with the settings of its examples for that.

SuPar 1.1.4 is of 2022. Two names moved since, which is mended here without a change of what it does: transformers have
no AdamW of their own any more (torch has it; theirs had no weight decay if not asked for), and torch loads objects only
if told so. Cutting raw text SuPar leaves to models of Stanza that it downloads; it does no tagging.
"""

import functools
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from common import Driver, Tree, blocks, problem, run, say, training_folder, write

SETTINGS = {"lr": 5e-5, "lr_rate": 20, "batch_size": 5000, "epochs": 10, "update_steps": 4, "warmup": 0.1}


def parser_class() -> Any:
    """Return the parser's class, for which torch loads objects again."""
    torch: Any = import_module("torch")
    if not isinstance(torch.load, functools.partial):
        torch.load = functools.partial(torch.load, weights_only=False)
    return import_module("supar").BiaffineDependencyParser


def put_back_adamw() -> None:
    """Give transformers their AdamW again."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    if not hasattr(transformers, "AdamW"):
        transformers.AdamW = functools.partial(torch.optim.AdamW, weight_decay=0.0)


def train_here(train_file: Path, dev_file: Path, encoder: Path, folder: Path, *, quick: bool) -> None:
    """Train in this process; the best epoch so far is in `parser`."""
    import_module("torch").manual_seed(1)
    settings: dict[str, Any] = SETTINGS | ({"epochs": 1} if quick else {})
    files = {"train": str(train_file), "dev": str(dev_file), "test": str(folder / "few.conllx")}
    model = {"encoder": "bert", "bert": str(encoder), "feat": None, "build": True, "checkpoint": False}
    parser = parser_class().build(str(folder / "parser"), **model, **files, **settings)
    put_back_adamw()  # subtle: only now, transformers may be made anew when a model is loaded
    parser.train(**files, **settings)


def finish(folder: Path, encoder: Path, out: Path) -> None:
    """Make the model folder of the best epoch, without what only going on with training needs."""
    if not (folder / "parser").exists():
        problem("no epoch was done within the time")
    parser = parser_class().load(str(folder / "parser"), bert=str(encoder))
    made = folder / "model"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    shutil.copytree(encoder, made / "encoder")  # SuPar opens the encoder anew whenever it loads a parser
    parser.save(str(made / "parser"))
    made.rename(out)


def train(args: Namespace) -> None:
    """Train in a process of its own (which has --model), which is interrupted when the time is over."""
    if args.model:
        train_here(args.train, args.dev, args.encoder, args.model, quick=args.quick)
        return
    folder = training_folder(args.out)
    files = {name: folder / f"{name}.conllx" for name in ("train", "dev")}
    for name, target in files.items():  # SuPar wants words only
        whole = blocks(getattr(args, name).read_text(encoding="utf-8"))[: 300 if args.quick else None]
        bare = [[row for row in block if "-" not in row[0]] for block in whole]
        write(bare, target)
    write(bare[:10], folder / "few.conllx")  # for a test set, at which SuPar looks after every epoch: there is none
    command: list[str | Path] = [sys.executable, __file__, "train", "--model", folder, "--encoder", args.encoder]
    command += ["--train", files["train"], "--dev", files["dev"], *["--quick"] * args.quick]
    stopped = run(command, seconds=60 * args.minutes)
    finish(folder, args.encoder, args.out)
    say(stopped=stopped)


def load(args: Namespace) -> Any:
    import_module("torch").set_num_threads(args.threads)
    return parser_class().load(str(args.model / "parser"), bert=str(args.model / "encoder"))


def parse(parser: Any, words: list[list[str]]) -> Any:
    return parser.predict(words, verbose=False)


def trees(parsed: Any) -> Iterator[Tree]:
    return zip(parsed.arcs, parsed.rels, strict=True)


def cut(parser: Any, text: str) -> NoReturn:
    problem("cuts raw text only with models of Stanza that it downloads")


if __name__ == "__main__":
    Driver(train, load, parse, trees, cut).main()
