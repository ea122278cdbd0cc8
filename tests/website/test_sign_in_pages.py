"""Sign-in with a code, sign-out, and forms that were sent after the session ended."""

import re
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from shop.website.account.access import MAX_FORM_SIZE
from shop.website.account.routes import ACCOUNT_ROUTES
from tests.accounts import Member, mailed_code, new_email, sign_in
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.shopper import Shopper
from tests.website.visitor import CART, COUNT, ORDER, REFRESH, SESSION, Visitor, signed_in_visitor

UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"
PAGES = sorted(route.path for route in ACCOUNT_ROUTES if route.method == "GET" and route.path.startswith("/account"))
FORMS = sorted(route.path for route in ACCOUNT_ROUTES if route.method == "POST" and route.path.startswith("/account"))
ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "/%09/evil.example\n",
    "javascript:alert(1)",
    "evil.example",
    "/account/../admin",
    "/account//evil.example",
    "/admin/orders",
    "/api/v2/storefront/account",
    "/sign-in",
    "/account?\r\nset-cookie: a=b",
    "",
]


def fill_path(path: str) -> str:
    return re.sub(r"\{\w+\}", UNKNOWN_ID, path)


@pytest.fixture
def visitor(http: httpx2.AsyncClient) -> Visitor:
    return Visitor(http)


async def end_sessions(db: Any, member: Member) -> None:
    await db.execute("update sessions set revoked_at = now() where user_id = $1", await member.id())


async def expire_access_tokens(db: Any, member: Member) -> None:
    """As if a day had passed: the refresh token is still valid."""
    await db.execute(
        """update access_tokens set expires_at = now() - interval '1 second'
        where session_id in (select id from sessions where user_id = $1)""",
        await member.id(),
    )


async def add_to_guest_cart(guest: Shopper, variant_id: str, quantity: int = 1) -> None:
    await guest.post("/cart")
    assert (await guest.post("/cart/add_item", variant_id=variant_id, quantity=quantity)).status == 200


async def test_a_shopper_signs_in_with_the_code_from_the_e_mail(visitor: Visitor) -> None:
    email = new_email()
    page = await visitor.submit(await visitor.get("/sign-in"), "request_sign_in_code", email=email)

    page = await visitor.submit(page, "sign_in", code=await mailed_code(visitor.http, email))

    assert (page.status, page.location) == (303, "/account")
    assert email in (await visitor.get("/account")).text
    for name in (SESSION, REFRESH):
        assert re.search(r"; Max-Age=\d+; Path=/; Secure; HttpOnly; SameSite=Lax$", page.cookies[name])


async def test_the_code_field_can_be_filled_by_a_phone_and_is_named_and_focused(visitor: Visitor) -> None:
    page = await visitor.submit(await visitor.get("/sign-in"), "request_sign_in_code", email=new_email())

    control = page.form("sign_in").attributes["code"]

    assert page.status == 200
    assert (control["autocomplete"], control["inputmode"]) == ("one-time-code", "numeric")
    assert "autofocus" in control
    assert '<label for="code">' in page.text
    assert re.search(r'<button class="link-button" data-resend-seconds="\d+">', page.text)
    assert 'href="/mailbox"' in page.text


async def test_a_wrong_code_is_explained_at_its_field_and_the_right_one_still_works(visitor: Visitor) -> None:
    email = new_email()
    page = await visitor.submit(await visitor.get("/sign-in"), "request_sign_in_code", email=email)
    code = await mailed_code(visitor.http, email)

    page = await visitor.submit(page, "sign_in", code="000000" if code != "000000" else "000001")

    control = page.form("sign_in").attributes["code"]
    assert page.status == 401
    assert SESSION not in page.cookies
    assert control["aria-invalid"] == "true"
    assert "code-error" in (control["aria-describedby"] or "").split()
    assert 'id="code-error">This code is wrong' in page.text
    assert "autofocus" in control
    assert (await visitor.submit(page, "sign_in", code=code)).status == 303


@pytest.mark.parametrize("code", ["", "no code", "12", "\u0661\u0662\u0663\u0664\u0665\u0666", "1" * 4000])
async def test_what_is_not_a_code_is_a_wrong_code(visitor: Visitor, code: str) -> None:
    page = await visitor.submit(await visitor.get("/sign-in"), "request_sign_in_code", email=new_email())

    assert (await visitor.submit(page, "sign_in", code=code)).status == 401


async def test_an_invalid_address_is_shown_again_with_its_error(visitor: Visitor) -> None:
    page = await visitor.get("/sign-in?next=/account/orders")

    page = await visitor.submit(page, "request_sign_in_code", email='"><script>@x')

    form = page.form("request_sign_in_code")
    assert page.status == 422
    assert (form["email"], form["next"]) == ('"><script>@x', "/account/orders")
    assert form.attributes["email"]["aria-describedby"] == "email-error"
    assert "<script>@x" not in page.text


@pytest.mark.security("L-09")
async def test_known_and_unknown_addresses_get_the_same_page(visitor: Visitor) -> None:
    known, unknown = (await sign_in(visitor.http)).email, new_email()

    pages = [await visitor.post("/sign-in", {"email": email}) for email in (known, unknown)]

    assert pages[0].text.replace(known, "") == pages[1].text.replace(unknown, "")


async def test_a_new_code_can_be_sent_and_replaces_the_first(visitor: Visitor) -> None:
    email = new_email()
    page = await visitor.submit(await visitor.get("/sign-in"), "request_sign_in_code", email=email)
    first = await mailed_code(visitor.http, email)

    page = await visitor.submit(page, "resend_sign_in_code")

    second = await mailed_code(visitor.http, email)
    assert "We sent a new code." in page.text
    assert first == second or (await visitor.submit(page, "sign_in", code=first)).status == 401
    assert (await visitor.submit(page, "sign_in", code=second)).status == 303


async def test_a_code_form_that_is_sent_twice_continues(visitor: Visitor) -> None:
    email = new_email()
    page = await visitor.submit(await visitor.get("/sign-in"), "request_sign_in_code", email=email)
    code = await mailed_code(visitor.http, email)
    await visitor.submit(page, "sign_in", code=code)

    again = await visitor.submit(page, "sign_in", code=code)

    assert (again.status, again.location) == (303, "/account")


async def test_sign_in_merges_the_guests_cart_with_the_users(visitor: Visitor, guest: Shopper, make: Make) -> None:
    mug, pot = await make.product("Mug", on_hand=10), await make.product("Pot", on_hand=10)
    member = await sign_in(visitor.http)
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=mug.variant_id, quantity=2)
    await add_to_guest_cart(guest, pot.variant_id)
    visitor.cookies[CART] = str(guest.order_token)

    await visitor.sign_in(member.email)

    cart = (await member.get("/cart?include=line_items")).json
    assert {(line["attributes"]["name"], line["attributes"]["quantity"]) for line in cart["included"]} == {
        ("Mug", 2),
        ("Pot", 1),
    }
    assert CART not in visitor.cookies
    assert visitor.cookies[COUNT] == "3"


async def test_sign_in_without_a_guests_cart_shows_the_count_of_the_users(visitor: Visitor, make: Make) -> None:
    mug = await make.product("Mug", on_hand=10)
    member = await sign_in(visitor.http)
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=mug.variant_id, quantity=4)

    await visitor.sign_in(member.email)

    assert visitor.cookies[COUNT] == "4"


async def test_a_cart_that_is_gone_does_not_prevent_sign_in(visitor: Visitor, guest: Shopper, make: Make) -> None:
    await add_to_guest_cart(guest, (await make.product(on_hand=1)).variant_id)
    visitor.cookies |= {CART: str(guest.order_token), COUNT: "1"}
    await guest.delete("/cart")

    await visitor.sign_in()

    assert (await visitor.get("/account")).status == 200
    assert not {CART, COUNT} & set(visitor.cookies)


async def test_a_cart_that_is_being_paid_stays_the_guests_and_does_not_prevent_sign_in(
    visitor: Visitor, buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    await buyer.ready((await checkout_setup.product(), 1))
    number = (await buyer.get("/cart"))["number"]
    await db.execute("update orders set state = 'confirm' where number = $1", number)
    await db.execute(
        "update payments set state = 'processing' where order_id = (select id from orders where number = $1)", number
    )
    visitor.cookies[CART] = str(buyer.order_token)

    await visitor.sign_in()

    assert visitor.cookies[CART] == buyer.order_token
    assert await db.fetchval("select user_id from orders where number = $1", number) is None


@pytest.mark.parametrize("path", ["/account/orders?page=2", "/cart", "/products/mug?variant=1&image=2"])
async def test_after_sign_in_the_shopper_returns_to_the_page(visitor: Visitor, path: str) -> None:
    email = new_email()
    page = await visitor.get(f"/sign-in?next={quote(path)}")
    page = await visitor.submit(page, "request_sign_in_code", email=email)

    page = await visitor.submit(page, "sign_in", code=await mailed_code(visitor.http, email))

    assert page.location == path


@pytest.mark.security("W-05")
@pytest.mark.parametrize("path", ELSEWHERE)
async def test_no_link_leads_to_another_site_after_sign_in(visitor: Visitor, path: str) -> None:
    email = new_email()
    linked = await visitor.get(f"/sign-in?next={quote(path)}")
    page = await visitor.post("/sign-in", {"email": email, "next": path})

    fields = {"email": email, "next": path, "code": await mailed_code(visitor.http, email)}
    page = await visitor.post("/sign-in/code", fields)

    assert linked.form("request_sign_in_code")["next"] == "/account"
    assert (page.status, page.location) == (303, "/account")


@pytest.mark.security("W-05")
async def test_the_sign_in_page_of_a_signed_in_shopper_leads_on(visitor: Visitor) -> None:
    await visitor.sign_in()

    assert (await visitor.get("/sign-in?next=/account/orders")).location == "/account/orders"
    assert (await visitor.get("/sign-in?next=//evil.example")).location == "/account"


@pytest.mark.parametrize("path", PAGES)
async def test_a_guest_signs_in_before_an_account_page(visitor: Visitor, path: str) -> None:
    page = await visitor.get(fill_path(path))

    assert (page.status, page.location) == (303, f"/sign-in?next={fill_path(path)}")
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.security("W-11")
@pytest.mark.parametrize("path", FORMS)
async def test_a_form_of_a_guest_is_kept_while_the_guest_signs_in(visitor: Visitor, path: str) -> None:
    page = await visitor.post(fill_path(path), [("name", "Ünï & co"), ("option[size]", "<XL>"), ("empty", "")])

    form = page.form("request_sign_in_code")
    assert page.status == 401
    assert form["next"] == fill_path(path)
    assert form["resume"] == "name=%C3%9Cn%C3%AF+%26+co&option%5Bsize%5D=%3CXL%3E&empty="
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.security("W-11")
async def test_a_form_that_was_filled_in_before_the_session_ended_is_not_lost(visitor: Visitor, db: Any) -> None:
    member = await sign_in(visitor.http)
    visitor = signed_in_visitor(member)
    profile = await visitor.get("/account/profile")
    await end_sessions(db, member)

    page = await visitor.submit(profile, "save_profile", first_name="Ada", last_name="King & Co <3")
    page = await visitor.submit(page, "request_sign_in_code", email=member.email)
    wrong = await visitor.submit(page, "sign_in", code="123")
    page = await visitor.submit(wrong, "sign_in", code=await mailed_code(visitor.http, member.email))

    form = page.form("continue_after_sign_in")
    assert (page.status, form.action) == (200, "/account/profile")
    assert form.fields == [("first_name", "Ada"), ("last_name", "King & Co <3")]
    page = await visitor.submit(page, "continue_after_sign_in")
    assert page.location == "/account/profile?done=saved"
    assert 'value="King &amp; Co &lt;3"' in (await visitor.follow(page)).text


@pytest.mark.security("W-11")
async def test_a_form_that_is_too_large_is_dropped_and_the_shopper_is_told(visitor: Visitor) -> None:
    referer = str(visitor.http.base_url.join("/account/profile?done=saved"))

    page = await visitor.post("/account/profile", {"first_name": "a" * MAX_FORM_SIZE}, Referer=referer)

    form = page.form("request_sign_in_code")
    assert page.status == 401
    assert "too long to keep" in page.text
    assert [name for name, _ in form.fields] == ["next", "email"]
    assert form["next"] == "/account/profile?done=saved"


async def test_a_form_as_large_as_allowed_is_kept(visitor: Visitor) -> None:
    page = await visitor.post("/account/profile", {"first_name": "%" * 5000})
    email = new_email()
    page = await visitor.submit(page, "request_sign_in_code", email=email)

    page = await visitor.submit(page, "sign_in", code=await mailed_code(visitor.http, email))

    assert page.form("continue_after_sign_in")["first_name"] == "%" * 5000


@pytest.mark.security("W-11")
async def test_a_link_cannot_prepare_a_form(visitor: Visitor) -> None:
    page = await visitor.get("/sign-in?next=/account/profile&resume=first_name%3DEve")

    assert "resume" not in page.text


@pytest.mark.security("W-11")
@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/admin/customers/1/disable", "a=b"),
        ("/sign-out", "a=b"),
        ("https://evil.example/account/profile", "a=b"),
        ("/account/%2e%2e/admin/orders", "a=b"),
        ("/account/profile", "a=b&\u00fc"),
        ("/account/profile", "nothing to parse"),
        ("/account/profile", "&".join(["a=b"] * 201)),
        ("/account/profile", "a=" + "b" * MAX_FORM_SIZE),
    ],
)
async def test_only_a_form_of_the_website_is_sent_again(visitor: Visitor, path: str, form: str) -> None:
    email = new_email()
    await visitor.post("/sign-in", {"email": email})

    fields = {"email": email, "next": path, "resume": form, "code": await mailed_code(visitor.http, email)}
    page = await visitor.post("/sign-in/code", fields)

    assert (page.status, page.location) == (303, "/account")


@pytest.mark.security("W-01")
async def test_sign_out_ends_the_session_and_deletes_every_cookie(visitor: Visitor) -> None:
    member = await sign_in(visitor.http)
    visitor = signed_in_visitor(member)
    visitor.cookies |= {CART: "a", COUNT: "1", ORDER: "b"}
    page = await visitor.get("/account")

    page = await visitor.submit(page, "sign_out")

    assert visitor.cookies == {}
    assert "You are signed out." in (await visitor.follow(page)).text
    assert not await member.is_signed_in()
    assert (await member.refresh()).status == 401


async def test_sign_out_without_a_session_is_harmless(visitor: Visitor) -> None:
    visitor.cookies[SESSION] = "not a token"

    assert (await visitor.post("/sign-out")).status == 303


@pytest.mark.security("W-01")
async def test_signing_in_as_another_user_ends_the_first_session(visitor: Visitor) -> None:
    member = await sign_in(visitor.http)
    visitor = signed_in_visitor(member)
    email = new_email()
    page = await visitor.post("/sign-in", {"email": email})

    page = await visitor.submit(page, "sign_in", code=await mailed_code(visitor.http, email))

    assert email in (await visitor.follow(page)).text
    assert not await member.is_signed_in()


@pytest.mark.security("W-02")
@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/code", "/sign-out", "/account/profile", "/account/wishlists"])
@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-site"}]
)
async def test_a_form_from_another_site_is_refused(visitor: Visitor, path: str, headers: dict[str, str]) -> None:
    member = await sign_in(visitor.http)
    fields = {"email": new_email(), "first_name": "Eve", "name": "Eve"}

    page = await signed_in_visitor(member).post(path, fields, **headers)

    assert page.status == 403
    assert await member.is_signed_in()
    assert (await member.get("/account"))["first_name"] is None


async def test_an_expired_access_token_is_refreshed_with_new_cookies(visitor: Visitor, db: Any) -> None:
    member = await sign_in(visitor.http)
    visitor = signed_in_visitor(member)
    await expire_access_tokens(db, member)

    page = await visitor.get("/account")

    assert page.status == 200
    assert {SESSION, REFRESH} <= set(page.cookies)
    assert visitor.cookies[SESSION] != member.access_token
    again = await visitor.get("/account")
    assert (again.status, again.cookies) == (200, {})


@pytest.mark.parametrize("path", ["/account/addresses/none", "/products/no-such-product"])
async def test_an_error_page_sends_the_cookies_of_a_refreshed_session_too(visitor: Visitor, db: Any, path: str) -> None:
    """The old refresh token is used up: without the new one, the shopper would be signed out."""
    member = await sign_in(visitor.http)
    visitor = signed_in_visitor(member)
    await expire_access_tokens(db, member)

    page = await visitor.get(path)

    assert page.status == 404
    assert {SESSION, REFRESH} <= set(page.cookies)
    assert (await visitor.get("/account")).status == 200


async def test_a_form_with_an_expired_access_token_is_saved_at_once(visitor: Visitor, db: Any) -> None:
    member = await sign_in(visitor.http)
    wishlist = await member.post("/wishlists", wishlist={"name": "Old"})
    await expire_access_tokens(db, member)

    page = await signed_in_visitor(member).post(f"/account/wishlists/{wishlist['token']}/delete")

    assert (page.status, page.location) == (303, "/account/wishlists?done=deleted")


async def test_a_session_that_cannot_be_refreshed_leads_to_sign_in_without_its_cookies(
    visitor: Visitor, db: Any
) -> None:
    member = await sign_in(visitor.http)
    visitor = signed_in_visitor(member)
    await end_sessions(db, member)

    page = await visitor.get("/account/orders")

    assert (page.status, page.location) == (303, "/sign-in?next=/account/orders")
    assert visitor.cookies == {}


@pytest.mark.parametrize("path", ["/sign-in", "/account", "/account/orders", "/account/wishlists", "/account/export"])
async def test_no_cache_stores_a_personal_page_and_no_search_engine_lists_it(visitor: Visitor, path: str) -> None:
    visitor = signed_in_visitor(await sign_in(visitor.http)) if path != "/sign-in" else visitor

    page = await visitor.get(path)

    assert page.status == 200
    assert page.headers["cache-control"] == "no-store"
    assert path == "/account/export" or '<meta name="robots" content="noindex">' in page.text
