"""`hexatagger find`: the sentences in which a query matches, or one line per match."""

import click

from hexatagger.cli.options import PATH, choice, format_option, output_option, tell_if_typed
from hexatagger.errors import TreeError
from hexatagger.formats.conllu import Format, format_sentence, read_conllu
from hexatagger.formats.files import name_of, open_output
from hexatagger.search import find_matches, read_query
from hexatagger.sentence import Sentence, Word, comment_key

_COMMENT = "match"  # the comment that names the matched words


@click.command(short_help="Search trees with a query.")
@click.argument("query")
@click.argument("files", type=PATH, nargs=-1)
@choice("--to", of=["conllu", "lines"], default="conllu", text="What to write: see above.")
@output_option
@format_option
def find(query: str, files: tuple[str, ...], to: str, output: str, format_: Format) -> None:
    """Find words in the trees of FILES by their columns and their place in the tree.

    QUERY has conditions on a word, then links to other words, each with conditions on that word.

    \b
    Conditions on a word:
      upos=VERB          also form, lemma, xpos, deprel
      Number=Plur        a feature
      upos!=VERB         is not; Number!=_ has the feature, Number=_ does not have it
      upos=NOUN|PROPN    one of several
      lemma=un*          any characters; form="10 000" with a space or a special character
      *                  any word

    \b
    Links from this word:
      >  >obj            a dependent, with this relation
      <  <obj|iobj       the head, if this word has one of these relations
      >>  <<             a descendant, an ancestor
      !>obj              no such dependent; also !< !>> !<<

    Several links start at the same word: `upos=VERB >nsubj >obj` is a verb with both. Parentheses give another word
    links of its own: `upos=VERB >obj (upos=NOUN >amod)`.

    With --to conllu, each sentence with a match is written once, with a comment `# match = 2 reads, 4 papers` per
    match, so that other commands can read it. With --to lines, each match is a line, with tabs between the sent_id of
    the sentence (or its number), the numbers of the matched words, their forms, and the text.

    \b
      hexatagger find 'upos=VERB >obj lemma=letter' treebank.conllu
      hexatagger find 'upos=VERB !>nsubj' treebank.conllu.gz | hexatagger draw
      hexatagger find 'upos=VERB >obj upos=NOUN' *.conllu --to lines | cut -f 3-4 | sort | uniq -c
    """
    read_query(query)
    names = files or ("-",)
    if "-" in names:
        tell_if_typed("CoNLL-U")
    found = hits = total = 0
    with open_output(output) as stream:
        for file in names:
            for number, sentence in enumerate(read_conllu(file, format=format_), 1):
                name = sentence.comment("sent_id") or str(number)
                try:
                    matches = list(find_matches(query, sentence))
                except TreeError as error:
                    message = f"sentence {name}: {error.message}"
                    raise TreeError(message, word=error.word, source=name_of(file)) from None
                total += 1
                found += len(matches)
                hits += bool(matches)
                if to == "lines":
                    stream.writelines(_line(name, match, sentence.text) for match in matches)
                elif matches:
                    stream.write(format_sentence(_noted(sentence, matches)))
    click.echo(f"{found} match{'es' * (found != 1)} in {hits} of {total} sentences", err=True)


def _line(name: str, match: tuple[Word, ...], text: str) -> str:
    numbers = " ".join(str(word.id) for word in match)
    return "\t".join([name, numbers, *(word.form for word in match), text]) + "\n"


def _noted(sentence: Sentence, matches: list[tuple[Word, ...]]) -> Sentence:
    """Name the matches in comments of the sentence, in place of those of an earlier search."""
    kept = [line for line in sentence.comments if comment_key(line) != _COMMENT]
    told = (", ".join(f"{word.id} {word.form}" for word in match) for match in matches)
    sentence.comments = [*kept, *(f"# {_COMMENT} = {match}" for match in told)]
    return sentence
