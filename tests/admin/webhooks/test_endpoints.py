"""Webhook endpoints in the dashboard: create, edit, rotate, disable, delete; a secret is shown once."""

import re
from typing import Any

import httpx2
import pytest
from aiohttp import web

from shop.base.ids import new_id
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, backdate_session, events, new_operator
from tests.admin.webhooks.forms import (
    PATH,
    SECRET,
    FormEndpoint,
    create_endpoint,
    form_fields,
    newest_delivery,
    text_of,
    visible_text,
)
from tests.builders import Make
from tests.db.processes import until
from tests.service import Service
from tests.webhooks.receiver import Receiver, new_category, wait_until


async def test_an_endpoint_created_with_the_form_receives_signed_events(
    receiver: Receiver, endpoint: FormEndpoint, dashboard: Dashboard, make: Make, db: Any
) -> None:
    category = await new_category(make)

    (delivery,) = await receiver.wait_for(1, category)

    assert delivery.is_signed_with(endpoint.secret)
    assert endpoint.page.headers["cache-control"] == "no-store"
    assert await events(db, actor=dashboard.id, subject=endpoint.id) == [("webhook_endpoint_created", "done")]
    event = "select type from events where subject_id = $1 and actor_kind = 'operator' and actor_id = $2"
    assert await db.fetchval(event, endpoint.id, dashboard.id) == "webhook_endpoint.created"


async def test_a_form_submitted_twice_creates_one_endpoint_and_shows_its_secret_once(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, db: Any
) -> None:
    again = await dashboard.post(f"{PATH}/new", id=str(endpoint.id), **form_fields(receiver.url, "zone.*"))

    assert (again.status_code, again.headers["location"]) == (303, f"{endpoint.path}?done=made")
    assert await db.fetchval("select types from webhook_endpoints where id = $1", endpoint.id) == ["tax_category.*"]
    assert await db.fetchval("select count(*) from webhook_secrets where endpoint_id = $1", endpoint.id) == 1


async def test_no_page_shows_a_secret_again(endpoint: FormEndpoint, dashboard: Dashboard, service: Service) -> None:
    paths = ("", "/edit", "/deliveries", "/replay", "/delete", "?done=made")

    pages = [await dashboard.get(path) for path in (PATH, *(endpoint.path + path for path in paths))]

    assert [page.status_code for page in pages] == [200] * 7
    assert not any(SECRET.search(page.text) for page in pages)
    assert f"…{endpoint.secret[-4:]}" in visible_text(pages[1])
    service.request_line(pages[-1].headers["x-request-id"])
    assert endpoint.secret not in "".join(service.lines)


@pytest.mark.parametrize(
    ("changes", "name", "message"),
    [
        ({"url": ""}, "url", "URL is required."),
        ({"url": "https://user:pw@hooks.example/x"}, "url", "URL "),
        ({"url": "ftp://hooks.example"}, "url", "URL "),
        ({"types[]": []}, "types", "Choose at least one event."),
        ({"types[]": ["no_such_type.at_all"]}, "types", "matches no event type"),
        ({"fields": "state, what is this?"}, "fields", "is not the name of an attribute"),
        ({"description": "x" * 251}, "description", "must be one line of at most 250 characters"),
    ],
)
async def test_invalid_input_is_refused_at_its_field_and_kept(
    dashboard: Dashboard, db: Any, changes: dict[str, Any], name: str, message: str
) -> None:
    fields = {
        **form_fields("https://hooks.example/a?b=<c>", "order.*", "zone.created", description="The <ERP>"),
        **changes,
    }
    endpoint_id = new_id()

    page = await dashboard.post(f"{PATH}/new", id=str(endpoint_id), **fields)

    assert page.status_code == 422
    assert message in text_of(page, f"error-{name}")
    assert f'href="#field-{name}"' in page.text
    assert re.search(rf'id="field-{name}"[^>]*aria-describedby="[^"]*error-{name}', page.text)
    assert f'value="{endpoint_id}"' in page.text
    for kept in ("url", "description"):
        if kept not in changes:
            assert text_in_field(page, kept) == fields[kept]
    if "types[]" not in changes:
        assert re.findall(r'name="types\[\]" value="([^"]+)" checked', page.text) == fields["types[]"]
    assert await db.fetchval("select count(*) from webhook_endpoints where id = $1", endpoint_id) == 0


async def test_all_errors_are_shown_at_once(dashboard: Dashboard) -> None:
    page = await dashboard.post(f"{PATH}/new", id=str(new_id()), **form_fields("ftp://x", fields="?"))

    assert re.findall(r'<li><a href="#field-(\w+)"', page.text) == ["types", "url", "fields"]


def text_in_field(page: httpx2.Response, name: str) -> str:
    match = re.search(rf'id="field-{name}"[^>]*? value="([^"]*)"', page.text, re.DOTALL)
    assert match
    return match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


async def test_an_endpoint_is_edited_and_keeps_patterns_that_the_form_does_not_list(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, db: Any
) -> None:
    await db.execute("update webhook_endpoints set types = $2 where id = $1", endpoint.id, ["zone.*", "tax_rate.*"])
    page = await dashboard.get(f"{endpoint.path}/edit")
    ticked = re.findall(r'name="types\[\]" value="([^"]+)" checked', page.text)

    fields = form_fields(receiver.url, *ticked, "order.completed", description="Our ERP", fields="state, email")
    answer = await dashboard.post(f"{endpoint.path}/edit", **fields)

    assert answer.headers["location"] == f"{endpoint.path}?done=saved"
    row = await db.fetchrow("select * from webhook_endpoints where id = $1", endpoint.id)
    assert sorted(row["types"]) == ["order.completed", "tax_rate.*", "zone.*"]
    assert (row["description"], row["fields"]) == ("Our ERP", ["state", "email"])
    assert ("webhook_endpoint_updated", "done") in await events(db, actor=dashboard.id, subject=endpoint.id)
    await dashboard.post(f"{endpoint.path}/edit", **{**fields, "scope": "all"})
    assert await db.fetchval("select types from webhook_endpoints where id = $1", endpoint.id) == ["*"]


async def test_rotating_shows_a_new_secret_once_and_both_sign_during_the_overlap(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make
) -> None:
    replaces = re.search(r'name="replaces" value="([^"]+)"', (await dashboard.get(endpoint.path)).text)
    assert replaces

    page = await dashboard.post(f"{endpoint.path}/rotate", overlap="24", replaces=replaces[1])
    again = await dashboard.post(f"{endpoint.path}/rotate", overlap="24", replaces=replaces[1])

    secret = text_of(page, "webhook-secret")
    assert secret != endpoint.secret
    assert (again.status_code, again.headers["location"]) == (303, f"{endpoint.path}?done=rotated")
    (delivery,) = await receiver.wait_for(1, await new_category(make))
    assert delivery.is_signed_with(secret)
    assert delivery.is_signed_with(endpoint.secret)
    assert "valid until" in visible_text(await dashboard.get(endpoint.path))
    assert (await dashboard.post(f"{endpoint.path}/rotate", overlap="9999")).status_code == 422


async def test_an_endpoint_is_disabled_and_enabled_by_an_operator_without_an_alarm(
    endpoint: FormEndpoint, dashboard: Dashboard, db: Any
) -> None:
    answer = await dashboard.post(f"{endpoint.path}/disable")

    page = visible_text(await dashboard.get(answer.headers["location"]))
    assert "This endpoint is disabled" in page
    assert "Disabled by an operator." in page
    refused = await dashboard.post(f"{endpoint.path}/replay", range="position", from_position="1")
    assert (refused.status_code, "enable it first" in refused.text) == (409, True)
    mails = "select count(*) from outbox_mails m join audit_events a on a.id = m.ref_id where a.subject_id = $1"
    assert await db.fetchval(mails, endpoint.id) == 0
    enabled = await dashboard.post(f"{endpoint.path}/enable")
    replay_page = await dashboard.get(enabled.headers["location"])
    assert "Endpoint enabled." in visible_text(replay_page)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d", text_in_field(replay_page, "since"))
    assert await db.fetchval("select enabled from webhook_endpoints where id = $1", endpoint.id)


async def test_deleting_asks_for_confirmation(dashboard: Dashboard, receiver: Receiver, db: Any) -> None:
    endpoint = await create_endpoint(dashboard, receiver.url)

    question = await dashboard.get(f"{endpoint.path}/delete")
    answer = await dashboard.post(f"{endpoint.path}/delete")

    assert "Delete this endpoint?" in question.text
    assert answer.headers["location"] == f"{PATH}?done=deleted"
    assert (await dashboard.get(endpoint.path)).status_code == 404
    assert ("webhook_endpoint_deleted", "done") in await events(db, actor=dashboard.id, subject=endpoint.id)


async def test_pages_that_choose_a_receiver_or_show_a_secret_need_the_password_again(
    endpoint: FormEndpoint, dashboard: Dashboard, db: Any
) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    pages = [await dashboard.get(path) for path in (f"{PATH}/new", f"{endpoint.path}/edit", f"{endpoint.path}/delete")]
    forms = [await dashboard.post(f"{endpoint.path}/{act}") for act in ("edit", "rotate", "delete")]

    assert all(each.headers["location"].startswith("/admin/confirm?next=") for each in (*pages, *forms))
    await db.execute("update operator_sessions set authenticated_at = now() where operator_id = $1", dashboard.id)


async def test_the_list_shows_the_health_of_each_endpoint(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    async def row() -> str:
        page = await dashboard.get(PATH)
        cells = next(each for each in re.findall(r"<tr>.*?</tr>", page.text, re.DOTALL) if str(endpoint.id) in each)
        return " ".join(re.sub(r"<[^>]+>", " ", cells).split())

    assert "no success yet" in await row()
    receiver.responses = [web.Response(), web.Response(status=500)]
    await new_category(make)
    await newest_delivery(db, endpoint, "succeeded")
    assert " works " in await row()
    await new_category(make)
    await wait_until(db, "(select failing_since from webhook_endpoints where id = $1) is not null", endpoint.id)
    failing = await row()
    assert " failing since " in failing
    assert failing.endswith(" 1")
    await db.execute(
        "update webhook_endpoints set paused_until = now() + interval '1 minute' where id = $1", endpoint.id
    )
    assert " paused until " in await row()
    await dashboard.post(f"{endpoint.path}/disable")
    assert " disabled Disabled by an operator." in await row()


async def test_the_list_links_to_the_api_reference(dashboard: Dashboard) -> None:
    link = re.search(r'href="(/docs/[^"]+)"', (await dashboard.get(PATH)).text)

    assert link
    assert "Rotate the secret of a webhook endpoint" in (await dashboard.http.get(link[1])).text


@pytest.mark.parametrize("endpoint_id", [UNKNOWN_ID, "nonsense"])
async def test_pages_and_forms_of_unknown_endpoints_are_404(
    dashboard: Dashboard, endpoint: FormEndpoint, endpoint_id: str
) -> None:
    base = f"{PATH}/{endpoint_id}"
    paths = ("", "/edit", "/delete", "/replay", "/deliveries", f"/deliveries/{UNKNOWN_ID}")
    pages = [await dashboard.get(base + path) for path in paths]
    pages.append(await dashboard.get(f"{endpoint.path}/deliveries/{endpoint_id}"))
    acts = ("edit", "rotate", "enable", "disable", "delete", "test", "replay", f"deliveries/{UNKNOWN_ID}/resend")
    forms = [await dashboard.post(f"{base}/{act}", overlap="0") for act in acts]

    assert {each.status_code for each in (*pages, *forms)} == {404}


@pytest.mark.parametrize("endpoint_id", ["", "nonsense", "6fa459ea-ee8a-4ca4-894e-db77e160355e"])
async def test_an_invalid_id_redirects_to_a_new_form(dashboard: Dashboard, endpoint_id: str) -> None:
    answer = await dashboard.post(f"{PATH}/new", id=endpoint_id, **form_fields("https://hooks.example", "order.*"))

    assert answer.headers["location"] == f"{PATH}/new"


async def test_a_form_without_a_csrf_token_changes_nothing(
    endpoint: FormEndpoint, dashboard: Dashboard, db: Any
) -> None:
    answer = await dashboard.post(f"{endpoint.path}/disable", csrf="")

    assert answer.status_code == 403
    assert await db.fetchval("select enabled from webhook_endpoints where id = $1", endpoint.id)


async def test_operators_get_one_mail_and_see_a_notice_when_an_endpoint_is_disabled_by_failures(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    disabled_id, disabled_email = await new_operator(db)
    await db.execute("update operators set disabled_at = now() where id = $1", disabled_id)
    _, invited_email = await new_operator(db, password_hash=None)
    receiver.responses = [web.Response(status=410)]

    await new_category(make)
    await wait_until(db, "not (select enabled from webhook_endpoints where id = $1)", endpoint.id)

    rows = await db.fetch(
        """select m.recipient from outbox_mails m join audit_events a on a.id = m.ref_id
        where a.subject_id = $1 and a.action = 'webhook_endpoint_disabled'""",
        endpoint.id,
    )
    recipients = [row["recipient"] for row in rows]
    assert len(recipients) == len(set(recipients))
    assert dashboard.email in recipients
    assert not {disabled_email, invited_email} & set(recipients)
    (mail,) = (await dashboard.http.get("/mailbox.json", params={"to": dashboard.email})).json()
    assert mail["subject"].startswith("A webhook endpoint was disabled")
    assert f"{receiver.url} was disabled. The endpoint answered 410 Gone." in mail["text"]
    assert "change your password" not in mail["text"] + mail["html"]

    overview = ""

    async def is_shown() -> bool:
        nonlocal overview
        overview = (await dashboard.get("/admin")).text
        return str(endpoint.id) in overview

    await until(is_shown)
    notice = overview.partition('class="summary"')[2].partition("</div>")[0]
    assert "disabled because of failures" in notice
    assert f'href="{endpoint.path}"' in notice
    assert "410 Gone" in notice
