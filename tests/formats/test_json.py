"""Sentences ⇄ plain values: nothing is lost, errors name their place, the schema describes what is written."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from hexatagger import FormatError, Multiword, Sentence, Word, read_conllu
from hexatagger.formats.json import SCHEMA
from strategies import parsed_sentences


@given(parsed_sentences())
def test_nothing_is_lost(sentence: Sentence) -> None:
    values = sentence.to_dict()
    assert asdict(Sentence.from_dict(values)) == asdict(sentence)
    assert asdict(Sentence.from_dict(json.loads(json.dumps(values)))) == asdict(sentence)


@given(parsed_sentences())
def test_the_schema_describes_what_is_written(sentence: Sentence) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="checking the schema needs jsonschema")
    jsonschema.validate(json.loads(json.dumps(sentence.to_dict())), SCHEMA)


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="checking the schema needs jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    values: list[Any] = [{"wrods": []}, {"words": [{"id": 1}]}, _word(head="2"), _word(head=-1), _word(heads=[[1]]), []]
    for wrong in values:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_sentences_of_a_file(data: Path) -> None:
    for sentence in read_conllu(data / "example.conllu"):
        assert Sentence.from_dict(sentence.to_dict()) == sentence


def test_values_are_not_shared() -> None:
    sentence = Sentence([], ["# newpar"])
    sentence.to_dict()["comments"].append("# changed")
    assert sentence.comments == ["# newpar"]


def test_an_underscore_is_a_form_and_multiword_tokens_have_offsets() -> None:
    sentence = Sentence([Word(1, "_")], multiwords=[Multiword(1, 1, "_", start=3, end=4)])
    values = sentence.to_dict()
    assert values["words"] == [{"id": 1, "form": "_"}]
    assert (values["multiwords"][0]["start"], values["multiwords"][0]["end"]) == (3, 4)


def test_what_the_service_adds_is_no_obstacle() -> None:
    values = {
        "text": "Hi",
        "words": [{"id": 1, "form": "Hi", "head": 0, "deprel": "root"}],
        "tags": ["l/root"],
        "layout": {},
    }
    assert Sentence.from_dict(values).comments == ["# text = Hi"]
    assert Sentence.from_dict({}) == Sentence([])


def _word(**values: Any) -> dict[str, Any]:
    return {"words": [{"id": 1, "form": "Hi", **values}]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"a sentence is \[\] where an object is needed"),
        ({"wrods": []}, "a sentence has an unknown key 'wrods': known are text, comments, words"),
        ({"words": "Hi"}, "words is 'Hi' where a list is needed"),
        ({"words": [1]}, r"words\[0\] is 1 where an object is needed"),
        ({"words": [{"id": 1}]}, r"words\[0\] has no form"),
        (_word(id=2), r"words\[0\].id 2 is out of order: the next word is 1"),
        (_word(heda=2), r"words\[0\] has an unknown key 'heda'"),
        (_word(form=None), r"words\[0\].form is null where a string is needed"),
        (_word(lemma=["x"]), r"words\[0\].lemma is \['x'\] where a string is needed"),
        (_word(head="2"), r"words\[0\].head is '2' where a number, 0 or greater, is needed"),
        (_word(head=True), r"words\[0\].head is True where a number, 0 or greater, is needed"),
        (_word(head=-1), r"words\[0\].head is -1 where a number, 0 or greater, is needed"),
        (_word(head=2), r"words\[0\].head 2 is outside the sentence \(1 words\)"),
        (_word(head_probability="x"), r"words\[0\].head_probability is 'x' where a number is needed"),
        (_word(heads=[[1]]), r"words\[0\].heads holds \[1\] where a head and its probability are needed"),
        (_word(heads=[[7, 0.5]]), r"words\[0\].heads 7 is outside the sentence"),
        (_word() | {"comments": ["text = Hi"]}, r"comments\[0\] 'text = Hi' does not begin with '#'"),
        (_word() | {"multiwords": [{"columns": ["1-1"]}]}, r"multiwords\[0\] has 1 columns instead of 10"),
        (
            _word() | {"multiwords": [{"columns": ["1-2"] + ["_"] * 9}]},
            r"'1-2' is not a range of words between 1 and 1",
        ),
        (_word() | {"multiwords": [{"columns": ["x"] + ["_"] * 9}]}, r"multiwords\[0\] 'x' is not an ID like 2-3"),
        (
            _word() | {"multiwords": [{"columns": ["1-" + "1" * 5000] + ["_"] * 9}]},
            r"multiwords\[0\] '1-1+… is not an ID",
        ),
        (_word() | {"empty_nodes": [{"columns": ["2.1"] + ["_"] * 9}]}, r"'2.1' does not follow any of the 1 words"),
        (_word() | {"alternatives": [_word(head=3)]}, r"alternatives\[0\]: words\[0\].head 3 is outside"),
    ],
)
def test_what_is_wrong_is_named(values: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Sentence.from_dict(values)
