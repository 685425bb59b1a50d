"""spaCy: tagger, morphologizer and parser on its own word vectors, trained from scratch with its quickstart settings.

Ten sentences make a document in training, as in spaCy's own project for UD: the parser learns where sentences end.
Multiword tokens stay split, which that project does not do: the gold words are to be parsed. With several threads it
works in so many processes, its own way. A word that it makes of spaces is dropped.
"""

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from common import Block, Driver, Tree, problem, rows_of, run, say, training_folder

PIPELINE = "tagger,morphologizer,parser"


def train(args: Namespace) -> None:
    """Convert, configure and train, all by spaCy's own commands."""
    spacy, folder = [sys.executable, "-m", "spacy"], training_folder(args.out)
    begin = time.monotonic()
    for path in (args.train, args.dev):
        run([*spacy, "convert", path, folder, "--converter", "conllu", "--n-sents", "10"])
    config = folder / "config.cfg"
    run([*spacy, "init", "config", config, "--lang=en", f"--pipeline={PIPELINE}", "--optimize=efficiency", "--force"])
    files = [f"--paths.{name}={folder / path.stem}.spacy" for name, path in (("train", args.train), ("dev", args.dev))]
    quick = ["--training.max_steps=10", "--training.eval_frequency=5"] if args.quick else []
    left = 60 * args.minutes - (time.monotonic() - begin)
    stopped = run([*spacy, "train", config, "--output", folder, *files, *quick], seconds=left)
    if not (folder / "model-best").exists():
        problem("no model was saved within the time")
    (folder / "model-best").rename(args.out)
    say(stopped=stopped)


def tree_of(sentence: Any, *, spaces: bool) -> tuple[list[str], list[int], list[str]]:
    """Return words, heads and relations; words that are only spaces are left out if so wanted."""
    tokens = [token for token in sentence if spaces or not token.is_space]
    numbers = {token.i: number for number, token in enumerate(tokens, 1)}
    heads, deprels, root = [], [], 0
    for token in tokens:
        head = token.head
        while head.i not in numbers and head.head.i != head.i:  # what hung on spaces moves up
            head = head.head
        if head.i != token.i and head.i in numbers:
            heads.append(numbers[head.i])
            deprels.append(token.dep_)
        else:  # a root, or below spaces that are one: the first of these is the root, the others hang on it
            heads.append(root)
            deprels.append("dep" if root else "root")
            root = root or numbers[token.i]
    return [token.text for token in tokens], heads, deprels


def documents(nlp: Any, words: list[list[str]]) -> Iterator[Any]:
    """Make a document of every sentence: its words are given, and that it has only one sentence."""
    from spacy.tokens import Doc

    for sentence in words:
        starts: list[bool | int | None] = [place == 0 for place in range(len(sentence))]
        yield Doc(nlp.vocab, words=sentence, sent_starts=starts)


def load(args: Namespace) -> tuple[Any, int]:
    import spacy

    return spacy.load(args.model), args.threads


def parse(loaded: tuple[Any, int], words: list[list[str]]) -> list[Any]:
    nlp, processes = loaded
    return list(nlp.pipe(documents(nlp, words), n_process=processes))


def trees(parsed: list[Any]) -> Iterator[Tree]:
    return (tree_of(document, spaces=True)[1:] for document in parsed)


def cut(loaded: tuple[Any, int], text: str) -> Iterator[Block]:
    """Cut raw text, paragraph by paragraph, and parse it."""
    nlp, processes = loaded
    for document in nlp.pipe(text.split("\n\n"), n_process=processes):
        for sentence in document.sents:
            if rows := rows_of(*tree_of(sentence, spaces=False)):
                yield rows


if __name__ == "__main__":
    Driver(train, load, parse, trees, cut).main()
