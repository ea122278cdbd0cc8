"""Generates the product images of the demo shop: a night sky, a moon in its phase, a hill and the product.

Images are deterministic; products of one category differ by a digest of their names.
"""

from collections.abc import Callable
from colorsys import hls_to_rgb, rgb_to_hls
from functools import partial
from hashlib import sha256
from io import BytesIO

from PIL import Image, ImageColor, ImageDraw

SIDE = 480
_SCALE = 2
"""Images are drawn at twice the size and scaled down for smooth edges."""
Draw = ImageDraw.ImageDraw
Color = str

# By category: sky, hill, product, highlight.
_PALETTES: dict[str, tuple[Color, Color, Color, Color]] = {
    "Lanterns": ("#1d2b4f", "#0f1830", "#e0a030", "#ffe3a0"),
    "Candles": ("#3b2447", "#22132b", "#f1e6d0", "#ffc65c"),
    "Seeds": ("#163f3a", "#0b2522", "#7fc28a", "#d8f0c0"),
    "Tools": ("#2c3e50", "#17222e", "#b9c4cc", "#c98b4e"),
    "Pots": ("#4a2e2a", "#2b1815", "#d07a52", "#f0b48c"),
    "Boots": ("#24324a", "#131c2b", "#5f8f6a", "#a6cfa6"),
    "Layers": ("#2a2f55", "#161a33", "#c0596b", "#eba6a6"),
    "Teas and Preserves": ("#402a1e", "#241610", "#a8384f", "#f2d08a"),
    "Books and Prints": ("#1f3550", "#101f31", "#e8dcc0", "#b5533c"),
}
# By color of a variant: product, highlight.
_TINTS: dict[str, tuple[Color, Color]] = {
    "amber": ("#d98a1f", "#ffd27a"),
    "smoke": ("#6f7681", "#c3c9d1"),
    "clear": ("#a9c4cf", "#eef7fa"),
    "ivory": ("#e2d3b0", "#fbf4e2"),
    "moss": ("#5f7f43", "#b4cf8f"),
    "plum": ("#7a3c62", "#cf94b8"),
    "ink": ("#34436b", "#8d9dcb"),
}
_PAPER = "#f4efe2"
_PHASES = {"New Moon": 0.0, "First Quarter": 0.5, "Full Moon": 1.0, "Last Quarter": -0.5}


class Canvas:
    """Draws in coordinates from 0 to 100, with the origin at the top left."""

    def __init__(self, draw: Draw, side: int) -> None:
        self._draw = draw
        self._unit = side / 100

    def _at(self, points: tuple[float, ...]) -> list[float]:
        return [point * self._unit for point in points]

    def oval(self, left: float, top: float, right: float, bottom: float, color: Color) -> None:
        self._draw.ellipse(self._at((left, top, right, bottom)), fill=color)

    def box(self, left: float, top: float, right: float, bottom: float, color: Color, *, round_: float = 0) -> None:
        self._draw.rounded_rectangle(self._at((left, top, right, bottom)), round_ * self._unit, fill=color)

    def shape(self, color: Color, *points: float) -> None:
        self._draw.polygon(self._at(points), fill=color)

    def line(self, color: Color, width: float, *points: float) -> None:
        self._draw.line(self._at(points), fill=color, width=round(width * self._unit), joint="curve")

    def arc(self, color: Color, width: float, box: tuple[float, float, float, float], start: int, end: int) -> None:
        self._draw.arc(self._at(box), start, end, fill=color, width=round(width * self._unit))


def draw_product(category: str, name: str, moon: str, tint: str | None = None) -> bytes:
    """Returns a PNG of the product; `tint` is the color of a variant."""
    marks = sha256(name.encode()).digest()
    turns = (0.12, 0.12, 0.3, 0.2)
    sky, hill, body, light = map(partial(_shift_hue, marks[6] / 255 - 0.5), _PALETTES[category], turns)
    body, light = _TINTS[tint] if tint else (body, light)
    side = SIDE * _SCALE
    image = Image.new("RGB", (side, side), sky)
    canvas = Canvas(ImageDraw.Draw(image), side)
    _draw_sky(canvas, marks, sky, moon)
    canvas.oval(-30 - marks[0] % 20, 68, 80 + marks[1] % 30, 150, hill)
    canvas.oval(30 + marks[2] % 20, 74, 150, 150, hill)
    _DRAWINGS[category](canvas, marks, body, light)
    out = BytesIO()
    image.resize((SIDE, SIDE), Image.Resampling.BOX).save(out, "PNG", compress_level=0)
    return out.getvalue()


def _shift_hue(share: float, color: Color, most: float) -> Color:
    """Shifts the hue slightly, so that products of one category look similar but not identical."""
    hue, lightness, strength = rgb_to_hls(*(part / 255 for part in ImageColor.getrgb(color)[:3]))
    rgb = hls_to_rgb((hue + share * most) % 1, lightness, strength)
    return "#" + "".join(f"{round(part * 255):02x}" for part in rgb)


def _draw_sky(canvas: Canvas, marks: bytes, sky: Color, moon: str) -> None:
    for at in range(0, 24, 2):
        x, y, size = marks[at] / 2.6, marks[at + 1] / 4.5, 0.3 + marks[at] % 3 * 0.2
        canvas.oval(x, y, x + size, y + size, _PAPER)
    left, phase = 66 + marks[5] % 12, _PHASES[moon]
    canvas.oval(left, 9, left + 18, 27, _PAPER)
    if phase == 0:
        canvas.oval(left + 0.6, 9.6, left + 17.4, 26.4, sky)
    elif phase != 1:
        # Cover the bright disk with the sky from the unlit side.
        shift = -7 if phase > 0 else 7
        canvas.oval(left + shift, 8.5, left + 18 + shift, 27.5, sky)


def _lantern(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    wide = 11 + marks[3] % 6
    canvas.arc(body, 1.6, (50 - wide, 26, 50 + wide, 54), 180, 360)
    canvas.box(50 - wide, 40, 50 + wide, 45, body, round_=2)
    canvas.box(50 - wide + 2, 45, 50 + wide - 2, 74, light, round_=3)
    canvas.shape(body, 50, 50, 55, 62, 50, 70, 45, 62)
    canvas.box(50 - wide - 2, 74, 50 + wide + 2, 80, body, round_=2)
    for bar in (-wide + 5, wide - 6):
        canvas.box(50 + bar, 45, 51 + bar, 74, body)


def _candle(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    for number in range(1 + marks[3] % 3):
        left, top = 43 + (number * 17 - 17 if marks[3] % 3 == 2 else number * 15), 40 + marks[4 + number] % 16
        canvas.box(left, top, left + 12, 82, body, round_=1.5)
        canvas.line("#2b1b12", 0.8, left + 6, top, left + 6, top - 4)
        canvas.shape(light, left + 6, top - 13, left + 9, top - 5, left + 6, top - 2, left + 3, top - 5)


def _sprout(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    top = 34 + marks[3] % 10
    canvas.line(body, 2.2, 50, 84, 50, top + 10)
    for number in range(2 + marks[4] % 2):
        y = 74 - number * 12
        canvas.oval(50, y - 9, 68 - number * 2, y, body)
        canvas.oval(32 + number * 2, y - 5, 50, y + 4, body)
    for x, y in ((-9, 0), (9, 0), (0, -9), (0, 9)):
        canvas.oval(50 + x - 7, top + y - 7, 50 + x + 7, top + y + 7, light)
    canvas.oval(45, top - 5, 55, top + 5, body)


def _tool(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    canvas.line(light, 4, 36, 26, 56, 58)
    canvas.oval(31, 20, 41, 30, light)
    if marks[3] % 2:
        canvas.shape(body, 50, 60, 62, 53, 72, 70, 70, 84, 58, 76)
    else:
        canvas.shape(body, 48, 56, 62, 50, 60, 62, 78, 82, 64, 76, 56, 68)
        canvas.line(light, 4, 66, 26, 54, 58)


def _pot(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    wide = 14 + marks[3] % 8
    for number in range(3):
        x = 50 + (number - 1) * 9
        canvas.line("#7fae7c", 1.8, 50, 52, x, 30 + marks[4 + number] % 8)
        canvas.oval(x - 6, 24 + marks[4 + number] % 8, x + 6, 36 + marks[4 + number] % 8, "#8fc08a")
    canvas.shape(body, 50 - wide, 54, 50 + wide, 54, 50 + wide - 6, 84, 50 - wide + 6, 84)
    canvas.box(50 - wide - 2, 48, 50 + wide + 2, 56, light, round_=2)


def _boot(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    top = 30 + marks[3] % 22
    for left in (30, 50):
        canvas.box(left, top, left + 14, 78, body, round_=3)
        canvas.box(left, 66, left + 24, 80, body, round_=6)
        canvas.box(left - 1, 78, left + 25, 82, light, round_=1.5)
        canvas.box(left - 1, top, left + 15, top + 5, light, round_=2)


def _layer(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    low = 72 + marks[3] % 12
    canvas.shape(body, 38, 32, 62, 32, 70, 42, 66, low, 34, low, 30, 42)
    canvas.shape(body, 33, 38, 22, 66, 29, 69, 37, 48)
    canvas.shape(body, 67, 38, 78, 66, 71, 69, 63, 48)
    canvas.shape(light, 43, 32, 57, 32, 50, 44)
    for number in range(2 + marks[4] % 3):
        canvas.oval(49, 48 + number * 7, 51.4, 50.4 + number * 7, light)


def _jar(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    wide = 13 + marks[3] % 6
    canvas.box(50 - wide, 40, 50 + wide, 84, body, round_=5)
    canvas.box(50 - wide + 2, 32, 50 + wide - 2, 40, light, round_=2)
    canvas.box(50 - wide + 3, 54, 50 + wide - 3, 70, _PAPER, round_=1)
    canvas.line(body, 1.2, 50 - wide + 7, 60, 50 + wide - 7, 60)
    canvas.line(body, 1.2, 50 - wide + 9, 64, 50 + wide - 9, 64)


def _book(canvas: Canvas, marks: bytes, body: Color, light: Color) -> None:
    canvas.shape(light, 28, 36, 68, 32, 72, 80, 32, 84)
    canvas.shape(body, 31, 39, 67, 35, 70, 77, 34, 81)
    size = 6 + marks[3] % 5
    canvas.oval(50 - size, 52 - size, 50 + size, 52 + size, light)
    canvas.oval(50 - size + 4, 52 - size - 1, 50 + size + 4, 52 + size - 1, body)
    for number in range(3):
        canvas.line(light, 1, 41, 68 + number * 3.4, 61, 66 + number * 3.4)


_DRAWINGS: dict[str, Callable[[Canvas, bytes, Color, Color], None]] = {
    "Lanterns": _lantern,
    "Candles": _candle,
    "Seeds": _sprout,
    "Tools": _tool,
    "Pots": _pot,
    "Boots": _boot,
    "Layers": _layer,
    "Teas and Preserves": _jar,
    "Books and Prints": _book,
}
