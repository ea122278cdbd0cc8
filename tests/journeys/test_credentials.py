"""Every route with every kind of credential, over HTTP: the response is the one in `docs/generated/credentials.md`."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token
from shop.base.crypto.secrets import OPERATOR_LINK, new_secret, secret_hash
from shop.cli.access.credentials import KINDS, OK, OPEN, OWN, WEBSITE, answer_to
from shop.cli.routes import every_route
from shop.gateways.test_card import TestCard as Card
from shop.platform.collection import Collection
from shop.platform.resources.registry import COLLECTIONS
from shop.rules.access.operators import csrf_token
from shop.rules.access.permissions import OWNER_ID
from shop.web.endpoint import Route
from shop.web.input.request import LINES, UPLOAD
from tests.accounts import Member, new_email, sign_in
from tests.admin.dashboard import COOKIE, PASSWORD, SAME_ORIGIN, UNKNOWN_ID, new_operator, new_role, new_session
from tests.builders import Make
from tests.checkout_builders import Buyer
from tests.http_client import SharedTransport
from tests.journeys.sales import Sales
from tests.platform.builders import builder_of, new_body, sample, upload_of
from tests.platform.bulk import to_ndjson
from tests.platform.client import Machine, ask_for_token, new_app, new_machine
from tests.platform.customers.test_addresses import PARIS
from tests.sampling import common_cases, first
from tests.service import KEYS, Service
from tests.shopper import PREFIX as STORE
from tests.shopper import Shopper

Headers = dict[str, str]
PLATFORM = "/api/v2/platform"


def bearer(token: str) -> Headers:
    return {"Authorization": f"Bearer {token}"}


def operators_cookie(secret: str) -> Headers:
    return {"Cookie": f"{COOKIE}={secret}"}


def api_of(route: Route) -> str:
    return "admin" if route.path.startswith("/admin") else "platform" if "application" in route.who else "storefront"


def collection_of(route: Route) -> Collection:
    """The collection with the longest path that the address begins with, after the prefix of its API."""
    address = "/".join(route.path.split("/")[4:]) + "/"
    return max(
        (each for each in COLLECTIONS.values() if address.startswith(f"{each.path}/")), key=lambda c: len(c.path)
    )


class CredentialSetup:
    """Callers of every kind, and the records that the first of each kind owns."""

    def __init__(self, http: httpx2.AsyncClient, db: Any) -> None:
        self.http = http
        self.db = db
        self.headers_by_kind: dict[str, dict[str, Headers]] = {}
        self.parent_id = ""
        self.records: dict[str, str] = {}
        """One of each collection of the platform, until it is removed."""
        self.user: Member
        self.writer: Machine
        self.sales: Sales
        self.card: Card
        self.wishlist = ""
        """The token of the newest list."""
        self.line_id = ""
        """The line in the cart of the caller."""
        self.status_token = ""
        """The order token of the newest order."""

    async def fill(self) -> None:
        http, db = self.http, self.db
        self.user, other, expired_user, revoked_user = [await sign_in(http) for _ in range(4)]
        self.user_id = await self.user.id()
        self.app, self.order_token = await new_app(db), await self.new_order_token()
        self.app_token = (await ask_for_token(http, self.app, "read")).json["access_token"]
        self.writer, reader, expired_app, revoked_app = [
            await new_machine(http, db, level) for level in ("write", "read", "write", "write")
        ]
        self.sales = Sales(http, self.writer, db)
        for token in (expired_user.access_token, expired_app.access_token):
            await db.execute("update access_tokens set expires_at = now() where hash = $1", secret_hash(token))
        await http.post("/shop_oauth/revoke", json={"token": revoked_user.access_token})
        ends = (
            "update sessions set revoked_at = now() where id = (select session_id from access_tokens where hash = $1)"
        )
        await db.execute(ends, secret_hash(revoked_app.access_token))
        common = {
            "none": {},
            "junk": bearer("junk"),
            "user": bearer(self.user.access_token),
            "other user": bearer(other.access_token),
            "read application": bearer(reader.access_token),
            "write application": bearer(self.writer.access_token),
        }
        self.headers_by_kind = {
            "storefront": {
                **common,
                "expired": bearer(expired_user.access_token),
                "revoked": bearer(revoked_user.access_token),
            },
            "platform": {
                **common,
                "expired": bearer(expired_app.access_token),
                "revoked": bearer(revoked_app.access_token),
            },
            "admin": {**common, "junk": operators_cookie("junk")},
        }

    async def headers(self, route: Route, kind: str) -> Headers:
        api = api_of(route)
        if kind in {"order token", "other order token"}:
            if "/order_status/" in route.path and kind == "order token":
                return {"X-Shop-Order-Token": self.status_token}
            is_own = "/cart" in route.path or "/checkout" in route.path
            return {"X-Shop-Order-Token": await self.new_order_token() if is_own else self.order_token}
        if kind.startswith("operator") or (api == "admin" and kind in {"expired", "revoked"}):
            return operators_cookie(await self.operator_session(kind))
        return self.headers_by_kind[api][kind]

    async def new_order_token(self) -> str:
        guest = Shopper(self.http)
        await guest.post("/cart")
        return guest.order_token or ""

    async def operator_session(self, kind: str) -> str:
        role_id = await new_role(self.db) if kind == "operator without permissions" else OWNER_ID
        operator_id, _ = await new_operator(self.db, role_id=role_id)
        secret = await new_session(self.db, operator_id)
        age = {"expired": "seen_at = seen_at - interval '90 days'", "revoked": "revoked_at = now()"}
        if kind in age:
            statement = f"update operator_sessions set {age[kind]} where hash = $1"
            await self.db.execute(statement, secret_hash(secret))
        return secret

    async def path_of(self, route: Route) -> str:
        """The path of the route with the ids of records that the rightful caller owns."""
        path = route.path
        for name, find in self._finders(route).items():
            if f"{{{name}" in path:
                value = str(await find())
                path = path.replace(f"{{{name}}}", value).replace(f"{{{name}*}}", value)
        if route.path.startswith("/admin"):
            # The records of these pages do not matter here, only who may open them.
            path = re.sub(r"\{\w+\}", UNKNOWN_ID, path)
        assert "{" not in path, f"add a finder for the parameters of {route.path} to {__file__}"
        return path

    def _finders(self, route: Route) -> dict[str, Any]:
        if route.path.startswith(PLATFORM):
            return {"id": lambda: self._record(route)}
        if "/sessions/" in route.path and route.path.startswith(STORE):
            return {"id": self._session}
        if route.path.startswith(f"{STORE}/wishlists/"):
            return {"wishlist_token": self._wishlist, "item_id": self._wished_item}
        if "/credit_cards/" in route.path:
            return {"id": self._card}
        if route.path.startswith((f"{STORE}/cms_pages/", f"{STORE}/policies/", f"{STORE}/menus/")):
            return dict.fromkeys(("id", "slug"), lambda: self._public_record(route))
        return {
            "id": self._address,
            "number": self._order,
            "user_id": self._customer,
            "session_id": self._session,
            "application_id": self._application,
            "operator_id": self._operator,
            "name": self._asset,
            "key": self._image,
            "token": self._token,
            "slug": self._product,
            "permalink": self._taxon,
            "iso": self._country,
            "code": self._shop,
            "provider": self._provider,
            "section": self._section,
            "client_secret": self._client_secret,
        }

    async def _section(self) -> str:
        return "storefront-cart"

    async def _record(self, route: Route) -> str:
        collection = collection_of(route)
        verb = route.path.partition("{id}/")[2]
        if verb and verb != "reposition":
            return await self.sales.record(collection.path, verb)
        if route.method == "DELETE" and collection.path == "payments":
            return await self.sales.void_payment()
        if route.method == "DELETE" or collection.path not in self.records:
            (self.records[collection.path],) = await sample(self.writer, self.db, collection, 1)
        record_id = self.records[collection.path] if route.method != "DELETE" else self.records.pop(collection.path)
        if route.path.endswith("/reposition"):
            record = await self.writer.get(f"/{collection.path}/{record_id}")
            self.parent_id = record.json["data"]["relationships"]["parent"]["data"]["id"]
        return record_id

    async def _public_record(self, route: Route) -> str:
        collection = collection_of(route)
        return (await sample(self.writer, self.db, collection, 1))[0]

    async def _address(self) -> str:
        return (await self.user.post("/account/addresses", address=PARIS)).id

    async def _card(self) -> UUID:
        card_id, checkout_setup = uuid4(), await self.sales.checkout_setup()
        await self.db.execute(
            "insert into payment_sources (id, user_id, payment_method_id, used_at, created_at, updated_at)"
            " values ($1, $2, $3, now(), now(), now())",
            card_id,
            self.user_id,
            UUID(checkout_setup.card),
        )
        return card_id

    async def _order(self) -> str:
        order = await self.writer.post("/orders", {"order": {}})
        statement = "update orders set user_id = $2, completed_at = now(), state = 'complete' where id = $1"
        await self.db.execute(statement, order.id, self.user_id)
        self.status_token = order_token(parse_keys(KEYS), UUID(order.id), 0)
        return str(order["number"])

    async def _session(self) -> UUID:
        session_id = uuid4()
        await self.db.execute(
            "insert into sessions (id, user_id, source, created_at, refreshed_at, idle_expires_at, absolute_expires_at)"
            " values ($1, $2, '', now(), now(), now() + interval '1 day', now() + interval '1 day')",
            session_id,
            self.user_id,
        )
        return session_id

    async def _customer(self) -> str:
        return (await self.writer.post("/users", {"user": {"email": new_email()}})).id

    async def _wishlist(self) -> str:
        """A public wishlist: other users may read it, and still not change it."""
        wishlist = await self.user.post("/wishlists", name="Birthday", is_private=False)
        self.wishlist = str(wishlist["token"])
        return self.wishlist

    async def _wished_item(self) -> str:
        mug = await self.sales.mug()
        return (await self.user.post(f"/wishlists/{self.wishlist}/add_item", variant_id=mug.variant_id)).id

    async def _application(self) -> UUID:
        return (await new_app(self.db)).id

    async def _operator(self) -> UUID:
        return (await new_operator(self.db))[0]

    async def _image(self) -> str:
        image = await self.writer.ask("POST", "/images", **await upload_of(self.writer))
        return str(image["original_url"]).partition("/media/")[2]

    async def _asset(self) -> str:
        return "admin.css"

    async def _product(self) -> str:
        return (await Make(self.writer).product()).slug

    async def _taxon(self) -> str:
        return (await Make(self.writer).taxonomy())[1]

    async def _country(self) -> str:
        return "us"

    async def _shop(self) -> str:
        return "default"

    async def _provider(self) -> str:
        return "test_card"

    async def _client_secret(self) -> str:
        buyer = Buyer(self.http, await self.sales.checkout_setup())
        await buyer.ready((await self.sales.mug(), 1), source="confirm")
        return str((await buyer.complete()).json["client_secret"])

    async def _token(self) -> str:
        return new_secret(OPERATOR_LINK)

    async def body(self, route: Route, headers: Headers) -> dict[str, Any]:  # noqa: PLR0911  One line a kind of route.
        """A body that the rightful caller would send."""
        if route.path.endswith("/remove_items"):
            return {"json": {"wished_items_ids": [UNKNOWN_ID]}}
        if route.method not in {"POST", "PATCH", "PUT"}:
            return {}
        if route.path.startswith("/admin"):
            secret = headers.get("Cookie", "").partition("=")[2]
            token = csrf_token(parse_keys(KEYS), secret_hash(secret))
            # A new address each time: otherwise the limit of attempts would answer.
            return {"data": {"csrf": token, "password": PASSWORD, "email": new_email()}}
        if route.path.startswith("/payment_notices/"):
            return {"json": {}}
        if route.path.startswith("/test_card/"):
            return {"json": {"decision": "confirm"}}
        if "oauth/" in route.path:
            grant = {"grant_type": "client_credentials", "scope": "read"} if route.path.endswith("/token") else {}
            return {"json": {"token": self.app_token, **self.app.in_body, **grant}}
        if route.path.endswith("/reposition"):
            kind = "taxon" if "/taxons/" in route.path else "menu_item"
            return {"json": {kind: {"new_parent_id": self.parent_id, "new_position_idx": 0}}}
        if route.reads is UPLOAD:
            return await upload_of(self.writer)
        if route.reads is LINES:
            return {"content": to_ndjson([{}])}
        if route.path == f"{PLATFORM}/refunds":
            payment_id = await self.sales.payment("void")
            return {"json": {"refund": {"payment_id": payment_id, "amount": "1.0", "reason": "late"}}}
        if "{id}/" in route.path and route.path.startswith(PLATFORM):
            is_shipment_change = "item" in route.path or "transfer" in route.path
            return {
                "json": self.sales.shipment_change if is_shipment_change else await self.sales.verb_body(route.path)
            }
        if route.path.startswith(PLATFORM):
            collection = collection_of(route)
            name = collection.resource.type
            return {
                "json": await new_body(self.writer, collection)
                if route.method == "POST"
                else {name: builder_of(collection).change}
            }
        bodies = {
            f"{STORE}/auth": {"user": {"email": new_email()}},
            f"{STORE}/cart": {},
            f"{STORE}/cart/associate": {"guest_order_token": await self.new_order_token()},
            f"{STORE}/account": {"user": {"first_name": "Ada"}},
            f"{STORE}/account/addresses": {"address": PARIS},
            f"{STORE}/account/addresses/{{id}}": {"address": {"label": "home"}},
            f"{STORE}/cart/set_quantity": {"line_item_id": self.line_id, "quantity": 2},
            **{f"{STORE}{path}": body for path, body in (await self.sales.bodies()).items()},
        }
        assert route.path in bodies, f"add the body of {route.method} {route.path} to {__file__}"
        return {"json": bodies[route.path]}

    async def _prepare_cart(self, route: Route, path: str, headers: Headers, *, is_owner: bool) -> str:
        """Fills the cart of the caller if the route needs one; returns the path, with a code or a line of that cart."""
        if route.path.removeprefix(STORE) in {"/cart"} or "/order_status/" in route.path:
            return path

        async def ask(method: str, address: str, body: dict[str, Any] | None) -> httpx2.Response:
            return await self.http.request(method, STORE + address, headers=headers, json=body)

        self.line_id = await self.sales.fill(ask)
        if "store_credit" in path and "Authorization" in headers:
            await self.sales.grant_credit(self.db, self.line_id)
        if "apply_coupon_code" in path:
            await ask("DELETE", f"/cart/remove_coupon_code/{await self.sales.code()}", None)
        if "remove_coupon_code" in path and is_owner:
            await ask("PATCH", "/cart/apply_coupon_code", {"coupon_code": await self.sales.code()})
            return path.replace("/default", f"/{await self.sales.code()}")
        if "remove_line_item" in path and is_owner:
            return path.replace(path.rpartition("/")[2], self.line_id)
        return path

    async def call(self, route: Route, path: str, kind: str) -> httpx2.Response:
        headers = await self.headers(route, kind)
        if kind == "user" and route.path.startswith(f"{STORE}/cart"):
            await self.user.post("/cart")
        if route.who == "order token or user" and answer_to(route, kind) in {OK, OWN}:
            path = await self._prepare_cart(route, path, headers, is_owner=answer_to(route, kind) == OK)
        body = await self.body(route, headers)
        if route.path.startswith("/payment_notices/"):
            headers = {**headers, "X-Test-Card-Signature": self.card.sign(b"{}").decode()}
        request_headers = {**headers, **SAME_ORIGIN} | ({"Content-Type": LINES[0]} if route.reads is LINES else {})
        if route.sends_events:
            async with self.http.stream(route.method, path, headers=request_headers) as response:
                # An open stream does not end.
                return httpx2.Response(response.status_code)
        return await self.http.request(route.method, path, headers=request_headers, **body)


@pytest.fixture(scope="module")
async def credential_setup(
    service: Service, database_url: str, shared_transport: SharedTransport
) -> AsyncIterator[CredentialSetup]:
    connection = await asyncpg.connect(database_url)
    async with service.client(transport=shared_transport) as client:
        setup = CredentialSetup(client, connection)
        setup.card = Card(Path(service.environ["SHOP_DATA_DIR"]) / "test_card")
        await setup.fill()
        yield setup
    await connection.close()


# All kinds use the same record: first those that are refused, then those that see only their own, then the allowed.
ORDER = {"401": 0, "403": 0, OWN: 1, OK: 2, OPEN: 2}
SHOPPERS = ("user", "other user", "order token", "other order token")
APPLICATIONS = ("read application", "write application")
# Credentials of other APIs: an API treats them all alike.
FOREIGN_KINDS = {"storefront": APPLICATIONS, "platform": SHOPPERS, "admin": SHOPPERS + APPLICATIONS}


def kinds_for(route: Route, is_whole: bool) -> list[str]:
    """Every kind, or only one of the kinds that the API treats alike; which one changes from route to route."""
    foreign_kinds = [] if is_whole else [kind for kind in FOREIGN_KINDS[api_of(route)] if answer_to(route, kind) != OK]
    if not is_whole and answer_to(route, "none") == OPEN:
        foreign_kinds = list(KINDS)
    alike = {answer: [kind for kind in foreign_kinds if answer_to(route, kind) == answer] for answer in ORDER}
    number = [(each.method, each.path) for each in every_route()].index((route.method, route.path))
    skipped_kinds = {kind for kinds in alike.values() for kind in kinds if kind != kinds[number % len(kinds)]}
    return sorted(set(KINDS) - skipped_kinds, key=lambda kind: (ORDER[answer_to(route, kind)], KINDS.index(kind)))


def common_routes_first() -> list[Any]:
    """Every fortieth page of the dashboard, every fourth route of shoppers and all of the checkout, and a collection of
    the platform; the torture tests include the others.
    """
    pages = [route for route in every_route() if route.path.startswith("/admin")][::40]
    others = [
        route for route in every_route() if route.who != WEBSITE and not route.path.startswith(("/admin", PLATFORM))
    ][::4]

    def is_common(route: Route) -> bool:
        if route.path.startswith(PLATFORM):
            return route.path.split("/")[4] == "orders"
        return route in pages or route in others or route.path.startswith(f"{STORE}/checkout")

    return common_cases([route for route in every_route() if route.who != WEBSITE], is_common)


@pytest.mark.security("T-11", "C-01", "P-03")
@pytest.mark.parametrize(
    "is_whole", first(1, [False, True]), ids=lambda whole: "all" if whole else "one of each response"
)
@pytest.mark.parametrize("route", common_routes_first(), ids=lambda route: f"{route.method} {route.path}")
async def test_every_route_responds_to_every_credential_as_documented(
    credential_setup: CredentialSetup, route: Route, is_whole: bool
) -> None:
    path = await credential_setup.path_of(route)
    anonymous_status = (
        (await credential_setup.call(route, path, "none")).status_code if answer_to(route, "none") == OPEN else 0
    )

    for kind in kinds_for(route, is_whole):
        response = await credential_setup.call(route, path, kind)

        expected, status = answer_to(route, kind), response.status_code
        message = f"{kind}: {status}, expected {expected}\n{response.text[:300]}"
        assert status < 500, message
        if expected == OPEN:
            assert status == anonymous_status, message
            assert status == route.status or route.path.startswith("/admin"), message
        elif expected == OK and kind == "order token" and route.path.endswith("/add_store_credit"):
            assert status == 422, message  # Only the customer may use their store credit.
        elif expected == OK:
            assert status not in {401, 403}, message
            assert status == route.status or route.path.startswith("/admin"), message
        elif expected == OWN:
            # A coupon code has no owner, and is not on their cart.
            is_not_on_cart = ("remove_coupon_code" in route.path or "store_credit" in route.path) and status == 422
            assert status == 404 or is_not_on_cart or (status == route.status and "{" not in route.path), message
            assert str(credential_setup.user_id) not in response.text, message
            assert credential_setup.user.email not in response.text, message
        else:
            assert status == int(expected), message


def test_a_route_with_undocumented_credentials_is_an_error() -> None:
    with pytest.raises(Exception, match="unknown caller"):
        answer_to(Route("GET", "/", every_route()[0].handler, "unknown caller", ""), "none")
