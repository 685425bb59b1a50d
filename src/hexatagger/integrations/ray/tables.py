"""Parsed documents → tables with one row per sentence.

`sentence` numbers the sentences of a record (of a shard, if the file has no records) from 1, `text` is the text, and
`words` is a list with the rows of `hexatagger.to_table`: `id`, `form`, `lemma`, `upos`, `head`, `deprel` and so on. The
record's other columns come first. A record without sentences is a row too, with no words and null for `sentence`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from hexatagger.integrations.arrow import to_table
from hexatagger.integrations.ray.documents import Document
from hexatagger.integrations.ray.shards import check_free, on_one_line

_POOL = 256  # documents converted together

COLUMNS = ("sentence", "text", "words")


def sentence_table(documents: Sequence[Document], others: Mapping[str, pa.Array], first: int = 1) -> pa.Table:
    """Return the table of documents; `others` are their other columns, and plain files count from `first`."""
    owners, numbers, texts, sizes = list[int](), list[int | None](), list[str | None](), [0]
    for index, document in enumerate(documents):
        if document.columns is not None:
            first = 1
        nothing: list[None] = [] if document.columns is None else [None]  # a record without sentences is a row too
        for sentence in document.sentences or nothing:
            owners.append(index)
            numbers.append(None if sentence is None else first)
            texts.append(None if sentence is None else sentence.text)
            sizes.append(sizes[-1] + len(sentence or ()))
            first += 1
    table = to_table(sentence for document in documents for sentence in document.sentences)
    words = table.drop_columns(["sentence"]).to_struct_array().combine_chunks()
    nested = pa.ListArray.from_arrays(pa.array(sizes, pa.int32()), words)
    made = dict(zip(COLUMNS, (pa.array(numbers, pa.int32()), pa.array(texts, pa.string()), nested), strict=True))
    return pa.table({name: column.take(pa.array(owners, pa.int64())) for name, column in others.items()} | made)


def write_parquet(documents: Iterable[Document], source: Path, target: Path) -> None:
    """Write the documents of a block of the file `source`.

    Columns of a Parquet file keep their types. Those of JSON lines are strings, so that all shards have the same types:
    a string as it is, anything else as JSON.
    """
    kinds = parquet.read_schema(source) if source.suffix == ".parquet" else None
    parts, count = [sentence_table([], {})], 1
    stream = (document for document in documents if document.sentences or not document.problems)
    while pool := list(islice(stream, _POOL)):
        records = [document.columns or {} for document in pool]
        others: dict[str, pa.Array] = {}
        for name in dict.fromkeys(name for record in records for name in record):
            values = [record.get(name) for record in records]
            if kinds is not None:
                others[name] = pa.array(values, kinds.field(name).type)
            else:
                others[name] = pa.array([None if each is None else on_one_line(each) for each in values], pa.string())
        check_free(others, COLUMNS)
        parts.append(sentence_table(pool, others, count))
        count += parts[-1].num_rows
    table = pa.concat_tables(parts, promote_options="default")
    parquet.write_table(table.select(sorted(table.column_names, key=COLUMNS.__contains__)), target)
