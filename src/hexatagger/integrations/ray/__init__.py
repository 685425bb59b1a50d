"""Corpora beyond one machine, on Ray; extra `ray`.

    hexatagger.integrations.ray.parse(dataset)            a Ray Dataset → a Ray Dataset
    hexatagger.integrations.ray.parse_files(files, out)   files → shards, resumable: `hexatagger parse --engine ray`

    files ──blocks──▶ Blocks ──documents──▶ Documents ──shards──▶ a file of trees a block, of which `manifest` knows
                        └─ job: deals them out to a pool of actors, with the help of `cluster`: Ray itself

Importing this does not import Ray.
"""

from hexatagger.integrations.ray.dataset import parse, read_conllu, write_conllu
from hexatagger.integrations.ray.job import Progress, Summary, parse_files
from hexatagger.integrations.ray.shards import Settings

__all__ = ["Progress", "Settings", "Summary", "parse", "parse_files", "read_conllu", "write_conllu"]
