"""Parsed documents → tables with one row per sentence.

`sentence` numbers the sentences of a record (of a shard, if the file has no records) from 1, `text` is the text, and
`words` is a list with the rows of `hexatagger.to_table`: `id`, `form`, `lemma`, `upos`, `head`, `deprel` and so on. The
record's other columns come first. A record without sentences is a row too, with no words and null for `sentence`.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexatagger.integrations.ray.documents import Document
from hexatagger.integrations.ray.shards import check_free, on_one_line

if TYPE_CHECKING:
    import pyarrow as pa

_POOL = 256  # documents converted together

COLUMNS = ("sentence", "text", "words")


def to_rows(documents: Sequence[Document], first: int = 1) -> "tuple[list[int], list[pa.Array]]":
    """Return the index of each row's document, and the three columns; plain files count from `first`."""
    import pyarrow as pa

    from hexatagger.integrations.arrow import to_table

    owners, numbers, texts, sizes = list[int](), list[int | None](), list[str | None](), [0]
    sentences = [sentence for document in documents for sentence in document.sentences]
    for index, document in enumerate(documents):
        begin = first if document.columns is None else 1
        for number, sentence in enumerate(document.sentences, begin):
            owners.append(index)
            numbers.append(number)
            texts.append(sentence.text)
            sizes.append(sizes[-1] + len(sentence))
        if document.columns is None:
            first += len(document.sentences)
        elif not document.sentences:
            owners.append(index)
            numbers.append(None)
            texts.append(None)
            sizes.append(sizes[-1])
    words = to_table(sentences).drop_columns(["sentence"]).to_struct_array().combine_chunks()
    nested = pa.ListArray.from_arrays(pa.array(sizes, pa.int32()), words)
    return owners, [pa.array(numbers, pa.int32()), pa.array(texts, pa.string()), nested]


def write_parquet(documents: Iterable[Document], source: Path, target: Path) -> None:
    """Write the documents of a block of the file `source`.

    Columns of a Parquet file keep their types. Those of JSON lines are strings, so that all shards have the same types:
    a string as it is, anything else as JSON.
    """
    import pyarrow as pa
    from pyarrow import parquet

    records, parts, count = list[dict[str, Any]](), list[list[pa.Array]](), 0
    stream = (document for document in documents if document.sentences or not document.problems)
    while pool := list(islice(stream, _POOL)):
        owners, columns = to_rows(pool, count + 1)
        parts.append(columns)
        records += [pool[owner].columns or {} for owner in owners]
        count += len(owners)
    names = list(dict.fromkeys(name for record in records for name in record))
    check_free(names, COLUMNS)
    kinds = parquet.read_schema(source) if source.suffix == ".parquet" else None
    arrays = []
    for name in names:
        values = [record.get(name) for record in records]
        if kinds is not None:
            arrays.append(pa.array(values, kinds.field(name).type))
        else:
            arrays.append(pa.array([None if value is None else on_one_line(value) for value in values], pa.string()))
    columns = [list(column) for column in zip(*parts, strict=True)] or [[each] for each in to_rows([])[1]]
    arrays += map(pa.concat_arrays, columns)
    parquet.write_table(pa.table(arrays, [*names, *COLUMNS]), target)
