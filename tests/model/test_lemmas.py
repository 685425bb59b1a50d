"""The table of lemmas: what the treebank says is what is found, and other forms get nothing absurd."""

import gzip
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hexatagger.errors import FormatError
from hexatagger.model import lemmas as module
from hexatagger.model.lemmas import Lemmas, collect_lemmas
from hexatagger.sentence import Sentence, Word
from hexatagger.tags.lemma import to_script

TASKS = ("upos", "feats", "lemma")
KEEP = to_script("A", "A")  # the script of a network that has no opinion
PAST, INF = "Tense=Past", "VerbForm=Inf"
Row = tuple[str, str, str, str]  # form, lemma, UPOS, FEATS


def table(rows: Iterable[Row], tasks: Iterable[str] = TASKS) -> Lemmas:
    words = [Word(n, form, lemma, upos, "_", feats) for n, (form, lemma, upos, feats) in enumerate(rows, 1)]
    return collect_lemmas([Sentence(words)], list(tasks))


def nouns(*pairs: str, feats: str = "_") -> list[Row]:
    return [(*pair.split(), "NOUN", feats) for pair in pairs]  # type: ignore[misc]


def test_the_treebank_decides() -> None:
    found = table(
        [("found", "find", "VERB", PAST)] * 3
        + [("found", "found", "VERB", INF)] * 2
        + [("left", "left", "ADJ", "_"), ("left", "leave", "VERB", PAST)]
    )
    nonsense = to_script("fell", "feak")
    assert found.find("found", "VERB", PAST, nonsense) == "find"
    assert found.find("Found", "VERB", INF, nonsense) == "found"
    assert found.find("found", "VERB", "Mood=Ind", nonsense) == "find"  # FEATS that it never had: the usual lemma
    assert found.find("left", "ADJ", PAST, nonsense) == "left"
    assert found.find("left", "VERB", "_", nonsense) == "leave"


def test_rare_lemmas_are_errors_and_others_are_for_the_network_to_choose() -> None:
    rows = [("'s", "be", "AUX", "_")] * 70 + [("'s", "have", "AUX", "_")] * 20 + [("'s", "bee", "AUX", "_")]
    assert [table(rows).find("'s", "AUX", "_", to_script("'s", lemma)) for lemma in ("be", "have", "bee", "do")] == [
        "be",
        "have",
        "be",
        "be",
    ]


def test_the_network_decides_the_case_of_capitals_only() -> None:
    found = table([("urban", "urban", "ADJ", "_"), ("German", "German", "ADJ", "_")])
    assert found.find("Urban", "ADJ", "_", to_script("Urban", "Urban")) == "Urban"
    assert found.find("Urban", "ADJ", "_", to_script("Urban", "urban")) == "urban"
    assert found.find("urban", "ADJ", "_", to_script("urban", "Urban")) == "urban"
    assert found.find("GERMAN", "ADJ", "_", to_script("fell", "feak")) == "German"


def test_capitals_that_matter_have_entries_of_their_own() -> None:
    found = table([("bill", "bill", "NOUN", "_"), ("Bill", "William", "NOUN", "_"), ("The", "the", "DET", "_")])
    assert [found.find(form, "NOUN", "_", to_script("x", "y")) for form in ("bill", "Bill", "BILL")] == [
        "bill",
        "William",
        "bill",
    ]
    lines = gzip.decompress(found.data).decode().splitlines()
    assert [line for line in lines if "the" in line.lower()] == ["seen\tDET\t_\tlower\t0\t\t0\t\tthe"]


def test_other_forms_get_the_edit_that_fits_their_ending() -> None:
    found = table(
        nouns("cities city", "ladies lady", "berries berry", "dogs dog", "cats cat", "trees tree", feats="Number=Plur")
        + nouns("city city", "dog dog", "glass glass", feats="Number=Sing")
    )
    for form, lemma in (("parties", "party"), ("Boats", "boat"), ("BEES", "bee"), ("parties", "party")):
        assert found.find(form, "NOUN", "Number=Plur", to_script("a", "b")) == lemma
    assert found.find("class", "NOUN", "Number=Sing", KEEP) == "class"
    assert found.find("data", "NOUN", "Number=Plur", KEEP) == "data"  # no edit fits


def test_the_front_of_words_changes_too() -> None:
    words = ("bean", "bád", "bord", "bán", "bog")
    rows = [(f"m{word}", word, "NOUN", "Form=Ecl") for word in words]
    rows += [(word, word, "NOUN", "_") for word in (*words, "cat", "madra", "máthair")]
    found = table(rows)
    assert found.find("mbaile", "NOUN", "Form=Ecl", KEEP) == "baile"
    assert found.find("mála", "NOUN", "_", KEEP) == "mála"


def test_words_without_feats_give_lemmas_too() -> None:
    found = table([("hestar", "hestur", "NOUN", ""), ("hesta", "hestur", "NOUN", "Case=Acc")])
    assert Lemmas(found.data).find("hestar", "NOUN", "Case=Nom", KEEP) == "hestur"


def test_known_lemmas_and_the_vote_of_the_network_count() -> None:
    rows = [(f"{stem}ing", stem, "VERB", "_") for stem in ("work", "walk", "talk", "mark")]
    rows += [(f"{stem}king", f"{stem}ke", "VERB", "_") for stem in ("ma", "ta", "li", "bi")]
    found = table([*rows, ("shook", "shake", "VERB", "_")])
    assert found.find("shaking", "VERB", "_", KEEP) == "shake"
    assert found.find("stoking", "VERB", "_", to_script("stoking", "stoke")) == "stoke"
    assert found.find("stoking", "VERB", "_", to_script("stoking", "stok")) == "stok"
    assert found.find("stoking", "VERB", "_", to_script("stoking", "stack")) in ("stoke", "stok")


def test_improbable_edits_are_not_made() -> None:
    rows = [(f"{letter}t.", f"{letter}t.", "PROPN", "_") for letter in "ABCDEFGHIJKLM"]
    found = table([*rows, ("Sept.", "September", "PROPN", "_")])
    assert found.find("Oct.", "PROPN", "_", to_script("Oct.", "Ocember")) == "Oct."


def test_a_part_of_speech_that_the_treebank_lacks_is_left_to_the_network() -> None:
    assert table(nouns("dogs dog")).find("runs", "VERB", "_", to_script("runs", "run")) == "run"


def test_columns_that_are_not_predicted_do_not_matter() -> None:
    rows = [("found", "find", "VERB", PAST)] * 4 + [("founds", "found", "NOUN", INF)]
    found = table(rows, ["lemma"])
    assert [found.find(form, "_", "_", KEEP) for form in ("found", "founds")] == ["find", "found"]
    assert table(rows, ["upos", "lemma"]).find("found", "VERB", "_", KEEP) == "find"


def test_words_without_a_lemma_are_not_learnt() -> None:
    assert table([("dogs", "_", "NOUN", "_"), ("_", "_", "PUNCT", "_")]).find("_", "PUNCT", "_", "whole\tx") == "_"
    assert table([("dogs", "_", "NOUN", "_")]).find("dogs", "NOUN", "_", to_script("dogs", "dog")) == "dog"


values = st.text(st.characters(codec="utf-8", exclude_characters="\t\n"), min_size=1, max_size=8)
few = st.sampled_from(["a", "b", "ab", "Ab", "ba", "b\u2028", "İ", "ß", "_"]) | values


@given(st.lists(st.tuples(few, few, st.sampled_from(["X", "Y"]), st.sampled_from(["_", "F=1"])), min_size=1), few, few)
@example([("İ", "i", "X", "_")], "İ", "İ")
@example([("a\x85b", "a", "X", "_")], "a\x85b", "b")
def test_any_treebank(rows: list[Row], other: str, chosen: str) -> None:
    found = table(rows)
    assert found.data == table(reversed(rows)).data  # the same bytes, in whatever order
    lemmas = dict[tuple[str, str], set[str]]()
    for form, lemma, upos, _ in rows:
        if lemma != "_" or form == "_":
            lemmas.setdefault((form, upos), set()).add(lemma)
    for (form, upos), own in lemmas.items():
        if len(own) == 1:
            assert found.find(form, upos, "_", "whole\t\x00") in own
    for upos, feats in (("X", "_"), ("Y", "F=1"), ("Z", "F=2")):
        made = found.find(other, upos, feats, to_script(other, chosen))
        assert made
        assert not set(made) & {"\t", "\n"}


GOOD = "seen\tNOUN\t_\tlower\t0\t\t1\t\tdogs\n"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "seen",
        "seen\tNOUN\t_",
        "seen\tNOUN\t_\tlower\t0\t\t1",
        "seen\tNOUN\t_\tlower\tx\t\t1\t\tdogs",
        "seen\tNOUN\t_\tlower\t-1\t\t1\t\tdogs",
        "seen\tNOUN\t_\tswapped\t0\t\t1\t\tdogs",
        "seen\tNOUN\t\tlower\t0\t\t1\t\tdogs",
        "seen\tNOUN\t_\tlower\t0\t\t1\t\tdogs\t",
        "seen\tNOUN\t_\twhole\t\twent",
        "said\tNOUN\t_\tlower\t0\t\t1\t\tdogs",
        "case\tNOUN\tlower",
        "case\tNOUN\tlower\tlower",
        "case\tNOUN\tlower\tswapped\t1",
        "case\tNOUN\tlower\tlower\t0",
        f"case\tNOUN\tlower\tlower\t{10**400}",
    ],
)
def test_a_broken_line_is_named(line: str) -> None:
    found = Lemmas(gzip.compress(f"{GOOD}{line}\n{GOOD}".encode()), source="model/lemmas.tsv.gz")
    with pytest.raises(FormatError, match="not a group of forms") as caught:
        found.find("dogs", "NOUN", "_", KEEP)
    assert (caught.value.source, caught.value.line) == ("model/lemmas.tsv.gz", 2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut off or too large"),
        (b"no gzip", "cannot be decompressed"),
        (gzip.compress(GOOD.encode() * 99)[:-9], "cut off or too large"),
        (gzip.compress(b"\xff"), "is not UTF-8"),
        (gzip.compress(b"x" * 2000), "cut off or too large"),
    ],
)
def test_a_broken_file_is_named(data: bytes, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LARGEST", 1000)
    with pytest.raises(FormatError, match=f"model: .*{message}"):
        Lemmas(data, source="model").find("dogs", "NOUN", "_", KEEP)
