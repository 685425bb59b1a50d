"""Show docstring examples as code on the API page: an extension of griffe, with which mkdocstrings reads code.

Without it, Markdown would read `>>>` as a quotation. The docstrings themselves are not changed.
"""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?<!```pycon\n)^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


class FencedDocstrings(griffe.Extension):
    """Puts a code fence around every example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute after reading it."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Put fences around the examples of a docstring that have none."""
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].replace('<BLANKLINE>', '')}\n```", docstring)
