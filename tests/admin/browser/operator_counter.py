"""Counts the clicks and page loads of an operator who does a job in a browser."""

import re
from collections.abc import Sequence

from playwright.async_api import FilePayload, Locator, Page, Request

KEYS = frozenset({"Enter", "Tab", "/", "Control+A"})


class OperatorCounter:
    """An operator at a page. Each field that is filled in counts as a click, a choice from a list as two.

    Text that is typed where the keyboard's focus is needs no click. A form and the page that follows it are one load.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self.loads = 0
        page.on("request", self._count_load)

    def _count_load(self, request: Request) -> None:
        is_page = request.is_navigation_request() and request.frame == self.page.main_frame
        self.loads += int(is_page and request.redirected_from is None)

    async def follow(self, name: str) -> None:
        await self._open(self.page.get_by_role("link", name=name, exact=True).first)

    async def follow_part(self, text: str) -> None:
        """Follows the link whose text contains this."""
        await self._open(self.page.get_by_role("link", name=re.compile(re.escape(text))).first)

    async def press(self, name: str) -> None:
        await self._click(self.page.get_by_role("button", name=name, exact=True).first)

    async def press_part(self, text: str) -> None:
        """Presses the button whose text contains this."""
        await self._click(self.page.get_by_role("button", name=re.compile(re.escape(text))).first)

    async def tick(self, label: str) -> None:
        """Ticks the box or button whose label starts so."""
        self.clicks += 1
        await self.page.get_by_label(re.compile(f"^{re.escape(label)}")).first.check()

    async def fill(self, label: str, text: str) -> None:
        self.clicks += 1
        await self.page.get_by_label(label, exact=True).first.fill(text)

    async def choose(self, label: str, option: str) -> None:
        self.clicks += 2
        await self.page.get_by_label(label, exact=True).first.select_option(label=option)

    async def choose_files(self, label: str, files: Sequence[FilePayload]) -> None:
        """Opens the dialog for files and confirms it."""
        self.clicks += 2
        await self.page.get_by_label(label).first.set_input_files(files)

    async def enter(self, label: str) -> None:
        """Clicks the first field whose label starts so; what is typed next goes there."""
        await self._click(self.page.get_by_label(re.compile(f"^{re.escape(label)}")).first)

    async def type(self, *keys_or_text: str) -> None:
        """Types texts and presses keys where the focus is."""
        for each in keys_or_text:
            if each in KEYS:
                await self.page.keyboard.press(each)
            else:
                await self.page.keyboard.type(each)

    async def _click(self, locator: Locator) -> None:
        self.clicks += 1
        await locator.click()

    async def _open(self, link: Locator) -> None:
        """Clicks the link, and waits until the scripts of the next page have run."""
        async with self.page.expect_event("domcontentloaded"):
            await self._click(link)
