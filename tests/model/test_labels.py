import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexatagger.errors import FormatError
from hexatagger.model.labels import MISSING, Labels, LabelSet
from hexatagger.tags import lift
from hexatagger.tags.projective import split_mark


@given(st.lists(st.text(), unique=True, min_size=1), st.lists(st.text(), unique=True, min_size=1), st.sets(st.text()))
def test_json_and_back(relations: list[str], tags: list[str], roots: set[str]) -> None:
    labels = Labels(
        LabelSet(relations), LabelSet(["", "%"]), frozenset(roots), {"upos": LabelSet(tags)}, LabelSet(tags)
    )
    assert Labels.from_json(labels.to_json()) == labels


def test_label_set() -> None:
    labels = LabelSet.collect(["b", "c", "a", "b", "c"], least=2)
    assert list(labels) == ["b", "c"]
    assert labels.ids(["c", "a"]) == [1, MISSING]
    assert "b" in labels
    assert labels != ["b", "c"]
    assert repr(labels) == "LabelSet(['b', 'c'])"
    with pytest.raises(FormatError, match="'x' occurs twice"):
        LabelSet(["x", "y", "x"])


@given(st.lists(st.text("ab|%\\:"), min_size=5, max_size=5))
def test_marks_come_off_any_relation(deprels: list[str]) -> None:
    heads = [5, 4, 4, 0, 4]  # one arc is not projective
    plain, (_, marked) = [lift([0], [deprel])[1][0] for deprel in deprels], lift(heads, deprels)
    assert [split_mark(deprel)[0] for deprel in marked] == plain
    assert ["".join(split_mark(deprel)) for deprel in marked] == marked


def test_roots() -> None:
    labels = Labels(LabelSet(["root", "root|obj", "obj%"]), roots=frozenset({"root"}))
    assert labels.root_mask == [True, True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"relations": [1]}', r"labels\.relations 1 is not a string"),
        ('{"relations": []}', "'roots' is missing"),
    ],
)
def test_broken_files(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Labels.from_json(text)


@pytest.mark.parametrize("script", ["lowerr\t0\t\t0\t", "lower\tx\t\t0\t", "lower\t0"])
def test_a_script_that_is_none(script: str) -> None:
    text = Labels(LabelSet(["root"]), tasks={"lemma": LabelSet(["keep\t0\t\t0\t", script])}).to_json()
    with pytest.raises(FormatError, match=r"'task.lemma' has .*, not a lemma script"):
        Labels.from_json(text)
