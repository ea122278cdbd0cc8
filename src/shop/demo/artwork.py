"""Generates the images of the demo shop: a night sky, a moon in its phase, hills and products.

Images are deterministic; products of one category differ by a digest of their names.
"""

from collections.abc import Callable, Sequence
from colorsys import hls_to_rgb, rgb_to_hls
from functools import partial
from hashlib import sha256
from io import BytesIO

from PIL import Image, ImageColor, ImageDraw

SIDE = 480
GROUP, HERO = (480, 360), (1600, 900)
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
    """Draws on a square in coordinates from 0 to 100; the square lies at an offset in pixels."""

    def __init__(self, draw: Draw, side: float, left: float = 0, top: float = 0) -> None:
        self._draw = draw
        self._unit = side / 100
        self._offset = (left, top)

    def _at(self, points: tuple[float, ...]) -> list[float]:
        return [point * self._unit + self._offset[index % 2] for index, point in enumerate(points)]

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
    image, draw, side, _ = _start((SIDE, SIDE), sky)
    canvas = Canvas(draw, side)
    _draw_sky(canvas, marks, sky, moon)
    canvas.oval(-30 - marks[0] % 20, 68, 80 + marks[1] % 30, 150, hill)
    canvas.oval(30 + marks[2] % 20, 74, 150, 150, hill)
    _DRAWINGS[category](canvas, marks, body, light)
    return _encode(image)


def draw_group(name: str, categories: Sequence[str]) -> bytes:
    """Returns a PNG for a category or department: three products of its categories."""
    marks = sha256(name.encode()).digest()
    sky, hill, _, _ = _PALETTES[categories[0]]
    image, draw, width, height = _start(GROUP, sky)
    _draw_sky(Canvas(draw, width, 0, -0.03 * width), marks, sky, "Full Moon")
    draw.ellipse((-0.4 * width, 0.62 * height, 1.4 * width, 1.9 * height), fill=hill)
    for number, (share, left, top) in enumerate(((0.55, 0.04, 0.3), (0.55, 0.55, 0.3), (0.75, 0.22, 0.2))):
        category = categories[number % len(categories)]
        _draw_product_on(draw, category, f"{name} {number}", (share * height, left * width, top * height))
    return _encode(image)


def draw_moon(moon: str) -> bytes:
    """Returns a PNG for the category of a moon phase: the moon over two hills."""
    marks = sha256(moon.encode()).digest()
    sky, hill, _, _ = _PALETTES["Lanterns"]
    image, draw, width, height = _start(GROUP, sky)
    for at in range(0, 28, 2):
        x, y = marks[at] / 2.6, marks[at + 1] / 4.2
        Canvas(draw, width).oval(x, y, x + 0.7, y + 0.7, _PAPER)
    # Enlarged, so that the moon, which is 18 of 100 wide at 75 from the left, lies in the middle.
    _draw_moon_disk(Canvas(draw, 2.4 * height, 0.5 * width - 2.016 * height, 0.02 * height), sky, moon, 75)
    draw.ellipse((-0.3 * width, 0.74 * height, 0.8 * width, 1.9 * height), fill=hill)
    draw.ellipse((0.3 * width, 0.8 * height, 1.4 * width, 1.9 * height), fill="#141f3b")
    return _encode(image)


def _start(size: tuple[int, int], sky: Color) -> tuple[Image.Image, Draw, int, int]:
    """Returns a new image, enlarged for smooth edges, with its width and height."""
    width, height = size[0] * _SCALE, size[1] * _SCALE
    image = Image.new("RGB", (width, height), sky)
    return image, ImageDraw.Draw(image), width, height


def draw_hero() -> bytes:
    """Returns a wide PNG for the home page: a garden at night, with lanterns among pots and seedlings."""
    sky, hill, _, _ = _PALETTES["Lanterns"]
    image, draw, width, height = _start(HERO, sky)
    marks = sha256(b"hero").digest() + sha256(b"stars").digest()
    for at in range(0, 62, 2):
        x, y, size = marks[at] / 255 * width, marks[at + 1] / 255 * height * 0.55, 2 + marks[at] % 3 * 2
        draw.ellipse((x, y, x + size, y + size), fill=_PAPER)
    _draw_moon_disk(Canvas(draw, height * 1.2, -0.02 * width, 0), sky, "Full Moon", 75)
    for left, top, right, color in (
        (-0.3, 0.58, 0.7, "#182544"),
        (0.25, 0.52, 1.4, "#141f3b"),
        (-0.2, 0.72, 1.2, hill),
    ):
        draw.ellipse((left * width, top * height, right * width, 1.9 * height), fill=color)
    for number, (category, share, x, y) in enumerate(_GARDEN):
        _draw_product_on(draw, category, f"hero {number}", (share * height, x * width, y * height))
    return _encode(image)


# The products of the hero image: category, size by its height, and position by its width and height.
_GARDEN = (
    ("Lanterns", 0.34, 0.360, 0.44),
    ("Lanterns", 0.44, 0.460, 0.40),
    ("Seeds", 0.40, 0.560, 0.46),
    ("Lanterns", 0.60, 0.615, 0.33),
    ("Pots", 0.50, 0.500, 0.52),
    ("Pots", 0.40, 0.380, 0.60),
    ("Seeds", 0.44, 0.145, 0.50),
    ("Candles", 0.34, 0.300, 0.62),
)


def _draw_product_on(draw: Draw, category: str, name: str, box: tuple[float, float, float]) -> None:
    """Draws a product on a square, given by its side and offset in pixels."""
    marks = sha256(name.encode()).digest()
    body, light = (_shift_hue(marks[6] / 255 - 0.5, color, 0.12) for color in _PALETTES[category][2:])
    _DRAWINGS[category](Canvas(draw, *box), marks, body, light)


def _encode(image: Image.Image) -> bytes:
    out = BytesIO()
    # Like a resize with a box filter, in a third of the time.
    image.reduce(_SCALE).save(out, "PNG", compress_level=0)
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
    _draw_moon_disk(canvas, sky, moon, 66 + marks[5] % 12)


def _draw_moon_disk(canvas: Canvas, sky: Color, moon: str, left: float) -> None:
    phase = _PHASES[moon]
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
