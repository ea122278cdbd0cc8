"""What an operator may open: the permission of each route, and pages without links and forms that would be refused."""

import re
from collections.abc import Callable, Iterable
from html import unescape
from typing import Any

from shop.rules.access.permissions import SELF
from shop.web.endpoint import Route

CanOpen = Callable[[str, str], bool]
"""Returns whether the operator may call a route, by method and path."""

_NAV = re.compile(r"<nav\b.*?</nav>", re.DOTALL)
_LINK = re.compile(r"<a\b([^>]*)>(.*?)</a>", re.DOTALL)
_FORM = re.compile(r"<form\b([^>]*)>(.*?)</form>", re.DOTALL)
_BUTTON = re.compile(r"<button\b([^>]*)>.*?</button>", re.DOTALL)
_CONTROL = re.compile(r"<(?:select|textarea)\b|<input\b(?![^>]*type=\"(?:hidden|submit)\")")
_CSRF = re.compile(r"<input type=\"hidden\" name=\"csrf\"[^>]*>")
_EMPTY_ITEM = re.compile(r"<li>\s*</li>")
_EMPTY_GROUP = re.compile(r"(?:<p class=\"group\">[^<]*</p>\s*)?<ul>\s*</ul>")
_ATTRIBUTE = re.compile(r"([\w-]+)=\"([^\"]*)\"")


class RoutePermissions:
    """The permissions of routes, found by method and path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._tree: dict[str, Any] = {}
        for route in routes:
            node = self._tree
            for part in route.path.split("/"):
                node = node.setdefault("{}" if part.startswith("{") else part, {})
            node[f" {route.method}"] = route.permission

    def find_permission(self, method: str, path: str) -> str:
        """Returns the permission of a route; pages of other parts of the shop are open."""
        return self._find(self._tree, f" {method}", path.split("/")) or SELF

    def _find(self, node: dict[str, Any], method: str, parts: list[str]) -> str | None:
        if not parts:
            return node.get(method)
        children = [node[name] for name in (parts[0], "{}") if name in node]
        permissions = (self._find(child, method, parts[1:]) for child in children)
        return next((permission for permission in permissions if permission is not None), None)


def hide_forbidden(page: str, path: str, can_open: CanOpen) -> str:
    """Returns a rendered page of ours without what the operator may not do.

    Links become plain text, buttons and menu entries disappear, and the fields of a form are shown but cannot be
    changed. Text of others is escaped in our pages, so that their tags are all written by our templates.
    """
    page, disabled_forms = _disable_forms(page, path, can_open)
    page = _BUTTON.sub(lambda match: _check_button(match, disabled_forms, can_open), page)
    page = _NAV.sub(lambda match: _LINK.sub(lambda link: _check_link(link, can_open, ""), match[0]), page)
    page = _LINK.sub(lambda link: _check_link(link, can_open, link[2]), page)
    return _EMPTY_GROUP.sub("", _EMPTY_ITEM.sub("", page))


def _disable_forms(page: str, path: str, can_open: CanOpen) -> tuple[str, set[str]]:
    disabled_forms: set[str] = set()

    def check_form(match: re.Match[str]) -> str:
        attributes = _attributes(match[1])
        method = attributes.get("method", "get").upper()
        if can_open(method, _path_of(attributes.get("action") or path)):
            return match[0]
        if "id" in attributes:
            disabled_forms.add(attributes["id"])
        fields = _CSRF.sub("", _BUTTON.sub("", match[2]))
        if method == "GET" or not _CONTROL.search(fields):
            return ""
        return f"<fieldset disabled>{fields}</fieldset>"

    return _FORM.sub(check_form, page), disabled_forms


def _check_button(match: re.Match[str], disabled_forms: set[str], can_open: CanOpen) -> str:
    attributes = _attributes(match[1])
    target = attributes.get("formaction")
    if attributes.get("form") in disabled_forms or (target and not can_open("POST", _path_of(target))):
        return ""
    return match[0]


def _check_link(match: re.Match[str], can_open: CanOpen, text: str) -> str:
    attributes = _attributes(match[1])
    if can_open("GET", _path_of(attributes.get("href", ""))):
        return match[0]
    return "" if "button" in attributes.get("class", "").split() else text


def _attributes(text: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}


def _path_of(address: str) -> str:
    return re.split(r"[?#]", address, maxsplit=1)[0]
