r"""Non-projective tree ⇄ projective tree: the pseudo-projective transformation.

Hexatags can only represent projective trees. The pseudo-projective transformation of Nivre and Nilsson (2005,
"Pseudo-Projective Dependency Parsing", ACL) lifts the dependent of each non-projective arc to the head of its head
until no arc is non-projective. It marks deprels so that a parser trained on them predicts where a word came from:

    head        `rel|first` on a lifted word, where `first` is the deprel of its original head
    path        `rel|` on a lifted word, `rel%` on every head that a word was lifted over
    head+path   both: `rel|first`, `rel%`, and `rel|first%` on a word that was lifted and lifted over

In "What did she say happened", "What" depends on "happened" across "say". `lift` attaches it to "say":

    heads     5      4    4      0     4              4            4    4      0     4
    deprels   nsubj  aux  nsubj  root  ccomp    ⇄     nsubj|ccomp  aux  nsubj  root  ccomp%

Both directions give the results of MaltParser 1.9.2 (its `head`, `path` and `head+path`, covered roots ignored), down
to the order in which it visits words. One addition is ours: `|`, `%` and `\` that belong to a deprel are escaped with a
backslash, so that any deprel survives.

Not supported: MaltParser's other schemes (baseline, trace) and its treatment of covered roots. `unlift` is a heuristic
search that misses some arcs, so score against the original treebank, never against a round trip.
"""

import re
from bisect import bisect, insort
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Literal, get_args

from hexatagger.errors import check_choice
from hexatagger.tree import check_tree, dependents_of, is_projective, plain, runs, subtree

Scheme = Literal["head", "path", "head+path"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

# A deprel, optionally `|` and the deprel of the original head, optionally `%`; a backslash escapes a character.
_LABEL = re.compile(r"((?:\\.|[^|%])*)(?:\|((?:\\.|[^%])*))?(%)?", re.DOTALL)
_SPECIAL = re.compile(r"[\\|%]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def lift(heads: Iterable[int], deprels: Sequence[str], scheme: Scheme = "head+path") -> tuple[list[int], list[str]]:
    """Make a tree projective and mark its deprels for `unlift`; a projective tree stays as it is, in O(N).

    >>> lift([5, 4, 4, 0, 4], ["nsubj", "aux", "nsubj", "root", "ccomp"])
    ([4, 4, 4, 0, 4], ['nsubj|ccomp', 'aux', 'nsubj', 'root', 'ccomp%'])
    >>> lift([5, 4, 4, 0, 4], ["nsubj", "aux", "nsubj", "root", "ccomp"], "path")[1]
    ['nsubj|', 'aux', 'nsubj', 'root', 'ccomp%']
    """
    check_choice("pseudo-projective scheme", scheme, SCHEMES)
    heads = plain(heads)
    plain_deprels = [_SPECIAL.sub(r"\\\g<0>", deprel) for deprel in deprels]
    if is_projective(heads):
        return heads, plain_deprels
    check_tree(heads, single_root=False)

    up = [0, *heads]
    dependents = dependents_of(heads)
    start, end = runs(dependents)
    first_head: dict[int, int] = {}  # of lifted words
    passed: set[int] = set()  # heads that a word was lifted over

    # An arc is projective if the word lies in its head's run. Lifting a word shortens the run of its old head and
    # changes no other run. Runs never grow, so a word in the queue stays non-projective until it is processed.
    # subtle: the shortest arc goes first, by its length in the original tree, however far the word has been lifted.
    queue = [(abs(word - head), word) for word, head in enumerate(heads, 1) if not start[head] <= word <= end[head]]
    heapify(queue)
    while queue:
        length, word = heappop(queue)
        head = up[word]
        first_head.setdefault(word, head)
        passed.add(head)
        up[word] = up[head]
        dependents[head].remove(word)
        dependents[up[word]].append(word)
        if not start[up[word]] <= word <= end[up[word]]:
            heappush(queue, (length, word))

        kept = [other for other in dependents[head] if start[head] <= other <= end[head]]
        lost = subtree(word, dependents)
        start[head] = max([start[head], *(gone + 1 for gone in lost if gone < head)])
        end[head] = min([end[head], *(gone - 1 for gone in lost if gone > head)])
        for other in kept:
            if not start[head] <= other <= end[head]:
                heappush(queue, (abs(other - heads[other - 1]), other))

    marked = list(plain_deprels)
    for word, head in first_head.items():
        # subtle: marks contain unmarked deprels, so `marked` must not be read here.
        marked[word - 1] += "|" if scheme == "path" else "|" + plain_deprels[head - 1]
    if scheme != "head":
        for word in passed:
            marked[word - 1] += "%"
    return up[1:], marked


def unlift(heads: Iterable[int], deprels: Sequence[str], scheme: Scheme = "head+path") -> tuple[list[int], list[str]]:
    """Move marked words back to their heads and remove all marks.

    The marks may be predictions: any tree with any strings as deprels is accepted. A word whose head is not found stays
    where it is. A tree stays a tree and keeps its root. O(N) without marks.

    >>> unlift([4, 4, 4, 0, 4], ["nsubj|ccomp", "aux", "nsubj", "root", "ccomp%"])
    ([5, 4, 4, 0, 4], ['nsubj', 'aux', 'nsubj', 'root', 'ccomp'])
    >>> unlift([2, 0], ["nsubj|xcomp", "root|%"])
    ([2, 0], ['nsubj', 'root'])
    """
    check_choice("pseudo-projective scheme", scheme, SCHEMES)
    heads = plain(heads)
    if not _SPECIAL.search("".join(deprels)):  # the usual case: no mark, nothing escaped
        return heads, list(deprels)
    labels = [_split(deprel) for deprel in deprels]
    unmarked = [deprel for deprel, _, _ in labels]
    lifted = {word: first for word, (_, first, _) in enumerate(labels, 1) if first is not None}
    passed = {word for word, (_, _, is_passed) in enumerate(labels, 1) if is_passed}
    return _restore(heads, unmarked, lifted, passed, scheme) if lifted else heads, unmarked


def base(deprel: str) -> str:
    r"""Return a deprel without its mark, to show it or to back off from a rare label.

    >>> base("nsubj|ccomp%"), base("ccomp%"), base("nsubj:pass"), base(r"either\|or|ccomp")
    ('nsubj', 'ccomp', 'nsubj:pass', 'either|or')
    """
    return _split(deprel)[0]


def split_mark(deprel: str) -> tuple[str, str]:
    """Split a deprel that `lift` returned into the deprel, still escaped, and its mark.

    >>> split_mark("nsubj|obl%"), split_mark("obj%"), split_mark("obl:tmod")
    (('nsubj', '|obl%'), ('obj', '%'), ('obl:tmod', ''))
    """
    found = _LABEL.match(deprel)
    assert found  # every part may be empty
    return deprel[: found.end(1)], deprel[found.end(1) :]


def _split(deprel: str) -> tuple[str, str | None, bool]:
    """Split a label: the deprel, the original head's deprel if lifted ("" in scheme path), whether lifted over.

    >>> _split("nsubj|ccomp%"), _split("nsubj|"), _split("nsubj")
    (('nsubj', 'ccomp', True), ('nsubj', '', False), ('nsubj', None, False))
    """
    if not _SPECIAL.search(deprel):
        return deprel, None, False
    match = _LABEL.match(deprel)
    assert match
    deprel, first, percent = match.groups()
    return _ESCAPED.sub(r"\1", deprel), first and _ESCAPED.sub(r"\1", first), percent is not None


def _restore(
    heads: Sequence[int], deprels: Sequence[str], lifted: dict[int, str], passed: set[int], scheme: Scheme
) -> list[int]:
    """Search for the head of every lifted word, from the root down; a word that finds one is removed from `lifted`."""
    up = [0, *heads]
    dependents = dependents_of(heads)

    def find_head(word: int) -> int | None:
        """Search breadth first, below the head of a lifted word, for the head that it was lifted from."""
        fallback = None
        nodes = [up[word]]
        for node in nodes:  # grows during the loop
            # subtle: never enter the word itself, so that its new head cannot close a cycle.
            below = [other for other in dependents[node] if other != word and (scheme == "head" or other in passed)]
            # subtle: nearest first, left before right. MaltParser's selection sort is not stable, but on words in order
            # (ties are pairs, one on each side) it gives the result of a stable sort; a test tries all short lists.
            for other in sorted(below, key=lambda other: abs(other - word)):
                nodes.append(other)
                if scheme == "path" or deprels[other - 1] == lifted[word]:
                    if scheme == "head" or passed.isdisjoint(dependents[other]):
                        return other
                    fallback = fallback or other
        return fallback

    moves = 0
    unmoved = [-1] * len(up)  # value of `moves` at the last pass over a node's dependents that moved nothing
    complete = [True] * len(up)  # whether the last pass over a node's dependents found all heads below the node

    def visit(node: int) -> Iterator[int]:
        """Restore a node, then its descendants; yield each node that must be visited before continuing."""
        nonlocal moves
        head = find_head(node) if node in lifted else None
        if head is not None:
            dependents[up[node]].remove(node)
            insort(dependents[head], node)
            up[node] = head
            del lifted[node]
            moves += 1
        # subtle: if a search below fails, all descendants are visited a second time, as later moves may have opened a
        # path. Doing so at every level would make 2^depth visits: skip a pass if nothing has moved since the start of
        # the last one, because it would have the same result.
        for _ in range(2):
            if unmoved[node] != moves:
                before = moves
                complete[node] = True
                # subtle: dependents on the left from left to right, then those on the right from right to left.
                middle = bisect(dependents[node], node)
                for word in dependents[node][:middle] + dependents[node][middle:][::-1]:
                    yield word
                    complete[node] &= word not in lifted and complete[word]
                if moves == before:
                    unmoved[node] = moves
            if complete[node]:
                break

    # Recursion with an explicit stack, as a chain of a thousand words would exhaust the call stack.
    running = [visit(0)]
    while running:
        word = next(running[-1], None)
        if word is None:
            running.pop()
        else:
            running.append(visit(word))
    return up[1:]
