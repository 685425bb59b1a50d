r"""Search trees: find words by their columns and by their place in the tree.

    upos=VERB Tense=Past >obj lemma=letter !>nsubj      a verb in the past with the object "letter" and no subject

A query is a term: conditions on a word, then links from this word to other terms.

    conditions  `upos=VERB`, for form, lemma, upos, xpos and deprel, or a feature: `Number=Plur`. `!=` is "is not",
                `NOUN|PROPN` are alternatives, `*` in a value stands for any characters. `_` is no value, which `*` does
                not match. A value with a space or any of ()<>|="\!* goes in double quotes. All conditions must hold;
                the condition `*` is any word.
    links       `>` a dependent, `<` the head, `>>` a descendant, `<<` an ancestor; then a term, or none for any word.
                `>obj` and `<obj|iobj` name the relation of the lower word: of the descendant in `>>obj`, of the word
                itself in `<<obj`. `!>` means that there is no such word.

All links of a term start at its word: `upos=VERB >nsubj >obj` is a verb with both. Parentheses give the other word
links of its own: `upos=VERB >obj (upos=NOUN >amod)`. Two terms may match the same word.

The words that match a term are found from the inside of the query outwards, with one pass over the sentence per link:
in time O(N) for a fixed query. From them, all matches are listed without a wrong step; there may be more than N.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, product
from typing import NamedTuple

from hexatagger.errors import ConfigError
from hexatagger.sentence import Sentence, Word
from hexatagger.tree import check_tree, dependents_of, subtree

Test = Callable[[str], bool]

_DEEPEST = 50  # parentheses inside one another
_COLUMNS = ("form", "lemma", "upos", "xpos", "deprel")
_VALUES = r'(?:"(?:[^"\\]|\\.)*"|[^\s()<>="\\!])+'
_TOKEN = re.compile(
    rf"(?P<paren>[()])|(?:(?P<any>\*)|(?P<link>!?(?:>>?|<<?))(?P<label>{_VALUES})?"
    rf"|(?P<key>[A-Za-z][\w\[\]]*)(?P<equals>!?=)(?P<values>{_VALUES}))(?![^\s()<>!])"
)
_PIECE = re.compile(r'(?P<sign>[*|])|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^"*|]+)')


class Term(NamedTuple):
    """Conditions on the values of a word, and links to other terms."""

    conditions: "list[tuple[str, Test]]"
    links: "list[Link]"


class Link(NamedTuple):
    """A link to a term: the arrow, whether there must be none, and the test of the relation."""

    arrow: str
    negated: bool
    label: Test
    term: Term


@lru_cache(maxsize=64)
def read_query(query: str) -> Term:
    """Read a query; ConfigError says where it is wrong.

    >>> read_query("upos=VERB obj")
    Traceback (most recent call last):
        ...
    hexatagger.errors.ConfigError: query, character 11: 'obj' is not a condition like upos=VERB or a link like >obj
    """
    tokens, place = deque[re.Match[str]](), len(query) - len(query.lstrip())
    while place < len(query):
        if (token := _TOKEN.match(query, place)) is None:
            bad = query[place:].split(maxsplit=1)[0]
            raise _wrong(place, f"'{bad}' is not a condition like upos=VERB or a link like >obj")
        tokens.append(token)
        place = len(query) - len(query[token.end() :].lstrip())
    term = _read_term(tokens, query, 0)
    if tokens:
        place, bad = tokens[0].start(), tokens[0][0]
        raise _wrong(place, f"'{bad}' is out of place: conditions come before links, parentheses after a link")
    return term


def _wrong(place: int, message: str) -> ConfigError:
    return ConfigError(f"query, character {place + 1}: {message}")


def _read_term(tokens: deque[re.Match[str]], query: str, depth: int) -> Term:
    """Take a term from the tokens."""
    place = tokens[0].start() if tokens else len(query)
    if depth > _DEEPEST:
        raise _wrong(place, f"more than {_DEEPEST} parentheses inside one another")
    if not tokens or not (tokens[0]["key"] or tokens[0]["any"]):
        raise _wrong(place, "a condition is missing: write upos=VERB, or * for any word")
    term = Term(_read_conditions(tokens), [])
    while tokens and (arrow := tokens[0]["link"]):
        label = tokens.popleft()["label"]
        if tokens and tokens[0][0] == "(":
            opened = tokens.popleft().start()
            target = _read_term(tokens, query, depth + 1)
            if not tokens or tokens[0][0] != ")":
                raise _wrong(opened, "'(' is not closed")
            tokens.popleft()
        else:
            target = Term(_read_conditions(tokens), [])
        test = _test(label) if label else lambda _: True
        term.links.append(Link(arrow.lstrip("!"), arrow[0] == "!", test, target))
    return term


def _read_conditions(tokens: deque[re.Match[str]]) -> list[tuple[str, Test]]:
    """Take conditions from the tokens, as many as there are."""
    found: list[tuple[str, Test]] = []
    while tokens and (tokens[0]["key"] or tokens[0]["any"]):
        token = tokens.popleft()
        if key := token["key"]:
            if key not in _COLUMNS and not key[0].isupper():
                known = f"{', '.join(_COLUMNS)}, or a feature like Number"
                raise _wrong(token.start(), f"there is no column '{key}': known are {known}")
            found.append((key, _test(token["values"], negated=token["equals"] == "!=")))
    return found


def _test(values: str, *, negated: bool = False) -> Test:
    """Return the test for one of several values."""
    pieces: list[list[str]] = [[""]]  # of each alternative, the strings between the asterisks
    for piece in _PIECE.finditer(values):
        if piece["sign"]:
            pieces.append([""]) if piece["sign"] == "|" else pieces[-1].append("")
        else:
            pieces[-1][-1] += piece["plain"] or re.sub(r"\\(.)", r"\1", piece["quoted"])
    fixed = {first for first, *rest in pieces if not rest}
    # subtle: atomic groups, so that a long word does not take time exponential in the number of asterisks
    escaped = [list(map(re.escape, parts)) for parts in pieces if len(parts) > 1]
    open_ = [f"{first}{''.join(f'(?>.*?{each})' for each in inner)}.*{last}" for first, *inner, last in escaped]
    pattern = re.compile("|".join(open_) or "(?!)", re.DOTALL)
    return lambda value: (value in fixed or (value != "_" and bool(pattern.fullmatch(value)))) != negated


def find_matches(query: str, sentence: Sentence) -> Iterator[tuple[Word, ...]]:
    """Yield the matches of a query: for each, the words of all terms that are not negated, in the order of the query.

    >>> sentence = Sentence.from_words(["She", "reads", "papers"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    >>> list(find_matches("* >nsubj|obj *", sentence))
    [(<Word 2 'reads' root>, <Word 1 'She' nsubj of 2>), (<Word 2 'reads' root>, <Word 3 'papers' obj of 2>)]
    """
    top, words = read_query(query), sentence.words
    heads = [word.head or 0 for word in words]
    check_tree(heads, single_root=False)
    ends: dict[int, Callable[[int], Iterable[int]]] = {}  # for each link, the words that it leads to from a word

    def holds(term: Term) -> list[bool]:
        """Say for 0, which never matches, and every word whether it matches a term."""
        found = [False, *(_holds(term.conditions, word) for word in words)]
        for link in term.links:
            labels = [False, *(link.label(word.deprel) for word in words)]
            leads, ends[id(link)] = _follow(link.arrow, holds(link.term), labels, [0, *heads])
            found = [here and there != link.negated for here, there in zip(found, leads, strict=True)]
        return found

    def listed(term: Term, word: int) -> Iterator[tuple[int, ...]]:
        links = [link for link in term.links if not link.negated]
        rest = [[match for end in ends[id(link)](word) for match in listed(link.term, end)] for link in links]
        return ((word, *chain.from_iterable(matches)) for matches in product(*rest))

    for number in [number for number, here in enumerate(holds(top)) if here]:
        yield from (tuple(words[each - 1] for each in match) for match in listed(top, number))


def _holds(conditions: Sequence[tuple[str, Test]], word: Word) -> bool:
    return all(test(getattr(word, key) if key in _COLUMNS else word.features.get(key, "_")) for key, test in conditions)


def _follow(
    arrow: str, good: list[bool], labels: list[bool], heads: list[int]
) -> tuple[list[bool], Callable[[int], Iterable[int]]]:
    """Say from which words an arrow leads to a good one, and return the function that lists those for a word."""
    leads = [False] * len(heads)
    dependents = dependents_of(heads[1:])
    order = subtree(0, dependents)  # heads before their dependents
    fits = [here and label for here, label in zip(good, labels, strict=True)]
    if arrow == ">":
        for word, fit in enumerate(fits):
            leads[heads[word]] |= fit
        return leads, lambda word: [each for each in dependents[word] if fits[each]]
    if arrow == "<":
        return [label and good[head] for label, head in zip(labels, heads, strict=True)], lambda word: [heads[word]]
    if arrow == ">>":
        for word in reversed(order):
            leads[heads[word]] |= fits[word] or leads[word]
        return leads, lambda word: sorted(each for each in subtree(word, dependents)[1:] if fits[each])
    for word in order[1:]:
        leads[word] = good[heads[word]] or leads[heads[word]]

    def above(word: int) -> Iterator[int]:
        while word := heads[word]:
            if good[word]:
                yield word

    return [label and lead for label, lead in zip(labels, leads, strict=True)], above
