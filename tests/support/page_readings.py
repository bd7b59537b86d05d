"""Readings that the tests of the page begin and walk through."""

from __future__ import annotations

QUESTION = "How many crates of ink came to the north gate?"
FILLER = "Rain fell on the mill 🌧️ and nobody said much about the weather, which was as it had been. " * 4
TEXT = "\n".join(
    f"{FILLER}Ada Quill delivered {n + 3} crates of ink to the north gate in 17{n + 10}." for n in range(16)
)


def begin(page, text: str = TEXT, question: str = QUESTION) -> None:
    page.goto("about:blank")
    page.goto("/#/")
    page.fill("#text", text)
    page.fill("#question-0", question)
    page.locator("button.big").click()
    page.wait_for_url("**/#/reading/**")
    page.wait_for_selector(".workspace .lines li p", state="attached")


def read_to_the_end(page, text: str = TEXT, question: str = QUESTION) -> None:
    begin(page, text, question)
    wait_for_the_end(page)
    page.wait_for_selector(".cite")


def wait_for_the_end(page) -> None:
    """Wait until the page has the answer and the origins of all lines: nothing is redrawn by itself after that."""
    page.wait_for_selector(".status.answered")
    page.wait_for_selector(".memory[aria-busy=false]", state="attached")


def step_shown(page) -> int:
    return int(page.locator(".ribbon").get_attribute("aria-valuenow"))


def wait_for_step(page, step: int) -> None:
    page.wait_for_function("n => document.querySelector('.ribbon').getAttribute('aria-valuenow') == n", arg=step)


def to_the_last_step(page) -> int:
    page.get_by_role("button", name="Newest step").click()
    last = int(page.locator(".ribbon").get_attribute("aria-valuemax"))
    wait_for_step(page, last)
    return last


class Held:
    """The answers to requests of one kind, held back until they are let go."""

    def __init__(self, page, pattern, method: str = "GET") -> None:
        self.page, self.method, self.routes, self.is_over = page, method, [], False
        page.route(pattern, self._take)

    def _take(self, route) -> None:
        if self.is_over or route.request.method != self.method:
            route.fallback()
        else:
            self.routes.append(route)

    def wait(self, count: int = 1) -> None:
        while len(self.routes) < count:
            self.page.wait_for_timeout(10)

    def release(self) -> None:
        """Let all go, the newest first.

        The route stays: a request that the page sends while one is taken away is never answered by the browser.
        """
        self.is_over = True
        while self.routes:
            route = self.routes.pop()
            with self.page.expect_response(route.request.url):
                route.continue_()
