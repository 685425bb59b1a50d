"""Ray Data in, Ray Data out: parse a column of any Dataset. Reading and writing are Ray Data's.

Rows come back in no fixed order, as usual in Ray Data; the other columns of a row stay beside its trees.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from hexatagger.errors import ConfigError, check_choice, needs
from hexatagger.formats.files import runs
from hexatagger.formats.ids import Ids
from hexatagger.formats.text import Source
from hexatagger.integrations.ray.cluster import find_checked, pool
from hexatagger.integrations.ray.documents import Document, parse_documents, read_record
from hexatagger.integrations.ray.shards import check_free, format_document
from hexatagger.model.config import Task
from hexatagger.model.registry import EMBEDDED
from hexatagger.parsing.load import load
from hexatagger.parsing.options import ParseOptions, Precision, Respected
from hexatagger.parsing.parser import Parser

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

Result = Literal["columns", "conllu"]

_DOCUMENTS = 64  # converted to a table together


def parse(
    dataset: "Dataset",
    *,
    model: str | Path = EMBEDDED,
    text_column: str = "text",
    source: Source = "text",
    to: Result = "columns",
    actors: int | None = None,
    rows: int = 1024,
    precision: Precision = "auto",
    probabilities: bool = False,
    k: int = 1,
    keep: Sequence[Task] = (),
    respect: Sequence[Respected] = (),
    batch_size: int = 64,
) -> "Dataset":
    """Parse the texts of a Dataset, lazily, with a pool of actors that have a parser and a core each.

    With `to="columns"` each sentence is a row, with the columns `sentence`, `text` and `words` in place of the text
    (see `tables`). With `to="conllu"` each row keeps its place and has its trees in the column `conllu`; a column `id`
    becomes the document's id there. Both keep all other columns and add `problem`: what could not be read or parsed,
    or null.

    `source` is the format of a text, as for the command line. All nodes must see the folder of the model. The cluster
    needs one core more than `actors`, for reading. An actor takes `rows` rows at a time. The other options are those of
    `Parser.parse_sentences`.
    """
    check_choice("source", source, get_args(Source))
    check_choice("to", to, get_args(Result))
    if to == "columns" and k > 1:
        raise ConfigError("a table has no place for the k best trees: parse to conllu")
    options = ParseOptions(
        probabilities=probabilities, k=k, keep=list(keep), respect=list(respect), batch_size=batch_size
    )
    name = find_checked(model, source, precision, options)
    return dataset.map_batches(
        RowParser,
        fn_constructor_args=(name, precision, text_column, source, to, options),
        batch_size=rows,
        batch_format="pyarrow",
        num_cpus=1,
        compute=pool(actors),
    )


class RowParser:
    """The work of an actor: parse batches of rows with its own parser."""

    def __init__(
        self, model: str, precision: Precision, text_column: str, source: Source, to: Result, options: ParseOptions
    ) -> None:
        self._parser: Parser = load(model, precision=precision, threads=1)
        self._text_column, self._source, self._to, self._options = text_column, source, to, options

    def __call__(self, batch: "pa.Table") -> "Iterator[pa.Table]":
        """Yield the parsed rows of a batch, some at a time."""
        if self._text_column not in batch.column_names:
            names = ", ".join(batch.column_names)
            raise ConfigError(f"the dataset has no column '{self._text_column}', but: {names}: name it as text_column")
        others = {name: batch[name] for name in batch.column_names if name != self._text_column}
        check_free(others, ("conllu", "problem") if self._to == "conllu" else ("sentence", "text", "words", "problem"))
        documents = (
            read_record(number, record, self._source, self._text_column, lambda: self._parser.segmenter).with_ids(
                Ids(_row_name(record))
            )
            for number, record in enumerate(batch.to_pylist())
        )
        parsed, start = parse_documents(self._parser, documents, self._options), 0
        yield self._table({name: column[:0] for name, column in others.items()}, [])  # the columns of an empty batch
        while part := list(islice(parsed, _DOCUMENTS)):
            yield self._table({name: column[start : start + len(part)] for name, column in others.items()}, part)
            start += len(part)

    def _table(self, others: "dict[str, pa.Array]", documents: list[Document]) -> "pa.Table":
        """Put trees beside the other columns of their rows."""
        import pyarrow as pa

        from hexatagger.integrations.ray.tables import sentence_table

        problems = pa.array(["; ".join(document.problems) or None for document in documents], pa.string())
        if self._to == "columns":
            return sentence_table(documents, others | {"problem": problems})
        texts = [format_document(document, None, "conllu") for document in documents]
        return pa.table(others | {"conllu": pa.array(texts, pa.string()), "problem": problems})


def _row_name(record: dict[str, Any]) -> str:
    """Return a name for a row, which depends on nothing else: its `id`, or a digest of all that it has.

    >>> _row_name({"id": 12, "text": "Hi"}), _row_name({"text": "Hi"})
    ('12', '7d968bd2b5b6e668')
    """
    if record.get("id") is not None:
        return str(record["id"])
    values = json.dumps(record, sort_keys=True, default=str)
    return hashlib.sha256(values.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_conllu(paths: str | list[str]) -> "Dataset":
    """Read CoNLL-U files as a Dataset, one row per sentence: `path`, `line`, `conllu`. Parse with source="conllu".

    `paths` may be anything that Ray Data reads, folders and object stores included. A file is read as a whole.
    """
    with needs("ray"):
        import ray.data
    return ray.data.read_binary_files(paths, include_paths=True).flat_map(_sentences)


def _sentences(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a file into sentences without reading them; errors appear where they are parsed."""
    lines = row["bytes"].decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    found = runs(line.rstrip("\r") for line in lines)
    return [{"path": row["path"], "line": number, "conllu": "\n".join([*run, "", ""])} for number, run, _ in found]


def write_conllu(dataset: "Dataset", folder: str) -> None:
    """Write the column `conllu` of a Dataset as CoNLL-U files, one per block, wherever Ray Data can write."""
    from ray.data.block import BlockAccessor
    from ray.data.datasource import BlockBasedFileDatasink

    class Conllu(BlockBasedFileDatasink):  # type: ignore[misc]
        """CoNLL-U files."""

        def write_block_to_file(self, block: BlockAccessor, file: Any) -> None:
            for text in block.to_arrow()["conllu"].to_pylist():
                file.write(text.encode("utf-8"))

    dataset.write_datasink(Conllu(folder, file_format="conllu"))
