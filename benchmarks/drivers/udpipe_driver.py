"""UDPipe 1: tokenizer, tagger and parser trained with its default options, but for the rounds of the tagger.

Its training has one thread and cannot be stopped half-way. The tokenizer takes 10 minutes of a core here, a round of
the tagger 3 to 5, of the parser more than 6: with 10 rounds of the parser and 20 of the tagger, its defaults, more than
two hours. With 5 rounds of the tagger it fits into two, which is an hour of both cores.

With several threads, processes that were forked after loading take a share each: the package holds Python's lock.
"""

import multiprocessing
from argparse import Namespace
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from common import Block, Driver, Tree, problem, rows_of, say, training_folder

udpipe: Any = import_module("ufal.udpipe")
model: Any
"""The model of this process."""


def load(args: Namespace) -> Any:
    """Load the model; return the processes to work in, if they are to be several."""
    global model
    model = udpipe.Model.load(str(args.model / "english.udpipe"))
    if model is None:
        problem("the model cannot be loaded")
    return multiprocessing.get_context("fork").Pool(args.threads) if args.threads > 1 else None


def sentences_of(path: Path) -> Any:
    """Read a CoNLL-U file as UDPipe has it."""
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText(path.read_text(encoding="utf-8"))
    sentences, sentence = udpipe.Sentences(), udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        problem(error.message)
    return sentences


def train(args: Namespace) -> None:
    error, default = udpipe.ProcessingError(), udpipe.Trainer.DEFAULT
    settings = ("epochs=1", "iterations=1", "iterations=1") if args.quick else (default, "iterations=5", default)
    data = [sentences_of(path) for path in (args.train, args.dev)]
    trained = udpipe.Trainer.train("morphodita_parsito", *data, *settings, error)
    if error.occurred():
        problem(error.message)
    made = training_folder(args.out) / "model"
    made.mkdir(exist_ok=True)
    (made / "english.udpipe").write_bytes(trained)
    made.rename(args.out)
    say(stopped=False)


def parsed(sentence: Any) -> tuple[list[str], list[int], list[str]]:
    """Tag and parse a sentence; return its words and its tree."""
    if not (model.tag(sentence, model.DEFAULT) and model.parse(sentence, model.DEFAULT)):
        raise RuntimeError("UDPipe could not parse a sentence")
    words = list(sentence.words)[1:]
    return [word.form for word in words], [word.head for word in words], [word.deprel for word in words]


def share(sentences: list[list[str]]) -> list[Tree]:
    """Parse given words in this process."""
    found: list[Tree] = []
    for words in sentences:
        sentence = udpipe.Sentence()
        for word in words:
            sentence.addWord(word)
        found.append(parsed(sentence)[1:])
    return found


def parse(pool: Any, words: list[list[str]]) -> list[Tree]:
    if pool is None:
        return share(words)
    shares = [words[start : start + 64] for start in range(0, len(words), 64)]
    return [tree for found in pool.map(share, shares, 1) for tree in found]


def trees(found: list[Tree]) -> list[Tree]:
    return found


def cut(pool: Any, text: str) -> Iterator[Block]:
    """Cut raw text and parse it."""
    tokenizer, error = model.newTokenizer(model.DEFAULT), udpipe.ProcessingError()
    tokenizer.setText(text)
    sentence = udpipe.Sentence()
    while tokenizer.nextSentence(sentence, error):
        block = rows_of(*parsed(sentence))
        for token in reversed(list(sentence.multiwordTokens)):
            row = [f"{token.idFirst}-{token.idLast}", token.form, *"_" * 8]
            block.insert(token.idFirst - 1, row)
        yield block
        sentence = udpipe.Sentence()


if __name__ == "__main__":
    Driver(train, load, parse, trees, cut).main()
