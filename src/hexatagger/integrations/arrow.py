"""Sentences ⇄ an Arrow table with one row per word: for pandas, Parquet and anything else that reads Arrow.

The columns are always the same (`SCHEMA`), so tables of different files can be concatenated. A CoNLL-U column without a
value is null. Everything that is not a word is stored at a word: comments at the first, a multiword token at its first,
empty nodes at the word that they follow (or at the first, if they precede it). Only two things are not in a table:
sentences without words, and the alternatives of a sentence, which are sentences themselves.

Extra `tables`.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from hexatagger.errors import FormatError, needs
from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word

with needs("tables"):
    import pyarrow as pa

_STRINGS = ("lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
_NUMBERS = ("head", "start", "end", "head_probability")
_BATCH = 4096  # sentences per record batch

_MULTIWORD = {"last": pa.int32(), "form": pa.string(), "rest": pa.list_(pa.string())}
SCHEMA = pa.schema(
    {
        "sentence": pa.int32(),
        "sent_id": pa.string(),
        "id": pa.int32(),
        "form": pa.string(),
        "lemma": pa.string(),
        "upos": pa.string(),
        "xpos": pa.string(),
        "feats": pa.string(),
        "head": pa.int32(),
        "deprel": pa.string(),
        "deps": pa.string(),
        "misc": pa.string(),
        "start": pa.int64(),
        "end": pa.int64(),
        "head_probability": pa.float64(),
        "heads": pa.list_(pa.struct({"head": pa.int32(), "probability": pa.float64()})),
        "tree_probability": pa.float64(),
        "comments": pa.list_(pa.string()),
        "multiword": pa.struct(_MULTIWORD | {"start": pa.int64(), "end": pa.int64()}),
        "empty_nodes": pa.list_(pa.list_(pa.string())),
    }
)
"""The columns of a table. `sentence` counts from 1; `start` and `end` are offsets in the original text."""

_NEEDED = ("sentence", "id", "form")


def to_table(sentences: Iterable[Sentence]) -> pa.Table:
    """Return a table of all words; `.to_pandas()` converts it to a data frame.

    >>> table = to_table([Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])])
    >>> table.select(["sentence", "id", "form", "head", "deprel"]).to_pylist()[0]
    {'sentence': 1, 'id': 1, 'form': 'She', 'head': 2, 'deprel': 'nsubj'}
    """
    return pa.Table.from_batches(to_batches(sentences), SCHEMA)


def to_batches(sentences: Iterable[Sentence], *, size: int = _BATCH) -> Iterator[pa.RecordBatch]:
    """Yield the table in parts of `size` sentences, in constant memory: to write a large Parquet file, for example."""
    stream = enumerate(sentences, 1)
    while part := list(islice(stream, size)):
        rows = [row for number, sentence in part for row in _rows(number, sentence)]
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)


def _rows(number: int, sentence: Sentence) -> Iterator[dict[str, Any]]:
    """Yield the row of every word."""
    multiwords = {row.first: row for row in sentence.multiwords}
    nodes: dict[int, list[list[str]]] = {}
    for node in sentence.empty_nodes:
        nodes.setdefault(max(1, node.after), []).append(list(node.columns))
    fixed: dict[str, Any] = {
        "sentence": number,
        "sent_id": sentence.comment("sent_id"),
        "tree_probability": sentence.probability,
    }
    for word in sentence:
        row = fixed | {"id": word.id, "form": word.form}
        row |= {name: None if (value := getattr(word, name)) == "_" else value for name in _STRINGS}
        row |= {name: getattr(word, name) for name in _NUMBERS}
        if word.heads is not None:
            row["heads"] = [{"head": head, "probability": share} for head, share in word.heads]
        if word.id == 1:
            row["comments"] = sentence.comments
        if token := multiwords.get(word.id):
            row["multiword"] = {name: getattr(token, name) for name in ("last", "form", "rest", "start", "end")}
        if word.id in nodes:
            row["empty_nodes"] = nodes[word.id]
        yield row


def from_table(table: Any) -> Iterator[Sentence]:
    """Yield the sentences of a table: Arrow, pandas, or anything that exports Arrow.

    Only `sentence`, `id` and `form` are required; the rows of a sentence are adjacent and in order. Columns that are
    not in `SCHEMA` are ignored.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> list(from_table(to_table([sentence]))) == [sentence]
    True
    """
    number, words = None, list[dict[str, Any]]()
    for place, row in enumerate(_read(table)):
        for name in _NEEDED:
            if row[name] is None:
                raise FormatError(f"column '{name}' has no value", source=f"row {place}")
        if row["sentence"] != number and words:
            yield _sentence(words)
            words = []
        number = row["sentence"]
        if row["id"] != len(words) + 1:
            message = f"id {row['id']} of sentence {number} is out of order: the next word here is {len(words) + 1}"
            raise FormatError(message, source=f"row {place}")
        words.append(row)
    if words:
        yield _sentence(words)


def _read(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, with values as in a Sentence."""
    if not isinstance(table, (pa.Table, pa.RecordBatchReader)):
        try:
            table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else pa.table(table)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{type(table).__name__} is not a table: {error}") from None
    names = table.schema.names
    for name in _NEEDED:
        if name not in names:
            raise FormatError(f"the table has no column '{name}', but: {', '.join(names)}")
    known = [name for name in SCHEMA.names if name in names]
    for batch in table.to_reader() if isinstance(table, pa.Table) else table:
        columns = []
        for name in known:
            try:
                columns.append(batch.column(name).cast(SCHEMA.field(name).type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                kind = batch.schema.field(name).type
                message = f"column '{name}' is {kind} instead of {SCHEMA.field(name).type}: {error}"
                raise FormatError(message) from None
        yield from pa.RecordBatch.from_arrays(columns, known).to_pylist()


def _sentence(rows: list[dict[str, Any]]) -> Sentence:
    """Make a sentence from the rows of its words."""
    sentence = Sentence([])
    comments, sent_id = rows[0].get("comments"), rows[0].get("sent_id")
    if comments is not None:
        sentence.comments = comments
    elif sent_id is not None:
        sentence.comments = [f"# sent_id = {sent_id}"]
    sentence.probability = rows[0].get("tree_probability")
    for row in rows:
        word = Word(row["id"], row["form"])
        for name in _STRINGS:
            if (value := row.get(name)) is not None:
                setattr(word, name, value)
        for name in _NUMBERS:
            setattr(word, name, row.get(name))
        if word.head is not None and not 0 <= word.head <= len(rows):
            message = f"head {word.head} of word {word.id} is outside the sentence ({len(rows)} words)"
            raise FormatError(message, source=f"sentence {row['sentence']}")
        if (heads := row.get("heads")) is not None:
            word.heads = [(pair["head"], pair["probability"]) for pair in heads]
        if token := row.get("multiword"):
            rest = tuple(token["rest"])
            made = Multiword(word.id, token["last"], token["form"], rest, token["start"], token["end"])
            sentence.multiwords.append(made)
        for identifier, *rest in row.get("empty_nodes") or ():
            after, _, index = identifier.partition(".")
            sentence.empty_nodes.append(EmptyNode(int(after), int(index), tuple(rest)))
        sentence.words.append(word)
    return sentence
