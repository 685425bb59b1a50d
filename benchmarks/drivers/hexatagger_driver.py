"""hexatagger: a model that is there; nothing is trained here."""

import shutil
from argparse import Namespace
from collections.abc import Iterable

from common import Block, Driver, Tree, blocks, say

from hexatagger.parsing.load import load
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence


def train(args: Namespace) -> None:
    shutil.copytree(args.model, args.out)
    say(brought=True, stopped=False)


def trees(parsed: list[Sentence]) -> Iterable[Tree]:
    return ((sentence.heads, sentence.deprels) for sentence in parsed)


def cut(parser: Parser, text: str) -> list[Block]:
    return [block for sentence in parser.parse(text) for block in blocks(sentence.to_conllu())]


if __name__ == "__main__":
    Driver(train, lambda args: load(args.model, threads=args.threads), Parser.parse_words, trees, cut).main()
