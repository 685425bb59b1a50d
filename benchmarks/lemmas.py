"""Lemmas on dev with a table from train: of many languages with gold tags, of English with those of the `en` model.

Given gold tags there is no network and so no vote: what remains is what the table and its edits do.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from hexatagger import load, read_conllu
from hexatagger.model.lemmas import Lemmas, collect_lemmas
from hexatagger.scoring.evaluate import evaluate
from hexatagger.sentence import Sentence
from results import save, treebank

MEASURES = ("src/hexatagger/model/lemmas.py", "src/hexatagger/models", "src/hexatagger/tags/lemma.py")
LANGUAGES = ("cy", "en", "fi", "fr", "ga", "ko", "lt", "ru", "tr", "ug", "uk", "wo")
TASKS = ("upos", "feats", "lemma")
NO_VOTE = "whole\t_"


def main() -> None:
    rows = {}
    for line in treebank("languages.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        code, name, *files = line.split("\t")[:4]
        if code in LANGUAGES:
            train, dev = ([each for file in part.split() for each in read_conllu(treebank(file))] for part in files)
            lemmas = collect_lemmas(train, TASKS)
            found = [
                Sentence([replace(word, lemma=lemmas.find(word.form, word.upos, word.feats, NO_VOTE)) for word in each])
                for each in dev
            ]
            bare = [Sentence(each.words) for each in dev]
            rows[name] = {"words": sum(map(len, train)), "bytes": len(lemmas.data), **scores(bare, found)}
            print(name, rows[name], flush=True)
            if code == "en":
                english = {"network": predicted(dev, None), "table": predicted(dev, lemmas)}
                print(english, flush=True)
    save("lemmas", {"languages": rows, "en": english}, ("onnxruntime",))


def predicted(dev: Sequence[Sentence], lemmas: Lemmas | None) -> dict[str, float]:
    """Score the lemmas that the `en` model gives with a table, and without one."""
    parser = load("en", threads=1)
    parser.folder.lemmas = lemmas
    parsed = parser.parse_sentences(dev)
    figures = scores(dev, parsed)
    if lemmas:  # what the parser asks for, once without a cache and once with it
        asked = [(word.form, word.upos, word.feats, NO_VOTE) for sentence in parsed for word in sentence]
        lemmas.find.cache_clear()
        for name in ("microseconds_new", "microseconds_again"):
            begin = time.process_time()
            for each in asked:
                lemmas.find(*each)
            figures[name] = round((time.process_time() - begin) / len(asked) * 1e6, 2)
    return figures


def scores(gold: Sequence[Sentence], system: Sequence[Sentence]) -> dict[str, float]:
    found = evaluate(gold, system)
    return {name: round(score.f1, 2) for name, score in (found.metrics | found.inflected).items() if "emmas" in name}


if __name__ == "__main__":
    main()
