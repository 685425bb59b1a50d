"""Ray Data in, Ray Data out: parse a column of any Dataset. Reading and writing are Ray Data's.

Rows come back in no fixed order, as usual in Ray Data; the other columns of a row stay beside its trees.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from hexatagger.errors import ConfigError, FormatError, check_choice, needs
from hexatagger.integrations.ray.blocks import SOURCES, Source
from hexatagger.integrations.ray.cluster import Actors, pool
from hexatagger.integrations.ray.documents import Document, Problem, runs, sentences_of
from hexatagger.integrations.ray.shards import check_free, check_model, format_document, parse_documents
from hexatagger.model.config import Task
from hexatagger.model.registry import EMBEDDED, find_model
from hexatagger.parsing.options import ParseOptions, Precision, Respected
from hexatagger.parsing.parser import Parser, load

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

Result = Literal["columns", "conllu"]

_COLUMNS = ("sentence", "text", "words")
_DOCUMENTS = 64  # converted to a table together


def parse(
    dataset: "Dataset",
    *,
    model: str | Path = EMBEDDED,
    text_column: str = "text",
    source: Source = "text",
    to: Result = "columns",
    actors: Actors = None,
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
    check_choice("source", source, SOURCES)
    check_choice("to", to, get_args(Result))
    if to == "columns" and k > 1:
        raise ConfigError("a table has no place for the k best trees: parse to conllu")
    options = ParseOptions(
        probabilities=probabilities, k=k, keep=list(keep), respect=list(respect), batch_size=batch_size
    )
    folder = EMBEDDED if str(model) == EMBEDDED else str(find_model(model).absolute())
    check_model(find_model(folder), source, precision, options)
    return dataset.map_batches(
        RowParser,
        fn_constructor_args=(folder, precision, text_column, source, to, options),
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
        others = batch.drop_columns([self._text_column])
        check_free(others.column_names, ("conllu", "problem") if self._to == "conllu" else (*_COLUMNS, "problem"))
        documents = parse_documents(self._parser, self._documents(batch, others), self._options)
        yield self._table(others, [])  # so that an empty batch has the columns too
        while part := list(islice(documents, _DOCUMENTS)):
            yield self._table(others, part)

    def _documents(self, batch: "pa.Table", others: "pa.Table") -> Iterator[Document]:
        """Cut the texts of a batch into sentences; the line of a document is the number of its row here."""
        named = self._to == "conllu" and "id" in others.column_names
        columns = others.to_pylist() if named else [{}] * batch.num_rows
        for number, text in enumerate(batch[self._text_column].to_pylist()):
            document = Document(number, [], columns[number])
            try:
                document.sentences = sentences_of(text, self._source, lambda: self._parser.segmenter)
            except FormatError as error:
                document.problems.append(Problem(number, error.message))
            yield document

    def _table(self, others: "pa.Table", documents: list[Document]) -> "pa.Table":
        """Put trees beside the other columns of their rows."""
        import pyarrow as pa

        from hexatagger.integrations.ray.tables import to_rows

        problems = ["; ".join(each.message for each in document.problems) or None for document in documents]
        if self._to == "conllu":
            owners = list(range(len(documents)))
            texts = [format_document(document, None, "conllu") for document in documents]
            made = {"conllu": pa.array(texts, pa.string())}
        else:
            owners, columns = to_rows(documents)
            made = dict(zip(_COLUMNS, columns, strict=True))
        table = others.take(pa.array([documents[owner].line for owner in owners], pa.int64()))
        made["problem"] = pa.array([problems[owner] for owner in owners], pa.string())
        for name, column in made.items():
            table = table.append_column(name, column)
        return table


def read_conllu(paths: str | list[str]) -> "Dataset":
    """Read CoNLL-U files as a Dataset, one row per sentence: `path`, `line`, `conllu`. Parse with source="conllu".

    `paths` may be anything that Ray Data reads, folders and object stores included. A file is read as a whole.
    """
    with needs("ray"):
        import ray.data
    return ray.data.read_binary_files(paths, include_paths=True).flat_map(_sentences)


def _sentences(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a file into sentences without reading them; errors appear where they are parsed."""
    raw: bytes = row["bytes"].removeprefix(b"\xef\xbb\xbf")
    return [
        {"path": row["path"], "line": number, "conllu": b"\n".join([*run, b"", b""]).decode("utf-8", "replace")}
        for number, run in runs(raw.split(b"\n"), 1)
    ]


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
