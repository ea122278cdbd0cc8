"""A real browser for tests, headless Chromium, and the checks that every page must pass."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, ConsoleMessage, Page, Response, async_playwright, expect

LAPTOP, PHONE, SMALL_PHONE = (1280, 900), (390, 844), (360, 740)
__all__ = [
    "LAPTOP",
    "PHONE",
    "SMALL_PHONE",
    "Browser",
    "Page",
    "accessibility_violations",
    "chromium",
    "scrolls_sideways",
    "visit",
]

# Long enough for a busy machine; an element that is present is found at once.
expect.set_options(timeout=20_000)
_AXE = Axe().axe_script
_FIND = """([options, impacts]) => axe.run(options).then(result => result.violations
    .filter(rule => impacts.includes(rule.impact))
    .map(rule => ({id: rule.id, help: rule.help, elements: rule.nodes.map(node => node.html.slice(0, 200))})))"""


def chromium_path() -> str:
    """The path of Chromium. As root on a Debian machine, a missing one is installed first."""
    path = shutil.which("chromium")
    if path is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # Another program may be installing packages.
        install = ["apt-get", "install", "-y", "-qq", "-o", "DPkg::Lock::Timeout=300", "chromium"]
        subprocess.run(install, check=False, capture_output=True, env=quiet)
        path = shutil.which("chromium")
    if path is None:
        raise AssertionError("The browser tests need Chromium: run `apt-get install chromium` as root.")
    return path


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
    """A page in a new browser context. An error in its console, or a missing file, fails the test."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if is_dark else "light", **options
    )
    errors: list[str] = []
    page = await context.new_page()
    page.on("pageerror", lambda error: None if _is_aborted_transition(str(error)) else errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if _is_error(message) else None)
    page.on("response", lambda response: errors.append(response.url) if _is_missing(response) else None)
    try:
        await page.goto(url)
        yield page
    finally:
        await context.close()
    assert errors == [], errors


def _is_aborted_transition(message: str) -> bool:
    """Whether the browser reports that a page without view transitions was opened from one that has them."""
    return message.startswith("Transition was aborted")


def _is_error(message: ConsoleMessage) -> bool:
    # The browser also logs every response with an error status; a test may ask for one on purpose.
    is_status = message.text.startswith("Failed to load resource")
    return "Content Security" in message.text or (message.type == "error" and not is_status)


def _is_missing(response: Response) -> bool:
    return response.status >= 400 and response.request.resource_type in {"stylesheet", "script", "image", "font"}


async def scrolls_sideways(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


async def accessibility_violations(page: Page, *rules: str, is_strict: bool = False) -> list[str]:
    """Every serious or critical violation that axe finds, or every one at all if `is_strict`, with its elements; of all
    rules, or of these only.
    """
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE)
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    impacts = [*(["minor", "moderate"] if is_strict else []), "serious", "critical"]
    violations = await page.evaluate(_FIND, [options, impacts])
    return [f"{rule['id']}: {rule['help']}: {rule['elements']}" for rule in violations]
