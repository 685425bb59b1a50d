"""`# sent_id` and `# text` for sentences that have none: Universal Dependencies requires both of every sentence.

Ids are given where sentences are read, in the order of the input and before they are parsed. So they do not depend on
batches, threads, processes or interruptions. Whatever reads sentences for one output uses one `Ids`: the command line,
a shard of a corpus, a request to the service, a call of `Parser.parse`, `parse_words` or `pipe`. Sentences that Python
gives to the parser as such are left as they are.
"""

import re
from dataclasses import replace

from hexatagger.sentence import Sentence, comment_key

_BARE = re.compile(r"#\s*new(doc|par)\s*", re.IGNORECASE)
_OPENING = re.compile(r"#\s*new(?:doc|par)\b", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[\s/%]")  # UD allows neither white space nor a slash in an id; % is what they become


class Ids:
    """The ids of one output: sentences are s1, s2, …, paragraphs p1, p2, …, documents d1, d2, …, after a `name`.

    >>> ids = Ids("books/a.txt")
    >>> ids.complete(Sentence.from_words(["She", "reads"])).comments
    ['# sent_id = books%2Fa.txt-s1', '# text = She reads']
    """

    def __init__(self, name: str = "") -> None:
        self._prefix = _FORBIDDEN.sub(_percent, f"{name}-") if name else ""
        self._ours = re.compile(re.escape(self._prefix) + r"s([1-9][0-9]{0,17})")
        self._last = {"s": 0, "p": 0, "d": 0}

    def complete(self, sentence: Sentence) -> Sentence:
        """Return a sentence with an id and its text: the same one if it has both, or else a copy.

        An id that a sentence has is kept; if it looks like ours, those that follow are greater. A sentence without one
        gets one, and so do its `# newpar` and `# newdoc`. Nothing is added to a sentence without words.
        """
        if not sentence.words:
            return sentence
        given, text = sentence.comment("sent_id"), sentence.comment("text")
        if given and (match := self._ours.fullmatch(given)):
            self._last["s"] = max(self._last["s"], int(match[1]))
        if given and text is not None:
            return sentence
        comments, place = list(sentence.comments), 0
        if not given:
            comments = [line for line in comments if comment_key(line) != "sent_id"]  # it has no value
            for number, line in enumerate(comments):
                if match := _BARE.fullmatch(line):
                    kind = match[1].lower()
                    comments[number] = f"# new{kind} id = {self._next(kind[0])}"
                if _OPENING.match(line):
                    place = number + 1
            comments.insert(place, f"# sent_id = {self._next('s')}")
        if text is None:
            place = next(number for number, line in enumerate(comments) if comment_key(line) == "sent_id")
            comments.insert(place + 1, f"# text = {sentence.text}")
        return replace(sentence, comments=comments)

    def _next(self, kind: str) -> str:
        self._last[kind] += 1
        return f"{self._prefix}{kind}{self._last[kind]}"


def _percent(match: re.Match[str]) -> str:
    """Write a character as in a URL."""
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8"))
