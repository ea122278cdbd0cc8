"""Rules of the website settings: the contrast of the accent color, font families and lengths of texts."""

import re

from shop.base.texts import is_line, is_prose
from shop.models.setup.website import MAX_RADIUS, Font

LEAST_CONTRAST = 4.5
"""The contrast of text that WCAG 2.2 requires at level AA."""
NARROWEST_LOGO = 160
NARROWEST_HERO = 960
FONT_NAMES: dict[Font, str] = {"sans": "Sans-serif", "serif": "Serif", "rounded": "Rounded", "mono": "Monospace"}
FONT_FAMILIES: dict[Font, str] = {
    "sans": 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
    "serif": 'ui-serif, "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif',
    "rounded": 'ui-rounded, "SF Pro Rounded", "Hiragino Maru Gothic ProN", Quicksand, Nunito, system-ui, sans-serif',
    "mono": 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
}
"""Fonts that are installed on most devices, so that no page loads one."""
MAX_LINE_LENGTHS = {"hero_title": 120, "announcement": 200}
MAX_PROSE_LENGTHS = {"hero_text": 400, "description": 300}
_COLOR = re.compile(r"#[0-9a-f]{6}", re.ASCII)


def contrast_with_white(color: str) -> float:
    """Returns the contrast ratio of a color like `#1d5c48` with white, by the formula of WCAG."""
    red, green, blue = (_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def _linear(channel: float) -> float:
    # 0.04045 is the threshold of sRGB; for 8-bit colors, the 0.03928 in WCAG 2.0 gives the same results.
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def accent_error(color: str) -> str | None:
    """Returns the error of an accent color; white text on it must be readable."""
    if not _COLOR.fullmatch(color):
        return "must be a color like #1d5c48"
    contrast = contrast_with_white(color)
    if contrast < LEAST_CONTRAST:
        return (
            f"is too light for white text: its contrast is {int(contrast * 10) / 10}:1, and at least "
            f"{LEAST_CONTRAST}:1 is needed; choose a darker color"
        )
    return None


def website_errors(accent: str, radius: int | None, font: str, texts: dict[str, str]) -> dict[str, list[str]]:
    """Returns the errors of the settings by field; `texts` are by name."""
    errors: dict[str, list[str]] = {}
    if error := accent_error(accent):
        errors["accent"] = [error]
    if radius is None or not 0 <= radius <= MAX_RADIUS:
        errors["radius"] = [f"must be a whole number from 0 to {MAX_RADIUS}"]
    if font not in FONT_FAMILIES:
        errors["font"] = ["is not a valid choice"]
    for name, most in MAX_LINE_LENGTHS.items():
        if len(texts[name]) > most or not is_line(texts[name]):
            errors[name] = [f"must be one line of at most {most} characters"]
    for name, most in MAX_PROSE_LENGTHS.items():
        if len(texts[name]) > most or not is_prose(texts[name]):
            errors[name] = [f"must be text of at most {most} characters"]
    return errors
