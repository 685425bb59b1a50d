"""Lifting and unlifting: against MaltParser's own output, against a slow twin, on trees drawn by hand and at random."""

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger.errors import ConfigError, TreeError
from hexatagger.tags.projective import SCHEMES, Scheme, base, lift, unlift
from hexatagger.tree import is_projective, is_tree

MALT_FILES = [
    "de_gsd_dev.tsv",
    "ko_gsd_dev.tsv",
    "lt_alksnis_dev.tsv",
    "nl_alpino_dev.tsv",
    "nl_lassysmall_dev.tsv",
    "nl_lassysmall_test.tsv",
]

every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
schemes = st.sampled_from(SCHEMES)


# --- MaltParser -----------------------------------------------------------------------------------


def read_malt(path: Path) -> list[dict[str, list[str]]]:
    """Read sentences as columns by name; a blank line ends a sentence."""
    header, *blocks = path.read_text(encoding="utf-8").strip("\n").replace("\n", "\n\n", 1).split("\n\n")
    names = header.split("\t")
    sentences = []
    for block in blocks:
        rows = [line.split("\t") for line in block.strip("\n").split("\n")]
        sentences.append({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    return sentences


@pytest.mark.parametrize("file", MALT_FILES)
@every_scheme
def test_equals_maltparser(shared: Path, file: str, scheme: Scheme) -> None:
    sentences = read_malt(shared / "malt" / file)
    assert len(sentences) >= 48
    for sentence in sentences:

        def tree(heads: str, deprels: str, columns: dict[str, list[str]] = sentence) -> tuple[list[int], list[str]]:
            return [int(head) for head in columns[heads]], columns[deprels]

        gold = tree("head", "deprel")
        lifted = tree(f"{scheme}.proj_head", f"{scheme}.proj_deprel")
        restored = tree(f"{scheme}.back_head", f"{scheme}.back_deprel")
        assert lift(*gold, scheme) == lifted
        assert unlift(*lifted, scheme) == restored


# --- Trees drawn by hand --------------------------------------------------------------------------

HEARING = [2, 4, 4, 0, 7, 7, 2, 4]  # A hearing is scheduled on the issue today
HEARING_DEPRELS = ["det", "nsubj:pass", "aux:pass", "root", "case", "det", "nmod", "obl"]


@pytest.mark.parametrize(
    ("scheme", "hearing", "issue"),
    [
        ("head", "nsubj:pass", "nmod|nsubj:pass"),
        ("path", "nsubj:pass%", "nmod|"),
        ("head+path", "nsubj:pass%", "nmod|nsubj:pass"),
    ],
)
def test_worked_example(scheme: Scheme, hearing: str, issue: str) -> None:
    heads, deprels = lift(HEARING, HEARING_DEPRELS, scheme)
    assert heads == [2, 4, 4, 0, 7, 7, 4, 4]
    assert deprels == ["det", hearing, "aux:pass", "root", "case", "det", issue, "obl"]
    assert unlift(heads, deprels, scheme) == (HEARING, HEARING_DEPRELS)


def test_head_and_path_is_the_default() -> None:
    lifted = lift(HEARING, HEARING_DEPRELS)
    assert lifted == lift(HEARING, HEARING_DEPRELS, "head+path")
    assert unlift(*lifted) == (HEARING, HEARING_DEPRELS)


def test_a_word_lifted_twice_names_its_first_head_and_passes_over_two() -> None:
    heads, deprels = [5, 0, 2, 3, 4], ["a", "root", "b", "c", "d"]
    assert lift(heads, deprels, "head") == ([2, 0, 2, 3, 4], ["a|d", "root", "b", "c", "d"])
    assert lift(heads, deprels, "path") == ([2, 0, 2, 3, 4], ["a|", "root", "b%", "c%", "d%"])
    for scheme in SCHEMES:
        assert unlift(*lift(heads, deprels, scheme), scheme) == (heads, deprels)


def test_lengths_are_those_of_the_original_tree() -> None:
    # 3 → 1 (length 2) and 1 → 4 (length 3) are non-projective. Word 1 is lifted to 5, where its arc is 4 long and still
    # non-projective. It goes on before word 4 all the same, up to 2; measured anew, it would have let word 4 go first,
    # and the heads would be [2, 0, 5, 5, 2].
    heads, deprels = [3, 0, 5, 1, 2], ["a", "root", "b", "c", "d"]
    assert lift(heads, deprels) == ([2, 0, 2, 2, 2], ["a|b%", "root", "b|d%", "c|a", "d%"])
    assert lift(heads, deprels, "path")[1] == ["a|%", "root", "b|%", "c|", "d%"]
    assert lift(heads, deprels, "head")[1] == ["a|b", "root", "b|d", "c|a", "d"]


@every_scheme
@pytest.mark.parametrize(
    ("heads", "deprels"), [([], []), ([0], ["root"]), ([2, 0], ["a", "root"]), ([0, 0], ["a", "b"])]
)
def test_small_sentences(heads: list[int], deprels: list[str], scheme: Scheme) -> None:
    assert lift(heads, deprels, scheme) == (heads, deprels)
    assert unlift(heads, deprels, scheme) == (heads, deprels)


def test_the_nearest_word_with_the_wanted_relation_is_the_head() -> None:
    # Word 4 was lifted from a `b`: 2 and 6 are equally near, the left one wins; 5 is nearer than both.
    assert unlift([2, 3, 0, 3, 6, 3], ["a", "b", "root", "c|b", "a", "b"], "head")[0] == [2, 3, 0, 2, 6, 3]
    assert unlift([2, 3, 0, 3, 3, 5], ["a", "b", "root", "c|b", "b", "a"], "head")[0] == [2, 3, 0, 5, 3, 5]


def test_a_word_is_never_moved_below_itself() -> None:
    # The only `b` is a dependent of the lifted word.
    assert unlift([2, 3, 0], ["b%", "a|b", "root"], "head")[0] == [2, 3, 0]
    assert unlift([2, 3, 0], ["b%", "a|b", "root"], "path")[0] == [2, 3, 0]
    assert unlift([2, 3, 0], ["b%", "a|b", "root"], "head+path")[0] == [2, 3, 0]


def test_dependents_on_the_right_are_visited_from_right_to_left() -> None:
    # Words 2 and 3 want each other: the one visited first gets its wish.
    assert unlift([0, 1, 1], ["root", "a|b", "b|a"], "head")[0] == [0, 1, 2]
    assert unlift([3, 3, 0], ["a|b", "b|a", "root"], "head")[0] == [2, 3, 0]


def test_a_failed_search_is_repeated_after_others_have_moved() -> None:
    # Word 1 wants an `a` below 2. There is none until word 3 has found its `c`.
    heads, deprels = [2, 4, 4, 0], ["b|a", "c", "a|c", "root"]
    assert naive_unlift(heads, deprels, "head", visits=1)[0] == [2, 4, 2, 0]
    assert unlift(heads, deprels, "head")[0] == [3, 4, 2, 0]


def test_head_and_path_falls_back_on_a_match_higher_up() -> None:
    # The last word of the path, 2, is no `a`; 3, further up, is.
    assert unlift([4, 3, 4, 0], ["b|a", "c%", "a%", "root"])[0] == [3, 3, 4, 0]
    assert unlift([4, 3, 4, 0], ["b|a", "a%", "a%", "root"])[0] == [2, 3, 4, 0]


# --- Relations and options ------------------------------------------------------------------------


@every_scheme
def test_relations_with_mark_characters_survive(scheme: Scheme) -> None:
    heads, deprels = [5, 4, 4, 0, 4], ["a|b", "c%", "\\", "root|%\\", "\\|d%"]
    lifted = lift(heads, deprels, scheme)
    assert lifted[1] != deprels
    assert unlift(*lifted, scheme) == (heads, deprels)


def test_relations_of_a_projective_tree_are_escaped_too() -> None:
    # Otherwise the way back could not tell them from marks.
    lifted = lift([2, 0], ["a|b", "root%"])
    assert lifted == ([2, 0], [r"a\|b", r"root\%"])
    assert unlift(*lifted) == ([2, 0], ["a|b", "root%"])


def test_base() -> None:
    assert [base(deprel) for deprel in ("obj", "obj|xcomp", "obj|", "obj%", "obj|xcomp%", "obj|%")] == ["obj"] * 6
    assert base(r"a\|b\%\\|c") == "a|b%\\"
    assert base("") == ""


@pytest.mark.parametrize("function", [lift, unlift])
def test_unknown_scheme(function: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"'deepest'.*head, path, head\+path"):
        function([0], ["root"], "deepest")


def test_lift_wants_a_tree() -> None:
    with pytest.raises(TreeError, match="cycle"):
        lift([2, 1, 0], ["a", "b", "root"])


def test_input_is_left_alone() -> None:
    heads, deprels = tuple(HEARING), tuple(HEARING_DEPRELS)
    lifted = lift(heads, deprels)
    assert unlift(tuple(lifted[0]), tuple(lifted[1])) == (HEARING, HEARING_DEPRELS)


# --- Properties -----------------------------------------------------------------------------------

letters = st.sampled_from(["a", "b", "c"])
wild = st.text(alphabet="ab|%\\", max_size=5) | st.text(max_size=3)


@st.composite
def trees(
    draw: st.DrawFn, deprels: st.SearchStrategy[str] = letters, max_size: int = 12, single_root: bool = True
) -> tuple[list[int], list[str]]:
    """Draw any tree: words in a random order, each attached to one before it (or to the root)."""
    order = draw(st.permutations(range(1, draw(st.integers(1, max_size)) + 1)))
    heads = [0] * len(order)
    for place in range(1, len(order)):
        candidates = order[:place] if single_root else [0, *order[:place]]
        heads[order[place] - 1] = draw(st.sampled_from(candidates))
    return heads, draw(st.lists(deprels, min_size=len(order), max_size=len(order)))


marked = st.builds(
    lambda relation, first, percent: relation + first + percent,
    letters,
    st.sampled_from(["", "", "|", "|a", "|b", "|c"]),
    st.sampled_from(["", "%"]),
)


@given(trees(wild, single_root=False), schemes)
def test_lifted_trees_are_projective_and_relations_come_back(tree: tuple[list[int], list[str]], scheme: Scheme) -> None:
    heads, deprels = tree
    lifted_heads, lifted_deprels = lift(heads, deprels, scheme)
    assert is_projective(lifted_heads)
    assert [base(deprel) for deprel in lifted_deprels] == deprels
    if is_projective(heads):
        assert lifted_heads == heads
    restored_heads, restored_deprels = unlift(lifted_heads, lifted_deprels, scheme)
    assert restored_deprels == deprels
    assert is_tree(restored_heads, single_root=False)


@given(trees(), schemes)
def test_projective_trees_are_unchanged(tree: tuple[list[int], list[str]], scheme: Scheme) -> None:
    projective = lift(*tree, scheme)[0]
    assert lift(projective, tree[1], scheme) == (projective, tree[1])
    assert unlift(projective, tree[1], scheme) == (projective, tree[1])


@given(trees(wild), schemes)
def test_unlift_takes_any_string(tree: tuple[list[int], list[str]], scheme: Scheme) -> None:
    heads, deprels = unlift(*tree, scheme)
    assert is_tree(heads)
    assert deprels == [base(deprel) for deprel in tree[1]]
    for given_deprel, deprel in zip(tree[1], deprels, strict=True):
        if "\\" not in given_deprel:
            assert not set("|%") & set(deprel)


@given(trees(marked, max_size=9, single_root=False), schemes)
def test_unlift_takes_any_marks_and_equals_its_slow_twin(tree: tuple[list[int], list[str]], scheme: Scheme) -> None:
    heads, deprels = unlift(*tree, scheme)
    assert (heads, deprels) == naive_unlift(*tree, scheme)
    assert is_tree(heads, single_root=tree[0].count(0) == 1)


@given(trees(max_size=10, single_root=False), schemes)
def test_lift_equals_its_slow_twin(tree: tuple[list[int], list[str]], scheme: Scheme) -> None:
    assert lift(*tree, scheme) == naive_lift(*tree, scheme)


# --- Slow twins: the definitions word for word, cubic and recursive -------------------------------


def naive_lift(heads: Sequence[int], deprels: Sequence[str], scheme: Scheme) -> tuple[list[int], list[str]]:
    up = [0, *heads]
    first: dict[int, int] = {}
    passed = set()

    def is_below(word: int, node: int) -> bool:
        while word not in (0, node):
            word = up[word]
        return word == node

    while True:
        crossing = [
            word
            for word in range(1, len(up))
            if not all(is_below(between, up[word]) for between in range(min(word, up[word]) + 1, max(word, up[word])))
        ]
        if not crossing:
            break
        word = min(crossing, key=lambda word: abs(word - heads[word - 1]))
        first.setdefault(word, up[word])
        passed.add(up[word])
        up[word] = up[up[word]]
    labels = []
    for word, deprel in enumerate(deprels, 1):
        label = deprel
        if word in first:
            label += "|" + (deprels[first[word] - 1] if scheme != "path" else "")
        if word in passed and scheme != "head":
            label += "%"
        labels.append(label)
    return up[1:], labels


def selection_sort(words: Sequence[int], target: int) -> list[int]:
    order = list(words)
    for place in range(len(order)):
        smallest = place
        for other in range(place, len(order)):
            if abs(order[other] - target) < abs(order[smallest] - target):
                smallest = other
        order[place], order[smallest] = order[smallest], order[place]
    return order


def naive_unlift(
    heads: Sequence[int], deprels: Sequence[str], scheme: Scheme, visits: int = 2
) -> tuple[list[int], list[str]]:
    up = [0, *heads]
    relations = [""]
    lifted: dict[int, str] = {}
    passed = set()
    for word, deprel in enumerate(deprels, 1):
        label, percent, _ = deprel.partition("%")
        relation, bar, first = label.partition("|")
        relations.append(relation)
        if percent:
            passed.add(word)
        if bar:
            lifted[word] = first

    def dependents(node: int) -> list[int]:
        return [word for word in range(1, len(up)) if up[word] == node]

    def search(word: int) -> int | None:
        def below(node: int) -> list[int]:
            order = selection_sort(dependents(node), word)
            return [other for other in order if other != word and (scheme == "head" or other in passed)]

        second_chance = []
        queue = below(up[word])
        while queue:
            node = queue.pop(0)
            matches = relations[node] == lifted[word]
            if scheme == "head" and matches:
                return node
            if scheme == "path" and not below(node):
                return node
            if scheme == "head+path" and matches:
                if not below(node):
                    return node
                second_chance.append(node)
            queue += below(node)
        return second_chance[0] if second_chance else None

    def visit(node: int) -> bool:
        success = True
        if node in lifted:
            head = search(node)
            if head is None:
                success = False
            else:
                up[node] = head
                del lifted[node]
        children_succeed = False
        for _ in range(visits):
            left = [word for word in dependents(node) if word < node]
            right = [word for word in dependents(node) if word > node]
            successes = [visit(word) for word in left + right[::-1]]
            children_succeed = all(successes)
            if children_succeed:
                break
        return success and children_succeed

    visit(0)
    return up[1:], relations[1:]


def test_selection_sort_by_distance_is_stable_for_words_in_order() -> None:
    for size in range(9):
        for words in combinations(range(1, 9), size):
            for target in range(1, 9):
                assert selection_sort(words, target) == sorted(words, key=lambda word: abs(word - target))


# --- Long sentences -------------------------------------------------------------------------------


def timed(function: Callable[[], tuple[list[int], list[str]]]) -> tuple[list[int], list[str]]:
    start = perf_counter()
    result = function()
    assert perf_counter() - start < 10  # generous: the slowest takes about a second
    return result


SIZE = 10_000
DEPRELS = ["root", *(f"r{word % 30}" for word in range(1, SIZE))]


@every_scheme
@pytest.mark.parametrize(
    "heads",
    [
        pytest.param([word - 1 for word in range(1, SIZE + 1)], id="chain"),
        pytest.param([0] + [1] * (SIZE - 1), id="flat"),
        # A chain over the odd words with the even ones as leaves, ten of which are lifted some fifty times.
        pytest.param(
            [
                0,
                *(
                    word - 2 if word % 2 else word - 1 if word % 1000 != 500 else word + 101
                    for word in range(2, SIZE + 1)
                ),
            ],
            id="comb",
        ),
    ],
)
def test_long_sentences(heads: list[int], scheme: Scheme) -> None:
    lifted = timed(lambda: lift(heads, DEPRELS, scheme))
    assert is_projective(lifted[0])
    restored = timed(lambda: unlift(*lifted, scheme))
    assert is_tree(restored[0])
    assert restored[1] == DEPRELS


@every_scheme
def test_marks_that_lead_nowhere_take_no_exponential_time(scheme: Scheme) -> None:
    # A chain in which every search fails but one, near the end, visited before a failing one.
    deprels = ["root", *["a|b%"] * (SIZE - 3), "c|d%", "d%"]
    heads = [*range(SIZE - 1), SIZE - 2]
    assert is_tree(timed(lambda: unlift(heads, deprels, scheme))[0])
