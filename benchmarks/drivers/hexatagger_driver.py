"""hexatagger: the English model that the package brings along; nothing is trained here."""

import shutil

from common import FIRST, options, peak, say, timed

from hexatagger import read_conllu, write_conllu
from hexatagger.parser import find_model, load
from hexatagger.sentence import Sentence


def main() -> None:
    args = options()
    if args.command == "train":
        shutil.copytree(find_model("en"), args.out)
        say(minutes=None, stopped=False)
        return
    parser = load(args.model, threads=args.threads)
    if args.command == "first":
        parser.parse_words([FIRST])
        return
    if args.command == "text":
        write_conllu(parser.parse(args.input.read_text(encoding="utf-8")), args.output)
        say(megabytes=peak())
        return
    gold = list(read_conllu(args.input))
    bare = [Sentence.from_words(sentence.forms) for sentence in gold]
    parsed, seconds = timed(lambda: parser.parse_sentences(bare))
    for sentence, tree in zip(gold, parsed, strict=True):
        for word, found in zip(sentence, tree, strict=True):
            word.head, word.deprel = found.head, found.deprel
    write_conllu(gold, args.output)
    say(seconds=seconds, words=sum(map(len, gold)), megabytes=peak())


if __name__ == "__main__":
    main()
