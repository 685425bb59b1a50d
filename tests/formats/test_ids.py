"""Ids for sentences that have none: unique, in order, and nothing else changes."""

import pytest

from hexatagger import Sentence, Word
from hexatagger.formats.ids import Ids


def sentence(*comments: str, form: str = "Hi") -> Sentence:
    return Sentence([Word(1, form)], list(comments))


def completed(*sentences: Sentence, name: str = "") -> list[list[str]]:
    ids = Ids(name)
    return [ids.complete(each).comments for each in sentences]


def test_ids_are_counted() -> None:
    assert completed(sentence(), sentence("# newpar"), sentence("# newdoc", "#newpar", "# text = Ho")) == [
        ["# sent_id = s1", "# text = Hi"],
        ["# newpar id = p1", "# sent_id = s2", "# text = Hi"],
        ["# newdoc id = d1", "# newpar id = p2", "# sent_id = s3", "# text = Ho"],
    ]


def test_what_is_there_stays() -> None:
    whole = sentence("# newpar", "# sent_id = x", "# text = Hi")
    assert Ids().complete(whole) is whole
    no_text = sentence("# newdoc id = 3", "# sent_id = x", "# mood = good")
    assert completed(no_text) == [["# newdoc id = 3", "# sent_id = x", "# text = Hi", "# mood = good"]]
    assert no_text.comments == ["# newdoc id = 3", "# sent_id = x", "# mood = good"]  # the given one is not changed
    assert completed(sentence("# mood = good", "# newpar id = 4", "# x")) == [
        ["# mood = good", "# newpar id = 4", "# sent_id = s1", "# text = Hi", "# x"]
    ]
    empty = Sentence([], ["# newpar"])
    assert Ids().complete(empty) is empty


def test_an_id_without_a_value_is_replaced() -> None:
    assert completed(sentence("# sent_id = ", "# text = Hi")) == [["# sent_id = s1", "# text = Hi"]]


def test_new_ids_are_greater_than_those_that_look_alike() -> None:
    given = [sentence(), sentence("# sent_id = s7"), sentence(), sentence("# sent_id = s3"), sentence()]
    assert [each[0] for each in completed(*given)] == [f"# sent_id = s{number}" for number in (1, 7, 8, 3, 9)]
    given = [sentence("# sent_id = s7"), sentence("# sent_id = a-s7x"), sentence()]
    assert completed(*given, name="a")[-1][0] == "# sent_id = a-s1"


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("a.txt", "a.txt"), ("b/a.txt", "b%2Fa.txt"), ("b%2Fa.txt", "b%252Fa.txt"), ("é f\u2028", "é%20f%E2%80%A8")],
)
def test_names_are_made_valid_and_stay_different(name: str, prefix: str) -> None:
    assert completed(sentence("# newpar"), name=name) == [
        [f"# newpar id = {prefix}-p1", f"# sent_id = {prefix}-s1", "# text = Hi"]
    ]
