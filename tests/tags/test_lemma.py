import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hexatagger.tags.lemma import apply_script, to_script

# What a column of a treebank can hold.
values = st.text(st.characters(codec="utf-8", exclude_characters="\t\n"), min_size=1, max_size=12)


@given(values, values)
@example("İ", "i")
@example("ß", "SS")
@example("ǆ", "ǅ")
@example("10 000", "10000")
def test_script_and_back(form: str, lemma: str) -> None:
    assert apply_script(form, to_script(form, lemma)) == lemma


@given(values)
def test_a_form_that_is_its_own_lemma_is_one_of_two_scripts(form: str) -> None:
    assert to_script(form, form) in ("lower\t0\t\t0\t", "keep\t0\t\t0\t")


@given(values, values, values)
def test_any_script_gives_a_lemma_for_any_form(form: str, lemma: str, other: str) -> None:
    made = apply_script(other, to_script(form, lemma))
    assert made
    assert "\t" not in made


@pytest.mark.parametrize(
    ("pairs"),
    [
        [("reads", "read"), ("Sees", "see"), ("DOGS", "dog")],
        [("London", "London"), ("iPhone", "iPhone"), ("NATO", "NATO")],
        [("LONDON", "London"), ("ANNA", "Anna")],
        [("studies", "study"), ("Parties", "party")],
        [("gesehen", "sehen"), ("Gegangen", "gangen")],
    ],
)
def test_like_words_share_a_script(pairs: list[tuple[str, str]]) -> None:
    assert len({to_script(form, lemma) for form, lemma in pairs}) == 1
