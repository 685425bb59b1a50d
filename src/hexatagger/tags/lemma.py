"""(form, lemma) ⇄ edit script, so that a lemma is a tag from a fixed set.

A script first changes the case of the form, then replaces a number of characters at the front and at the back: "reads"
→ "read" and "Sees" → "see" have the same script (lower case, remove 1 at the back). Of all scripts for a pair, the one
with the fewest characters removed and added is taken. A lemma that shares no character with its form is stored whole
("went" → "go", "is" → "be").

Not supported: edits in the middle of a word. They are expressed as edits of a whole prefix or suffix.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

CASES: dict[str, Callable[[str], str]] = {
    # In order of preference: ties go to the earlier case.
    "lower": str.lower,
    "keep": str,
    "title": lambda form: form[:1].upper() + form[1:].lower(),
    "upper": str.upper,
}
"""The changes of case, by name."""
WHOLE = "whole"
"""The first field of a script that is a whole lemma."""


@lru_cache(maxsize=1 << 16)
def to_script(form: str, lemma: str) -> str:
    r"""Return the script that turns the form into the lemma, in O(len(form) · len(lemma)).

    Its fields are separated by tabs, which no column of a treebank contains: case, number of characters removed in
    front, prefix, number removed at the back, suffix; or `whole` and the lemma.

    >>> to_script("Studies", "study")
    'lower\t0\t\t3\ty'
    >>> to_script("London", "London"), to_script("went", "go")
    ('keep\t0\t\t0\t', 'whole\tgo')
    """
    best, least = f"{WHOLE}\t{lemma}", None
    for case, change in CASES.items():
        base = change(form)
        base_start, lemma_start, length = _longest_common(base, lemma)
        cost = len(base) + len(lemma) - 2 * length
        if length and (least is None or cost < least):
            base_end, lemma_end = base_start + length, lemma_start + length
            fields = (case, base_start, lemma[:lemma_start], len(base) - base_end, lemma[lemma_end:])
            best, least = "\t".join(map(str, fields)), cost
    return best


@lru_cache(maxsize=1 << 16)
def apply_script(form: str, script: str) -> str:
    r"""Return the lemma that the script makes of the form; a form that is too short for it is returned unchanged.

    >>> apply_script("Parties", "lower\t0\t\t3\ty")
    'party'
    """
    return apply_to_all([form], script)[0]


def apply_to_all(forms: Sequence[str], script: str) -> list[str]:
    """Return the lemmas that one script makes of several forms, as `apply_script` does."""
    case, *fields = script.split("\t")
    if case == WHOLE:
        return [fields[0]] * len(forms)
    cut_front, add_front, cut_back, add_back = int(fields[0]), fields[1], int(fields[2]), fields[3]
    change = CASES[case]
    lemmas: list[str] = []
    for form in forms:
        base = change(form)
        kept = len(base) - cut_back
        lemma = add_front + base[cut_front:kept] + add_back if cut_front <= kept else form
        lemmas.append(lemma or form)  # subtle: an empty LEMMA would break the file
    return lemmas


def _longest_common(first: str, second: str) -> tuple[int, int, int]:
    """Return where the longest common substring starts in both, and its length; ties go to the leftmost."""
    best = (0, 0, 0)
    row = [0] * (len(second) + 1)
    for i, character in enumerate(first, 1):
        previous, row = row, [0] * (len(second) + 1)
        for j, other in enumerate(second, 1):
            if character == other:
                row[j] = previous[j - 1] + 1
                if row[j] > best[2]:
                    best = (i - row[j], j - row[j], row[j])
    return best
