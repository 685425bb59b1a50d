"""Multiword token → words, by rules learnt from a treebank: "doesn't" → "does n't", "fazê-lo" → "fazer lo".

There are three sources, in this order: tokens seen in training; the places where the network would split the token
(useful where words are simply written together); endings learnt from the tokens seen in training. A token that none of
them splits is one word. Rules are stored in lower case with straight apostrophes. Words that are parts of the token
keep its characters: "DOESN’T" → "DOES N’T".
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise, takewhile
from operator import eq
from typing import Any, Self

Words = tuple[str, ...]
_CONTEXT = 3  # an ending starts at most this many characters before the first change
_LONGEST = 12  # characters in the longest ending


@dataclass(frozen=True, slots=True)
class Rewrites:
    """The rules; all strings are folded."""

    seen: dict[str, Words] = field(default_factory=dict)
    """Tokens seen in training, with their words."""
    endings: dict[str, Words] = field(default_factory=dict)
    """What an ending becomes. The first string is appended to the rest of the token, the others are words."""

    def to_dict(self) -> dict[str, dict[str, str]]:
        """Return plain values for JSON. Words are joined by tabs, which no word contains."""
        return {
            "seen": {token: "\t".join(words) for token, words in self.seen.items()},
            "endings": {token: "\t".join(words) for token, words in self.endings.items()},
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what `to_dict` returned."""
        rules = [values["seen"], values["endings"]]
        return cls(*({key: tuple(text.split("\t")) for key, text in each.items()} for each in rules))


def learn_rewrites(tokens: Iterable[tuple[str, Sequence[str]]]) -> Rewrites:
    """Learn rules from multiword tokens and their words.

    >>> rewrites = learn_rewrites([("don't", ["do", "n't"]), ("Didn't", ["Did", "n't"]), ("du", ["de", "le"])])
    >>> expand("DU", rewrites), expand("wouldn’t", rewrites), expand("won", rewrites)
    (('DE', 'LE'), ('would', 'n’t'), ())
    """
    counts: dict[str, Counter[Words]] = defaultdict(Counter)
    for token, words in tokens:
        counts[fold(token)][tuple(map(fold, words))] += 1
    seen = {token: _commonest(found) for token, found in sorted(counts.items())}
    endings: dict[str, Counter[Words]] = defaultdict(Counter)
    for token, words in seen.items():
        same = _common_prefix(token, words[0])
        for begin in range(max(0, same - _CONTEXT), same + 1):
            if begin < len(token) and len(token) - begin <= _LONGEST:
                endings[token[begin:]][(words[0][begin:], *words[1:])] += 1
    kept: dict[str, Words] = {}
    for ending, found in sorted(endings.items(), key=lambda item: (len(item[0]), item[0])):
        words = _commonest(found)
        if sum(found.values()) > 1 and _by_ending(ending, kept) != words:  # else a shorter ending does the same
            kept[ending] = words
    return Rewrites(seen, kept)


def expand(token: str, rewrites: Rewrites, splits: Sequence[int] = ()) -> Words:
    """Return the words of a multiword token, () if nothing splits it; `splits` is where the network would split it.

    >>> expand("ab-cd", Rewrites(), [2, 3])
    ('ab', '-', 'cd')
    """
    folded = fold(token)
    words = rewrites.seen.get(folded)
    if not words and splits:
        bounds = [0, *splits, len(token)]
        parts = (token[begin:end].strip() for begin, end in pairwise(bounds))  # a token may have spaces inside
        return tuple(part for part in parts if part)
    words = words or _by_ending(folded, rewrites.endings)
    found = tuple(word.strip() for word in _with_case(token, folded, words)) if len(words) > 1 else ()
    return found if all(found) else ()


def split_places(token: str, words: Sequence[str]) -> list[int] | None:
    """Return the places where a token is split into its words, None if the words are not simply its parts.

    >>> split_places("Doesn't", ["Does", "n't"]), split_places("du", ["de", "le"])
    ([4], None)
    """
    if fold("".join(words)) != fold(token) or sum(map(len, words)) != len(token):
        return None
    return list(accumulate(map(len, words[:-1])))


def fold(form: str) -> str:
    """Convert to lower case and straight apostrophes, unless that changes the length."""
    folded = form.lower().replace("’", "'")
    return folded if len(folded) == len(form) else form


def _with_case(token: str, folded: str, words: Words) -> Words:
    """Give folded words the characters of the token where they are its parts, else only its case."""
    if "".join(words) == folded:
        places = accumulate(map(len, words), initial=0)
        return tuple(token[begin:end] for begin, end in pairwise(places))
    if len(token) > 1 and token.isupper():
        return tuple(word.upper() for word in words)
    if token[0].isupper():
        return (words[0][0].upper() + words[0][1:], *words[1:])
    # What the first word shares with the token keeps the token's characters: "d'Água" keeps its capital.
    same = _common_prefix(folded, words[0])
    return (token[:same] + words[0][same:], *words[1:])


def _by_ending(token: str, endings: dict[str, Words]) -> Words:
    """Rewrite the longest ending that has a rule."""
    for begin in range(max(0, len(token) - _LONGEST), len(token)):
        if words := endings.get(token[begin:]):
            return (token[:begin] + words[0], *words[1:])
    return ()


def _commonest(counts: Counter[Words]) -> Words:
    """Return the most frequent words; ties go to the first in alphabetical order."""
    return min(counts, key=lambda words: (-counts[words], words))


def _common_prefix(first: str, second: str) -> int:
    """Return the length of the longest common prefix."""
    return sum(takewhile(bool, map(eq, first, second)))
