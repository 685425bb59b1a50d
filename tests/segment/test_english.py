"""The segmenter of the embedded English model, on invented text of the kinds that a treebank has few of."""

import pytest

from hexatagger.model.registry import find_model
from hexatagger.segment.segmenter import Segmenter

pytest.importorskip("onnxruntime")

# Text, and its tokens; ‖ stands between sentences.
FRACTIONS = [
    ("Add 1/2 cup of sugar.", "Add 1 / 2 cup of sugar ."),
    ("1/2 cup of milk and 3/4 cup of flour are needed.", "1 / 2 cup of milk and 3 / 4 cup of flour are needed ."),
    ("About 1/3 of the voters stayed at home.", "About 1 / 3 of the voters stayed at home ."),
    ("It takes 2 1/2 hours.", "It takes 2 1 / 2 hours ."),
    ("We met on 5/12 at noon.", "We met on 5/12 at noon ."),
    ("It was at 10:30 a.m. on 12/05/2021.", "It was at 10:30 a.m. on 12/05/2021 ."),
]
ABBREVIATIONS = [
    ("As Jones et al. showed, it works.", "As Jones et al. showed , it works ."),
    ("The price is $50 incl. tax.", "The price is $ 50 incl. tax ."),
    ("All meals incl. breakfast are free.", "All meals incl. breakfast are free ."),
    ("See Fig. 3 for details.", "See Fig. 3 for details ."),
    ("The results are in Fig. 2 and Tab. 4.", "The results are in Fig. 2 and Tab. 4 ."),
    ("This is shown in Sec. 3 and Ch. 4.", "This is shown in Sec. 3 and Ch. 4 ."),
]
LINES = [
    (
        "1. Open the box\n2. Take out the parts\n3. Read the manual\n4. Call us",
        "1 . Open the box ‖ 2 . Take out the parts ‖ 3 . Read the manual ‖ 4 . Call us",
    ),
    ("To do:\n1) buy milk\n2) call Anna", "To do : ‖ 1 ) buy milk ‖ 2 ) call Anna"),
    ("Shopping list\n- two apples\n- a bottle of milk", "Shopping list ‖ - two apples ‖ - a bottle of milk"),
    ("* First item\n* Second item\n* Third item", "* First item ‖ * Second item ‖ * Third item"),
    (
        "Breaking news\nThe mayor resigned on Monday. He gave no reason.",
        "Breaking news ‖ The mayor resigned on Monday . ‖ He gave no reason .",
    ),
    (
        "The mayor resigned on Monday after weeks of protest in the streets of the old\ntown. He gave no reason.",
        "The mayor resigned on Monday after weeks of protest in the streets of the old town . ‖ He gave no reason .",
    ),
]
OTHERS = [
    ("Great work! 🎉 Thanks.", "Great work ! 🎉 ‖ Thanks ."),
    ("I love it 😀", "I love it 😀"),
    ("Go to https://example.org/a/b.html for more.", "Go to https://example.org/a/b.html for more ."),
    ("Write to anna.smith@example.co.uk or call.", "Write to anna.smith@example.co.uk or call ."),
    ("HE LEFT EARLY. SHE STAYED.", "HE LEFT EARLY . ‖ SHE STAYED ."),
    ("he left early. she stayed. nobody cared.", "he left early . ‖ she stayed . ‖ nobody cared ."),
]

STILL_WRONG = [
    ("Smith et al. (2010) found the same.", "Smith et al. ( 2010 ) found the same ."),
    ("It weighs approx. 50 kg.", "It weighs approx. 50 kg ."),
    ("He met Capt. Jones yesterday. She did not.", "He met Capt. Jones yesterday . ‖ She did not ."),
]


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return Segmenter.load(find_model("en"), threads=1)


def cut(segmenter: Segmenter, text: str) -> str:
    return " ‖ ".join(" ".join(token.form for token in sentence.tokens) for sentence in segmenter.segment(text))


@pytest.mark.parametrize(("text", "expected"), [*FRACTIONS, *ABBREVIATIONS, *LINES, *OTHERS])
def test_text_is_cut_as_expected(segmenter: Segmenter, text: str, expected: str) -> None:
    assert cut(segmenter, text) == expected


@pytest.mark.xfail(strict=True, reason="known faults of the shipped segmenter")
@pytest.mark.parametrize(("text", "expected"), STILL_WRONG)
def test_text_that_is_still_cut_wrongly(segmenter: Segmenter, text: str, expected: str) -> None:
    assert cut(segmenter, text) == expected
