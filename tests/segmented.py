"""Sentences written as plain text, for tests of the segmenter's training."""

import io
from itertools import pairwise

from hexatagger import Sentence, read_conllu


def sentences_of(text: str) -> list[Sentence]:
    """Read a sentence per line; an empty line begins a paragraph.

    `|` stands where a token ends without a space, `=` where a word ends inside a token, and a token `du:de+le` has
    words that are not its parts. `_` is a space inside a token.
    """
    lines: list[str] = []
    for line in text.removeprefix("\n").splitlines():
        if not line:
            lines.append("# newpar")
            continue
        number = 0
        for chunk in line.split():
            tokens = chunk.split("|")
            for token, following in pairwise([*tokens, None]):
                assert token is not None
                misc = "_" if following is None else "SpaceAfter=No"
                form, colon, words = token.replace("_", " ").partition(":")
                parts = words.split("+") if colon else form.split("=")
                form = form if colon else "".join(parts)
                if len(parts) > 1:
                    lines.append(f"{number + 1}-{number + len(parts)}\t{form}" + "\t_" * 7 + f"\t{misc}")
                    misc = "_"
                for part in parts:
                    number += 1
                    lines.append(f"{number}\t{part}\t_\t_\t_\t_\t{int(number > 1)}\tdep\t_\t{misc}")
        lines.append("")
    return list(read_conllu(io.StringIO("\n".join(lines) + "\n")))
