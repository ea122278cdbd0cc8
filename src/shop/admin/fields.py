"""Parses form fields and collects their errors."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid, new_id
from shop.base.texts import is_line, is_prose
from shop.base.times import input_time, parse_local_time
from shop.base.values import REQUIRED, read_boolean
from shop.rules.form_values import read_amount, read_number, read_whole
from shop.web.input.request import Request

T = TypeVar("T")
MAX_LINE_LENGTH, MAX_PROSE_LENGTH = 250, 20_000


class Fields:
    """The body of one form. `texts` holds the plain fields as submitted, to render the form again."""

    def __init__(self, request: Request) -> None:
        self._values: Mapping[str, Any] = request.body_params()
        self.texts = {name: value for name, value in self._values.items() if isinstance(value, str)}
        self.errors: dict[str, list[str]] = {}

    def refuse(self, name: str, sentence: str) -> None:
        self.errors.setdefault(name, []).append(sentence)

    def check(self) -> None:
        if self.errors:
            raise Invalid(self.errors)

    def line(self, name: str, *, most: int = MAX_LINE_LENGTH, required: bool = False) -> str:
        text = " ".join(self.texts.get(name, "").split(" ")).strip()
        if required and not text:
            self.refuse(name, REQUIRED)
        if len(text) > most or not is_line(text):
            self.refuse(name, f"must be one line of at most {most} characters")
        return text

    def prose(self, name: str, *, most: int = MAX_PROSE_LENGTH) -> str:
        text = self.texts.get(name, "").replace("\r\n", "\n").strip()
        if len(text) > most or not is_prose(text):
            self.refuse(name, f"must be text of at most {most:,} characters")
        return text

    def flag(self, name: str) -> bool:
        """Returns whether a checkbox is ticked; a browser does not send one that is not."""
        return self._read(name, read_boolean) or False

    def form_id(self) -> UUID:
        """Returns the id that the form has for its new record, so that a repeated submit creates only one."""
        record_id = as_uuid(self.texts.get("id", ""))
        return record_id if record_id and record_id.version == 7 else new_id()

    def choice(self, name: str, choices: Mapping[str, Any]) -> str:
        text = self.texts.get(name, "")
        if text not in choices:
            self.refuse(name, "is not a valid choice")
        return text

    def moment(self, name: str, zone: tzinfo, present: datetime | None = None) -> datetime | None:
        """Parses the value of a `datetime-local` input as a time of the zone. An input that still has the present time
        returns it: with its seconds, and with the right one of two times that clocks show twice.
        """
        if present and self.texts.get(name) == moment_text(present, zone):
            return present
        return self._read(name, lambda text: read_moment(text, zone))

    def whole(self, name: str, *, least: int = -(10**9), required: bool = False) -> int | None:
        return self._read(name, lambda text: read_whole(text, least), required=required)

    def number(self, name: str) -> Decimal | None:
        return self._read(name, read_number)

    def amount(self, name: str, currency: str, *, required: bool = False) -> Decimal | None:
        return self._read(name, lambda text: read_amount(text, currency), required=required)

    def ids(self, name: str) -> list[UUID]:
        """Returns the ids of the ticked checkboxes and skips values that are not ids."""
        values = self._values.get(name, [])
        uuids = [as_uuid(value) for value in values] if isinstance(values, list) else []
        return [value for value in uuids if value is not None]

    def lines(self, name: str) -> list[str]:
        """Returns the values of several inputs with one name, without empty ones."""
        values = self._values.get(name, [])
        texts = [value.strip() for value in values if isinstance(value, str)] if isinstance(values, list) else []
        return [text for text in texts if text]

    def id(self, name: str) -> UUID | None:
        return as_uuid(self.texts.get(name, ""))

    def group(self, name: str) -> dict[str, Any]:
        """Returns the fields named `name[key]` by key."""
        values = self._values.get(name, {})
        return dict(values) if isinstance(values, dict) else {}

    def _read(self, name: str, read: Callable[[str], T], *, required: bool = False) -> T | None:
        text = self.texts.get(name, "").strip()
        if not text:
            if required:
                self.refuse(name, REQUIRED)
            return None
        try:
            return read(text)
        except ValueError as error:
            self.refuse(name, str(error))
            return None


def read_moment(text: str, zone: tzinfo) -> datetime:
    with suppress(ValueError):
        moment = parse_local_time(text, zone)
        if moment.year >= 1900:
            return moment
    raise ValueError("must be a date and time, like 2026-11-15T09:30")


def moment_text(value: datetime | None, zone: tzinfo) -> str:
    """Formats a time for a `datetime-local` input."""
    return input_time(value, zone) if value else ""


def chosen_words(request: Request, name: str) -> list[str]:
    """Returns the values of the selected checkboxes of a group, whose fields are named `name[]`."""
    values = request.body_params().get(name, [])
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def id_of(request: Request, name: str) -> UUID:
    """Returns the record id in the URL path; raises NotFound if it is not an id."""
    record_id = as_uuid(request.path_params[name])
    if record_id is None:
        raise NotFound()
    return record_id


def list_differences(
    labels: Mapping[str, str], submitted: Mapping[str, Any], stored: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the stored values that differ from those of a form, as texts by label."""
    return {
        labels.get(name, name): _describe(value)
        for name, value in stored.items()
        if name in labels and _comparable(value) != _comparable(submitted.get(name))
    }


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\r\n", "\n").strip()
    return set(value) if isinstance(value, list | tuple | frozenset) else value


def _describe(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key}: {text}" for key, text in sorted(value.items()))
        case list() | tuple() | set() | frozenset():
            words = sorted(map(str, value))
            return f"{len(words)} chosen" if any(map(as_uuid, words)) else ", ".join(words)
    return str(value)
