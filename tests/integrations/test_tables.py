"""Sentences ⇄ tables, with the real Arrow and pandas."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="needs the extra 'tables'")
pytest.importorskip("pandas", reason="needs the extra 'tables'")

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from hexatagger import FormatError, Sentence, from_table, read_conllu, to_table
from hexatagger.integrations.arrow import SCHEMA, to_batches
from strategies import parsed_sentences


@settings(max_examples=40)
@given(st.lists(parsed_sentences(), max_size=3))
def test_nothing_is_lost(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        sentence.alternatives = []  # sentences of their own
    table = to_table(sentences)
    assert table.schema == SCHEMA
    assert [asdict(each) for each in from_table(table)] == [asdict(each) for each in sentences]


@pytest.fixture
def sentences(data: Path) -> list[Sentence]:
    found = list(read_conllu(data / "example.conllu"))
    found[0][0].head_probability, found[0][0].heads, found[0].probability = 0.75, [(2, 0.75), (4, 0.25)], 0.5
    found[1].multiwords[0].start = 3
    return found


def test_pandas_there_and_back(sentences: list[Sentence]) -> None:
    frame = to_table(sentences).to_pandas()
    assert frame.loc[frame.upos == "VERB", "lemma"].tolist() == ["read", "say", "happen", "drink"]
    assert frame.groupby("sentence").form.count().tolist() == [5, 8, 6, 10, 1]
    assert frame.xpos.isna().sum() == 0
    assert frame.feats.isna().sum() == 9
    assert [asdict(each) for each in from_table(frame)] == [asdict(each) for each in sentences]


def test_a_frame_made_by_hand() -> None:
    frame = pd.DataFrame(
        {"sentence": [1, 1, 2], "id": [1, 2, 1], "form": ["She", "reads", "Hi"], "head": [2, 0, float("nan")]}
    )
    first, second = from_table(frame.assign(sent_id="s", more=1))
    assert (first.heads, first.forms, first.comments) == ([2, 0], ["She", "reads"], ["# sent_id = s"])
    assert (second.heads, second[0].lemma) == ([-1], "_")


def test_parquet_in_parts(sentences: list[Sentence], tmp_path: Path) -> None:
    with pq.ParquetWriter(tmp_path / "words.parquet", SCHEMA) as writer:
        for batch in to_batches(sentences * 3, size=2):
            writer.write_batch(batch)
    table = pq.read_table(tmp_path / "words.parquet")
    assert table.column("sentence").to_pylist()[-1] == 15
    assert list(from_table(table)) == sentences * 3
    assert list(from_table(table.to_reader(max_chunksize=7))) == sentences * 3


def test_other_libraries_that_hand_out_arrow(sentences: list[Sentence]) -> None:
    wide = to_table(sentences)
    for name, kind in (("form", pa.string_view()), ("lemma", pa.large_string()), ("head", pa.int64())):
        wide = wide.set_column(wide.schema.names.index(name), name, wide.column(name).cast(kind))
    lists = pa.large_list(SCHEMA.field("heads").type.value_type)
    wide = wide.set_column(wide.schema.names.index("heads"), "heads", wide.column("heads").cast(lists))

    class Stream:
        """As other libraries have it."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            return wide.__arrow_c_stream__(requested_schema)

    assert [asdict(each) for each in from_table(Stream())] == [asdict(each) for each in sentences]
    assert [len(each) for each in from_table(to_table(sentences).to_batches()[0])] == [5, 8, 6, 10, 1]


def test_no_sentences() -> None:
    assert to_table([]).num_rows == 0
    assert list(from_table(to_table([]))) == []
    assert to_table([Sentence([]), Sentence.from_words(["Hi"])]).column("sentence").to_pylist() == [2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [1]}, "the table has no column 'sentence', but: id"),
        ({"sentence": [1], "id": ["x"], "form": ["a"]}, "column 'id' is string instead of int32"),
        ({"sentence": [1], "id": [1], "form": [None]}, "row 0: column 'form' has no value"),
        ({"sentence": [1], "id": [2], "form": ["a"]}, "row 0: id 2 of sentence 1 is out of order: the next word here"),
        (
            {"sentence": [1, 2, 1], "id": [1, 1, 2], "form": ["a", "b", "c"]},
            "row 2: id 2 of sentence 1 is out of order: the next word here is 1",
        ),
        ({"sentence": [1], "id": [1], "form": ["a"], "head": [2]}, r"sentence 1: head 2 of word 1 is outside"),
        (3, "int is not a table"),
    ],
)
def test_what_is_wrong_is_named(columns: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        list(from_table(columns))
