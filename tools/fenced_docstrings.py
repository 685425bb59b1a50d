"""Show the examples of docstrings as code on the API page: an extension of griffe, which mkdocstrings reads code with.

Markdown would take `>>>` for quotations. It does not touch the docstrings themselves.
"""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?<!```pycon\n)^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


class FencedDocstrings(griffe.Extension):
    """Puts fences around every example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute once it is read."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Put fences around the examples of a docstring, unless they have some."""
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].replace('<BLANKLINE>', '')}\n```", docstring)
