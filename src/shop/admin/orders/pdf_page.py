"""Writes text and tables on the pages of a PDF. The library is loaded on first use.

Its own fonts have the letters of Western Europe. A letter of another language loses its accents (ż becomes z), Greek is
written with the font Symbol, and Chinese, Japanese, Korean and Russian with fonts that the reader's program has. For
anything else there is a question mark. A note at the end says so.
"""

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import msgspec

MAX_TEXT = 400
MAX_LINES = 12
"""The longest text of a cell; more is cut off with an ellipsis."""
SIZES = {"a4": (595.28, 841.89), "letter": (612.0, 792.0)}
MARGIN = 48.0
SMALL, NORMAL, LARGE = 7.5, 9.0, 16.0
_GAP = 8.0
"""The least distance of two columns."""
UNKNOWN = "?"
_UNKNOWN_NOTE = (
    f"Letters that the fonts of this file do not have are shown as {UNKNOWN}. Print the web page to have them."
)
_READER_NOTE = (
    "Chinese, Japanese, Korean and Russian text needs fonts of the program that shows this file. "
    "If it is missing, print the web page."
)
_REGULAR, _BOLD = "Vera", "VeraBd"
_READER_FONTS = {"HeiseiKakuGo-W5": "shift_jis", "STSong-Light": "gb2312", "HYGothic-Medium": "euc_kr"}
"""Fonts of East Asia that are not part of the file, and the encodings that tell which letters each has."""
_CATEGORIES = {"Zs": " ", "Zl": " ", "Zp": " ", "Cc": "", "Cf": "", "Cs": "", "Mn": "", "Co": UNKNOWN, "Cn": UNKNOWN}
"""What stands for a letter that is a space, or no letter at all."""
_LINE_END = re.compile(r"[\r\n\t]+")
_GREEK = range(0x391, 0x3CA)

Align = Literal["left", "right"]
Run = tuple[str, str]
"""A font and a text in it."""


class PdfColumn(msgspec.Struct, frozen=True):
    """A column of a table; its width is a share of the page."""

    title: str
    width: float
    align: Align = "left"


class _Library(msgspec.Struct, frozen=True):
    """What this file uses of the library."""

    new_canvas: Any
    text_width: Any
    letters: frozenset[int]


@lru_cache(maxsize=1)
def _library() -> _Library:
    canvas: Any = import_module("reportlab.pdfgen.canvas")
    fonts: Any = import_module("reportlab.pdfbase.pdfmetrics")
    # By path: otherwise fonts of the same name that are installed on the machine come first.
    folder = Path(str(import_module("reportlab").__file__)).parent / "fonts"
    embedded: Any = import_module("reportlab.pdfbase.ttfonts")
    for name in (_REGULAR, _BOLD):
        fonts.registerFont(embedded.TTFont(name, str(folder / f"{name}.ttf")))
    from_reader: Any = import_module("reportlab.pdfbase.cidfonts")
    for name in _READER_FONTS:
        fonts.registerFont(from_reader.UnicodeCIDFont(name))
    letters = frozenset(fonts.getFont(_REGULAR).face.charToGlyph)
    return _Library(canvas.Canvas, fonts.stringWidth, letters)


@lru_cache(maxsize=8192)
def _find_font(letter: str) -> Run:
    """Returns the font of a letter, and the text that stands for it; `_REGULAR` stands for bold too."""
    category = unicodedata.category(letter)
    if category in _CATEGORIES:
        return _REGULAR, _CATEGORIES[category]
    plain = "".join(each for each in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(each))
    for text in filter(None, (letter, plain)):
        if all(ord(each) in _library().letters for each in text):
            return _REGULAR, text
    if len(plain) == 1 and ord(plain) in _GREEK:
        return "Symbol", plain
    for font, encoding in _READER_FONTS.items():
        with suppress(UnicodeEncodeError):
            letter.encode(encoding)
            return font, letter
    return _REGULAR, UNKNOWN


@lru_cache(maxsize=8192)
def _letter_width(letter: str, is_bold: bool) -> float:
    """Returns the width of a letter of size 1."""
    return sum(float(_library().text_width(text, font, 1)) for font, text in _split_runs(letter, is_bold=is_bold))


def _split_runs(text: str, *, is_bold: bool) -> list[Run]:
    runs: list[Run] = []
    for letter in text:
        font, shown_text = _find_font(letter)
        if font == _REGULAR and is_bold:
            font = _BOLD
        if runs and runs[-1][0] == font:
            runs[-1] = font, runs[-1][1] + shown_text
        else:
            runs.append((font, shown_text))
    return runs


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


class PdfPages:
    """Pages that are filled from the top; `y` is the distance from the bottom."""

    def __init__(self, title: str, paper: str, locale: str) -> None:
        self._output = BytesIO()
        self.width, self.height = SIZES[paper]
        # Without the time of writing, the same document is always the same file.
        self._canvas = _library().new_canvas(
            self._output, pagesize=(self.width, self.height), invariant=1, pageCompression=1, lang=locale
        )
        self._canvas.setTitle(_shorten(title))
        self._footer = _shorten(title)
        self._page_number = 1
        self._notes: set[str] = set()
        self.y = self.height - MARGIN

    @property
    def inner_width(self) -> float:
        return self.width - 2 * MARGIN

    def set_footer(self, text: str) -> None:
        self._footer = _shorten(text)

    def new_page(self) -> None:
        self._draw_footer()
        self._canvas.showPage()
        self._page_number += 1
        self.y = self.height - MARGIN

    def finish(self) -> bytes:
        for note in sorted(self._notes):
            self.skip(4)
            self.paragraph(note, size=SMALL)
        self._draw_footer()
        self._canvas.save()
        return self._output.getvalue()

    def skip(self, distance: float) -> None:
        self.y -= distance

    def paragraph(
        self,
        text: str,
        *,
        size: float = NORMAL,
        is_bold: bool = False,
        x: float = MARGIN,
        width: float | None = None,
        align: Align = "left",
    ) -> None:
        width = self.inner_width if width is None else width
        for line in self._wrap(text, width, size, is_bold=is_bold):
            self._make_room(size * 1.4)
            self.y -= size * 1.4
            self._draw(line, x, self.y, size, width=width, align=align)

    def table(
        self, columns: Sequence[PdfColumn], rows: Sequence[Sequence[str]], *, bold_rows: frozenset[int] = frozenset()
    ) -> None:
        """Draws a table; each page repeats its head."""
        self._draw_head(columns)
        for number, row in enumerate(rows):
            is_bold = number in bold_rows
            cells = [
                self._wrap(text, self._column_width(column), NORMAL, is_bold=is_bold)
                for column, text in zip(columns, row, strict=True)
            ]
            height = max(map(len, cells)) * NORMAL * 1.35 + 7
            if self.y - height < MARGIN + 16:
                self.new_page()
                self._draw_head(columns)
            self._draw_row(columns, cells, NORMAL)
            self.y -= height
            self._rule(0.4)

    def _draw_head(self, columns: Sequence[PdfColumn]) -> None:
        self._make_room(40)
        cells = [self._wrap(column.title, self._column_width(column), SMALL, is_bold=True) for column in columns]
        self._draw_row(columns, cells, SMALL)
        self.y -= max(map(len, cells)) * SMALL * 1.35 + 7
        self._rule(0.9)

    def _draw_row(self, columns: Sequence[PdfColumn], cells: Sequence[Sequence[Sequence[Run]]], size: float) -> None:
        x = MARGIN
        for column, lines in zip(columns, cells, strict=True):
            for number, line in enumerate(lines):
                y = self.y - 3 - size - number * size * 1.35
                left = x + (_GAP if column.align == "right" else 0)
                self._draw(line, left, y, size, width=self._column_width(column), align=column.align)
            x += column.width * self.inner_width

    def _column_width(self, column: PdfColumn) -> float:
        return column.width * self.inner_width - _GAP

    def _make_room(self, height: float) -> None:
        if self.y - height < MARGIN + 16:
            self.new_page()

    def _rule(self, width: float) -> None:
        self._canvas.setStrokeGray(0.6)
        self._canvas.setLineWidth(width)
        self._canvas.line(MARGIN, self.y, self.width - MARGIN, self.y)

    def _draw_footer(self) -> None:
        runs = self._wrap(f"{self._footer} · {self._page_number}", self.inner_width, SMALL, is_bold=False)[0]
        self._draw(runs, MARGIN, MARGIN - 14, SMALL, width=self.inner_width, align="right")

    def _draw(
        self, runs: Sequence[Run], x: float, y: float, size: float, *, width: float, align: Align = "left"
    ) -> None:
        if align == "right":
            x += width - self._measure(runs, size)
        for font, text in runs:
            self._canvas.setFont(font, size)
            self._canvas.drawString(x, y, text)
            x += self._measure([(font, text)], size)

    def _measure(self, runs: Sequence[Run], size: float) -> float:
        return sum(float(_library().text_width(text, font, size)) for font, text in runs)

    def _wrap(self, text: str, width: float, size: float, *, is_bold: bool) -> list[list[Run]]:
        """Divides a text into lines that fit; a word that is longer than a line is divided."""
        lines, line_width = [""], 0.0
        for word in filter(None, _LINE_END.sub(" ", _shorten(text)).split(" ")):
            word_width = sum(_letter_width(letter, is_bold) for letter in f" {word}") * size
            if lines[-1] and line_width + word_width <= width:
                lines[-1] += f" {word}"
                line_width += word_width
                continue
            if lines[-1]:
                lines, line_width = [*lines, ""], 0.0
            for letter in word:
                letter_width = _letter_width(letter, is_bold) * size
                if lines[-1] and line_width + letter_width > width:
                    lines, line_width = [*lines, ""], 0.0
                lines[-1] += letter
                line_width += letter_width
        if len(lines) > MAX_LINES:
            lines[MAX_LINES - 1 :] = ["…"]
        for line in lines:
            self._add_notes(line)
        return [_split_runs(line, is_bold=is_bold) for line in lines]

    def _add_notes(self, text: str) -> None:
        for letter in set(text):
            font, shown_text = _find_font(letter)
            if shown_text == UNKNOWN != letter:
                self._notes.add(_UNKNOWN_NOTE)
            if font in _READER_FONTS:
                self._notes.add(_READER_NOTE)
