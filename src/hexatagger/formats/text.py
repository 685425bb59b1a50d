r"""Text ⇄ Sentences: the offsets of tokens in a text, and the exact text that tokens came from.

White space between tokens is kept in MISC as UDPipe does it (https://ufal.mff.cuni.cz/udpipe/2/users-manual): nothing
for one space, `SpaceAfter=No` for no space, `SpacesAfter=` for anything else, `SpacesBefore=` for what precedes the
first token, `SpacesInToken=` where the spaces inside a token differ from those in its form. Other control characters
and line separators are escaped as `\uXXXX`, because other readers take them for line ends. `TokenRange=start:end`
counts characters. So `restore` returns the original text exactly, unless it has no tokens.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from hexatagger.sentence import Multiword, Sentence, Word

Source = Literal["text", "lines", "words", "conllu", "conllx"]
"""What input may be: running text, a sentence per line, words separated by spaces, or a file of words."""

# Invisible characters: controls, soft hyphen, zero-width spaces and joiners, direction marks, variation selectors.
INVISIBLE = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)
LINE_END = r"(?>\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])"  # subtle: atomic, else CRLF would count as two

VISIBLE = re.compile(rf"[^\s{INVISIBLE}]")
LINES = re.compile(rf"{LINE_END}(?:[\s{INVISIBLE}]*{LINE_END})?\s*")
"""A line end and any empty lines after it."""
PARAGRAPHS = re.compile(rf"(?:{LINE_END}[\s{INVISIBLE}]*{LINE_END}|[\f\u2029])\s*")
"""An empty line, a form feed or a paragraph separator."""
_BETWEEN_SPACES = re.compile(rf"{VISIBLE.pattern}[^ \t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]*")
_BLOCK = 1 << 14  # characters searched at once

_ESCAPES = {"\\": "\\\\", " ": "\\s", "\t": "\\t", "\r": "\\r", "\n": "\\n", "|": "\\p"}
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()} | {"\\f": "\f", "\\v": "\v"}
_ESCAPED = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_UNSAFE = re.compile(r"[\\ |\x00-\x1f\x7f-\x9f\u2028\u2029]")
_OPENING = re.compile(r"#\s*new(?:par|doc)(?:\s|$)", re.IGNORECASE)
_LINE = 80  # characters from which on UD's converter starts a new line


def escape(spaces: str) -> str:
    r"""Escape white space for MISC.

    >>> escape(" \n"), unescape("\\s\\n")
    ('\\s\\n', ' \n')
    """
    return _UNSAFE.sub(lambda match: _ESCAPES.get(match[0], f"\\u{ord(match[0]):04X}"), spaces)


def unescape(value: str) -> str:
    r"""Undo `escape`; the escapes of other tools are read too, and unknown ones are kept.

    >>> unescape("\\u00A0\\xA0\\q")
    '\xa0\xa0\\q'
    """

    def character(match: re.Match[str]) -> str:
        return chr(int(match[0][2:], 16)) if len(match[0]) > 2 else _UNESCAPES.get(match[0], match[0])

    return _ESCAPED.sub(character, value)


class Token(NamedTuple):
    """The place of a token in a part of a text, with its `words` if it is a multiword token."""

    start: int
    end: int
    words: tuple[str, ...] = ()


def cut(chunks: Iterable[str], breaks: re.Pattern[str], *, longest: int = 4 * _BLOCK) -> Iterator[tuple[str, bool]]:
    r"""Split a text after every break; yield parts, with False for a part that only ends because it got too long.

    The parts do not depend on the chunks that the text arrives in. Joined, they are the text.

    >>> list(cut(["One.\n", "\nTwo.\nStill", " two."], PARAGRAPHS))
    [('One.\n\n', True), ('Two.\nStill two.', True)]
    """
    rest, opened = "", False
    for block in _blocks(chunks):
        rest, done = rest + block, 0
        while (match := breaks.search(rest, done)) and match.end() < len(rest):  # a break at the end may go on
            yield rest[done : match.end()], True
            done, opened = match.end(), False
        rest = rest[done:]
        last = len(rest)
        while last > longest and not VISIBLE.match(rest, last - 1):  # a break may have started after it
            last -= 1
        if last > longest:
            yield rest[:last], False
            rest, opened = rest[last:], True
    while match := breaks.search(rest):
        yield rest[: match.end()], True
        rest, opened = rest[match.end() :], False
    if rest or opened:
        yield rest, True


def _blocks(chunks: Iterable[str]) -> Iterator[str]:
    """Yield blocks of one size: small chunks are not searched repeatedly, and a huge one is not copied."""
    waiting, size = list[str](), 0
    for chunk in chunks:
        for start in range(0, len(chunk), _BLOCK):
            waiting.append(chunk[start : start + _BLOCK])
            size += len(waiting[-1])
            if size >= _BLOCK:
                text = "".join(waiting)
                yield text[:_BLOCK]
                waiting, size = [text[_BLOCK:]], size - _BLOCK
    if size:
        yield "".join(waiting)


def lay_out(parts: Iterable[tuple[str, Sequence[Sequence[Token]], bool]], offset: int = 0) -> Iterator[Sentence]:
    r"""Make Sentences from parts of a text, each with the tokens of its sentences and whether it starts a paragraph.

    Offsets count from the start of the whole text; `offset` is the number of characters before the first part. A part
    without tokens belongs to the sentence before it, or else to the next one.

    >>> [sentence] = lay_out([("Hi  you. ", [[Token(0, 2), Token(4, 7), Token(7, 8)]], True)])
    >>> [(word.form, word.start, word.end, word.misc) for word in sentence][:2]
    [('Hi', 0, 2, 'SpacesAfter=\\s\\s|TokenRange=0:2'), ('you', 4, 7, 'SpaceAfter=No|TokenRange=4:7')]
    """
    gap, paragraph = "", False
    held: tuple[str, Sequence[Token], int, str, bool] | None = None
    for text, sentences, opens in parts:
        place, paragraph = 0, paragraph or opens
        for tokens in sentences:
            gap += text[place : tokens[0].start]
            before = "" if held else gap
            # A sentence waits for the next one, because the gap after it is not known before.
            if held:
                yield _sentence(*held, gap)
            held, gap = (text, tokens, offset, before, paragraph), ""
            place, paragraph = tokens[-1].end, False
        gap += text[place:]
        offset += len(text)
    if held:
        yield _sentence(*held, gap)


def _sentence(text: str, tokens: Sequence[Token], offset: int, before: str, paragraph: bool, after: str) -> Sentence:
    """Make a Sentence from the tokens of a part that starts at `offset`."""
    sentence = Sentence([], ["# newpar"] if paragraph else [])
    words, plain = sentence.words, list[str]()
    last = len(tokens) - 1
    for number, token in enumerate(tokens):
        start, end = token.start, token.end
        surface = text[start:end]
        gap = after if number == last else text[end : tokens[number + 1].start]
        form = surface if surface.isalnum() else " ".join(surface.split())
        misc = f"TokenRange={start + offset}:{end + offset}"
        if form != surface:
            misc = f"SpacesInToken={escape(surface)}|{misc}"
        if before:
            misc, before = f"SpacesBefore={escape(before)}|{misc}", ""
        if gap != " ":
            misc = f"SpacesAfter={escape(gap)}|{misc}" if gap else f"SpaceAfter=No|{misc}"
        plain += [form, " " if gap else ""]
        if token.words:
            first, rest = len(words) + 1, ("_",) * 7
            span = Multiword(first, len(words) + len(token.words), form, (*rest, misc), start + offset, end + offset)
            sentence.multiwords.append(span)
            for word, (begin, stop) in zip(token.words, _places(surface, token.words), strict=True):
                place = offset + start
                words.append(Word(len(words) + 1, word, start=place + begin, end=place + stop))
        else:
            words.append(Word(len(words) + 1, form, misc=misc, start=start + offset, end=end + offset))
    sentence.comments.append(f"# text = {''.join(plain).rstrip(' ')}")
    return sentence


def _places(surface: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the place of each word inside a multiword token; that of the whole token if it does not spell its words.

    >>> _places("didn't", ["did", "n't"]), _places("du", ["de", "le"])
    ([(0, 3), (3, 6)], [(0, 2), (0, 2)])
    """
    found, place = list[tuple[int, int]](), 0
    for word in words:
        place += len(surface[place:]) - len(surface[place:].lstrip())
        if not surface.startswith(word, place):
            break
        found.append((place, place + len(word)))
        place += len(word)
    return found if place == len(surface) and len(found) == len(words) else [(0, len(surface))] * len(words)


def restore(sentences: Iterable[Sentence]) -> str:
    r"""Return the text that sentences came from; in a treebank, `# newpar` and `# newdoc` mean an empty line.

    >>> text = "One\u00a0two.\r\n\tThree."
    >>> restore(words_of([text])) == text
    True
    >>> restore([Sentence.from_words(["Hi"]), Sentence([Word(1, "Ho", misc="SpaceAfter=No")], ["# newpar"])])
    'Hi\n\nHo'
    """
    return "".join(surface + gap for surface, gap, _, _ in surfaces(sentences))


def surfaces(sentences: Iterable[Sentence]) -> Iterator[tuple[str, str, Word | Multiword | None, bool]]:
    """Yield for every token its surface, the gap after it, the token, and whether it is the last of its sentence.

    White space before the first token, if any, comes first, with None for the token.
    """
    held: tuple[str, str, Word | Multiword | None, bool] | None = None
    for sentence in sentences:
        tokens = sentence.tokens
        opens = _opens(sentence)
        for number, token in enumerate(tokens):
            values = _misc(token)
            before = unescape(values.get("SpacesBefore", ""))
            if held:
                gap = held[1] + before
                starts = (opens and number == 0) or values.get("NewPar") == "Yes"
                if starts and not PARAGRAPHS.search(gap):
                    gap = "\n\n"
                yield held[0], gap, held[2], held[3]
            elif before:
                yield "", before, None, False
            after = unescape(values.get("SpacesAfter", " "))
            if values.get("SpaceAfter") == "No" or after == "No":  # "SpacesAfter=No" is a mistake found in treebanks
                after = ""
            held = unescape(values.get("SpacesInToken", "")) or token.form, after, token, number == len(tokens) - 1
    if held:
        yield held


def _opens(sentence: Sentence) -> bool:
    return any(_OPENING.match(line) for line in sentence.comments)


def _misc(token: Word | Multiword) -> dict[str, str]:
    """Return the values of MISC; `_` as a value is none."""
    pairs = (each.split("=", 1) for each in token.misc.split("|") if "=" in each)
    return {key: value for key, value in pairs if value != "_"}


def ud_text(sentences: Iterable[Sentence]) -> str:
    r"""Return raw text as UD publishes it, for scores that can be compared: what UD's `conllu_to_text.pl` prints.

    Lines are wrapped at 80 characters. White space in MISC other than `SpaceAfter=No` is ignored. The converter's
    option for Chinese and Japanese, which also wraps text without spaces, is not implemented.

    >>> ud_text([Sentence.from_words(["Hi", "you"]), Sentence([Word(1, "Ho", misc="SpaceAfter=No")], ["# newpar"])])
    'Hi you \n\nHo\n'
    """
    lines: list[str] = []
    line, first, glued = "", True, False

    def end_paragraph() -> None:
        lines.extend([line, ""] if line else [""])

    for sentence in sentences:
        opens, first = _opens(sentence) and not first, False
        part = ""
        for token in sentence.tokens:
            values = _misc(token)
            if values.get("NewPar") == "Yes":
                if opens:
                    end_paragraph()
                    line, opens = "", False
                line = _wrap(line + part, lines, glued=False)
                lines += [line, ""]
                line = part = ""
            glued = values.get("SpaceAfter") == "No"
            part += token.form + ("" if glued else " ")
        if opens:
            end_paragraph()
            line = ""
        line = _wrap(line + part, lines, glued=glued)
    return "".join(f"{each}\n" for each in [*lines, *([line] if line else [])])


def _wrap(text: str, lines: list[str], *, glued: bool) -> str:
    """Move full lines from a text to `lines`; return the rest. `glued` text without a space waits for what follows."""
    while len(text) >= _LINE:
        fitting = (place for place in range(_LINE, 0, -1) if text[place : place + 1].isspace())
        place = next(fitting, 0) or next((place for place in range(1, len(text)) if text[place].isspace()), 0)
        if place:
            lines.append(text[:place])
            text = text[place + 1 :]
        elif glued:
            break
        else:
            lines.append(text)
            text = ""
    return text


def words_of(chunks: Iterable[str], *, offset: int = 0) -> Iterator[Sentence]:
    """Read tokenised text: one sentence per line, tokens separated by spaces or tabs.

    Other spaces, like the no-break space, are part of a token. `offset` is the number of characters before the text.

    >>> [(word.form, word.start) for word in next(words_of(["He does n't ."]))]
    [('He', 0), ('does', 3), ("n't", 8), ('.', 12)]
    """

    def tokens(line: str) -> list[list[Token]]:
        matches = _BETWEEN_SPACES.finditer(line)
        found = [Token(match.start(), match.start() + len(match[0].rstrip())) for match in matches]
        return [found] if found else []

    return lay_out(((line, tokens(line), False) for line in _whole(cut(chunks, LINES))), offset)


def _whole(parts: Iterable[tuple[str, bool]]) -> Iterator[str]:
    """Join parts that were split only because of their length."""
    held: list[str] = []
    for part, ends in parts:
        held.append(part)
        if ends:
            yield "".join(held)
            held = []
