"""Read and write CoNLL-U and CoNLL-X, sentence by sentence and without loss.

A file that is read and written again is the same, byte for byte, including comments, multiword tokens, empty nodes
and unusual spaces; only a byte order mark and CRLF line ends are dropped. Malformed input raises FormatError with the
file, line, value and remedy.

CoNLL-X (2006) is the older format with ten columns: words only, no comments. Columns keep their places: CPOSTAG is read
as `upos`, POSTAG as `xpos`, PHEAD and PDEPREL as `deps` and `misc`.

The content is not validated: relations, features and enhanced dependencies are plain strings.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from hexatagger.errors import FormatError, TreeError, check_choice
from hexatagger.formats.files import File, name_of, open_output, read_blocks
from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word
from hexatagger.tree import attach_roots, check_tree

Format = Literal["conllu", "conllx"]
Roots = Literal["any", "one", "attach"]

ATTACHED = "dep"
"""The relation of a second or later root after `roots="attach"`: "unspecified" in both UD and Stanford Dependencies."""

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_FIRST_WORD = re.compile(r"^1(?:-[0-9]+)?(?:\t[^\t\r\n]+){9}\r?$", re.MULTILINE)
EMPTY_FORM = "FORM is empty: write the word, or '_' if it has none"


def read_conllu(source: File, *, format: Format = "conllu", roots: Roots = "any") -> Iterator[Sentence]:  # noqa: A002
    r"""Yield the sentences of a path (also `.gz` and `.xz`), of standard input (`-`) or of an open file.

    `roots` says what HEAD must hold: "any" accepts everything, even missing heads; "one" requires a tree with one root;
    "attach" requires a tree and attaches the second and later roots to the first.

    >>> import io
    >>> lines = "1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> [sentence.forms for sentence in read_conllu(io.StringIO(lines))]
    [['Hi']]
    """
    check_choice("format", format, get_args(Format))
    check_choice("roots", roots, get_args(Roots))
    name = name_of(source)
    blocks = read_blocks(source)
    return (parse_block(block, name, line, extended=format == "conllu", roots=roots) for line, block in blocks)


def looks_like_conllu(text: str) -> bool:
    r"""Say whether a text has a line with the ten columns of the first word of a sentence.

    >>> looks_like_conllu("# text = Hi\n1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n"), looks_like_conllu("1\tHi\n")
    (True, False)
    """
    return _FIRST_WORD.search(text) is not None


def write_conllu(sentences: Iterable[Sentence], target: File, *, format: Format = "conllu") -> int:  # noqa: A002
    """Write sentences to a path (also `.gz` and `.xz`), to standard output (`-`) or to an open file; return how many.

    A file appears complete or not at all: it is written under a temporary name and renamed at the end.
    """
    check_choice("format", format, get_args(Format))
    count = 0
    with open_output(target) as stream:
        for sentence in sentences:
            stream.write(format_sentence(sentence, format=format))
            count += 1
    return count


def format_sentence(sentence: Sentence, *, format: Format = "conllu") -> str:  # noqa: A002
    """Return the lines of a sentence, with the empty line at the end; raise FormatError if a value would break one."""
    comments = [] if format == "conllx" else sentence.comments
    rows = ["\t".join(row.columns) for row in (sentence.words if format == "conllx" else sentence.rows())]
    text = "\n".join([*comments, *rows, "", ""])
    if text.count("\n") > len(comments) + len(rows) + 1 or "\r" in text or any(row.count("\t") > 9 for row in rows):
        raise FormatError(_what_breaks(sentence))
    return text


def _what_breaks(sentence: Sentence) -> str:
    """Name the value that would break a line."""
    for comment in sentence.comments:
        if "\n" in comment or "\r" in comment:
            return f"comment {_shorten(comment)!r} contains a line end: remove it"
    values = ((row.columns[0], *each) for row in sentence.rows() for each in zip(COLUMNS, row.columns, strict=True))
    identifier, name, value = next(each for each in values if not set("\t\n\r").isdisjoint(each[2]))
    return f"ID {identifier}: {name} {_shorten(value)!r} contains a tab or line end: remove it"


def parse_block(
    block: list[str], name: str, first_line: int, *, extended: bool = True, roots: Roots = "any"
) -> Sentence:
    """Parse the lines of one sentence; the first of them is line `first_line` of the file `name`."""
    sentence = Sentence([])
    words = sentence.words
    for offset, line in enumerate(block):
        if "\r" in line:
            raise FormatError("a carriage return inside the line: remove it", source=name, line=first_line + offset)
        columns = line.split("\t")
        # The common case first: a word line, its ID the next number.
        if len(columns) == 10 and columns[0] == str(len(words) + 1):
            identifier, form, lemma, upos, xpos, feats, head_text, deprel, deps, misc = columns
            if not form:
                raise FormatError(EMPTY_FORM, source=name, line=first_line + offset)
            if head_text != "_" and not _is_number(head_text):
                message = f"HEAD '{_shorten(head_text)}' is not a number: write the ID of the head, 0 or '_'"
                raise FormatError(message, source=name, line=first_line + offset)
            head = None if head_text == "_" else int(head_text)
            words.append(Word(int(identifier), form, lemma, upos, xpos, feats, head, deprel, deps, misc))
        elif line[0] == "#" and not words and extended and not sentence.multiwords and not sentence.empty_nodes:
            sentence.comments.append(line)
        else:
            _other_line(sentence, columns, name, first_line + offset, extended)
    _check_whole(sentence, block, name, first_line, roots)
    return sentence


def _other_line(sentence: Sentence, columns: list[str], name: str, line: int, extended: bool) -> None:
    """Add a multiword token or empty node to the sentence, or say what is wrong with the line."""

    def wrong(message: str) -> FormatError:
        return FormatError(message, source=name, line=line)

    done = len(sentence.words)
    if columns[0].startswith("#") and len(columns) != 10:
        if extended:
            raise wrong("a comment after the first word: move it before the words of its sentence")
        raise wrong("CoNLL-X has no comments: read the file as CoNLL-U")
    if len(columns) == 1 and not columns[0][0].isdigit():
        raise wrong(f"this is not CoNLL-U: '{_shorten(columns[0])}' has no tabs; read plain text with --from text")
    if len(columns) != 10:
        hint = "" if len(columns) > 1 else " (are they separated by spaces instead of tabs?)"
        raise wrong(f"{len(columns)} columns instead of 10, separated by tabs{hint}: '{_shorten(' '.join(columns))}'")
    identifier = columns[0]
    if not columns[1]:
        raise wrong(EMPTY_FORM)
    first, dash, last = identifier.partition("-")
    after, dot, index = identifier.partition(".")
    if extended and dash and _is_number(first) and _is_number(last):
        covered = sentence.multiwords[-1].last if sentence.multiwords else 0
        if int(first) != done + 1 or int(first) <= covered or int(last) < int(first):
            raise wrong(f"ID '{identifier}' is out of order: a multiword token comes right before its first word")
        sentence.multiwords.append(Multiword(int(first), int(last), columns[1], tuple(columns[2:])))
    elif extended and dot and _is_number(after) and _is_number(index):
        nodes = sentence.empty_nodes
        expected = nodes[-1].index + 1 if nodes and nodes[-1].after == done else 1
        pending = bool(sentence.multiwords) and sentence.multiwords[-1].first == done + 1
        if (int(after), int(index)) != (done, expected) or pending:
            raise wrong(f"ID '{identifier}' is out of order: the next empty node here is '{done}.{expected}'")
        nodes.append(EmptyNode(int(after), int(index), tuple(columns[1:])))
    elif _is_number(identifier):
        raise wrong(f"ID '{identifier}' is out of order: the next word here is '{done + 1}'")
    else:
        allowed = "a number, a range like 3-4 or an empty node like 3.1" if extended else "a number"
        raise wrong(f"ID '{_shorten(identifier)}' is not {allowed}")


def _check_whole(sentence: Sentence, block: list[str], name: str, first_line: int, roots: Roots) -> None:
    """Check the sentence as a whole: it has words, ranges end within it, heads exist and form a tree."""

    def line_of(identifier: str) -> int:
        starts = (offset for offset, line in enumerate(block) if line.split("\t", 1)[0] == identifier)
        return first_line + next(starts, 0)

    size = len(sentence.words)
    if size == 0:
        message = "a sentence without words: remove its comments or add the words"
        raise FormatError(message, source=name, line=first_line)
    if sentence.multiwords and sentence.multiwords[-1].last > size:
        token = sentence.multiwords[-1]
        identifier = f"{token.first}-{token.last}"
        message = f"ID '{identifier}' reaches past the last word ({size})"
        raise FormatError(message, source=name, line=line_of(identifier))
    for word in sentence.words:
        message = ""
        if word.head is None and roots != "any":
            message = "HEAD is '_': a tree is needed here"
        elif word.head is not None and word.head > size:
            message = f"HEAD '{word.head}' is outside the sentence ({size} words): correct it, or use 0 for the root"
        if message:
            raise TreeError(message, word=word.id, source=name, line=line_of(str(word.id)))
    if roots == "any":
        return
    try:
        check_tree(sentence.heads, single_root=roots == "one")
    except TreeError as error:
        line = line_of(str(error.word)) if error.word else first_line + len(sentence.comments)
        several = roots == "one" and error.word and sentence.words[error.word - 1].head == 0
        remedy = "; --roots attach attaches the others to the first" if several else "; correct the HEAD column"
        raise TreeError(error.message + remedy, word=error.word, source=name, line=line) from None
    if roots == "attach":
        for word, head in zip(sentence.words, attach_roots(sentence.heads), strict=True):
            if word.head != head and word.deprel.lower() == "root":
                word.deprel = ATTACHED
            word.head = head


def _is_number(text: str) -> bool:
    """Say whether this is a number of at most nine digits in its canonical spelling."""
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0") and len(text) <= 9


def _shorten(text: str, limit: int = 60) -> str:
    """Shorten a long value for a message."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
