"""The e-mails in the dashboard: turned off, edited with a preview, tested and reset."""

import json
from typing import Any

import httpx2
import pytest
from playwright.async_api import expect

from shop.rules.mail.definitions import DEFINITIONS
from tests.accounts import ask_for_code, new_email
from tests.admin.browser_session import open_page
from tests.admin.catalog_forms import error_messages, field
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.browser import PHONE, Browser, accessibility_violations, scrolls_sideways
from tests.checkout_builders import Buyer
from tests.mail.test_event_mails import buy, mails_to, shipment_of
from tests.platform.client import Machine

MAILS = "/admin/settings/mails"
SHIPPED, CODE = f"{MAILS}/order_shipped", f"{MAILS}/login_code"
NO_CODE = "The heading or the body must show {{ code }}, outside of any condition."
TEXTS = {
    "is_on": "1",
    "subject": "Sent: {{ number }}",
    "heading": "Sent",
    "body": "By {{ carrier }}",
    "button": "Follow it",
}


@pytest.fixture
async def dashboard(http: httpx2.AsyncClient, db: Any) -> Dashboard:
    return await new_dashboard(http, db)


@pytest.fixture(autouse=True)
async def default_mails(dashboard: Dashboard, db: Any) -> Any:
    """All e-mails have their default settings before and after each test. They are reset by the dashboard, because the
    shop would notice a change of its database only two seconds later.
    """
    await reset_all(dashboard, db)
    yield
    await reset_all(dashboard, db)


async def reset_all(dashboard: Dashboard, db: Any) -> None:
    for kind in json.loads(await saved_mails(db)):
        version = field((await dashboard.get(f"{MAILS}/{kind}")).text, "version")
        assert (await dashboard.post(f"{MAILS}/{kind}/reset", version=version)).status_code == 303
    # A reset leaves an e-mail turned off.
    await db.execute("update shops set mails = '{}', version = version + 1 where mails <> '{}'")


async def save(dashboard: Dashboard, path: str = SHIPPED, **fields: str) -> httpx2.Response:
    version = field((await dashboard.get(path)).text, "version")
    return await dashboard.post(path, **{"version": version, **TEXTS, "footer": "", **fields})


async def saved_mails(db: Any) -> Any:
    return await db.fetchval("select mails from shops")


async def test_edited_texts_are_stored_and_used_and_reset_restores_the_defaults(dashboard: Dashboard, db: Any) -> None:
    assert (await save(dashboard)).headers["location"] == f"{SHIPPED}?done=saved"

    preview = await dashboard.get(f"{SHIPPED}/preview")
    assert "Sent: R123456789" in preview.text
    assert "By Standard shipping" in preview.text
    assert '"footer": ""' in await saved_mails(db)
    assert "edited" in (await dashboard.get(MAILS)).text

    version = field((await dashboard.get(SHIPPED)).text, "version")
    assert (await dashboard.post(f"{SHIPPED}/reset", version=version)).status_code == 303
    assert await saved_mails(db) == "{}"
    assert "Your order is on its way" in (await dashboard.get(f"{SHIPPED}/preview")).text


async def test_a_default_text_is_not_stored(dashboard: Dashboard, db: Any) -> None:
    page = (await dashboard.get(CODE)).text
    texts = {name: field(page, name) for name in ("subject", "heading", "body", "footer")}

    assert (await save(dashboard, CODE, **texts)).status_code == 303

    assert await saved_mails(db) == "{}"


async def test_the_sign_in_code_cannot_be_turned_off(dashboard: Dashboard, http: httpx2.AsyncClient, db: Any) -> None:
    texts = {"is_on": "", "subject": "Hello", "heading": "Hello", "body": "{{ code }}!"}
    assert (await save(dashboard, CODE, **texts)).status_code == 303
    email = new_email()
    await ask_for_code(http, email)

    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()

    assert mail["subject"] == "Hello"
    assert f"{mail['code']}!" in mail["text"]
    assert "is_on" not in await saved_mails(db)


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        (SHIPPED, {"body": "a\n{{ nunber }}"}, "Line 2: there is no variable “nunber”."),
        (SHIPPED, {"body": "{{ shop.__class__ }}"}, "Line 1: “a dot” is not allowed here."),
        (SHIPPED, {"footer": "{% for a in shop %}{% endfor %}"}, "Line 1: “for” is not allowed here."),
        (SHIPPED, {"subject": "a\nBcc: b@example.com"}, "Subject must be one line."),
        (SHIPPED, {"body": "x" * 2001}, "Body must have at most 2,000 characters."),
        (SHIPPED, {"heading": "{% set a = shop %}"}, "Line 1: “set” is not allowed here."),
        (SHIPPED, {"button": "{{ 'a' * 1000000000 }}"}, "Line 1: “mul” is not allowed here."),
        (SHIPPED, {"body": "{% include '/etc/passwd' %}"}, "Line 1: “include” is not allowed here."),
        (SHIPPED, {"body": "{{ lipsum() }}"}, "Line 1: “a call” is not allowed here."),
        (CODE, {"body": "Hello"}, NO_CODE),
        (CODE, {"subject": "{{ code }}", "body": "Hello"}, NO_CODE),
        (CODE, {"subject": "{{ code }}", "body": "{# {{ code }} #}Hello"}, NO_CODE),
    ],
)
@pytest.mark.security("M-11")
async def test_an_invalid_text_is_refused_by_the_form_and_the_preview(
    dashboard: Dashboard, db: Any, path: str, fields: dict[str, str], message: str
) -> None:
    base = {"subject": "a", "body": "b"} if path == CODE else {}

    response = await save(dashboard, path, **{**base, **fields})
    preview = await dashboard.post(f"{path}/preview", **{**TEXTS, **base, **fields})

    assert (response.status_code, preview.status_code) == (422, 422)
    assert any(message in each for each in error_messages(response)), response.text
    assert message in preview.text
    assert await saved_mails(db) == "{}"


@pytest.mark.security("M-11")
async def test_a_preview_escapes_texts_and_runs_no_script(dashboard: Dashboard) -> None:
    preview = await dashboard.post(f"{SHIPPED}/preview", **{**TEXTS, "body": "<script>alert(1)</script>"})

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in preview.text
    assert "<script" not in preview.text
    policy = preview.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src ")
    assert policy.endswith("; frame-ancestors 'self'; sandbox")


async def test_a_test_goes_to_the_operator_with_example_data(dashboard: Dashboard, http: httpx2.AsyncClient) -> None:
    assert (await dashboard.post(f"{CODE}/test")).headers["location"] == f"{CODE}?done=tested"

    (mail,) = (await http.get("/mailbox.json", params={"to": dashboard.email})).json()

    assert mail["subject"].startswith("123456 is your code for ")
    assert mail["code"] is None


@pytest.mark.parametrize("kind", DEFINITIONS)
async def test_a_test_of_each_mail_has_the_saved_texts(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any, kind: str
) -> None:
    path, texts = f"{MAILS}/{kind}", {"subject": "Hi from {{ shop }}", "heading": "Hi", "body": "Look"}
    message = "Look: {{ message }}"
    required_bodies = {"login_code": "{{ code }}", "order_message": message, "draft_quote": message}
    assert (await save(dashboard, path, **{**texts, "body": required_bodies.get(kind, "Look")})).is_redirect

    assert (await dashboard.post(f"{path}/test")).headers["location"] == f"{path}?done=tested"

    (mail,) = (await http.get("/mailbox.json", params={"to": dashboard.email})).json()
    assert mail["subject"].startswith("Hi from ")
    assert ("123456" if path == CODE else "Look") in mail["text"]
    query = "select recipient, awaits_budget from outbox_mails where is_test and ref_id = $1"
    rows = await db.fetch(query, dashboard.id)
    assert [tuple(row) for row in rows] == [(dashboard.email, False)]


@pytest.mark.security("M-11")
async def test_a_text_with_an_unusable_character_is_previewed_and_sent_without_it(
    dashboard: Dashboard, http: httpx2.AsyncClient
) -> None:
    texts = {"subject": r"""{{ "\ud800" }}Code""", "heading": "{{ code }}", "body": r"""a{{ "\ud800\x00" }}b"""}

    preview = await dashboard.post(f"{CODE}/preview", **{**TEXTS, **texts})
    assert (preview.status_code, ">ab<" in preview.text) == (200, True)
    assert (await save(dashboard, CODE, **texts)).status_code == 303

    email = new_email()
    await ask_for_code(http, email)
    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()
    assert (mail["subject"], "\nab\n" in mail["text"]) == ("Code", True)


@pytest.mark.security("M-11")
async def test_a_text_that_grows_too_long_is_replaced_by_the_default(
    dashboard: Dashboard, http: httpx2.AsyncClient, buyer: Buyer, writer: Machine, db: Any
) -> None:
    """The example in the preview is short, but 140 long tracking numbers are more than an e-mail may have."""
    assert (await save(dashboard, body="{{ tracking }}" * 140)).status_code == 303
    order_id, number, email = await buy(buyer)
    path = f"/shipments/{await shipment_of(db, order_id)}"
    await writer.patch(path, {"shipment": {"tracking": "9" * 255}})

    assert (await writer.patch(f"{path}/ship", {})).status == 200

    _, mail = await mails_to(http, email)
    assert mail["subject"] == f"Your order {number} is on its way"
    assert mail["text"].count("9" * 255) == 1


async def test_a_reset_leaves_a_mail_turned_off_and_conflicts_with_other_changes(dashboard: Dashboard, db: Any) -> None:
    assert (await save(dashboard, is_on="")).status_code == 303
    assert (await dashboard.post(f"{SHIPPED}/reset", version="0")).status_code == 409
    assert "Sent: " in await saved_mails(db)

    version = field((await dashboard.get(SHIPPED)).text, "version")
    assert (await dashboard.post(f"{SHIPPED}/reset", version=version)).status_code == 303

    assert await saved_mails(db) == '{"order_shipped": {"is_on": false}}'


async def test_concurrent_changes_conflict_and_forms_need_their_token(dashboard: Dashboard, db: Any) -> None:
    assert (await dashboard.post(SHIPPED, version="0", **TEXTS)).status_code == 409
    for path in (SHIPPED, f"{SHIPPED}/reset", f"{SHIPPED}/test", f"{SHIPPED}/preview"):
        assert (await dashboard.post(path, csrf="wrong", version="0", **TEXTS)).status_code == 403
    assert (await dashboard.get(f"{MAILS}/unknown")).status_code == 404
    assert (await dashboard.http.get(SHIPPED)).status_code == 401
    assert await saved_mails(db) == "{}"


@pytest.mark.torture
async def test_the_pages_are_accessible_and_the_preview_follows_the_texts(
    dashboard: Dashboard, browser: Browser
) -> None:
    async with open_page(browser, dashboard, SHIPPED) as page:
        frame = page.frame_locator("iframe")
        await expect(frame.get_by_text("Your order is on its way").first).to_be_visible()

        await page.get_by_label("Heading").fill("Hooray")

        await expect(frame.get_by_text("Hooray").first).to_be_visible()
        assert await accessibility_violations(page) == []
    for path in (MAILS, SHIPPED):
        async with open_page(browser, dashboard, path, PHONE) as page:
            assert not await scrolls_sideways(page)
            assert await accessibility_violations(page) == []
