"""Bar charts as inline SVG: positions of bars and labels; the template draws them without inline styles."""

from collections.abc import Callable, Sequence

import msgspec

WIDE, NARROW = 720, 330
HEIGHT, BOTTOM, TOP = 220, 24, 8
CHARACTER = 6.6
"""The width of a character of a label."""
RANKING_CHARACTER = 7.4
"""The width of a character of a ranking, which has larger letters."""
ROW = 44
"""The height of a bar of a ranking, with its label."""
MAX_ROWS = 10


class Bar(msgspec.Struct, frozen=True):
    """A bar of a chart; `text` is its tooltip."""

    x: float
    y: float
    width: float
    height: float
    text: str = ""


class Mark(msgspec.Struct, frozen=True):
    """A label of a chart and its position."""

    text: str
    x: float
    y: float
    anchor: str = "middle"


class Chart(msgspec.Struct, frozen=True):
    """A chart for one width of the page."""

    bars: list[Bar]
    marks: list[Mark]
    lines: list[float]
    """The heights of the lines of the scale."""
    left: float
    width: int
    height: int


class Point(msgspec.Struct, frozen=True):
    """A value with its label."""

    label: str
    value: int


def draw_series(points: Sequence[Point], across: int, text_of: Callable[[int], str]) -> Chart:
    """Draws values in the order of time as vertical bars, with a scale on the left."""
    top = round_up_scale(max((point.value for point in points), default=0))
    scale = [(part, text_of(top * part // 2)) for part in (0, 1, 2)]
    left = round(max(len(text) for _, text in scale) * CHARACTER + 10, 1)
    plot_height, slot = HEIGHT - BOTTOM - TOP, (across - left) / max(len(points), 1)
    width = max(min(slot * 0.72, 28), 0.5)
    bars, marks = [], []
    step = max(1, -(-len(points) // max(1, int((across - left) // 84))))
    for number, point in enumerate(points):
        middle, height = left + slot * (number + 0.5), plot_height * max(point.value, 0) / top
        y, text = round(TOP + plot_height - height, 1), f"{point.label}: {text_of(point.value)}"
        bars.append(Bar(round(middle - width / 2, 1), y, round(width, 1), round(height, 1), text))
        # Few enough labels not to overlap, and always one for the last bar.
        if (len(points) - 1 - number) % step == 0:
            marks.append(_place_label(point.label, middle, across, left))
    heights = [round(TOP + plot_height - plot_height * part / 2, 1) for part, _ in scale]
    marks += [Mark(text, left - 6, y + 4, "end") for (_, text), y in zip(scale, heights, strict=True)]
    return Chart(bars, marks, heights, left, across, HEIGHT)


def _place_label(text: str, middle: float, across: int, left: float) -> Mark:
    """Returns the label below a bar, moved if it would leave the chart."""
    half = len(text) * CHARACTER / 2
    if middle + half > across:
        return Mark(text, across, HEIGHT - 6, "end")
    return Mark(text, round(max(middle, left + half - 6), 1), HEIGHT - 6)


def draw_ranking(points: Sequence[Point], across: int, text_of: Callable[[int], str]) -> Chart:
    """Draws the largest values as horizontal bars, each below its label and its value."""
    rows = sorted(points, key=lambda point: -abs(point.value))[:MAX_ROWS]
    most = max((abs(point.value) for point in rows), default=0) or 1
    bars, marks = [], []
    for number, point in enumerate(rows):
        y, value = number * ROW, text_of(point.value)
        room = int((across - 16) / RANKING_CHARACTER) - len(value)
        label = point.label if len(point.label) <= room else f"{point.label[: room - 1]}…"
        marks += [Mark(label, 0, y + 16, "start"), Mark(value, across, y + 16, "end")]
        width = round(max(across * abs(point.value) / most, 1), 1)
        bars.append(Bar(0, y + 22, width, 12, f"{point.label}: {value}"))
    return Chart(bars, marks, [], 0, across, max(len(rows) * ROW - 6, 1))


def round_up_scale(most: int) -> int:
    """Rounds up to a round number of which half is a whole number too."""
    size = 1
    while True:
        for top in (size, 2 * size, 5 * size // 2, 4 * size, 5 * size, 10 * size):
            if top >= most and top % 2 == 0:
                return top
        size *= 10
