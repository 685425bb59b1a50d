"""Text ⇄ Sentences: escapes in MISC, paragraphs of treebanks, and raw text as UD's own converter makes it."""

import pytest

from hexatagger import Sentence, Word
from hexatagger.formats.text import Token, escape, lay_out, restore, ud_text, unescape


def sentence(*tokens: str, comment: str = "") -> Sentence:
    """A sentence from tokens; MISC may follow after a slash."""
    words = [Word(number, *token.partition("/")[::2]) for number, token in enumerate(tokens, 1)]
    return Sentence([Word(word.id, word.form, misc=word.lemma or "_") for word in words], [comment] if comment else [])


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("\\u00A0", "\u00a0"),
        ("\\u00a0\\s", "\u00a0 "),
        ("\\xA0", "\u00a0"),
        ("\\f\\v", "\x0c\x0b"),
        ("\\\\u00A0", "\\u00A0"),
        ("\\u00G0", "\\u00G0"),
        ("\\u2028", "\u2028"),
    ],
)
def test_escapes_of_other_tools(escaped: str, text: str) -> None:
    assert unescape(escaped) == text


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_characters_that_break_other_readers_are_escaped(character: str) -> None:
    assert escape(f" {character}") == f"\\s\\u{ord(character):04X}"
    assert unescape(escape(character)) == character
    assert len(escape(character).splitlines()) == 1


@pytest.mark.parametrize(
    ("misc", "text"),
    [("SpacesAfter=\\u00A0", "a\u00a0b "), ("SpacesAfter=_", "a b "), ("SpacesAfter=No", "ab "), ("_", "a b ")],
)
def test_gaps(misc: str, text: str) -> None:
    assert restore([sentence(f"a/{misc}", "b")]) == text


@pytest.mark.parametrize("comment", ["# newpar", "#newpar", "# newpar id = 3", "#newdoc", "#  NewDoc id = x"])
def test_comments_that_start_a_paragraph(comment: str) -> None:
    assert restore([sentence("a"), sentence("b", comment=comment)]) == "a\n\nb "


def test_comments_that_only_look_like_it() -> None:
    assert restore([sentence("a"), sentence("b", comment="# newparagraph = 1")]) == "a b "


def test_a_paragraph_inside_a_sentence() -> None:
    assert restore([sentence("a", "b/NewPar=Yes", "c")]) == "a\n\nb c "


# Lines of 80 characters, as UD's conllu_to_text.pl writes them


def test_lines_are_wrapped() -> None:
    words = [sentence(*["word"] * 20)] * 2  # 100 characters each, the space after the last word included
    lines = ud_text(words).splitlines()
    assert [len(line.rstrip()) for line in lines] == [79, 79, 39]
    assert " ".join(lines).split() == ["word"] * 40


def test_a_word_that_is_too_long_has_its_own_line() -> None:
    assert ud_text([sentence("a", "b" * 100, "c")]) == f"a\n{'b' * 100}\nc \n"


def test_nothing_is_broken_before_a_word_that_follows_without_a_space() -> None:
    assert ud_text([sentence("b" * 90 + "/SpaceAfter=No"), sentence("c")]) == "b" * 90 + "c\n"


def test_paragraphs_are_separated_by_an_empty_line() -> None:
    given = [sentence("a", comment="# newdoc"), sentence("b"), sentence("c", comment="#newpar")]
    assert ud_text(given) == "a b \n\nc \n"
    assert ud_text([sentence("a", "b/NewPar=Yes")]) == "a \n\nb \n"


def test_other_spaces_than_one_are_not_in_it() -> None:
    assert ud_text([sentence("a/SpacesAfter=\\n", "b/SpaceAfter=No", "c")]) == "a bc \n"
    assert ud_text([]) == ""


def test_words_have_their_own_offsets_where_their_token_spells_them() -> None:
    tokens = [Token(0, 2), Token(3, 9, ("did", "n't")), Token(10, 12, ("de", "le")), Token(13, 20, ("do", "n't"))]
    [made] = lay_out([("He didn't du do  n't", [tokens], True)], offset=100)
    ranges = [(word.start, word.end) for word in made]
    assert ranges == [(100, 102), (103, 106), (106, 109), (110, 112), (110, 112), (113, 115), (117, 120)]
    assert [(token.start, token.end) for token in made.multiwords] == [(103, 109), (110, 112), (113, 120)]
