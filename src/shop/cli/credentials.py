"""Generates `docs/credentials.md`: the response of every route to every kind of credential."""

from collections.abc import Mapping, Sequence

from shop.base.errors import CannotStart
from shop.cli.order_token_table import order_token_section
from shop.web.endpoint import Route

KINDS = (
    "none",
    "junk",
    "expired",
    "revoked",
    "user",
    "other user",
    "order token",
    "other order token",
    "read application",
    "write application",
    "operator",
)
OPEN, OK, OWN, UNAUTHORIZED, FORBIDDEN = "open", "ok", "own", "401", "403"

_STRANGERS = dict.fromkeys(KINDS, UNAUTHORIZED)
_RULES: Mapping[str, Mapping[str, str]] = {
    "nothing is read": dict.fromkeys(KINDS, OPEN),
    # An invalid bearer token is rejected even where none is needed, so that clients learn that their session ended.
    "anyone": dict.fromkeys(KINDS, OK)
    | dict.fromkeys(("junk", "expired", "revoked", "read application", "write application"), UNAUTHORIZED),
    "order token or user": _STRANGERS | {"user": OK, "other user": OWN, "order token": OK, "other order token": OWN},
    "user": _STRANGERS | {"user": OK, "other user": OWN},
    "application: read": _STRANGERS | {"read application": OK, "write application": OK},
    "application: write": _STRANGERS | {"read application": FORBIDDEN, "write application": OK},
    "operator": _STRANGERS | {"operator": OK},
    # The form is verified first, so that a forged one learns nothing about sessions.
    "operator, by a form": dict.fromkeys(KINDS, FORBIDDEN)
    | {"expired": UNAUTHORIZED, "revoked": UNAUTHORIZED, "operator": OK},
}
_ABOUT = """# Who is let in

Every route, and its answer to every kind of credential. Made by `shop routes --credentials` from the routes; a test
compares it with that, and another walks it over HTTP.

| answer | is |
|---|---|
| `open` | the same for everybody: no credential is read |
| `ok` | the caller is let in |
| `own` | the caller is let in to what is their own; another's is 404, as if it were not there |
| `401` | who are you |
| `403` | we know, and you may not; or a form that is not of this session |

*Junk*, *expired* and *revoked* are of the kind that the route takes: a user's token, a platform token, an operator's
cookie. *User* and *order token* are the rightful ones, *other user* and *other order token* someone else's. Where
tokens are given out, an application shows its client id and secret instead.

"""


def answer_to(route: Route, kind: str) -> str:
    """Returns the response of a route to a kind of credential."""
    rule = route.who
    if route.who == "anyone" and not route.reads_claim:
        rule = "nothing is read"
    if route.who == "operator" and route.method == "POST":
        rule = "operator, by a form"
    if rule not in _RULES:
        raise CannotStart(f"{route.method} {route.path} is for {rule!r}, which cli/credentials.py has no row for.")
    return _RULES[rule][kind]


def credential_page(routes: Sequence[Route]) -> str:
    """Returns the whole page as Markdown."""
    head = ["method", "address", "who may call", *KINDS]
    rows = [head, ["---"] * len(head)]
    rows += [
        [route.method, f"`{route.path}`", route.who, *(answer_to(route, kind) for kind in KINDS)] for route in routes
    ]
    return _ABOUT + "".join(f"| {' | '.join(row)} |\n" for row in rows) + order_token_section(routes)
