"""Make the pictures of the page in docs/images, with the embedded model and a real Chromium.

    python tools/page_images.py                    the pictures in docs/images
    python tools/page_images.py --survey FOLDER    every width, theme and length, to look at after a change of the page

It needs the extras `serve` and `dev`, chromium and chromedriver.
"""

import argparse
import io
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from hexatagger.server import ServerOptions, create_app, open_socket

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLORS = 256  # of a picture, so that its file is small
SHORT = "She reads fascinating papers."
MIDDLE = "The children who had waited in the hall ran out into the garden and climbed the old apple tree."
LONG = (
    "When the rain had stopped, the children who had waited in the hall all morning ran out into the garden, climbed "
    "the old apple tree beside the wall, and shouted to their grandmother, who was reading a letter at the window, "
    "that the first ripe apples of the year were finally theirs."
)
TEXT = "The ferry left late. Nobody on board seemed to mind, because the sun was out. My brother won every game!"
PICTURES: dict[str, tuple[int, int, str, dict[str, object], int]] = {
    # name: width, height (0: the whole page), theme, state of the page, the word to point at
    "page": (1100, 0, "light", {"text": "I saw the man with the telescope."}, 7),
    "page-dark": (1100, 880, "dark", {"text": LONG}, 5),
    "page-phone": (390, 844, "light", {"text": MIDDLE}, 0),
}


@contextmanager
def serving() -> Iterator[str]:
    """Serve the embedded model in a thread; yields the address."""
    options = ServerOptions(port=0)
    listener: socket.socket = open_socket(options)
    server = uvicorn.Server(uvicorn.Config(create_app(options), log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def browsing() -> Iterator[Chrome]:
    """Start Chromium without a window."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    browser = Chrome(options=options, service=Service(shutil.which("chromedriver") or "chromedriver"))
    try:
        yield browser
    finally:
        browser.quit()


def shoot(
    browser: Chrome, address: str, width: int, height: int, theme: str, state: dict[str, object], word: int
) -> Image.Image:
    """Return a picture of the page with a state; the whole page if the height is 0."""
    size = {"width": width, "height": height or 900, "deviceScaleFactor": 1.5, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    browser.get("about:blank")
    browser.get(f"{address}/#{urlencode(state)}")
    WebDriverWait(browser, 60).until(lambda _: browser.find_elements("css selector", "#figure > *"))
    if word:
        find = "document.querySelector(`#figure [data-word='${arguments[0]}']`)"
        browser.execute_script(f"{find}.dispatchEvent(new MouseEvent('mouseenter'))", word)
    if not height:
        height = browser.execute_script("return document.documentElement.scrollHeight")
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": height})
    taken = browser.get_screenshot_as_png()
    return Image.open(io.BytesIO(taken)).convert("RGB")


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture with few colours."""
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} KB")


def main() -> None:
    """Make the pictures."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--survey", type=Path, metavar="FOLDER")
    survey = arguments.parse_args().survey
    with serving() as address, browsing() as browser:
        if survey is None:
            for name, picture in PICTURES.items():
                save(shoot(browser, address, *picture), IMAGES / f"{name}.png")
            return
        survey.mkdir(parents=True, exist_ok=True)
        views: list[dict[str, object]] = [{"text": text} for text in (SHORT, MIDDLE, LONG, TEXT)]
        views += [{"text": MIDDLE, "view": view, "step": 9} for view in ("table", "bht", "tags", "steps")]
        for width in (1280, 768, 390):
            for theme in ("light", "dark"):
                for number, state in enumerate(views, 1):
                    taken = shoot(browser, address, width, 0, theme, state, 0)
                    taken.save(survey / f"{width}-{theme}-{number}-{state.get('view', 'arcs')}.png")


if __name__ == "__main__":
    main()
