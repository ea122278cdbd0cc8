"""A real browser for tests: Debian's Chromium, headless, and what every page of ours is held to."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, ConsoleMessage, Page, Response, async_playwright, expect

LAPTOP, PHONE, SMALL_PHONE = (1280, 900), (390, 844), (360, 740)
__all__ = ["LAPTOP", "PHONE", "SMALL_PHONE", "Browser", "Page", "barriers", "chromium", "scrolls_sideways", "visit"]

# A page has as long as a busy machine needs; what is there is seen at once.
expect.set_options(timeout=20_000)
_AXE = Axe().axe_script
_FIND = """options => axe.run(options).then(found => found.violations
    .filter(rule => ["serious", "critical"].includes(rule.impact))
    .map(rule => ({id: rule.id, help: rule.help, elements: rule.nodes.map(node => node.html.slice(0, 200))})))"""


def chromium_path() -> str:
    """Where Chromium is; on a fresh Debian machine it is installed first, where that is allowed."""
    found = shutil.which("chromium")
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=False, capture_output=True, env=quiet)
        found = shutil.which("chromium")
    if found is None:
        raise AssertionError("The browser tests need Chromium: run `apt-get install chromium` as root.")
    return found


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        # Without a graphics card it would imitate one. Its sandbox does not start as root.
        arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def visit(
    browser: Browser, url: str, size: tuple[int, int] = LAPTOP, *, is_dark: bool = False, **options: Any
) -> AsyncIterator[Page]:
    """A page in a context of its own, so that nothing of it is left; whatever it complains about fails the test."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if is_dark else "light", **options
    )
    complaints: list[str] = []
    page = await context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said) else None)
    page.on("response", lambda answer: complaints.append(answer.url) if _is_missing(answer) else None)
    try:
        await page.goto(url)
        yield page
    finally:
        await context.close()
    assert complaints == []


def _is_complaint(said: ConsoleMessage) -> bool:
    # An answer that refuses is told to the console too; that a page is one may be what the test is about.
    is_status = said.text.startswith("Failed to load resource")
    return "Content Security" in said.text or (said.type == "error" and not is_status)


def _is_missing(answer: Response) -> bool:
    return answer.status >= 400 and answer.request.resource_type in {"stylesheet", "script", "image", "font"}


async def scrolls_sideways(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


async def barriers(page: Page, *rules: str) -> list[str]:
    """What keeps people out, as axe sees it: every serious or critical violation with the elements it is about.

    Of some rules only, where others cannot have changed since.
    """
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE)
    found = await page.evaluate(_FIND, {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})})
    return [f"{rule['id']}: {rule['help']}: {rule['elements']}" for rule in found]
