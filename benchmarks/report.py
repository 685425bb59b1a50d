"""Write the figures in README and docs from `benchmarks/results/`; with --check, only say whether they are up to date.

A document has `<!-- figures: NAME -->` … `<!-- end -->`; what is between is replaced by the table that NAME makes here.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from hexatagger.files import replacing
from results import ROOT, load

BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def decode() -> str:
    result = load("decode")
    header = ["words", "sentences/s", "words/s", "words/s, scores of pure noise", "illegal before decoding"]
    rows = [
        [
            str(row["words"]),
            f"{row['sentences_per_second']:,}",
            f"{row['words_per_second']:,}",
            f"{row['flat_noise_words_per_second']:,}",
            f"{row['illegal_before_decoding']} %",
        ]
        for row in result["lengths"]
    ]
    machine, growth = result["machine"]["processor"], result["growth_exponent_64_to_4096"]
    noise, factor = result["flat_noise_growth_exponent_64_to_4096"], result["factor_to_reference_25_words_batch_128"]
    return (
        table(header, rows)
        + f"\nFrom scores to heads in batches of {result['batch']}, on one core of an {machine}, best of several runs. "
        f"Time grows with the length to the power of {growth} from 64 to 4,096 words ({noise} on noise, where the best "
        f"path runs deep); at 25 words it is {factor} times as fast as the plain reference. `{result['command']}`\n"
    )


def read() -> str:
    result = load("read")
    return (
        f"EWT train is read at {result['hexatagger_words_per_second']:,} words/s, {result['factor']} times the speed "
        f"of the `conllu` package in the same run ({result['conllu_words_per_second']:,}). `{result['command']}`\n"
    )


FIGURES: dict[str, Callable[[], str]] = {"decode": decode, "read": read}


def filled(text: str) -> str:
    """Return a document with all its figures filled in."""
    return BLOCK.sub(lambda match: match[1] + FIGURES[match[2]]() + match[3], text)


def main() -> None:
    stale = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        if filled(text) != text:
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                with replacing(path) as temporary:
                    temporary.write_text(filled(text), encoding="utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"figures out of date in {', '.join(stale)}: run python benchmarks/report.py")


if __name__ == "__main__":
    main()
