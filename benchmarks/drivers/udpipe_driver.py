"""UDPipe 1: tokenizer, tagger and parser trained with its default options. Its training cannot be stopped half-way.

With several threads, processes that were forked after loading take a share each: the package holds Python's lock.
"""

import multiprocessing
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
    rows_of,
    say,
    timed,
    training_folder,
    words_of,
    write,
)

udpipe: Any = import_module("ufal.udpipe")
model: Any
"""The model of this process."""


def load(path: Path) -> None:
    global model
    model = udpipe.Model.load(str(path / "english.udpipe"))
    if model is None:
        problem("the model cannot be loaded")


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


def train(train_file: Path, dev_file: Path, out: Path, *, quick: bool) -> None:
    error, default = udpipe.ProcessingError(), udpipe.Trainer.DEFAULT
    settings = ("epochs=1", "iterations=1", "iterations=1") if quick else (default, default, default)
    begin = time.monotonic()
    data = [sentences_of(path) for path in (train_file, dev_file)]
    trained = udpipe.Trainer.train("morphodita_parsito", *data, *settings, error)
    if error.occurred():
        problem(error.message)
    made = training_folder(out) / "model"
    made.mkdir(exist_ok=True)
    (made / "english.udpipe").write_bytes(trained)
    made.rename(out)
    say(minutes=(time.monotonic() - begin) / 60, stopped=False)


def parsed(sentence: Any) -> tuple[list[str], list[int], list[str]]:
    """Tag and parse a sentence; return its words and its tree."""
    if not (model.tag(sentence, model.DEFAULT) and model.parse(sentence, model.DEFAULT)):
        raise RuntimeError("UDPipe could not parse a sentence")
    words = list(sentence.words)[1:]
    return [word.form for word in words], [word.head for word in words], [word.deprel for word in words]


def trees(sentences: list[list[str]]) -> list[tuple[list[int], list[str]]]:
    """Parse given words."""
    found = []
    for words in sentences:
        sentence = udpipe.Sentence()
        for word in words:
            sentence.addWord(word)
        found.append(parsed(sentence)[1:])
    return found


def text_blocks(text: str) -> list[list[list[str]]]:
    """Cut raw text and parse it."""
    tokenizer, error, blocks = model.newTokenizer(model.DEFAULT), udpipe.ProcessingError(), list[Any]()
    tokenizer.setText(text)
    sentence = udpipe.Sentence()
    while tokenizer.nextSentence(sentence, error):
        block = rows_of(*parsed(sentence))
        for token in reversed(list(sentence.multiwordTokens)):
            row = [f"{token.idFirst}-{token.idLast}", token.form, *"_" * 8]
            block.insert(token.idFirst - 1, row)
        blocks.append(block)
        sentence = udpipe.Sentence()
    return blocks


def main() -> None:
    args = options()
    if args.command == "train":
        train(args.train, args.dev, args.out, quick=args.quick)
        return
    load(args.model)
    if args.command == "first":
        trees([FIRST])
        return
    if args.command == "text":
        write(text_blocks(args.input.read_text(encoding="utf-8")), args.output)
        say(megabytes=peak())
        return
    blocks = read(args.input)
    words = [words_of(block) for block in blocks]
    if args.threads == 1:
        found, seconds = timed(lambda: trees(words))
    else:
        shares = [words[start : start + 64] for start in range(0, len(words), 64)]
        with multiprocessing.get_context("fork").Pool(args.threads) as pool:
            found, seconds = timed(lambda: [tree for share in pool.map(trees, shares, 1) for tree in share])
    write((filled(block, *tree) for block, tree in zip(blocks, found, strict=True)), args.output)
    say(seconds=seconds, words=sum(map(len, words)), megabytes=peak())


if __name__ == "__main__":
    main()
