"""How a row of the dashboard's table is made: a page to look at, or a form that changes something."""

import msgspec

from shop.admin.pages import error_page
from shop.admin.session import Gate, Page
from shop.rules.catalog.images import LARGEST_FILE
from shop.web.endpoint import Handler, Route
from shop.web.reply import HTML
from shop.web.request import MAX_PARAMS, PARAMETERS, UPLOAD

_SMALL = 64 * 1024


class Rows:
    """Makes rows whose handlers stand behind the gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def page(self, path: str, handler: Page, summary: str, *, fresh: bool = False) -> Route:
        return row("GET", path, self._gate.page(handler, fresh=fresh), summary)

    def act(
        self,
        path: str,
        handler: Page,
        summary: str,
        *,
        back: str | None = None,
        body_limit: int = _SMALL,
        most_params: int = MAX_PARAMS,
    ) -> Route:
        """With `back` the password must be fresh; that is the page to go on with."""
        made = self._gate.act(handler, back=back)
        return row("POST", path, made, summary, body_limit=body_limit, most_params=most_params)

    def upload(self, path: str, handler: Page, summary: str) -> Route:
        """A form with files: whoever may not send one is turned away before they are read."""
        made = row("POST", path, self._gate.act(handler), summary, body_limit=LARGEST_FILE + _SMALL)
        return msgspec.structs.replace(made, reads=(*PARAMETERS, *UPLOAD), admits=self._gate.admit)


def row(
    method: str,
    path: str,
    handler: Handler,
    summary: str,
    who: str = "operator",
    *,
    body_limit: int = _SMALL,
    most_params: int = MAX_PARAMS,
) -> Route:
    return Route(
        method,
        path,
        handler,
        who,
        summary,
        media=HTML,
        body_limit=body_limit,
        most_params=most_params,
        reads_claim=False,
        draw_error=error_page,
    )
