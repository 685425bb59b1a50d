import itertools
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hexatagger import Multiword, Sentence, TreeError, Word, read_conllu
from hexatagger.cli import main
from hexatagger.draw import Show, draw_html, draw_svg, draw_text, terminal
from hexatagger.draw.figure import Arc, Figure, fans, figure, stack
from hexatagger.draw.layout import CELLS, PIXELS, Layout, Metrics, arrange
from hexatagger.draw.unicode import printable
from hexatagger.draw.width import cells, graphemes, pixels
from hexatagger.errors import ConfigError
from hexatagger.tree import is_projective, nonprojective_words
from strategies import projective_trees, sentences, trees

SHOWS: tuple[Show, ...] = ("arcs", "bht", "tags", "all")
METRICS = [CELLS, PIXELS]
TINY = 1e-6  # pixels are floats
SVG = "{http://www.w3.org/2000/svg}"

forms = st.sampled_from(["a", "papers", "fascinating", "论文", "e\u0301tude", "👩\u200d🔬", "كىتاب", ".", "10 000"])
relations = st.sampled_from(["nsubj", "obj", "a", "nmod:poss", "very-long-relation", "det"])


@st.composite
def drawn(draw: st.DrawFn, projective: bool = False) -> Sentence:
    """A sentence with forms of many scripts and relations as treebanks have them."""
    heads = draw(projective_trees() if projective else trees())
    words = [draw(forms) for _ in heads]
    sentence = Sentence.from_words(words, heads=heads, deprels=[draw(relations) for _ in heads])
    for word in sentence:
        word.upos = draw(st.sampled_from(["NOUN", "PUNCT", "X"]))
    return sentence


def example(data: Path, number: int) -> Sentence:
    return list(read_conllu(data / "example.conllu"))[number - 1]


# Levels


@given(trees())
def test_arcs_on_a_level_do_not_overlap_and_outer_arcs_are_higher(heads: list[int]) -> None:
    drawing = figure(Sentence.from_words(["w"] * len(heads), heads=heads))
    assert sorted((arc.head, arc.dependent) for arc in drawing.arcs) == sorted(zip(heads, range(1, 99), strict=False))
    assert {arc.dependent for arc in drawing.arcs if arc.crossing} == set(nonprojective_words(heads))
    for one, other in itertools.combinations([arc for arc in drawing.arcs if arc.head], 2):
        if one.left < other.right and other.left < one.right:
            assert one.level != other.level
        for outer, inner in ((one, other), (other, one)):
            if outer.left <= inner.left and inner.right <= outer.right:
                assert outer.level > inner.level
    top = max((arc.level for arc in drawing.arcs if arc.head), default=0)
    assert all(arc.level == top + 1 for arc in drawing.arcs if not arc.head)


@given(trees())
def test_levels_have_no_holes(heads: list[int]) -> None:
    drawing = figure(Sentence.from_words(["w"] * len(heads), heads=heads))
    levels = {arc.level for arc in drawing.arcs}
    assert levels == set(range(1, max(levels) + 1))


@given(trees())
def test_fans_that_meet_have_different_columns(heads: list[int]) -> None:
    gathered = fans(figure(Sentence.from_words(["w"] * len(heads), heads=heads)))
    assert sorted(word for fan in gathered for word in fan.dependents) == [
        word for word, head in enumerate(heads, 1) if head
    ]
    for one, other in itertools.combinations(gathered, 2):
        rows = [range(min(fan.head, *fan.dependents), max(fan.head, *fan.dependents) + 1) for fan in (one, other)]
        if set(rows[0]) & set(rows[1]):
            assert one.level != other.level


def test_stack_of_nothing() -> None:
    assert stack([]) == []


# Layout


def legs_through(layout: Layout, arc: Arc) -> list[float]:
    """The legs of other arcs that cross the line of this one."""
    own = next(placed for placed in layout.arcs if placed.arc == arc)
    left, right = sorted((own.head, own.dependent))
    return [
        leg
        for placed in layout.arcs
        if placed.arc.level > arc.level
        for leg in (placed.head, placed.dependent)
        if left < leg < right
    ]


@pytest.mark.parametrize("metrics", METRICS, ids=["cells", "pixels"])
@given(drawn())
def test_labels_fit_their_arcs_and_never_meet(metrics: Metrics, sentence: Sentence) -> None:
    drawing = figure(sentence)
    layout = arrange(drawing, metrics)
    for placed in layout.arcs:
        assert placed.end - placed.begin == pytest.approx(metrics.label(placed.arc.label))
        assert placed.begin >= 0
        assert placed.end <= layout.width
        if placed.arc.head:
            left, right = sorted((placed.head, placed.dependent))
            assert left + metrics.line <= placed.begin + TINY
            assert placed.end <= right + TINY
    for one, other in itertools.combinations(layout.arcs, 2):
        if one.arc.level == other.arc.level:
            assert one.end <= other.begin + TINY or other.end <= one.begin + TINY


@pytest.mark.parametrize("metrics", METRICS, ids=["cells", "pixels"])
@given(drawn())
def test_words_keep_apart_and_legs_stand_on_them(metrics: Metrics, sentence: Sentence) -> None:
    drawing = figure(sentence)
    layout = arrange(drawing, metrics)
    blocks = list(zip(layout.begins, layout.widths, strict=True))
    for (begin, width), (after, _) in itertools.pairwise(blocks[::-1] if drawing.right_to_left else blocks):
        assert after >= begin + width + metrics.gap - TINY
    for placed in layout.arcs:
        for place, leg in (
            (placed.arc.head or placed.arc.dependent, placed.head),
            (placed.arc.dependent, placed.dependent),
        ):
            end = layout.begins[place - 1] + layout.widths[place - 1] - metrics.line
            assert layout.begins[place - 1] - TINY <= leg <= end + TINY


@pytest.mark.parametrize("metrics", METRICS, ids=["cells", "pixels"])
@given(drawn(projective=True))
def test_no_lines_cross_in_a_projective_tree(metrics: Metrics, sentence: Sentence) -> None:
    layout = arrange(figure(sentence), metrics)
    assert all(not legs_through(layout, placed.arc) for placed in layout.arcs)


def test_a_label_avoids_the_leg_that_crosses_its_arc(data: Path) -> None:
    for metrics in METRICS:
        layout = arrange(figure(example(data, 3)), metrics)
        crossed = [placed for placed in layout.arcs if legs_through(layout, placed.arc)]
        assert [placed.arc.label for placed in crossed] == ["ccomp", "punct", "nsubj"]
        for placed in crossed:
            assert all(not placed.begin <= leg <= placed.end for leg in legs_through(layout, placed.arc))


@pytest.mark.parametrize("metrics", METRICS, ids=["cells", "pixels"])
@given(drawn())
def test_right_to_left_layouts_are_mirrored(metrics: Metrics, sentence: Sentence) -> None:
    drawing = figure(sentence, "all")
    one, other = (arrange(replace(drawing, right_to_left=turned), metrics) for turned in (False, True))
    assert other.width == one.width
    far = one.width - metrics.line
    assert [far - place for place in one.middles] == pytest.approx(other.middles)
    for left, right in zip(one.arcs, other.arcs, strict=True):
        assert left.arc == right.arc
        assert [left.begin + right.end, left.end + right.begin] == pytest.approx([one.width] * 2)
        assert [left.head + right.head, left.dependent + right.dependent] == pytest.approx([far] * 2)


# Text


def grid(text: str) -> list[list[str]]:
    """The cells of a drawing; a wide character is in two."""
    rows = []
    for line in text.split("\n"):
        row: list[str] = []
        for cluster, width in graphemes(line.replace("\u200e", "")):
            row += [cluster] + [""] * (width - 1)
        rows.append(row)
    longest = max(map(len, rows))
    return [row + [" "] * (longest - len(row)) for row in rows]


def read_arcs_above(text: str, drawing: Figure, layout: Layout) -> list[tuple[int, int]]:
    """Follow the lines of a drawing: from every arrow up, along, to the word at the other end."""
    rows = grid(text)
    base = next(number for number, row in enumerate(rows) if "▼" in row)

    def word_at(column: int) -> int:
        return next(
            word
            for word, (begin, width) in enumerate(zip(layout.begins, layout.widths, strict=True), 1)
            if begin <= column < begin + width
        )

    found = []
    for column in [column for column, cell in enumerate(rows[base]) if cell == "▼"]:
        row = base - 1
        while row > 0 and rows[row][column] == "│":
            row -= 1
        if rows[row][column] not in "╭╮":
            found.append((0, word_at(column)))
            continue
        step = 1 if rows[row][column] == "╭" else -1
        end = column + step
        while rows[row][end] not in ("╮", "┤") if step > 0 else rows[row][end] not in ("╭", "├"):
            end += step
        assert all(rows[below][end] in "│├┤" for below in range(row + 1, base + 1))
        found.append((word_at(end), word_at(column)))
    return found


@given(drawn(projective=True))
def test_the_tree_can_be_read_off_the_arcs(sentence: Sentence) -> None:
    drawing = figure(sentence)
    layout = arrange(drawing, CELLS)
    expected = sorted((arc.head, arc.dependent) for arc in drawing.arcs)
    assert sorted(read_arcs_above(draw_text(sentence), drawing, layout)) == expected


@given(drawn(projective=True))
def test_the_tree_can_be_read_off_the_margin(sentence: Sentence) -> None:
    rows = grid("\n".join(terminal.downwards(figure(sentence))))
    starts = [next(column for column, cell in enumerate(row) if cell not in " │") for row in rows]
    for number, head in enumerate(sentence.heads):
        column = starts[number]
        if head == 0:
            assert rows[number][column] == "─"
            continue
        # Up and down the line that this word hangs on; its head is the row in which it does not begin.
        touched = [number]
        for step, leaving in ((-1, "╰├│┼┴┤"), (1, "╭├│┼┬┤")):
            row = number
            while rows[row][column] in leaving:
                row += step
                touched.append(row)
        assert [row + 1 for row in touched if starts[row] < column and rows[row][column] != "│"] == [head]


@given(drawn(), st.sampled_from(SHOWS))
def test_text_shows_every_form_and_relation(sentence: Sentence, show: Show) -> None:
    for width in (None, 60):
        text = draw_text(sentence, width=width, show=show).replace("\u200e", "")
        for word in sentence:
            assert printable(word.form) in text
            if show in ("arcs", "all") or (show == "tags" and is_projective(sentence.heads)):
                assert word.deprel in text


@given(drawn(), st.sampled_from(SHOWS), st.integers(45, 120))
def test_text_keeps_to_the_width(sentence: Sentence, show: Show, width: int) -> None:
    for line in draw_text(sentence, width=width, show=show).split("\n"):
        assert cells(line) <= width
        assert line == line.rstrip(" ")


@given(sentences(), st.sampled_from(SHOWS))
def test_anything_can_be_drawn(sentence: Sentence, show: Show) -> None:
    for width in (None, 1, 40):
        plain = draw_text(sentence, width=width, show=show)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", plain)
        colored = draw_text(sentence, width=width, show=show, color=True)
        assert re.sub(r"\x1b\[\d*m", "", colored) == plain
        ET.fromstring(draw_svg(sentence, show=show, width=width))


def test_text_of_the_example(data: Path) -> None:
    assert draw_text(example(data, 2)).split("\n") == [
        "          root",
        "           │ ╭───────────────────punct───────────────────╮",
        "           │ ├─────────────────conj─────────────────╮    │",
        "           │ │               ╭───────punct────────╮ │    │",
        "           │ │               │      ╭─────cc──────┤ │    │",
        " ╭─nsubj─╮ │ ├─advmod─╮      │      │     ╭─nsubj─┤ │    │",
        " ▼       │ ▼ │        ▼      ▼      ▼     ▼       │ ▼    ▼",
        " He      does        n't     ,     but   they     do     .",
        "PRON      AUX        PART  PUNCT  CCONJ  PRON     AUX  PUNCT",
        "         ╰───doesn't────╯",
    ]


def test_a_crossing_arc_is_dashed_and_drawn_lifted_in_the_binary_head_tree(data: Path) -> None:
    sentence = example(data, 3)
    assert "┄nsubj┄" in draw_text(sentence)
    assert draw_text(sentence, width=30).split("\n") == [
        " ╭┄ nsubj ► What      PRON",
        " ┆╭── aux ► did       AUX",
        " ┆├ nsubj ► she       PRON",
        "──┼─ root ► say       VERB",
        " ╰┼ ccomp ► happened  VERB",
        "  ╰ punct ► ?         PUNCT",
    ]
    note = "Not projective, so lifted first: What under say."
    for show in SHOWS:
        assert draw_text(sentence, show=show).endswith(note) == (show != "arcs")
        assert (note in draw_svg(sentence, show=show)) == (show != "arcs")


def test_all_is_binary_head_tree_tags_words_and_arcs(data: Path) -> None:
    assert draw_text(example(data, 1), show="all").split("\n") == [
        "               ╭────────────────────────L────╮",
        "      ╭────────L──────────────╮              │",
        " ╭────R────╮           ╭──────R────╮         │",
        " │         │           │           │         │",
        " l    Lr   r   Ll      l      Rr   r    Ll   r",
        "She      reads    fascinating    papers      .",
        "PRON     VERB         ADJ         NOUN     PUNCT",
        " ▲       │ ▲ │         ▲          │ ▲        ▲",
        " ╰─nsubj─╯ │ │         ╰───amod───╯ │        │",
        "           │ ├─────────obj──────────╯        │",
        "           │ ╰─────────────punct─────────────╯",
        "          root",
    ]


def test_downwards_all_has_a_row_for_every_tag(data: Path) -> None:
    rows = draw_text(example(data, 1), show="all", width=40).split("\n")
    assert rows[:9] == [
        "    ╭── l   She",
        "  ╭─R   Lr",
        "  │ ╰── r   reads",
        "╭─L     Ll",
        "│ │ ╭── l   fascinating",
        "│ ╰─R   Rr",
        "│   ╰── r   papers",
        "L       Ll",
        "╰────── r   .",
    ]
    assert rows[9:] == ["", *draw_text(example(data, 1), width=40).split("\n")]


def test_right_to_left_text_runs_from_the_right() -> None:
    sentence = Sentence.from_words(["مەن", "كىتاب", "ئوقۇدۇم"], heads=[3, 3, 0], deprels=["nsubj", "obj", "root"])
    words = draw_text(sentence).split("\n")[-1]
    assert words.replace("\u200e", "").split() == ["ئوقۇدۇم", "كىتاب", "مەن"]
    assert re.findall(r"\u200e\S+\u200e", words) == words.split()  # fenced in, so that no terminal moves them
    root = ET.fromstring(draw_svg(sentence))
    places = {item.text: float(item.attrib["x"]) for item in root.iter(f"{SVG}text")}
    assert places["ئوقۇدۇم"] < places["كىتاب"] < places["مەن"]


def test_words_without_heads_and_heads_without_a_tree_are_drawn() -> None:
    assert draw_text(Sentence.from_words(["only", "words"])) == "only  words"
    assert draw_text(Sentence([])) == ""
    cycle = Sentence.from_words(["a", "b", "c", "d"], heads=[3, 4, 1, 2], deprels=["w", "x", "y", "z"])
    two = Sentence.from_words(["a", "b"], heads=[0, 0], deprels=["some-relation", "another-relation"])
    for sentence in (cycle, two):
        for width in (None, 30):
            assert all(deprel in draw_text(sentence, width=width) for deprel in sentence.deprels)
        ET.fromstring(draw_svg(sentence))
    assert draw_text(two, show="tags").endswith("2 roots: the later ones are attached to the first here.")


@pytest.mark.parametrize("show", SHOWS)
def test_no_words_and_one_word(show: Show) -> None:
    for forms, heads in (([], []), (["Yes"], [0])):
        sentence = Sentence.from_words(forms, heads=heads, deprels=["root"] * len(heads))
        for width in (None, 1, 80):
            assert (draw_text(sentence, show=show, width=width) == "") == (not forms)
            ET.fromstring(draw_svg(sentence, show=show, width=width))
        assert "<svg" in draw_html(sentence, show=show)


@pytest.mark.parametrize(
    ("heads", "message"),
    [([3, 0], "HEAD '3' of word 1 is outside the sentence (2 words)"), ([1, 0], "word 1 is its own head")],
)
def test_arcs_need_two_ends(heads: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=re.escape(message)):
        draw_text(Sentence.from_words(["a", "b"], heads=heads))


def test_binary_head_trees_need_trees() -> None:
    with pytest.raises(TreeError, match="need a tree"):
        draw_text(Sentence.from_words(["a"]), show="bht")
    with pytest.raises(TreeError, match="cycle"):
        draw_text(Sentence.from_words(["a", "b", "c"], heads=[2, 1, 0]), show="tags")


def test_wrong_options_are_named() -> None:
    sentence = Sentence.from_words(["a"], heads=[0])
    with pytest.raises(ConfigError, match="show 'trees' is not one of: arcs, bht, tags, all"):
        draw_svg(sentence, show="trees")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="width 0 is not a positive number"):
        draw_text(sentence, width=0)


def test_very_long_sentences() -> None:
    size = 2000
    for heads in ([0] + [1] * (size - 1), [*range(2, size + 1), 0], [0, *range(1, size)]):
        sentence = Sentence.from_words(["word"] * size, heads=heads, deprels=["dep"] * size)
        for show in SHOWS:
            assert max(map(cells, draw_text(sentence, width=80, show=show).split("\n"))) <= 80
        assert draw_svg(sentence).count('class="arc"') == size


def calls(function: Callable[[], object]) -> int:
    """The number of function calls, Python's and C's, that a function makes."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_work_without_a_width_grows_with_the_words_and_not_with_the_cells() -> None:
    def work(size: int) -> int:
        sentence = Sentence.from_words(["word"] * size, heads=[0] + [1] * (size - 1), deprels=["dep"] * size)
        return calls(lambda: draw_text(sentence))

    work(10)  # imports and caches
    small, large = work(100), work(400)
    assert large < 6 * small  # the drawing itself has 16 times as many cells
    assert large < 400 * 1000


def test_what_cannot_be_drawn_in_a_width_is_a_table() -> None:
    sentence = Sentence.from_words(["fascinating", "papers"], heads=[2, 0], deprels=["amod", "root"])
    assert draw_text(sentence, width=14).split("\n") == ["1 fa… amod ← 2", "2 pa… root ← 0"]


# SVG and HTML


class Tags(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """The patches under the labels."""
    found = []
    for patch in root.iterfind(f"{SVG}g/{SVG}rect"):
        x, y, width, height = (float(patch.attrib[name]) for name in ("x", "y", "width", "height"))
        found.append((x, y, x + width, y + height))
    return found


def meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@given(drawn())
def test_svg_has_every_arc_and_no_two_texts_meet(sentence: Sentence) -> None:
    for width in (None, 1):  # along the line and downwards
        root = ET.fromstring(draw_svg(sentence, width=width))
        arcs = [group for group in root.iter(f"{SVG}g") if "arc" in group.attrib["class"]]
        labels = {(int(arc.attrib["data-head"]), int(arc.attrib["data-dependent"])): arc for arc in arcs}
        for word in sentence:
            arc = labels[word.head or 0, word.id]
            assert arc.findtext(f"{SVG}text") == word.deprel
            assert ("crossing" in arc.attrib["class"]) == (word.id in nonprojective_words(sentence.heads))
        assert len(arcs) == len(sentence)
        patches = boxes(root)
        assert not any(meet(one, other) for one, other in itertools.combinations(patches, 2))
        texts = [item for item in root.iterfind(f"{SVG}text") if "form" in item.attrib["class"]]
        assert sorted(item.text or "" for item in texts) == sorted(sentence.forms)
        for item in texts:
            x, y, wide = float(item.attrib["x"]), float(item.attrib["y"]), pixels(item.text or "", 17)
            left = x if "start" in item.attrib["class"] else x - wide / 2
            assert not any(meet((left, y - 13, left + wide, y + 4), patch) for patch in patches)
            assert -16 <= left <= left + wide <= float(root.attrib["width"]) - 16


HOSTILE = '<script>alert("x")</script>'


def hostile() -> Sentence:
    words = [
        Word(1, HOSTILE, upos="<b>", head=2, deprel='"><img src=x>'),
        Word(2, "\u202e&amp;'", head=0, deprel="a&b"),
        Word(3, "\x00\x1b[31m\ufffe", head=2, deprel="</style>"),
    ]
    return Sentence(words, ["# sent_id = <i>1</i>", f"# text = {HOSTILE}"], [Multiword(1, 2, "<svg onload=x>")])


@pytest.mark.parametrize("show", SHOWS)
def test_nothing_is_taken_for_markup(show: Show) -> None:
    for width in (None, 1):
        root = ET.fromstring(draw_svg(hostile(), show=show, width=width))
        names = {item.tag.removeprefix(SVG) for item in root.iter()}
        assert names <= {"svg", "title", "desc", "style", "rect", "g", "path", "text", "circle"}
        texts = {item.text for item in root.iter(f"{SVG}text")}
        assert {HOSTILE, "&amp;'", "␀␛[31m\ufffd"} <= texts
        page = Tags(draw_html([hostile()], show=show, width=width))
        assert not page.elements & {"script", "img", "b", "i"}
        assert not page.attributes & {"onload", "src", "href"}
        assert "<i>1</i>" in page.text


@pytest.mark.parametrize("show", SHOWS)
def test_drawings_load_nothing_and_know_light_and_dark(data: Path, show: Show) -> None:
    everything = list(read_conllu(data / "example.conllu"))
    for text in (draw_svg(everything[2], show=show), draw_html(everything, show=show)):
        assert set(re.findall(r"\w+://[^\"'\s]*", text)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"url\(|@import|<link|<script", text)
        assert "@media (prefers-color-scheme:dark)" in text
        assert text.count("<style>") == 1


def test_svg_is_accessible(data: Path) -> None:
    root = ET.fromstring(draw_svg(example(data, 3)))
    assert root.attrib["role"] == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root.findtext(f"{SVG}title") == "What did she say happened?"
    assert (root.findtext(f"{SVG}desc") or "").startswith("What: nsubj of happened (not projective); did: aux of say")


def test_svg_runs_downwards_where_it_is_too_wide(data: Path) -> None:
    def size(width: int | None) -> tuple[int, int]:
        root = ET.fromstring(draw_svg(example(data, 2), width=width))
        return int(root.attrib["width"]), int(root.attrib["height"])

    natural = size(None)
    assert size(natural[0] + 1) == natural
    narrow = size(natural[0] - 40)
    assert narrow[0] < natural[0]
    assert narrow[1] > 8 * 20


def test_multiword_tokens_have_a_bracket(data: Path) -> None:
    for width in (None, 100):
        root = ET.fromstring(draw_svg(example(data, 2), width=width))
        assert "doesn't" in [item.text for item in root.iter(f"{SVG}text")]
    assert "AUX   ─╮ doesn't\n" in draw_text(example(data, 2), width=45)


def test_html_has_every_sentence(data: Path) -> None:
    everything = list(read_conllu(data / "example.conllu"))
    page = Tags(draw_html(everything))
    assert [text for text in page.text if text.startswith("example-")] == [f"example-{n}" for n in range(1, 6)]
    assert draw_html(everything[0]).count("<svg") == 1


def test_a_sentence_draws_itself(data: Path) -> None:
    sentence = example(data, 1)
    assert sentence.to_svg() == draw_svg(sentence)
    assert sentence.to_svg(show="all") == draw_svg(sentence, show="all")
    assert draw_svg(sentence) in sentence._repr_html_()


# Width


@pytest.mark.parametrize(
    "text", ["papers", "论文", "e\u0301", "한국어", "👍", "كىتاب", "ｆｕｌｌ", "—…", "ไทย", "日本go"]
)
def test_cells_are_those_of_rich(text: str) -> None:
    assert cells(text) == cell_len(text)


@given(st.text())
def test_graphemes_are_the_text(text: str) -> None:
    assert "".join(unit for unit, _ in graphemes(text)) == text


# The command


def run(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["draw", *map(str, arguments)], env=env)


def ok(*arguments: str | Path, env: dict[str, str] | None = None) -> str:
    result = run(*arguments, env=env)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_draw_writes_text_to_a_terminal(data: Path) -> None:
    file = data / "example.conllu"
    assert ok(file, "--sentence", "1") == draw_text(example(data, 1)) + "\n"
    assert ok(file, "--sentence", "example-3", "--show", "bht") == draw_text(example(data, 3), show="bht") + "\n"
    everything = ok(file)
    assert [line for line in everything.split("\n") if line.startswith("example-")] == [
        f"example-{n}" for n in range(1, 6)
    ]
    chosen = ok(file, "--sentence", "5", "--sentence", "1")
    assert chosen == f"example-5\n{draw_text(example(data, 5))}\n\nexample-1\n{draw_text(example(data, 1))}\n\n"


def test_draw_keeps_to_the_width_of_the_terminal(data: Path) -> None:
    file, narrow = data / "example.conllu", draw_text(example(data, 1), width=30) + "\n"
    assert ok(file, "--sentence", "1", "--width", "30") == narrow
    assert ok(file, "--sentence", "1", env={"COLUMNS": "30"}) == narrow
    assert ok(file, "--sentence", "1", "--width", "0", env={"COLUMNS": "30"}) == draw_text(example(data, 1)) + "\n"


def test_draw_colors(data: Path) -> None:
    file = data / "example.conllu"
    assert "\x1b[" not in ok(file)
    assert "\x1b[36mnsubj\x1b[0m" in ok(file, "--color", "always")
    assert "\x1b[" not in ok(file, "--color", "never")


@pytest.mark.parametrize(
    ("terminal", "no_color", "force_color", "expected"),
    [
        (True, "", "", True),
        (True, "1", "", False),
        (False, "", "", False),
        (False, "", "1", True),
        (False, "1", "1", False),
    ],
)
def test_colors_are_for_terminals_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, no_color: str, force_color: str, expected: bool
) -> None:
    from hexatagger.cli.options import is_colored

    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("FORCE_COLOR", force_color)
    assert is_colored("auto", "-") == expected
    assert not is_colored("auto", "out.txt")
    assert is_colored("always", "out.txt")
    assert not is_colored("never", "-")


def test_draw_writes_what_the_suffix_says(data: Path, tmp_path: Path) -> None:
    file = data / "example.conllu"
    for name, expected in [
        ("one.svg", draw_svg(example(data, 1))),
        ("one.html", draw_html([example(data, 1)])),
        ("one.txt", draw_text(example(data, 1)) + "\n"),
    ]:
        assert ok(file, "--sentence", "1", "-o", tmp_path / name) == ""
        assert (tmp_path / name).read_text(encoding="utf-8") == expected
    assert ok(file, "--sentence", "1", "--to", "svg") == draw_svg(example(data, 1))
    assert ok(file, "--sentence", "1", "--to", "svg", "--width", "100") == draw_svg(example(data, 1), width=100)
    assert ok(file, "--to", "html", "--show", "all") == draw_html(read_conllu(file), show="all")
    ok(file, "-o", tmp_path / "all.svg")
    root = ET.fromstring((tmp_path / "all.svg").read_text(encoding="utf-8"))
    drawings = [each for each in root if each.tag.endswith("}svg")]
    assert len(drawings) == 5
    tops = [float(each.get("y", "0")) for each in drawings]
    heights = [float(each.get("height", "0")) for each in drawings]
    assert tops == [sum(heights[:number]) for number in range(5)]
    assert float(root.get("height", "0")) == sum(heights)
    assert float(root.get("width", "0")) == max(float(each.get("width", "0")) for each in drawings)
    ok(file, "-o", tmp_path / "all.html.gz")
    assert (tmp_path / "all.html.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_draw_says_what_is_wrong(data: Path, tmp_path: Path) -> None:
    file = data / "example.conllu"

    def error(*arguments: str | Path) -> str:
        result = run(*arguments)
        assert result.exit_code == 1
        assert isinstance(result.exception, SystemExit)
        return result.stderr

    assert "does not end in .txt, .svg, .html" in error(file, "-o", tmp_path / "out.png")
    assert "no sentence '9': give a sent_id, or a number from 1 to 5" in error(file, "--sentence", "9")
    assert not list(tmp_path.iterdir())
    empty = tmp_path / "empty.conllu"
    empty.write_text("")
    assert "empty.conllu: has no sentence to draw" in error(empty)
    loop = tmp_path / "loop.conllu"
    loop.write_text("# sent_id = s1\n1\ta\t_\t_\t_\t_\t1\tdep\t_\t_\n\n")
    assert "loop.conllu: sentence s1: word 1 is its own head: correct its HEAD" in error(loop)
    assert error(loop, "-o", tmp_path / "out.html")
    assert not (tmp_path / "out.html").exists()
