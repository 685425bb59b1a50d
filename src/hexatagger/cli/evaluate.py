"""`hexatagger evaluate`: score a parsed file against a gold one, as a table or as JSON."""

import json
from typing import TYPE_CHECKING, cast

import click

from hexatagger.cli.options import choice, lay_out_table, model_picker, roots_option
from hexatagger.errors import ConfigError

if TYPE_CHECKING:
    from hexatagger.formats.conllu import Format
    from hexatagger.scoring.breakdown import Score
    from hexatagger.scoring.evaluate import Evaluation, Metric, Roots

_FIRST = 100  # sentences that tell the language


@click.command(short_help="Score a parsed file against a gold one.")
@click.argument("gold")
@click.argument("system", required=False)
@click.option("--model", help="Parse GOLD with this model, a name or folder, and score the result instead of SYSTEM.")
@choice("--metric", of=["conll18", "ptb", "paper"], default="conll18", text="What to count: see above.")
@roots_option
@choice(
    "--from",
    "source",
    of=["conllu", "conllx", "words", "text"],
    default="conllu",
    text="Format of the files; with --model, words or text says what of GOLD (CoNLL-U) it is given.",
)
@click.option("--by-length", is_flag=True, help="Add a table by the length of arcs.")
@click.option("--by-relation", is_flag=True, help="Add a table by relation.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object instead, unrounded.")
def evaluate(
    gold: str,
    system: str | None,
    model: str | None,
    metric: "Metric",
    roots: "Roots",
    source: str,
    by_length: bool,
    by_relation: bool,
    as_json: bool,
) -> None:
    """Score the trees in SYSTEM, or those that a model gives, against those in GOLD.

    One of the two may be `-`, standard input. All numbers are percentages.

    \b
    Metrics:
      conll18  the metrics of the CoNLL 2018 shared task, equal to its own script. Needs the
               same text only: sentences, tokens and words may differ. Punctuation counts,
               subtypes of relations (nsubj:pass) do not.
      ptb      UAS and LAS as usual for the Penn Treebank. Needs the same words. Relations
               in full, no punctuation: XPOS or UPOS in GOLD is `` '' : , . PU or PUNCT.
      paper    UAS and LAS as the authors of the hexatagger score UD. Needs the same words.
               No subtypes, no punctuation: UPOS in GOLD is PUNCT (or one of the above).

    Where both files have the same sentences and words, you also get exact match (the share of sentences without a
    mistake), root accuracy, the accuracy of the lemmas of inflected words (nouns, verbs and adjectives whose lemma in
    GOLD differs from the form in more than case), and tables by arc length and by relation.

    \b
    Examples:
      hexatagger evaluate gold.conllu parsed.conllu
      hexatagger evaluate gold.conllu parsed.conllu --metric ptb --by-relation
      cat parsed.conllu | hexatagger evaluate gold.conllu.gz - --json
      hexatagger evaluate gold.conllu --model en --from text
    """
    from hexatagger.scoring.evaluate import evaluate_files

    if (system is None) == (model is None):
        raise ConfigError("give either SYSTEM or --model: what is to be scored?")
    if system is None:
        from hexatagger.formats.conllu import read_conllu
        from hexatagger.formats.text import ud_text
        from hexatagger.parsing.load import load
        from hexatagger.scoring.evaluate import evaluate as score

        sentences = list(read_conllu(gold, format="conllx" if source == "conllx" else "conllu", roots=roots))
        parser = load(model_picker(model or "")(" ".join(sentence.text for sentence in sentences[:_FIRST])))
        parsed = parser.parse(ud_text(sentences)) if source == "text" else parser.parse_sentences(sentences)
        columns, names = parser.config.tasks, (gold, f"model {model}")
        result = score(sentences, parsed, metric=metric, columns=columns, names=names)
    elif source in ("words", "text"):
        raise ConfigError(f"--from {source} goes with --model: it says what the model is given")
    else:
        result = evaluate_files(gold, system, metric=metric, format=cast("Format", source), roots=roots)
    if as_json:
        click.echo(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
    else:
        click.echo("\n\n".join(_tables(result, by_length, by_relation)))


def _tables(result: "Evaluation", by_length: bool, by_relation: bool) -> list[str]:
    """Lay out the result as the blocks of text that were asked for."""
    if result.metric == "conll18":
        header = ["", "Precision", "Recall", "F1", "Aligned accuracy"]
        blocks = [lay_out_table(header, [[name, *_numbers(score)] for name, score in result.metrics.items()])]
    else:  # the same words: all four numbers are one
        blocks = [
            lay_out_table(["", "Accuracy"], [[name, _number(score.f1)] for name, score in result.metrics.items()])
        ]
    if (found := result.breakdown) is not None:
        shares = [
            ["every head right", _number(found.exact.uas.f1)],
            ["every head and relation right", _number(found.exact.las.f1)],
            ["root right", _number(found.roots.f1)],
        ]
        blocks.append(lay_out_table(["Sentences with", ""], shares))
        if found.inflected:
            right = [["Lemmas of inflected words", str(found.inflected.gold), _number(found.inflected.f1)]]
            blocks.append(lay_out_table(["", "Gold", "Right"], right))
        if by_length:
            header = ["Arc length", "Gold", "System", "UAS precision", "UAS recall", "LAS precision", "LAS recall"]
            parts = [(name, arcs.uas, arcs.las) for name, arcs in found.by_length.items()]
            rows = [
                [name, str(uas.gold), str(uas.system), *_numbers(uas)[:2], *_numbers(las)[:2]]
                for name, uas, las in parts
            ]
            blocks.append(lay_out_table(header, rows))
        if by_relation:
            header = ["Relation", "Gold", "System", "LAS precision", "LAS recall", "F1"]
            rows = [
                [name, str(score.gold), str(score.system), *_numbers(score)[:3]]
                for name, score in found.by_deprel.items()
            ]
            blocks.append(lay_out_table(header, rows))
    return [*blocks, *(f"Note: {note}" for note in result.notes)]


def _numbers(score: "Score") -> list[str]:
    """Print the percentages of a score."""
    return [_number(number) for number in (score.precision, score.recall, score.f1, score.aligned_accuracy)]


def _number(value: float | None) -> str:
    """Print a percentage, nothing for none."""
    return "" if value is None else f"{value:.2f}"
