"""Tag files: what `hexatagger encode` writes and `hexatagger decode` reads.

One line per word: ID, FORM, leaf tag with the relation (`l/nsubj`), internal tag (`_` for the last word). Comments are
kept, and so are ID and FORM of multiword tokens and empty nodes, with `_` for both tags. The other columns of CoNLL-U
are not part of the tags and are dropped.
"""

from collections.abc import Iterator

from hexatagger.errors import FormatError, HexataggerError
from hexatagger.formats.conllu import parse_block
from hexatagger.formats.files import File, name_of, read_blocks
from hexatagger.sentence import Sentence, Word
from hexatagger.tags import SCHEMES, Hexatag, Order, Scheme, from_heads, lift, to_heads, unlift
from hexatagger.tags.hexatag import BY_SYMBOL, SYMBOLS

LIFTED = "hexatags_lift"
"""The comment that names the lifting scheme of a sentence, so that reading can undo it."""


def format_tagged(sentence: Sentence, *, order: Order = "left", scheme: Scheme | None = None) -> str:
    r"""Return the lines of a sentence with the tags of its tree, with the empty line at the end.

    A tree that is not projective is lifted. With a scheme, marks on the relations allow it to be restored; without one,
    the lifted arcs are not restored.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> format_tagged(sentence).splitlines()
    ['1\tShe\tl/nsubj\tLr', '2\treads\tr/root\t_', '']
    """
    heads, deprels = lift(sentence.heads, sentence.deprels, scheme or "head")
    if scheme is None:
        deprels = sentence.deprels
    tags: list[Hexatag | str] = [*from_heads(heads, order), "_"]
    lines = list(sentence.comments)
    if scheme is not None:
        lines.append(f"# {LIFTED} = {scheme}")
    for row in sentence.rows():
        leaf, internal = "_", "_"
        if isinstance(row, Word):
            leaf, internal = f"{tags[2 * row.id - 2]}/{deprels[row.id - 1]}", str(tags[2 * row.id - 1])
        lines.append("\t".join([*row.columns[:2], leaf, internal]))
    return "\n".join([*lines, "", ""])


def read_tagged(source: File) -> Iterator[Sentence]:
    r"""Yield the sentences of a tag file with the trees that the tags encode.

    >>> import io
    >>> [sentence] = read_tagged(io.StringIO("1\tShe\tl/nsubj\tLr\n2\treads\tr/root\t_\n\n"))
    >>> sentence.heads, sentence.deprels
    ([2, 0], ['nsubj', 'root'])
    """
    name = name_of(source)
    for first_line, block in read_blocks(source):
        lines = [_widen(line, name, first_line + offset) for offset, line in enumerate(block)]
        sentence = parse_block(lines, name, first_line)
        try:
            _set_tree(sentence)
        except HexataggerError as error:
            raise FormatError(str(error), source=name, line=first_line + len(sentence.comments)) from None
        yield sentence


def _widen(line: str, name: str, number: int) -> str:
    """Turn a line of four columns into one of ten: the tags go into DEPREL and DEPS."""
    if line.startswith("#"):
        return line
    columns = line.split("\t")
    if len(columns) != 4:
        message = f"{len(columns)} columns instead of 4 (ID, FORM, leaf tag/relation, internal tag), separated by tabs"
        raise FormatError(message, source=name, line=number)
    identifier, form, leaf, internal = columns
    return "\t".join([identifier, form, "_", "_", "_", "_", "_", leaf, internal, "_"])


def _set_tree(sentence: Sentence) -> None:
    """Decode the tags that `_widen` put into DEPREL and DEPS, and undo the lifting."""
    tags: list[Hexatag] = []
    deprels: list[str] = []
    for word in sentence:
        leaf, slash, deprel = word.deprel.partition("/")
        last = word.id == len(sentence)
        if leaf not in ("l", "r") or not slash:
            message = f"word {word.id}: '{word.deprel}' is not a leaf tag with a relation, like l/nsubj or r/obj"
            raise FormatError(message)
        if word.deps not in (["_"] if last else SYMBOLS[2:]):
            wanted = "'_' after the last word" if last else "one of Ll, Lr, Rl, Rr"
            raise FormatError(f"word {word.id}: internal tag '{word.deps}' is not {wanted}")
        tags += [BY_SYMBOL[leaf], BY_SYMBOL[word.deps]] if not last else [BY_SYMBOL[leaf]]
        deprels.append(deprel)
        word.deps = "_"
    heads = to_heads(tags)
    scheme = sentence.comment(LIFTED)
    if scheme is not None:
        if scheme not in SCHEMES:
            raise FormatError(f"comment {LIFTED} = '{scheme}' is not one of: {', '.join(SCHEMES)}")
        heads, deprels = unlift(heads, deprels, scheme)
        sentence.comments = [line for line in sentence.comments if not line[1:].lstrip().startswith(LIFTED)]
    sentence.set_tree(heads, deprels)
