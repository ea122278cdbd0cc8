"""Cookies of the dashboard and the website."""

from shop.web.input.request import Request
from shop.web.reply import Header

OPERATOR_COOKIE = "__Host-shop_operator"
"""The session of the dashboard; the website reads it only to show operators their own changes at once."""


def read_cookies(request: Request) -> dict[str, str]:
    """Returns the cookies by name. A name that was sent with two values is omitted: someone else set one of them."""
    header = b";".join(value for name, value in request.scope["headers"] if name == b"cookie").decode("latin-1")
    values: dict[str, set[str]] = {}
    for part in header.split(";"):
        # Not other white space: browsers do not strip it, and so let another host set a cookie like "\xa0__Host-x".
        name, _, value = part.strip(" \t").partition("=")
        values.setdefault(name, set()).add(value)
    return {name: each.pop() for name, each in values.items() if len(each) == 1}


def set_cookie(
    name: str, value: str, *, same_site: str, max_age: int | None = None, is_readable: bool = False
) -> Header:
    """Builds a cookie that only this host receives, over a secure connection; `is_readable` lets scripts read it."""
    age = "" if max_age is None else f"; Max-Age={max_age}"
    http_only = "" if is_readable else "; HttpOnly"
    return (b"set-cookie", f"{name}={value}{age}; Path=/; Secure{http_only}; SameSite={same_site}".encode())


def delete_cookie(name: str, *, same_site: str) -> Header:
    return set_cookie(name, "", same_site=same_site, max_age=0)
