"""Drive the page of Open WebUI in Chromium in front of `bookwheel serve`: upload, ask, follow up, title, regenerate.

    python benchmarks/quality/open_webui_page.py FOLDER

Both servers must be up, as open_webui.py says. After each act it writes a screenshot into FOLDER and prints what the
act made bookwheel do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from open_webui import BOOK, OTHER, QUESTION, SAME, WEBUI, count_calls, list_readings
from playwright.sync_api import sync_playwright

CHROMIUMS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
PATIENCE = 600_000
QUIET = 15_000
REPLIES = "#messages-container .chat-assistant"
REGENERATE = 'button[aria-label="Regenerate"]'


class Chat:
    """One chat in the page."""

    def __init__(self, page: Any, folder: Path) -> None:
        self._page = page
        self._folder = folder
        self._calls, self._readings = count_calls(), len(list_readings())

    def upload(self, path: Path) -> None:
        """Attach a file to the next message."""
        self._page.locator("input[type=file]").last.set_input_files(path)
        self._page.wait_for_selector(f"text={path.name}")
        # The page sends nothing while its server still takes in the file.
        self._page.wait_for_timeout(8000)

    def ask(self, question: str) -> str:
        """Type a question and return the reply."""
        before = self._page.locator(REPLIES).count()
        self._page.locator("#chat-input").click()
        self._page.keyboard.type(question)
        self._page.keyboard.press("Enter")
        return self._wait_for_reply(before + 1)

    def regenerate(self) -> str:
        """Ask for the last reply once more and return it."""
        self._page.locator(REPLIES).last.hover()
        self._page.locator(REGENERATE).last.click()
        again = self._page.locator("button", has_text="Try Again")
        self._page.wait_for_timeout(1500)
        if again.count():
            again.last.click()
        return self._wait_for_reply(self._page.locator(REPLIES).count())

    def report(self, name: str, shown: str) -> None:
        """Print what bookwheel did since the last report, and write a screenshot."""
        calls, readings = count_calls(), list_readings()
        made = len(readings) - self._readings
        how = ("begins with a memory" if readings[0]["parent"] else "reads") if made else "no reading"
        print(f"| {name} | {how} | {calls - self._calls} | {json.dumps(shown[:90])} |", flush=True)
        self._calls, self._readings = calls, len(readings)
        self._page.screenshot(path=self._folder / f"{name.replace(' ', '-')}.png")

    def _wait_for_reply(self, count: int) -> str:
        reply = self._page.locator(REPLIES).nth(count - 1)
        reply.wait_for()
        # Below a whole reply stands its own bar of buttons; then the page asks for title, tags and suggestions.
        buttons = reply.locator("xpath=ancestor::*[starts-with(@id, 'message-')][1]").locator(REGENERATE)
        buttons.last.wait_for(state="attached")
        self._page.wait_for_timeout(QUIET)
        return " ".join(str(reply.inner_text()).split())


def main() -> None:
    """Hold one conversation in the page."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    book = folder / "harbour.txt"
    book.write_text(BOOK, "utf-8")
    with sync_playwright() as driver:
        path = next((one for one in CHROMIUMS if Path(one).exists()), None)
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=PATIENCE)
        page = browser.new_page(viewport={"width": 1280, "height": 800}, base_url=WEBUI)
        page.set_default_timeout(PATIENCE)
        page.goto("/")
        page.wait_for_selector("#chat-input")
        page.wait_for_timeout(3000)
        welcome = page.locator("button", has_text="Okay, Let's Go!")
        if welcome.count():
            welcome.click()
        print("| act | reading | calls | shown |\n|---|---|---|---|")
        chat = Chat(page, folder)
        chat.upload(book)
        chat.report("upload", book.name)
        chat.report("ask", chat.ask(QUESTION))
        chat.report("title", page.title())
        chat.report("follow up", chat.ask(SAME))
        chat.report("another matter", chat.ask(OTHER))
        chat.report("regenerate", chat.regenerate())
        browser.close()


if __name__ == "__main__":
    main()
