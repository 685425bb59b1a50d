"""Corpora beyond one machine, on Ray; extra `ray`.

    parse(dataset)            a Ray Dataset → a Ray Dataset: reading, writing and checkpoints are Ray Data's
    parse_files(files, out)   files → shards that are complete or absent, resumable: the command `hexatagger corpus`

    files ──blocks──▶ Blocks ──documents──▶ Documents ──shards──▶ one file of trees per block
                        └─ job: lists them in the manifest, distributes them to a pool of actors on a `cluster`

Importing this does not import Ray.
"""

from hexatagger.integrations.ray.dataset import parse, read_conllu, write_conllu
from hexatagger.integrations.ray.job import Summary, parse_files
from hexatagger.integrations.ray.shards import CorpusOptions

__all__ = ["CorpusOptions", "Summary", "parse", "parse_files", "read_conllu", "write_conllu"]
