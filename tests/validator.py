"""Our own reading of the rules that the official UD validator checks at its levels 1 and 2.

Level 1 is the file format: columns, IDs, no stray spaces, an empty line after every sentence. Level 2 is what UD
requires of any treebank: HEAD and DEPREL form a tree with one root, SpaceAfter is `No` or absent, `# text` is the text
of the tokens. Written from the description of the levels and of CoNLL-U
(https://universaldependencies.org/validation-rules.html, https://universaldependencies.org/format.html).

Two rules are options, because they do not hold for all that is read: every sentence has a `sent_id` and a `text`, and
UPOS is one of the 17 tags.
"""

import re
from collections.abc import Iterator

_OPEN = ["ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB"]
_CLOSED = ["ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ"]
UPOS = frozenset([*_OPEN, *_CLOSED, "PUNCT", "SYM", "X"])
_NUMBER = r"(?:0|[1-9][0-9]*)"
_WORD, _RANGE = re.compile(r"[1-9][0-9]*"), re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY = re.compile(rf"({_NUMBER})\.([1-9][0-9]*)")
_DEPS = re.compile(rf"({_NUMBER}(?:\.[1-9][0-9]*)?):\S+")
_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")


def problems(text: str, *, complete: bool = False, tags: bool = False) -> list[str]:
    """Return what is wrong with CoNLL-U, each with its line; nothing if it is valid at levels 1 and 2.

    If `complete`, every sentence must have an id and its text. With `tags`, UPOS must be one of UD's.
    """
    found: list[str] = []
    if text and not text.endswith("\n\n"):
        found.append("no empty line at the end")
    seen: set[str] = set()
    glued = False
    block: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line:
            block.append((number, line))
        elif block:
            if glued and any(re.match(r"#\s*new(?:par|doc)\b", each) for _, each in block):
                found.append(f"line {block[0][0]}: a paragraph starts after SpaceAfter=No")
            found += [f"line {place}: {what}" for place, what in _sentence(block, seen, complete, tags)]
            glued = _glued([each.split("\t") for _, each in block if not each.startswith("#")])
            block = []
        elif number <= text.count("\n"):
            found.append(f"line {number}: an empty line without a sentence before it")
    return found


def _sentence(block: list[tuple[int, str]], seen: set[str], complete: bool, tags: bool) -> Iterator[tuple[int, str]]:
    first = block[0][0]
    comments = [line for _, line in block if line.startswith("#")]
    rows = [(number, line.split("\t")) for number, line in block if not line.startswith("#")]
    if any(line.startswith("#") for _, line in block[len(comments) :]):
        yield first, "a comment after the first word"
    for number, columns in rows:
        yield from ((number, what) for what in _columns(columns))
    rows = [(number, columns) for number, columns in rows if len(columns) == 10]
    if not rows:
        yield first, "a sentence without words"
        return
    yield from _identifiers(rows)
    words = [columns for _, columns in rows if _WORD.fullmatch(columns[0])]
    yield from ((first, what) for what in _tree(words))
    yield from ((first, what) for what in _comments(comments, seen, complete))
    yield from ((first, what) for what in _text(comments, rows, complete))
    for number, columns in rows:
        if tags and columns[3] not in UPOS and _WORD.fullmatch(columns[0]):
            yield number, f"UPOS {columns[3]!r} is not a tag of UD"
        yield from ((number, what) for what in _misc(columns, len(words)))


def _columns(columns: list[str]) -> Iterator[str]:
    """Level 1: ten columns, none empty, no spaces around or (but for FORM, LEMMA and MISC) inside."""
    if len(columns) != 10:
        yield f"{len(columns)} columns"
        return
    for name, value in zip(_NAMES, columns, strict=True):
        if not value:
            yield f"{name} is empty"
        elif value != value.strip():
            yield f"{name} {value!r} has spaces around it"
        elif any(character.isspace() for character in value) and name not in ("FORM", "LEMMA", "MISC"):
            yield f"{name} {value!r} has a space inside"
        elif "  " in value:
            yield f"{name} {value!r} has two spaces in a row"
    if _RANGE.fullmatch(columns[0]):
        # Of a multiword token, only FORM and MISC are filled, and FEATS if it is Typo=Yes.
        filled = [name for name, value in zip(_NAMES[2:9], columns[2:9], strict=True) if value not in ("_", "Typo=Yes")]
        if filled:
            yield f"{filled[0]} of a multiword token is not '_'"


def _identifiers(rows: list[tuple[int, list[str]]]) -> Iterator[tuple[int, str]]:
    """Level 1: words are numbered from 1, ranges come before their first word and do not overlap, empty nodes after."""
    words, covered, nodes = 0, 0, 0
    for number, columns in rows:
        identifier = columns[0]
        if _WORD.fullmatch(identifier):
            words, nodes = words + 1, 0
            if int(identifier) != words:
                yield number, f"ID {identifier} where {words} is next"
        elif match := _RANGE.fullmatch(identifier):
            start, end = int(match[1]), int(match[2])
            if start != words + 1 or end <= start or start <= covered:
                yield number, f"ID {identifier} is out of place"
            covered = end
        elif match := _EMPTY.fullmatch(identifier):
            nodes += 1
            if (int(match[1]), int(match[2])) != (words, nodes):
                yield number, f"ID {identifier} is out of place"
        else:
            yield number, f"ID {identifier!r} is none"
    if words == 0:
        yield rows[0][0], "a sentence without words"
    if covered > words:
        yield rows[0][0], f"a multiword token ends at {covered}, after the last word {words}"


def _tree(words: list[list[str]]) -> Iterator[str]:
    """Level 2: HEAD is a word or 0, one word is the root and alone has the relation `root`; no cycles."""
    heads = [columns[6] for columns in words]
    if wrong := [head for head in heads if not re.fullmatch(_NUMBER, head) or int(head) > len(words)]:
        yield f"HEAD {wrong[0]!r} is not a word"
        return
    above = [0, *map(int, heads)]
    for number, columns in enumerate(words, 1):
        if (above[number] == 0) != (columns[7].partition(":")[0] == "root"):
            yield f"word {number}: HEAD {columns[6]} with DEPREL {columns[7]!r}"
        if columns[7] == "_":
            yield f"word {number}: no DEPREL"
        steps, place = 0, number
        while place and steps <= len(words):
            place, steps = above[place], steps + 1
        if place:
            yield f"word {number}: its heads form a cycle"
    if above[1:].count(0) != 1:
        yield f"{above[1:].count(0)} roots"


def _comments(comments: list[str], seen: set[str], complete: bool) -> Iterator[str]:
    """Level 2: `sent_id` at most once, unique, no space or slash; newpar and newdoc at most once, perhaps with id."""
    ids = [match[1] for line in comments if (match := re.match(r"#\s*sent_id\s*=\s*(.*)$", line))]
    if len(ids) > 1 or (complete and not ids):
        yield f"{len(ids)} sent_id"
    for each in ids:
        if each in seen:
            yield f"sent_id {each!r} was used before"
        if not re.fullmatch(r"[^\s/]+", each):
            yield f"sent_id {each!r} is empty, or has a space or slash"
        seen.add(each)
    for kind in ("newpar", "newdoc"):
        lines = [line for line in comments if re.match(rf"#\s*{kind}\b", line)]
        if len(lines) > 1 or any(not re.fullmatch(rf"# {kind}(?: id = \S.*)?", line) for line in lines):
            yield f"{kind}: {lines}"


def _tokens(rows: list[list[str]]) -> Iterator[list[str]]:
    """Yield the surface tokens: multiword tokens, and the words outside of them."""
    covered = 0
    for columns in rows:
        if match := _RANGE.fullmatch(columns[0]):
            covered = int(match[2])
            yield columns
        elif _WORD.fullmatch(columns[0]) and int(columns[0]) > covered:
            yield columns


def _glued(rows: list[list[str]]) -> bool:
    """Say whether the last token of a sentence has no space after it."""
    tokens = [columns for columns in _tokens(rows) if len(columns) == 10]
    return bool(tokens) and "SpaceAfter=No" in tokens[-1][9].split("|")


def _text(comments: list[str], rows: list[tuple[int, list[str]]], complete: bool) -> Iterator[str]:
    """Level 2: `# text` is the tokens with a space after each, unless SpaceAfter=No, and does not end in one."""
    texts = [line.partition("=")[2].removeprefix(" ") for line in comments if re.match(r"#\s*text\s*=", line)]
    if len(texts) > 1 or (complete and not texts):
        yield f"{len(texts)} texts"
    if not texts:
        return
    tokens = list(_tokens([columns for _, columns in rows]))
    made = "".join(columns[1] + ("" if "SpaceAfter=No" in columns[9].split("|") else " ") for columns in tokens)
    if any(columns not in tokens and "SpaceAfter=" in columns[9] for _, columns in rows):
        yield "SpaceAfter of a word that is not a token"
    if texts[0] != texts[0].strip():
        yield f"the text {texts[0]!r} has spaces around it"
    if made.rstrip(" ") != texts[0]:
        yield f"the text is {texts[0]!r}, the tokens give {made.rstrip(' ')!r}"


def _misc(columns: list[str], words: int) -> Iterator[str]:
    """Level 2: SpaceAfter is No and stands at most once; DEPS is a list of heads in order, with relations."""
    notes = [part.split("=", 1)[1] for part in columns[9].split("|") if part.startswith("SpaceAfter=")]
    if notes not in ([], ["No"]):
        yield f"SpaceAfter is {notes}"
    if "" in columns[9].split("|"):
        yield f"MISC {columns[9]!r} has an empty part"
    if columns[8] == "_":
        return
    heads = []
    for part in columns[8].split("|"):
        if not (match := _DEPS.fullmatch(part)):
            yield f"DEPS {columns[8]!r} is not a list of heads with relations"
            return
        heads.append(tuple(map(int, match[1].split("."))))
    if heads != sorted(heads) or heads[-1][0] > words:
        yield f"DEPS {columns[8]!r} is out of order or names a word that does not exist"
