"""Sentence ⇄ bytes: CoNLL-U, JSON, tag files, raw text, and the files they live in."""
