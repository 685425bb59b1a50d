"""Mutated CoNLL-U: it is refused with the line, or read and written without loss; trees survive tags and lifting."""

import io
import random
from collections.abc import Iterable
from pathlib import Path

from fuzz.cases import Counts, check, mutate_bytes, run_cases
from hexatagger.errors import FormatError
from hexatagger.formats.conllu import format_sentence, read_conllu
from hexatagger.formats.tagfile import format_tagged, read_tagged
from hexatagger.sentence import Sentence
from hexatagger.tags import SCHEMES, lift, unlift
from hexatagger.tree import is_projective, is_tree

EXAMPLE = Path(__file__).resolve().parent.parent / "data" / "example.conllu"
BLOCKS = [block + "\n\n" for block in EXAMPLE.read_text(encoding="utf-8").strip("\n").split("\n\n")]

_VALUES = ["_", "", "0", "1", "2", "3-4", "1-1", "2-1", "1.1", "0.1", "01", "-1", "9" * 12, "a|b", "x%", "\\", "/", "|"]
_VALUES += [
    "root",
    "nsubj",
    "SpaceAfter=No",
    "a b",
    " ",
    "\u00a0",
    "#",
    "# text = x",
    "\x85",
    "\u2028",
    "é",
    "\ufeff",
    "\x00",
]
_LINES = ["", " ", "#", "# text = ", "# newpar", "# sent_id = 1", "1", "words", "\r", "1\tx", "1-2\tab" + "\t_" * 8]
_LINES += ["1.1\tx" + "\t_" * 8, "1\tx" + "\t_" * 8, "2\tx" + "\t_" * 8]


def run(seed: int, *, count: int | None = None, seconds: float | None = None) -> Counts:
    """Try mutated sentences."""
    return run_cases("conllu", case, seed, count=count, seconds=seconds)


def case(chance: random.Random) -> Iterable[str]:
    data = mutated(chance)
    try:
        sentences = list(read_conllu(io.BytesIO(data), roots=chance.choice(["any", "any", "one", "attach"])))
    except FormatError as error:
        check(error.line and 1 <= error.line <= data.count(b"\n") + 1, f"line {error.line} of {data!r}: {error}")
        return ["refused"]
    text = "".join(map(format_sentence, sentences))
    again = list(read_conllu(io.StringIO(text)))
    check(again == sentences, f"{again} is not {sentences}")
    check("".join(map(format_sentence, again)) == text, f"{text!r} is not stable")
    return ["read", *(kind for sentence in sentences if is_tree(sentence.heads) for kind in _trees(chance, sentence))]


def mutated(chance: random.Random) -> bytes:
    """Return one or two sentences with a few mutations of columns, lines or bytes."""
    blocks = [
        chance.choice(BLOCKS) if chance.random() < 0.6 else _sentence(chance) for _ in range(chance.choice([1, 1, 2]))
    ]
    lines = "".join(blocks).split("\n")
    kind = chance.randrange(4)  # 3: none, the sentence as it is
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(lines))
        if kind == 0:
            columns = lines[place].split("\t")
            columns[chance.randrange(len(columns))] = chance.choice(_VALUES)
            if chance.random() < 0.1:
                columns.insert(chance.randrange(len(columns)), chance.choice(_VALUES))
            lines[place] = "\t".join(columns)
        elif kind == 1:
            match chance.randrange(4):
                case 0:
                    del lines[place]
                case 1:
                    lines.insert(chance.randrange(len(lines)), lines[place])
                case 2:
                    lines[place], lines[0] = lines[0], lines[place]
                case _:
                    lines.insert(place, chance.choice(_LINES))
            lines = lines or [""]
    data = chance.choice(["\n"] * 8 + ["\r\n", "\r\r\n"]).join(lines).encode()
    return mutate_bytes(chance, data, chance.randrange(1, 4)) if kind == 2 else data


def _sentence(chance: random.Random) -> str:
    """Return a random sentence with everything that CoNLL-U can hold."""
    size = chance.randrange(1, 9)
    order = chance.sample(range(1, size + 1), size)
    heads = {order[0]: 0} | {word: chance.choice(order[:place]) for place, word in enumerate(order) if place}
    rows, covered = [f"# sent_id = {chance.random()}"] if chance.random() < 0.5 else [], 0
    for word in range(1, size + 1):
        if word > covered and word < size and chance.random() < 0.1:
            covered = chance.randrange(word + 1, size + 1)
            rows.append("\t".join([f"{word}-{covered}", _form(chance), *["_"] * 7, "SpaceAfter=No"]))
        deprel = chance.choice(["nsubj", "obj", "obl:arg", "a|b", "a%", "/", "l", "\\", "|", "", "_"])
        columns = [_form(chance) if chance.random() < 0.2 else "_" for _ in range(6)]
        rows.append("\t".join([str(word), _form(chance), *columns[:4], str(heads[word]), deprel, *columns[4:]]))
        if chance.random() < 0.05:
            rows.append("\t".join([f"{word}.1", _form(chance), *["_"] * 8]))
    return "\n".join([*rows, "", ""])


def _form(chance: random.Random) -> str:
    return "".join(chance.choice("aBé漢.'# _|=%/\\\u00a0\u200b👍") for _ in range(chance.randrange(1, 6)))


def _trees(chance: random.Random, sentence: Sentence) -> Iterable[str]:
    """Lift and unlift a tree, encode and decode it."""
    scheme, order = chance.choice(SCHEMES), chance.choice(["left", "right"])
    heads, marked = lift(sentence.heads, sentence.deprels, scheme)
    back, deprels = unlift(heads, marked, scheme)
    projective = is_projective(sentence.heads)
    check(is_projective(heads) and is_tree(heads), f"{heads} from {sentence.heads}")
    check(is_tree(back) and deprels == sentence.deprels, f"{back}, {deprels} from {sentence}")
    check(not projective or back == sentence.heads, f"{back} from {sentence.heads}")
    encoded = format_tagged(sentence, order=order, scheme=scheme)  # type: ignore[arg-type]
    if order == "right":
        return ["lifted"]  # a tag file has left-first tags
    [decoded] = read_tagged(io.StringIO(encoded))
    check((decoded.heads, decoded.deprels) == (back, deprels), f"{encoded!r} gives {decoded}")
    check(decoded.comments == sentence.comments, f"{decoded.comments} from {sentence.comments}")
    check(decoded.forms == sentence.forms, f"{decoded.forms} from {sentence.forms}")
    return ["lifted", "encoded"] if projective else ["lifted", "encoded", "not projective"]
