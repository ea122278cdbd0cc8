"""A shopper's browser without scripts: it keeps cookies, and sends forms as they are on the page."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx2
import msgspec

from tests.accounts import Member, mailed_code, new_email

SESSION, REFRESH = "__Host-shop_session", "__Host-shop_refresh"
CART, COUNT, ORDER = "__Host-shop_cart", "__Host-shop_count", "__Host-shop_order"
PAYMENT = "__Host-shop_payment"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


class Form(msgspec.Struct):
    """A form of a page, with the fields that a browser would send if nothing was entered."""

    action: str
    method: str
    tool: str
    fields: list[tuple[str, str]] = []
    attributes: dict[str, dict[str, str | None]] = {}
    """The attributes of each named control."""

    def __getitem__(self, name: str) -> str:
        return dict(self.fields)[name]


class _FormParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._select: str | None = None
        self._has_option = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "form":
            action, method = values.get("action") or "", values.get("method") or "get"
            self._form = Form(action, method, values.get("toolname") or "", [], {})
            self.forms.append(self._form)
        elif self._form is not None and tag in {"input", "select", "textarea", "option"}:
            self._add_control(self._form, tag, values)

    def _add_control(self, form: Form, tag: str, values: dict[str, str | None]) -> None:
        name, value = values.get("name"), values.get("value") or ""
        if tag == "option":
            # The first option, until a later one is selected.
            if self._select is not None and ("selected" in values or not self._has_option):
                form.fields = [pair for pair in form.fields if pair[0] != self._select]
                form.fields.append((self._select, value))
                self._has_option = True
            return
        if name is None:
            return
        form.attributes[name] = values
        if tag == "select":
            self._select, self._has_option = name, False
        elif values.get("type") not in {"checkbox", "radio"} or "checked" in values:
            if values.get("type") == "radio":
                # Of the buttons with one name, the last checked one is.
                form.fields = [pair for pair in form.fields if pair[0] != name]
            form.fields.append((name, value))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        if tag == "select":
            self._select = None


class VisitedPage:
    """A response of the website."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.text = response.text
        self.headers = response.headers
        self.location = str(response.headers.get("location", ""))

    @property
    def cookies(self) -> dict[str, str]:
        """The Set-Cookie headers by the name of their cookie."""
        return {value.partition("=")[0]: value for value in self.response.headers.get_list("set-cookie")}

    @property
    def forms(self) -> list[Form]:
        parser = _FormParser()
        parser.feed(self.text)
        return parser.forms

    def form(self, tool: str, action: str = "") -> Form:
        """The first form with this tool name, to this address if one is given."""
        return next(form for form in self.forms if form.tool == tool and action in ("", form.action))

    def __repr__(self) -> str:
        return f"<{self.status} {self.location} {self.text[:3000]}>"


class Visitor:
    """One shopper in one browser."""

    def __init__(self, http: httpx2.AsyncClient, **cookies: str) -> None:
        self.http = http
        self.cookies = cookies

    async def get(self, path: str, **headers: str) -> VisitedPage:
        return await self._ask("GET", path, headers)

    async def post(
        self, path: str, fields: Mapping[str, Any] | list[tuple[str, str]] | None = None, **headers: str
    ) -> VisitedPage:
        """Sends a form of our own pages; other headers may say otherwise."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode(fields or {})
        return await self._ask("POST", path, {**SAME_ORIGIN, **form, **headers}, content=body)

    async def submit(self, page: VisitedPage, tool: str, *, action: str = "", **entries: str) -> VisitedPage:
        """Fills in a form of the page, found by its tool name, and sends it."""
        form = page.form(tool, action)
        assert form.method == "post", form
        fields = [(name, value) for name, value in form.fields if name not in entries]
        return await self.post(form.action, [*fields, *entries.items()])

    async def follow(self, page: VisitedPage) -> VisitedPage:
        assert page.status == 303, page
        return await self.get(page.location)

    async def _ask(self, method: str, path: str, headers: Mapping[str, str], **options: Any) -> VisitedPage:
        cookie = (
            {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        )
        page = VisitedPage(await self.http.request(method, path, headers={**cookie, **headers}, **options))
        for name, text in page.cookies.items():
            value, *attributes = text.partition("=")[2].split("; ")
            if "Max-Age=0" in attributes:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return page

    async def sign_in(self, email: str | None = None, next_path: str = "/account") -> str:
        """Signs in with the code of an e-mail; returns the address."""
        address = email or new_email()
        page = await self.get(f"/sign-in?next={next_path}")
        page = await self.submit(page, "request_sign_in_code", email=address)
        page = await self.submit(page, "sign_in", code=await mailed_code(self.http, address))
        assert page.status == 303, page
        return address


def signed_in_visitor(member: Member) -> Visitor:
    """The browser of a member, who signed in over the API."""
    return Visitor(member.http, **{SESSION: member.access_token, REFRESH: member.refresh_token})
