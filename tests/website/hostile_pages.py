"""Hostile input for pages and forms, and what it must never do to a page."""

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote, quote_from_bytes, urlsplit

import httpx2

PROBE = "xss-probe"
"""The name of an element and of a part of an attribute that no page of the website has."""
MARKUP = (
    f'"><{PROBE}>',
    f"'><{PROBE} on{PROBE}=alert(1)>",
    f"</script><script>alert('{PROBE}')</script>",
    f"</textarea></title><{PROBE}>",
    f"--><{PROBE}>",
    f"x' on{PROBE}='alert(1)",
    f'x" on{PROBE}="alert(1)',
    f"javascript:alert('{PROBE}')",
)
# Percent-encoded, as in a query or in the body of a form.
VALUES = {
    "markup 0": quote(MARKUP[0], safe=""),
    "broken UTF-8": "%FF%FE",
    **{f"markup {number}": quote(text, safe="") for number, text in enumerate(MARKUP) if number},
    "template": quote("{{ 1337 * 1337 }}{% for x in (1).__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}"),
    "SQL": quote("' or 1=1; drop table orders; --", safe=""),
    "NUL": "a%00b",
    "line break": "a%0D%0Aset-cookie:%20evil=1%0D%0A%0D%0A<html>",
    "half a character": "%E2%82",
    "overlong UTF-8": quote_from_bytes(b"\xc0\xaf\xc0\xae"),
    "surrogate": quote_from_bytes(b"\xed\xa0\x80"),
    "broken percent sign": "%zz%",
    "control characters": "%07%1B%5B31m%7F%C2%85%E2%80%AE",
    "path": quote("../../../../etc/passwd", safe=""),
    "long text": "x" * 900,
    "combining characters": quote("Z" + "\u0351" * 200),
    "emoji": quote("\N{PILE OF POO}" * 30),
    "huge number": "9" * 400,
    "negative number": "-1",
    "infinity": "1e999",
    "not a number": "NaN",
    "large id": "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "empty": "",
    "space": "%20%09",
    "JSON": quote('{"$gt": ""}', safe=""),
}
# The names of fields in all forms and queries; `{}` is replaced.
NAMES = (
    "q",
    "sort",
    "page",
    "in_stock",
    "price_min",
    "price_max",
    "o[size]",
    "p[color]",
    "variant",
    "image",
    "next",
    "resume",
    "done",
    "confirmed",
    "variant_id",
    "product_id",
    "option[size]",
    "quantity",
    "coupon_code",
    "email",
    "ship_address_id",
    "bill_address_id",
    *(
        f"{side}.{name}"
        for side in ("ship_address", "bill_address")
        for name in ("firstname", "zipcode", "country_iso")
    ),
    "special_instructions",
    "bill_same",
    "intent",
    "rate[x]",
    "method",
    "test_card",
    "gateway_payment_profile_id",
    "cart",
    "total",
    "consent_token",
    "signed_in",
    "code",
    "resend",
    "firstname",
    "lastname",
    "address1",
    "city",
    "zipcode",
    "state_name",
    "country_iso",
    "phone",
    "label",
    "use",
    "name",
    "is_private",
    "is_default",
    "first_name",
    "last_name",
)
# Fields of another shape than the form has.
SHAPES = {
    "list": "{}[]=1&{}[]=2",
    "object": "{}[a]=1",
    "nested object": "{}[a][b][c]=1",
    "twice": "{}=1&{}=2",
    "open bracket": "{}[=1",
    "name only": "{}",
}


def encode(value: str) -> str:
    """Every field with this value, as a query or the body of a form."""
    return "&".join(f"{quote(name, safe='[]')}={value}" for name in NAMES)


def encode_shape(shape: str) -> str:
    plain_names = dict.fromkeys(name.partition("[")[0] for name in NAMES)
    return "&".join(shape.replace("{}", name) for name in plain_names)


class _MarkupParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self._is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        # JSON is no code.
        self._is_code = tag == "script" and not str(values.get("type")).endswith("json") and not values.get("src")
        self.problems += [f"<{tag}>"] if tag == PROBE or self._is_code else []
        self.problems += [f"{tag} {name}" for name in values if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action", "formaction"):
            scheme = urlsplit((values.get(name) or "").strip()).scheme
            self.problems += [f"{tag} {name}={values[name]}"] if scheme not in {"", "http", "https", "mailto"} else []


def find_markup(text: str) -> list[str]:
    """Lists elements and attributes that only a hostile value can have brought into a page."""
    parser = _MarkupParser()
    parser.feed(text)
    return parser.problems


def find_faults(response: httpx2.Response) -> Iterator[str]:
    """Lists what a response to hostile input must not have."""
    if response.status_code >= 500:
        yield f"status {response.status_code}"
    if response.headers.get("content-type", "").startswith("text/html"):
        yield from find_markup(response.text)
        if "1787569" in response.text:
            yield "a template was evaluated"
    if any("evil" in value for _, value in response.headers.multi_items()):
        yield f"headers {response.headers}"
    location = response.headers.get("location", "/")
    if not is_local(location):
        yield f"redirect to {location}"


def is_local(location: str) -> bool:
    """Whether a browser stays on this site, whatever it makes of backslashes and control characters."""
    is_plain = location.isascii() and location.isprintable() and "\\" not in location
    return is_plain and location.startswith("/") and not location.startswith("//") and not urlsplit(location).netloc
