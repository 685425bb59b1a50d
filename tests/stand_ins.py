"""Segmenters without a network, for tests of what is around it; and texts that are odd in every way we know."""

from typing import Any, cast

import numpy as np
from hypothesis import strategies as st

from hexatagger.segment.alphabet import Ids, SegmenterSettings
from hexatagger.segment.multiword import Rewrites
from hexatagger.segment.segmenter import Segmenter

RADIUS = 3
REWRITES = Rewrites({"du": ("de", "le")}, {"n't": ("", "n't"), "é": ("e", "lo")})


class Noise:
    """Stands in for ONNX Runtime: scores that look random but depend on three characters on either side only."""

    def run(self, names: list[str], inputs: dict[str, Ids]) -> list[np.ndarray[Any, Any]]:
        ids = np.pad(inputs["ids"].astype(np.float64), ((0, 0), (RADIUS, RADIUS)))
        length = inputs["ids"].shape[1]
        mixed = sum(ids[:, place : place + length] * (7.3 + place) for place in range(2 * RADIUS + 1))
        assert isinstance(mixed, np.ndarray)
        return [
            np.stack(
                [np.sin(mixed * each) + bias for each, bias in zip(range(1, 5), (0.2, -0.7, 0, 0), strict=True)], -1
            )
        ]


class Rules:
    """Stands in for ONNX Runtime: letters and digits stand together, a full stop ends a sentence."""

    def run(self, names: list[str], inputs: dict[str, Ids]) -> list[np.ndarray[Any, Any]]:
        ids = inputs["ids"]
        letter = ids == 3
        end = ~(letter & np.pad(letter, ((0, 0), (0, 1)))[:, 1:])
        stop = ids > 5
        scores = np.stack([end, stop, np.zeros_like(end), np.zeros_like(end)], -1)
        return [np.where(scores, 1.0, -1.0).astype(np.float32)]


def make(kind: type, *, spaces: bool = False, breaks: bool = False, rewrites: Rewrites = REWRITES) -> Segmenter:
    characters = "." if issubclass(kind, Rules) else "abcdefgh.'é"
    config = SegmenterSettings(
        characters=characters, categories=("Ll", "Po", "So"), radius=RADIUS, spaces=spaces, breaks=breaks
    )
    return Segmenter(cast("Any", kind()), config, rewrites)


NOISE, SPACED, BREAKS, RULES = make(Noise), make(Noise, spaces=True), make(Noise, breaks=True), make(Rules)

ODD = (
    " ~  ~\t~\n~\n\n~\r\n~\r\n\r\n~\r~\u00a0~\u2028~\u2029~\x0c~\x85~\u200b~\ufeff~\u3000~\x00~|~\\~\\s~=~#~_~%~a~b."
    "~du~Don't~é~e\u0301~👩\u200d👩\u200d👧~👍🏽~❤\ufe0f~שלום~ئۇيغۇر~\u202bab\u202c~10 000~\xad~…~“~漢字~No"
)
odd = st.sampled_from(ODD.split("~"))
texts = st.one_of(
    st.lists(odd, max_size=30).map("".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
)
