"""Reads CSV files: their encoding, their delimiter and their rows."""

import csv
from collections.abc import Iterator
from io import StringIO

MAX_BYTES = 10 * 1024 * 1024
MAX_COLUMNS = 200
MAX_CELL = 100_000
_DELIMITERS = ",;\t"


def decode_file(data: bytes) -> str:
    """Returns the text of a file in UTF-8, with or without a byte order mark, or in Windows-1252."""
    if not data.strip():
        raise ValueError("is empty")
    if len(data) > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES // 1024 // 1024} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    if "\x00" in text:
        raise ValueError("is not a text file")
    return text


def find_delimiter(text: str) -> str:
    """Returns the delimiter that is most frequent in the first line."""
    line = text[: text.find("\n") if "\n" in text else None]
    return max(_DELIMITERS, key=line.count)


def read_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows with the numbers of their first lines, without empty rows; raises ValueError if it cannot."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=find_delimiter(text))
    number = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"cannot be read at line {number}: {error}") from None


def read_headers(text: str) -> list[str]:
    """Returns the first row; raises ValueError if the file has no header, no row after it, or too many columns."""
    rows = read_rows(text)
    first, second = next(rows, None), next(rows, None)
    if first is None or second is None:
        raise ValueError("must have a line with the names of its columns and at least one more line")
    headers = [header.strip() for header in first[1]]
    if len(headers) > MAX_COLUMNS or any(len(header) > 200 for header in headers):
        raise ValueError(f"must have at most {MAX_COLUMNS} columns with names of at most 200 characters")
    return headers
