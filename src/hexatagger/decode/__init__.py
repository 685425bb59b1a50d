"""Scores → tags: the best legal sequence, exactly, for a batch of sentences at once; and tags → heads for the batch."""

from hexatagger.decode.batch import best, heads

__all__ = ["best", "heads"]
