"""Validates the settings of documents, and builds their numbers."""

import re

from shop.base.texts import is_line
from shop.models.setup.documents import MAX_TAX_NUMBERS, DocumentSettings

MAX_DIGITS = 10
MAX_LENGTHS = {"legal_name": 120, "address1": 120, "address2": 120, "zipcode": 20, "city": 80, "email": 254}
MAX_LABEL_LENGTH, MAX_NUMBER_LENGTH = 40, 60
YEAR = "{year}"
_PREFIX = re.compile(r"[A-Za-z0-9._-]{0,30}", re.ASCII)
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")


def document_errors(settings: DocumentSettings) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    for name, most in MAX_LENGTHS.items():
        if not _is_short_line(getattr(settings, name), most):
            errors[name] = [f"must be one line of at most {most} characters"]
    if settings.email and not _EMAIL.fullmatch(settings.email):
        errors["email"] = ["must be an e-mail address"]
    for name in ("invoice_prefix", "credit_note_prefix"):
        if error := _prefix_error(getattr(settings, name)):
            errors[name] = [error]
    if not 1 <= settings.digits <= MAX_DIGITS:
        errors["digits"] = [f"must be a number from 1 to {MAX_DIGITS}"]
    if error := _tax_number_error(settings):
        errors["tax_numbers"] = [error]
    return errors


def _is_short_line(text: str, most: int) -> bool:
    return len(text) <= most and is_line(text)


def _prefix_error(prefix: str) -> str | None:
    """A prefix that ends with a digit would make the numbers of two series equal: `A1` and 2, `A` and 12."""
    if not _PREFIX.fullmatch(prefix.replace(YEAR, "")):
        return "must have at most 30 letters, digits, dots, hyphens and underscores, and {year}"
    if prefix and (prefix[-1].isdigit() or prefix.endswith(YEAR)):
        return "must not end with a digit or {year}; add a hyphen"
    return None


def _tax_number_error(settings: DocumentSettings) -> str | None:
    if len(settings.tax_numbers) > MAX_TAX_NUMBERS:
        return f"must be at most {MAX_TAX_NUMBERS}"
    for each in settings.tax_numbers:
        if not each.label or not each.number:
            return "must have a name and a number each"
        if not _is_short_line(each.label, MAX_LABEL_LENGTH) or not _is_short_line(each.number, MAX_NUMBER_LENGTH):
            return f"must have a name of at most {MAX_LABEL_LENGTH} and a number of at most {MAX_NUMBER_LENGTH} letters"
    return None


def name_series(prefix: str, year: int) -> str:
    """Returns the series of numbers that a prefix means in this year; each series is counted from 1."""
    return prefix.replace(YEAR, str(year))


def format_number(series: str, running_number: int, digits: int) -> str:
    return f"{series}{running_number:0{digits}}"
