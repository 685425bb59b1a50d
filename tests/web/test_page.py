"""The page in a real browser: typing, views, layouts, fixed arcs, files, colours, and that no input becomes markup."""

import itertools
import json
import re
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("uvicorn", reason="the page needs the extra 'serve'")
pytest.importorskip("httpx2", reason="the tests of the page need httpx2")
pytest.importorskip("selenium", reason="the tests of the page need selenium")

import httpx2
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from hexatagger.model.folder import read_folder
from hexatagger.model.registry import EMBEDDED_FOLDER
from hexatagger.server import ServerOptions
from hexatagger.tags.bht import steps
from hexatagger.tags.hexatag import Hexatag
from invented import add_profile, texts
from served import make_parser, serving

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
TEXT = "She reads fascinating papers."
LONG = "The children who had waited in the old hall near the bridge all morning ran out into the garden."
UNIVERSAL = {
    *("acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop"),
    *("csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list"),
    *("mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum", "root"),
    *("vocative", "xcomp"),
}
FLAGS = [
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "disable-dev-shm-usage"),
    "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "proxy-server=127.0.0.1:9",  # nobody listens there: whatever is not for this machine fails
    "proxy-bypass-list=127.0.0.1",
]


def start(folder: Path) -> Chrome:
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in [*FLAGS, f"user-data-dir={folder}", "window-size=1200,900"]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return Chrome(options=options, service=Service(str(DRIVER)))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(ServerOptions(port=0, max_words=200, max_exact=30)) as place:
        yield place


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("the tests of the page need chromium and chromedriver (Debian: chromium-driver)")
    browser = start(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.quit()


class Page:
    """The page, and how to use it."""

    def __init__(self, browser: Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, **state: Any) -> "Page":
        link = "&".join(f"{name}={quote(str(value))}" for name, value in state.items())
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}/#{link}")
        self.until(lambda: self.status() or self.error())
        return self

    def until(self, condition: Callable[[], Any]) -> Any:
        return WebDriverWait(self.browser, 60, 0.1, ignored_exceptions=[Exception]).until(lambda _: condition())

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements("css selector", selector)

    def one(self, selector: str) -> WebElement:
        return self.browser.find_element("css selector", selector)

    def status(self) -> str:
        return self.one("#status").text

    def error(self) -> str:
        return self.one("#error").text

    def type(self, text: str) -> None:
        self.one("#text").send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.DELETE, text)

    def words(self) -> list[str]:
        return self.texts("#figure .word .form")

    def texts(self, selector: str) -> list[str]:
        return list(self.script(f"return [...document.querySelectorAll('{selector}')].map((each) => each.textContent)"))

    def heads(self) -> list[int]:
        arcs = "[...document.querySelectorAll('#figure .arc')].map(({dataset}) => [+dataset.dependent, +dataset.head])"
        return [head for _, head in sorted(self.script(f"return {arcs}"))]

    def word(self, number: int) -> WebElement:
        return self.one(f'#figure [data-word="{number}"]')

    def click(self, selector: str) -> None:
        self.one(selector).click()

    def script(self, code: str) -> Any:
        return self.browser.execute_script(code)

    def choose(self, selector: str, value: str) -> None:
        self.script(
            f"const field = document.querySelector('{selector}'); field.value = '{value}';"
            "field.dispatchEvent(new Event('change'))"
        )

    @contextmanager
    def sized(self, width: int, height: int = 800, *, mobile: bool = False) -> Iterator[None]:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def ask(self, **question: Any) -> Any:
        asked = {"text": TEXT, "probabilities": True, "k": 5, "tags": True} | question
        answer = httpx2.post(f"{self.address}/v1/parse", json=asked, timeout=60)
        return answer.json() if asked.get("to", "json") == "json" else answer.text


@pytest.fixture
def page(chrome: Chrome, address: str) -> Iterator[Page]:
    yield Page(chrome, address)
    log: list[dict[str, Any]] = chrome.get_log("browser")  # type: ignore[no-untyped-call]
    expected = re.compile(r"v1/parse - Failed to load resource: the server responded with a status of 4")
    assert [entry for entry in log if not expected.search(entry["message"])] == []


def test_the_tree_as_you_type(page: Page) -> None:
    page.open()
    page.type("")
    page.until(lambda: "Type a sentence" in page.status())
    assert not page.one("#result").is_displayed()
    page.type(TEXT)
    page.until(lambda: "5 words in 1 sentence" in page.status())
    assert page.words() == ["She", "reads", "fascinating", "papers", "."]
    [made] = page.ask()["sentences"]
    assert page.heads() == [word["head"] for word in made["words"]]
    page.type("One. Two three.")
    page.until(lambda: page.one("#place").text == "1 / 2")
    page.click("#next")
    assert page.words() == ["Two", "three", "."]
    page.one("#examples").send_keys("Time flies")
    page.until(lambda: page.words()[:2] == ["Time", "flies"])


def test_pointing_at_a_word_tells_about_it(page: Page) -> None:
    page.open(text=TEXT)
    [made] = page.ask()["sentences"]
    for word in made["words"][:2]:
        ActionChains(page.browser).move_to_element(page.word(word["id"])).perform()
        told = page.one("#word-arc").text
        assert told.startswith(word["deprel"])
        if word["head"]:
            assert f"of {made['words'][word['head'] - 1]['form']}" in told
        assert re.search(r"\(\D*[\d.]+ %\)", told)
        assert len(page.all("#word-body .choice")) == min(6, len(word["heads"]))
        assert "lit" in (page.one("#figure svg").get_attribute("class") or "")
        label = page.word(word["id"]).get_attribute("aria-label") or ""
        assert label.startswith(f"{word['form']}, {word['upos']}, {word['deprel']}")


def test_views(page: Page) -> None:
    page.open(text=TEXT)
    [made] = page.ask()["sentences"]
    page.click("#tab-bht")
    assert len(page.all("#figure .node circle")) == 4
    page.click("#tab-tags")
    assert page.texts(".tagline .t") == made["tags"]
    page.one("#tab-tags").send_keys(Keys.ARROW_LEFT)
    assert page.one("#tab-bht").get_attribute("aria-selected") == "true"
    assert page.script("return document.activeElement.id") == "tab-bht"


def test_steps_are_those_of_the_decoder(page: Page) -> None:
    page.open(text=TEXT, view="steps")
    [made] = page.ask()["sentences"]
    forms = [word["form"] for word in made["words"]]
    names = {str(tag): tag for tag in Hexatag}
    tags = [names[tag.partition("/")[0]] for tag in made["tags"]]
    expected = [
        [re.sub(r"\d+", lambda match: forms[int(match[0]) - 1], str(item)) for item in stack] for stack in steps(tags)
    ]
    shown = "row => [...row.querySelectorAll('.item')].map((item) => item.textContent)"
    assert page.script(f"return [...document.querySelectorAll('#figure tbody tr')].map({shown})") == expected
    arcs = ", ".join(page.texts("#figure tbody td:last-child"))
    for word in made["words"]:
        assert f"{forms[word['head'] - 1] if word['head'] else 'root'} → {word['form']}" in arcs

    def current() -> str:
        return page.one("#step-told").text.partition(" of")[0]

    assert current() == "0"
    for _ in range(3):
        page.click('[aria-label="Step forward"]')
    assert current() == "3"
    assert page.one("tr[aria-current] .m").text == made["tags"][2]
    page.click('[aria-label="Step back"]')
    assert current() == "2"
    page.click('[aria-label="Last step"]')
    assert current() == "9"
    assert len(page.all("#figure .node circle")) == 4
    page.one('[aria-label="Step"]').send_keys(Keys.ARROW_LEFT)
    assert current() == "8"
    assert "step=8" in page.browser.current_url


def test_a_click_on_a_word_and_then_a_head_fixes_an_arc(page: Page) -> None:
    page.open(text=TEXT)
    free = page.heads()
    head = next(number for number in (2, 3, 4) if number != free[0])
    page.word(1).click()
    assert "choose the head of “She”" in page.status()
    assert page.word(1).get_attribute("aria-pressed") == "true"
    page.word(head).click()
    page.until(lambda: page.status().startswith("Fixed"))
    assert page.heads()[0] == head
    [made] = page.ask(constraints=[{"heads": {"1": head}}])["sentences"]
    assert page.heads() == [word["head"] for word in made["words"]]
    assert len(page.all("#figure .kept")) == 1
    assert f"fix=1.1.{head}" in page.browser.current_url
    page.click("#fixed .chip button")
    page.until(lambda: page.heads() == free)


def test_an_arc_can_be_fixed_with_keys(page: Page) -> None:
    page.open(text=TEXT)
    page.script("document.querySelector('#figure [data-word=\"1\"]').focus()")
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert "Escape" in page.status()
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert page.status() == "No arc was fixed."
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.browser.switch_to.active_element.send_keys(Keys.END)
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.until(lambda: page.status().startswith("Fixed: She ← ."))
    assert page.heads()[0] == 5
    assert page.script("return document.activeElement.dataset.word") == "1"


def test_a_contradiction_is_told_and_can_be_undone(page: Page) -> None:
    page.open(text=TEXT, fix="1.1.2,1.2.1")
    assert "cycle" in page.error()
    page.open(text=TEXT, fix="1.1.2")
    page.word(2).click()
    page.word(1).click()
    page.until(lambda: "cycle" in page.error())
    page.all("#fixed .chip button")[0].click()
    page.until(lambda: not page.error())
    assert page.heads()[1] == 1


def test_the_best_trees(page: Page) -> None:
    page.open(text=TEXT, k=3)
    [made] = page.ask(k=3)["sentences"]
    buttons = page.all("#trees-body button")
    assert len(buttons) == 3
    buttons[2].click()
    assert page.heads() == [word["head"] for word in made["alternatives"][1]["words"]]
    assert "tree=3" in page.browser.current_url
    assert page.all("#trees-body button")[2].get_attribute("aria-current") == "true"


def test_copies(page: Page) -> None:
    grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": page.address}
    page.browser.execute_cdp_cmd("Browser.grantPermissions", grant)
    page.open(text=TEXT, view="bht", k=3, tree=2)

    def copied(kind: str, told: str) -> str:
        page.click(f'[data-copy="{kind}"]')
        page.until(lambda: page.status() == f"Copied {told}.")
        code = "const done = arguments[0]; navigator.clipboard.readText().then(done, (error) => done(String(error)))"
        return str(page.browser.execute_async_script(code))

    assert copied("conllu", "CoNLL-U") == page.ask(k=3, tree=2, to="conllu")
    assert json.loads(copied("json", "JSON")) == page.ask(k=3)
    assert copied("svg", "SVG") == page.ask(k=3, tree=2, to="svg", show="bht")
    link = copied("link", "the link")
    before = page.one("#figure").get_attribute("innerHTML")
    page.browser.get("about:blank")
    page.browser.get(link)
    page.until(lambda: page.one("#figure").get_attribute("innerHTML") == before)
    assert page.one("#text").get_property("value") == TEXT


NASTY = [
    "<script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    "\"'><svg onload=hacked=1>",
    "\u202eabc",
    "\u200b",
    "&lt;",
]


def test_nothing_typed_becomes_markup(page: Page) -> None:
    page.open(text=" ".join(NASTY[:3]) + "\n" + " ".join(NASTY[3:]), input="words")
    for view in ("arcs", "table", "bht", "tags", "steps"):
        page.click(f"#tab-{view}")
        assert page.one("#figure").text
        assert page.script("return window.hacked === undefined")
        made = "#result script, #result img, #result [onload], #result [onerror]"
        assert page.all(made) == []
    page.open(text=" ".join(NASTY[:3]), input="words", layout="down")
    assert page.words()[1] == "<img"
    page.open(text=" ".join(NASTY[:3]), input="words")
    assert page.words()[0] == "<script>window.hacked=1</script>"
    page.open(text=" ".join(NASTY[3:]), input="words")
    assert page.words() == ["abc", "U+200B", "&lt;"]


@pytest.mark.parametrize("view", ["arcs", "table", "bht", "tags", "steps"])
def test_a_phone_is_wide_enough(page: Page, view: str) -> None:
    with page.sized(320, 640, mobile=True):
        page.open(text="What did you say happened after the lights went out.", view=view, fix="1.1.2")
        assert page.script("return document.documentElement.scrollWidth") <= 320
        outside = page.script(
            "return [...document.querySelectorAll('button, select, textarea, input')]"
            ".filter((each) => each.checkVisibility() && !each.closest('.scroll, .table'))"
            ".map((each) => [each.id, each.getBoundingClientRect().right]).filter(([, right]) => right > 320)"
        )
        assert outside == []


def test_the_first_thing_to_see_is_a_parsed_sentence(page: Page) -> None:
    page.open()
    assert page.words() == ["She", "reads", "fascinating", "papers", "."]
    assert page.one("#text").get_property("value") == page.one("#examples").get_property("value") == TEXT
    page.open(view="tags")
    assert page.texts(".tagline .t") == page.ask()["sentences"][0]["tags"]


def fits(page: Page) -> bool:
    inside = "const box = document.querySelector('#figure .scroll'); return box.scrollWidth <= box.clientWidth"
    return bool(page.script(inside))


def test_long_sentences_have_one_word_per_row_or_are_zoomed(page: Page) -> None:
    page.open(text=LONG)
    [made] = page.ask(text=LONG)["sentences"]
    assert page.heads() == [word["head"] for word in made["words"]]
    assert page.all("#figure svg.down") == []
    assert fits(page)
    page.choose("#layout", "down")
    assert page.heads() == [word["head"] for word in made["words"]]
    assert page.words() == [word["form"] for word in made["words"]]
    boxes = "['form', 'label'].map((name) => [...document.querySelectorAll(`#figure .${name}`)])"
    forms, labels = page.script(f"return {boxes}.map((all) => all.map((each) => each.getBoundingClientRect()))")
    assert all(first["bottom"] <= second["top"] + 8 for first, second in itertools.pairwise(forms))
    assert max(label["right"] for label in labels) < min(form["left"] for form in forms)
    assert len({label["top"] for label in labels}) == len(labels)
    page.word(1).send_keys(Keys.ARROW_DOWN)
    assert page.script("return document.activeElement.dataset.word") == "2"
    assert "layout=down" in page.browser.current_url
    page.choose("#layout", "across")
    for view in ("arcs", "bht"):
        page.click(f"#tab-{view}")
        before = page.one("#scale").text
        page.click("#larger")
        page.click("#larger")
        assert not fits(page)
        assert int(page.one("#scale").text[:-2]) > int(before[:-2])
        page.click("#fit")
        assert fits(page)
        assert page.one("#fit").get_property("disabled")
        page.click("#smaller")
        assert fits(page)
    link = page.browser.current_url
    scale = page.one("#scale").text
    page.browser.get("about:blank")
    page.browser.get(link)
    page.until(lambda: page.one("#scale").text == scale)


def test_the_layout_follows_the_width_of_the_page(page: Page) -> None:
    with page.sized(390, mobile=True):
        page.open(text=TEXT)
        assert page.all("#figure svg.down")
        assert fits(page)
        page.word(1).click()
        assert page.one("#choosing").text.startswith("Choose the head of “She”.")
        page.word(3).click()
        page.until(lambda: page.status().startswith("Fixed: She ← fascinating."))
        assert page.heads()[0] == 3
        assert not page.one("#choosing").is_displayed()
        page.word(3).click()
        page.click("#choosing button")
        page.until(lambda: page.status().startswith("Fixed: fascinating ← root."))
        assert page.heads()[2] == 0
    page.until(lambda: not page.all("#figure svg.down"))  # the window is wide again
    with page.sized(700):
        page.open(text=LONG)
        assert page.all("#figure svg.down")


def test_the_sentences_of_a_text_are_listed(page: Page) -> None:
    text = "One sleeps. Two three. Four five six."
    page.open(text=text)
    made = page.ask(text=text)["sentences"]
    assert page.texts("#sentences .line") == [sentence["text"] for sentence in made]
    page.all("#sentences button")[2].click()
    assert page.words() == ["Four", "five", "six", "."]
    assert page.texts('#sentences [aria-current="true"] .line') == ["Four five six."]
    page.click("#previous")
    assert page.texts('#sentences [aria-current="true"] .line') == ["Two three."]
    page.open(text=TEXT)
    assert not page.one("#list").is_displayed()


def test_the_table_has_every_column(chrome: Chrome) -> None:
    if not EMBEDDED_FOLDER.is_dir():
        pytest.skip("needs the embedded model")
    with serving(ServerOptions(port=0), real=True) as place:
        page = Page(chrome, place).open(view="table", text="She doesn't read papers.")
        assert page.one("#model").text == "English (en)"
        [made] = page.ask(text="She doesn't read papers.")["sentences"]
        heads = ["ID", "Form", "Lemma", "UPOS", "XPOS", "Features", "Head", "Relation", "Probability"]
        assert page.texts("#figure thead th") == heads
        rows = page.script(
            "return [...document.querySelectorAll('#figure tbody tr[data-word]')]"
            ".map((row) => [...row.children].map((cell) => [...cell.childNodes].map((each) => each.textContent)))"
        )
        assert page.texts("#figure .token")[0].startswith("2-3doesn't")
        for word, row in zip(made["words"], rows, strict=True):
            head = made["words"][word["head"] - 1]["form"] if word["head"] else ""
            columns = [[str(word["id"])], [word["form"]], [word["lemma"]], [word["upos"]], [word["xpos"]]]
            assert row[:5] == columns
            assert "|".join(row[5]) == word.get("feats", "")
            assert row[6] == [f"{word['head']} {head}".strip()]
            assert row[7][0] == word["deprel"]
            assert row[8][0].endswith(" %")
        page.click('#figure tr[data-word="2"] button')
        assert page.one("#word-body .big").text == "does"


def test_files_are_downloaded(page: Page, tmp_path: Path) -> None:
    place = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", place)
    page.open(text=TEXT, k=3, tree=2, layout="down")
    for kind, name in {"conllu": "sentences", "json": "sentences", "svg": "sentence-1", "png": "sentence-1"}.items():
        page.click(f'[data-download="{kind}"]')
        page.until((tmp_path / f"{name}.{kind}").is_file)
    drawn = page.ask(k=3, tree=2, to="svg", width=1)
    assert (tmp_path / "sentence-1.svg").read_text(encoding="utf-8") == drawn
    assert (tmp_path / "sentences.conllu").read_text(encoding="utf-8") == page.ask(k=3, tree=2, to="conllu")
    assert json.loads((tmp_path / "sentences.json").read_text(encoding="utf-8")) == page.ask(k=3)
    png = (tmp_path / "sentence-1.png").read_bytes()
    size = re.search(r'width="(\d+)" height="(\d+)"', drawn)
    assert size is not None
    assert struct.unpack(">8x4x4xII", png[:24]) == tuple(2 * int(each) for each in size.groups())
    parts, place_in = b"", 8
    while place_in < len(png):
        (length,) = struct.unpack(">I", png[place_in : place_in + 4])
        if png[place_in + 4 : place_in + 8] == b"IDAT":
            parts += png[place_in + 8 : place_in + 8 + length]
        place_in += 12 + length
    assert len(set(zlib.decompress(parts))) > 50  # there is something on it


def test_relations_are_explained(page: Page) -> None:
    page.open(text=TEXT)
    code = "const done = arguments[0]; import('./relations.js').then((made) => done(made.known().map((deprel) => "
    told = page.browser.execute_async_script(code + "[deprel, made.explain(deprel)])))")
    known = dict(told)
    assert {deprel for deprel in known if ":" not in deprel} == UNIVERSAL
    assert all(each["name"] and each["text"] and not each["text"].endswith(".") for each in known.values())
    texts_of = [each["text"] for deprel, each in known.items() if ":" not in deprel]
    assert len(set(texts_of)) == len(texts_of)
    if EMBEDDED_FOLDER.is_dir():
        assert set(read_folder(EMBEDDED_FOLDER).labels.relations) <= set(known)

    label = next(arc for arc in page.all("#figure .arc") if arc.get_attribute("data-dependent") == "1")
    deprel = str(label.get_attribute("data-deprel"))
    ActionChains(page.browser).move_to_element(label.find_element("css selector", ".label")).perform()
    assert page.one("#tip").text.startswith(f"{deprel} {known[deprel]['name']}: {known[deprel]['text']}.")
    ActionChains(page.browser).move_to_element(page.one("h1")).perform()
    assert not page.one("#tip").is_displayed()
    page.word(1).send_keys(Keys.ARROW_RIGHT)
    deprel = page.ask()["sentences"][0]["words"][1]["deprel"]
    assert page.one("#tip").text.startswith(f"{deprel} {known[deprel]['name']}")
    assert page.word(2).get_attribute("aria-describedby") == "tip"
    assert page.one("#word-relation").text.startswith(f"{deprel} {known[deprel]['name']}")
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not page.one("#tip").is_displayed()
    page.word(2).send_keys(Keys.ARROW_RIGHT)
    assert page.word(2).get_attribute("aria-describedby") is None
    page.click("#glossary summary")
    page.until(lambda: len(page.all("#glossary dt")) == len(known))


def luminance(color: str) -> float:
    shares = [int(each) / 255 for each in re.findall(r"\d+", color)[:3]]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as in WCAG 2.2."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_colours_have_enough_contrast_in_both_themes(page: Page) -> None:
    assert round(contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)"), 6) == 21
    page.open(text=TEXT, fix="1.1.3")
    groups = page.script("return [...document.styleSheets[0].cssRules].map((each) => each.selectorText ?? '')")
    names = [name[3:] for name in groups if re.fullmatch(r"\.g-\w+", name)]
    assert len(names) == 8
    drawn: dict[str, set[str]] = {}
    for theme in ("light", "dark"):
        page.choose("#theme", theme)

        def computed(name: str) -> str:
            probe = "const probe = document.body.appendChild(document.createElement('i')); probe.style.color = "
            return str(page.script(f"{probe}'var(--{name})'; return getComputedStyle(probe).color"))

        backgrounds = [computed(name) for name in ("paper", "shade", "wash")]
        text = {name: computed(name) for name in (*names, "ink", "muted", "accent", "doubt", "fixed", "right")}
        drawn[theme] = set(text.values())
        for name, color in text.items():
            for where, paper in zip(("paper", "shade", "wash"), backgrounds, strict=True):
                if where == "paper" or name in ("ink", "muted", *names):
                    assert contrast(color, paper) >= 4.5, (theme, name, where)
        for color, paper in (("bad", "bad-wash"), ("warn", "warn-wash"), ("on-accent", "accent")):
            assert contrast(computed(color), computed(paper)) >= 4.5, (theme, color)
        assert contrast(computed("line"), backgrounds[0]) >= 3
        # the arcs are really drawn in the colours of their groups
        lines = page.script(
            "return [...document.querySelectorAll('#figure .arc')].map((arc) => [arc.getAttribute('class'),"
            "getComputedStyle(arc.querySelector('path')).stroke, getComputedStyle(arc.querySelector('.label')).fill])"
        )
        for kinds, line, label in lines:
            group = re.search(r"g-(\w+)", kinds)
            assert group is not None
            assert line == label == text["fixed" if "kept" in kinds else group[1]]
    assert not drawn["light"] & drawn["dark"]


def test_the_theme_is_kept(page: Page) -> None:
    def paper() -> str:
        return str(page.script("return getComputedStyle(document.body).backgroundColor"))

    page.open(text=TEXT)
    page.choose("#theme", "auto")
    media = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    light = paper()
    page.choose("#theme", "dark")
    dark = paper()
    assert dark != light
    page.open(text=TEXT)
    assert paper() == dark
    assert page.one("#theme").get_property("value") == "dark"
    page.browser.get(f"{page.address}/docs")
    page.until(lambda: paper() == dark)
    page.choose("#theme", "auto")
    assert paper() == light
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_tree_below_a_more_probable_one_says_why(page: Page) -> None:
    parser = make_parser()
    words = ["she", "reads", "many", "old", "papers", "today"]
    behind: dict[bool, str] = {}
    for order in itertools.permutations(words):
        [made] = parser.parse_words([order], probabilities=True, k=5)
        assert made.probability is not None
        assert made.alternatives[0].probability is not None
        behind.setdefault(made.probability < made.alternatives[0].probability, " ".join(order))
        if len(behind) == 2:
            break
    page.open(text=behind[True], input="words")
    assert page.one("#why").text.startswith("Tree 2 is more probable than the parser’s own, tree 1.")
    assert page.texts("#trees-body .choice")[0].startswith("1. The parser’s tree")
    page.open(text=behind[False], input="words")
    assert page.all("#why") == []


def test_light_and_dark(page: Page) -> None:
    shades = []
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        page.open(text=TEXT)
        shades.append(page.script("const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"))
    assert shades[0] != shades[1]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_everything_has_a_name_and_comes_from_here(page: Page) -> None:
    page.open(text=TEXT, view="steps")
    nameless = page.script(
        "return [...document.querySelectorAll('button, select, textarea, input, [role=button], [tabindex=\"0\"]')]"
        ".filter((each) => !(each.getAttribute('aria-label') || each.labels?.length || each.textContent.trim()))"
        ".map((each) => each.outerHTML)"
    )
    assert nameless == []
    loaded = page.script("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert loaded
    assert all(name.startswith(page.address) for name in loaded)
    page.browser.get(f"{page.address}/docs")
    page.until(lambda: len(page.all("#paths article")) == 5)
    page.click("#send")
    page.until(lambda: page.status().startswith("200"))
    assert '"deprel"' in page.one("#answer").text


def test_too_much_is_told(page: Page) -> None:
    page.open(text="a " * 201)
    assert "More than 200 words, the limit per request" in page.error()
    assert not page.one("#result").is_displayed()
    page.open(text="a " * 40)
    assert "too long for probabilities" in page.one("#note").text
    assert len(page.words()) == 40


def test_a_service_that_is_gone_is_told(chrome: Chrome) -> None:
    with serving(ServerOptions(port=0)) as place:
        page = Page(chrome, place)
        page.open(text=TEXT)
    page.type("Hello there.")
    page.until(lambda: "cannot be reached" in page.error())
    chrome.get_log("browser")  # type: ignore[no-untyped-call]


def test_the_language_is_chosen_and_noticed(chrome: Chrome, tmp_path: Path) -> None:
    folders = {code: add_profile(tmp_path / code, seed, code) for seed, code in enumerate(("qaa", "qab"))}
    options = ServerOptions(port=0, models=dict.fromkeys(folders, "unused"))
    with serving(options, folders=folders) as place:
        page = Page(chrome, place).open(model="qab")
        assert page.status() == "Type a sentence, or choose an example."  # nobody has an example in this language
        page.open(text="Les enfants sont rentrés à la maison.", model="qab")
        assert page.texts("#model option") == ["qaa", "qab", "by the language"]
        assert page.one("#warning").text.startswith("Warning: the text looks like French, not like the language")
        page.click("#warning button")
        page.until(lambda: "Model: qa" in page.status())
        page.open(text=". ".join(texts(0, 20)), model="auto")
        assert page.status().endswith("Model: qaa.")
        assert page.one("#model").get_property("value") == "auto"
        assert not page.one("#warning").is_displayed()
