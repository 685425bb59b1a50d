"""Ray Data in, Ray Data out: parse a column of any Dataset, from wherever it is read and to wherever it is written.

Rows come back in no fixed order, as from all of Ray Data; a column that names them stays beside what is made of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from hexatagger.errors import ConfigError, FormatError, check_choice, needs
from hexatagger.integrations.ray.blocks import SOURCES, Source
from hexatagger.integrations.ray.cluster import Actors, pool
from hexatagger.integrations.ray.documents import Document, Problem, runs, sentences_of
from hexatagger.integrations.ray.shards import check_free, check_model, format_document, parse_documents
from hexatagger.model.registry import EMBEDDED, find_model
from hexatagger.parsing.parser import Parser, Precision, load

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

Result = Literal["columns", "conllu"]

_COLUMNS = ("sentence", "text", "words")
_POOL = 1024  # sentences that are made rows of together


def parse(
    dataset: "Dataset",
    *,
    model: str | Path = EMBEDDED,
    text_column: str = "text",
    source: Source = "text",
    to: Result = "columns",
    actors: Actors = None,
    batch_size: int = 1024,
    precision: Precision = "auto",
    **options: Any,
) -> "Dataset":
    """Parse the texts of a Dataset, lazily, with a pool of actors that have a parser and a core each.

    To "columns" gives a row a sentence, with the columns `sentence`, `text` and `words` in place of the text (see
    `tables`); to "conllu" gives a row for each row, with its trees in `conllu`. Both keep all other columns, and have
    `problem`: what could not be read or parsed of the row, null if all could. With a column `id`, the CoNLL-U of a row
    begins a document of that id. `source` says what a text is, as for the command line. A model that is a folder must
    be seen by all nodes. The cluster must have a core more than `actors` need, for reading. `options` are those of
    `Parser.parse_sentences`.
    """
    check_choice("source", source, SOURCES)
    check_choice("to", to, get_args(Result))
    if to == "columns" and options.get("k", 1) > 1:
        raise ConfigError("a table has no place for the k best trees: parse to conllu")
    folder = EMBEDDED if str(model) == EMBEDDED else str(find_model(model).absolute())
    check_model(find_model(folder), source, precision, options)
    settings = {"model": folder, "precision": precision, "text_column": text_column, "source": source, "to": to}
    return dataset.map_batches(
        Batches,
        fn_constructor_kwargs={**settings, "options": options},
        batch_size=batch_size,
        batch_format="pyarrow",
        num_cpus=1,
        compute=pool(actors),
    )


class Batches:
    """What an actor does: it parses batches of rows, with a parser of its own."""

    def __init__(
        self,
        *,
        model: str,
        precision: Precision,
        text_column: str,
        source: Source,
        to: Result,
        options: dict[str, Any],
    ) -> None:
        self._parser: Parser = load(model, precision=precision, threads=1)
        self._text_column, self._source, self._to, self._options = text_column, source, to, options

    def __call__(self, batch: "pa.Table") -> "Iterator[pa.Table]":
        """Yield the rows made of a batch, some at once."""
        if self._text_column not in batch.column_names:
            names = ", ".join(batch.column_names)
            raise ConfigError(f"the dataset has no column '{self._text_column}', but: {names}: name it as text_column")
        others = batch.drop_columns([self._text_column])
        check_free(others.column_names, ("conllu", "problem") if self._to == "conllu" else (*_COLUMNS, "problem"))
        waiting, count = list[Document](), 0
        for document in parse_documents(self._parser, self._documents(batch, others), **self._options):
            waiting.append(document)
            count += max(1, len(document.sentences))
            if count >= _POOL:
                yield self._table(others, waiting)
                waiting, count = [], 0
        yield self._table(others, waiting)

    def _documents(self, batch: "pa.Table", others: "pa.Table") -> Iterator[Document]:
        """Cut the texts of a batch into sentences; a document's line is here the number of its row."""
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
        """Put what was made of rows beside their other columns."""
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
    """Read CoNLL-U files as a Dataset, a row a sentence: `path`, `line` and `conllu`, to `parse` with source="conllu".

    Paths may be anything that Ray Data reads, folders and object stores included. A file is read as a whole.
    """
    with needs("ray"):
        import ray.data
    return ray.data.read_binary_files(paths, include_paths=True).flat_map(_sentences)


def _sentences(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Cut a file into sentences without reading them: what is wrong with one is said where it is parsed."""
    raw: bytes = row["bytes"].removeprefix(b"\xef\xbb\xbf")
    return [
        {"path": row["path"], "line": number, "conllu": b"\n".join([*run, b"", b""]).decode("utf-8", "replace")}
        for number, run in runs(raw.split(b"\n"), 1)
    ]


def write_conllu(dataset: "Dataset", folder: str) -> None:
    """Write the column `conllu` of a Dataset as CoNLL-U files, one for each of its blocks, wherever Ray can write."""
    from ray.data.block import BlockAccessor
    from ray.data.datasource import BlockBasedFileDatasink

    class Conllu(BlockBasedFileDatasink):  # type: ignore[misc]
        """Files of CoNLL-U."""

        def write_block_to_file(self, block: BlockAccessor, file: Any) -> None:
            for text in block.to_arrow()["conllu"].to_pylist():
                file.write(text.encode("utf-8"))

    dataset.write_datasink(Conllu(folder, file_format="conllu"))
