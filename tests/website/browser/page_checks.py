"""Finds what keeps people from using a page: for screen readers, keyboards, small and large screens, and bad eyes."""

from typing import Literal

from playwright.async_api import Page

from tests.browser import LAPTOP, PHONE, accessibility_violations, scrolls_sideways

SIZES: tuple[tuple[tuple[int, int], Literal["light", "dark"]], ...] = (
    (LAPTOP, "light"),
    (LAPTOP, "dark"),
    (PHONE, "light"),
    (PHONE, "dark"),
)
# The smallest phone, and a laptop whose page is enlarged to 200 %.
NARROW_SIZES = ((320, 640), (640, 450))
_FACTS = """() => ({
    lang: document.documentElement.lang,
    titled: /\\S \\u2013 \\S/.test(document.title),
    headings: document.querySelectorAll("h1").length,
    mains: document.querySelectorAll("main").length,
    ids: [...document.querySelectorAll("[id]")].map(part => part.id).filter((id, at, all) => all.indexOf(id) !== at),
    unlabelled: [...document.querySelectorAll("form[method=post]:not([toolname])")].map(form => form.action),
})"""
_EXPECTED_FACTS = {"lang": "en-US", "titled": True, "headings": 1, "mains": 1, "ids": [], "unlabelled": []}
# An invalid field names an element with the error; the first thing with the focus is the summary, or the only field.
_FORM_PROBLEMS = """() => {
    const problems = [];
    const fields = [...document.querySelectorAll("[aria-invalid=true]")];
    for (const field of fields) {
        const ids = (field.getAttribute("aria-describedby") || "").split(" ").filter(Boolean);
        const texts = ids.map(id => document.getElementById(id)?.textContent.trim());
        if (!texts.length || texts.some(text => !text)) problems.push(`${field.name} is not described: ${ids}`);
    }
    const summary = document.querySelector(".error-summary, .changes[role=alert]");
    for (const link of summary?.querySelectorAll("a[href^='#']") ?? []) {
        if (!document.getElementById(link.hash.slice(1))) problems.push(`${link.hash} leads nowhere`);
    }
    const focus = document.activeElement;
    if (summary ? focus !== summary : fields.length && !fields.includes(focus)) {
        problems.push(`The focus is on ${focus.outerHTML.slice(0, 100)}`);
    }
    return problems;
}"""
_MOTION = """() => [
    ...document.getAnimations().map(animation => `${animation.constructor.name} runs`),
    ...[...document.querySelectorAll("*")].flatMap(element => ["", "::before", "::after"]
        .map(part => getComputedStyle(element, part || null))
        .filter(style => style.animationName !== "none" || !/^0s(, 0s)*$/.test(style.transitionDuration))
        .map(() => `${element.tagName}.${element.className} moves`)),
]"""


async def find_problems(page: Page) -> list[str]:
    """Lists the problems of the open page, at every width and in both color schemes."""
    problems = await find_form_problems(page)
    facts = await page.evaluate(_FACTS)
    problems += [] if facts == _EXPECTED_FACTS else [f"{facts}"]
    problems += await find_violations(page)
    return [*problems, *await find_wide_sizes(page), *await find_motion(page)]


async def find_violations(page: Page) -> list[str]:
    """Lists every violation of accessibility rules, at every width and in both color schemes."""
    problems: list[str] = []
    for size, scheme in SIZES:
        await page.set_viewport_size({"width": size[0], "height": size[1]})
        await page.emulate_media(color_scheme=scheme)
        # The other color scheme changes nothing but colors.
        rules = ["color-contrast"] if (size, scheme) in SIZES[1:3] else []
        violations = await accessibility_violations(page, *rules, is_strict=True)
        problems += [f"{size[0]} px, {scheme}: {violation}" for violation in violations]
    await page.emulate_media(color_scheme="light")
    return problems


async def find_form_problems(page: Page) -> list[str]:
    """Lists errors of a form that are not linked with their fields, and a summary without the focus."""
    problems: list[str] = await page.evaluate(_FORM_PROBLEMS)
    return problems


async def find_wide_sizes(page: Page) -> list[str]:
    """Lists the narrow sizes at which the page scrolls sideways."""
    problems = []
    for width, height in NARROW_SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        if await scrolls_sideways(page):
            problems.append(f"At {width} px it scrolls sideways.")
    await page.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
    return problems


async def find_motion(page: Page) -> list[str]:
    """Lists what moves although the shopper prefers reduced motion."""
    await page.emulate_media(reduced_motion="reduce")
    problems: list[str] = await page.evaluate(_MOTION)
    await page.emulate_media(reduced_motion="no-preference")
    return problems
