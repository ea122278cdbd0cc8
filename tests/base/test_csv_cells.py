"""Cells of CSV files: no spreadsheet runs them as formulas, and they are read again as they were."""

import pytest

from shop.base.csv_cells import csv_line, read_cell, safe_cell


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'=", "''@"]
)
def test_a_cell_that_would_be_a_formula_is_text(start: str) -> None:
    text = f"{start}HYPERLINK(1)"

    assert safe_cell(text) == f"'{text}"
    assert read_cell(safe_cell(text)) == text


@pytest.mark.parametrize("text", ["", "Mug", "O'Neil", "'tis", "3-4", "ada@example.com", "a=b"])
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert safe_cell(text) == read_cell(text) == text


def test_negative_numbers_stay_numbers() -> None:
    assert csv_line([-1, "-1"]) == "-1,'-1\r\n"
