"""Reads the links and forms of a dashboard page as a browser does, without scripts."""

from html.parser import HTMLParser
from typing import Any

import msgspec


class PageForm(msgspec.Struct):
    """A form with the values that it has, and its first button."""

    action: str
    fields: dict[str, Any] = {}
    """The values by name; a list for a name that ends with `[]`."""
    counts: list[str] = []
    """The names of empty fields for a number of units."""
    texts: list[str] = []
    """The names of empty fields that are required."""
    button: tuple[str, str] | None = None


class _PageReader(HTMLParser):
    """Collects what is inside of the main part of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.links: list[str] = []
        self._is_main = False
        self._form: PageForm | None = None
        self._select = ""
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._is_main = self._is_main or tag == "main"
        if not self._is_main:
            return
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "form":
            self._form = PageForm(values["action"])
            if values.get("method") == "post":
                self.forms.append(self._form)
        elif self._form:
            self._read_control(self._form, tag, values)

    def _read_control(self, form: PageForm, tag: str, values: dict[str, str]) -> None:
        name = values.get("name", "")
        if name.endswith("[]"):
            if "checked" in values or values.get("type") == "hidden":
                form.fields.setdefault(name, []).append(values["value"])
        elif tag == "input" and (values.get("type") not in {"checkbox", "radio"} or "checked" in values):
            form.fields[name] = values.get("value", "")
            if not form.fields[name] and values.get("type") == "number":
                form.counts.append(name)
            elif not form.fields[name] and "required" in values:
                form.texts.append(name)
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and (self._select not in form.fields or "selected" in values):
            form.fields[self._select] = values.get("value", "")
        elif tag == "textarea":
            self._area, form.fields[name] = name, ""
            form.texts += [name] * ("required" in values)
        elif tag == "button" and form.button is None:
            form.button = (name, values.get("value", ""))

    def handle_data(self, data: str) -> None:
        if self._form and self._area:
            self._form.fields[self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""
        elif tag == "main":
            self._is_main = False


def read_page(page: str) -> tuple[list[str], list[PageForm]]:
    """Returns the links and the forms that change something."""
    reader = _PageReader()
    reader.feed(page)
    return reader.links, reader.forms
