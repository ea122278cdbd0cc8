"""Counts what a job costs an operator in the browser: clicks and page loads."""

from playwright.async_api import Page

_COUNT_CLICKS = """addEventListener("click", (event) => {
    if (event.isTrusted && event.detail > 0) {
        sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks")) + 1);
    }
}, { capture: true });"""


class Effort:
    """The clicks and page loads since `start`; a redirect is part of the load that it leads to."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.loads = 0

    async def start(self) -> None:
        await self._page.add_init_script(_COUNT_CLICKS)
        await self._page.evaluate(f"() => {{ sessionStorage.removeItem('clicks'); {_COUNT_CLICKS} }}")
        self._page.on("domcontentloaded", lambda _: self._count_load())

    def _count_load(self) -> None:
        self.loads += 1

    async def clicks(self) -> int:
        return int(await self._page.evaluate("Number(sessionStorage.getItem('clicks'))"))
