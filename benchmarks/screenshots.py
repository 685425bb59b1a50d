"""Make the screenshots of the page for README and docs, with a service on loopback and headless Chromium.

    python benchmarks/screenshots.py --model DIR

Writes docs/images/page.png, page-dark.png, page-steps.png and page-phone.png. Needs chromium, chromedriver, selenium.
"""

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hexatagger.parsing.load import load
from hexatagger.server import ServerOptions, create_app, open_socket
from results import ROOT

IMAGES = ROOT / "docs" / "images"
FLAGS = [
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars"),
    *(
        "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "proxy-server=127.0.0.1:9",
        "proxy-bypass-list=127.0.0.1",
    ),
]
TEXT = "I saw the man with the telescope."
WORDS = "I saw the man with the telescope ."

SHOTS: list[tuple[str, dict[str, Any], tuple[int, int], str, int]] = [
    # Name, state of the page, size, colours, word to point at.
    ("page", {"k": 5}, (1100, 0), "light", 7),
    ("page-dark", {"k": 5, "view": "bht"}, (1100, 0), "dark", 0),
    ("page-steps", {"k": 1, "view": "steps", "step": 8}, (1100, 0), "light", 0),
    ("page-phone", {"k": 2}, (360, 0), "light", 0),
]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--to", type=Path, default=IMAGES)
    given = arguments.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)

    import uvicorn
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ServerOptions(models={"en": given.model}, port=0)
    parser = load(given.model)
    listener = open_socket(options)
    server = uvicorn.Server(uvicorn.Config(create_app(options, parsers={"en": parser}), log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    folder = tempfile.mkdtemp()
    chosen = ChromeOptions()
    chosen.binary_location = str(shutil.which("chromium"))
    for flag in [*FLAGS, f"user-data-dir={folder}"]:
        chosen.add_argument(f"--{flag}")
    browser = Chrome(options=chosen, service=Service(str(shutil.which("chromedriver"))))
    try:
        for shot in SHOTS:
            take(browser, f"http://127.0.0.1:{listener.getsockname()[1]}", given.to, *shot)
    finally:
        browser.quit()
        server.should_exit = True
        thread.join()
        shutil.rmtree(folder, ignore_errors=True)


def take(
    browser: Any,
    address: str,
    to: Path,
    name: str,
    state: dict[str, Any],
    size: tuple[int, int],
    scheme: str,
    word: int,
) -> None:
    """Open the page in a state and save what it looks like, as high as it is."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    def resize(height: int) -> None:
        metrics = {"width": size[0], "height": height, "deviceScaleFactor": 2, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    resize(700)
    browser.get("about:blank")
    browser.get(f"{address}/")
    waiting = WebDriverWait(browser, 120)
    waiting.until(lambda _: browser.find_element("css selector", "#status").text)  # then it knows its model
    text = TEXT if browser.execute_script("return document.getElementById('input').value") == "text" else WORDS
    browser.get("about:blank")
    browser.get(
        f"{address}/#" + "&".join(f"{key}={quote(str(value))}" for key, value in {"text": text, **state}.items())
    )
    waiting.until(lambda _: browser.find_elements("css selector", "#figure svg"))
    resize(
        int(browser.execute_script("return Math.ceil(document.querySelector('main').getBoundingClientRect().bottom)"))
        + 16
    )
    if word:
        ActionChains(browser).move_to_element(browser.find_element("css selector", f'[data-word="{word}"]')).perform()
        bottom = "return Math.ceil(document.querySelector('main').getBoundingClientRect().bottom)"
        resize(int(browser.execute_script(bottom)) + 16)
    time.sleep(0.5)
    browser.save_screenshot(str(to / f"{name}.png"))


if __name__ == "__main__":
    main()
