"""Staff: invitations by e-mail, their links, and who can be invited, withdrawn, disabled and enabled."""

import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from shop.rules.access.permissions import BUILT_IN, OWNER_ID
from tests.admin.dashboard import PASSWORD, SAME_ORIGIN, UNKNOWN_ID, Dashboard, new_dashboard, new_operator

STAFF = "/admin/settings/operators"
SUPPORT_ID = BUILT_IN["support"].id


async def invite(dashboard: Dashboard, db: Any) -> tuple[UUID, str]:
    """An invited operator."""
    email = f"{uuid4().hex}@invited.example"
    answer = await dashboard.post(f"{STAFF}/new", email=email, role_id=str(SUPPORT_ID))
    assert answer.status_code == 200
    return await db.fetchval("select id from operators where email = $1", email), email


async def mailed_links(http: httpx2.AsyncClient, email: str) -> list[str]:
    """The paths of the links in the e-mails to an address, newest first."""
    mails = (await http.get("/mailbox.json", params={"to": email})).json()
    return [match[1] for mail in mails if (match := re.search(r"(/admin/join/\w+)", mail["text"]))]


async def join(http: httpx2.AsyncClient, link: str) -> httpx2.Response:
    return await http.post(link, data={"password": PASSWORD, "again": PASSWORD}, headers=SAME_ORIGIN)


async def test_an_invitation_by_mail_gives_the_role_and_works_once(dashboard: Dashboard, db: Any) -> None:
    operator_id, email = await invite(dashboard, db)
    (link,) = await mailed_links(dashboard.http, email)

    answers = [await join(dashboard.http, link) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 410]
    assert await db.fetchval("select role_id from operators where id = $1", operator_id) == SUPPORT_ID


async def test_an_invitation_is_valid_for_three_days(dashboard: Dashboard, db: Any) -> None:
    operator_id, email = await invite(dashboard, db)
    (link,) = await mailed_links(dashboard.http, email)
    query = "select extract(epoch from expires_at - created_at) from operator_links where operator_id = $1"

    assert await db.fetchval(query, operator_id) == 3 * 24 * 3600
    await db.execute("update operator_links set expires_at = now() where operator_id = $1", operator_id)
    assert (await join(dashboard.http, link)).status_code == 410


async def test_a_resent_invitation_voids_the_earlier_link(dashboard: Dashboard, db: Any) -> None:
    operator_id, email = await invite(dashboard, db)
    (old_link,) = await mailed_links(dashboard.http, email)

    answer = await dashboard.post(f"{STAFF}/{operator_id}/resend")
    new_link = next(link for link in await mailed_links(dashboard.http, email) if link != old_link)

    assert answer.status_code == 200
    assert (await join(dashboard.http, old_link)).status_code == 410
    assert (await join(dashboard.http, new_link)).status_code == 303
    assert (await dashboard.post(f"{STAFF}/{operator_id}/resend")).status_code == 409


async def test_a_withdrawn_invitation_is_void(dashboard: Dashboard, db: Any) -> None:
    operator_id, email = await invite(dashboard, db)
    (link,) = await mailed_links(dashboard.http, email)

    answer = await dashboard.post(f"{STAFF}/{operator_id}/withdraw")

    assert answer.headers["location"] == f"{STAFF}?done=withdrawn"
    assert (await join(dashboard.http, link)).status_code == 410
    assert await db.fetchval("select count(*) from operators where id = $1", operator_id) == 0
    events = await db.fetch("select type from events where subject_id = $1 order by occurred_at, ordinal", operator_id)
    assert [row["type"] for row in events] == ["operator.created", "operator.deleted"]


async def test_an_accepted_invitation_cannot_be_withdrawn(dashboard: Dashboard, db: Any) -> None:
    operator_id, _ = await new_operator(db)

    assert (await dashboard.post(f"{STAFF}/{operator_id}/withdraw")).status_code == 409
    assert await db.fetchval("select count(*) from operators where id = $1", operator_id) == 1


@pytest.mark.parametrize("role_id", ["", "x", UNKNOWN_ID])
async def test_an_invitation_needs_a_role(dashboard: Dashboard, db: Any, role_id: str) -> None:
    email = f"{uuid4().hex}@invited.example"

    answer = await dashboard.post(f"{STAFF}/new", email=email, role_id=role_id)

    assert answer.status_code == 422
    assert "Choose a role" in answer.text
    assert await db.fetchval("select count(*) from operators where email = $1", email) == 0


async def test_the_list_shows_role_and_state_and_offers_only_what_is_possible(
    http: httpx2.AsyncClient, dashboard: Dashboard, db: Any
) -> None:
    invited_id, _ = await invite(dashboard, db)
    manager = await new_dashboard(http, db, role_id=BUILT_IN["manager"].id)

    text, managers_text = [(await each.get(STAFF)).text for each in (dashboard, manager)]

    assert f'action="{STAFF}/{invited_id}/withdraw"' in text
    assert f'action="{STAFF}/{invited_id}/disable"' not in text
    assert f'action="{STAFF}/{dashboard.id}/disable"' not in text
    assert f'action="{STAFF}/{dashboard.id}/role"' in text
    assert 'method="post" action="/admin/settings' not in managers_text
    assert "Owner" in managers_text


async def test_a_disabled_operator_is_signed_out_and_can_be_enabled(dashboard: Dashboard, db: Any) -> None:
    other = await new_dashboard(dashboard.http, db, role_id=OWNER_ID)

    await dashboard.post(f"{STAFF}/{other.id}/disable")
    was_signed_in = await other.is_signed_in()
    answer = await dashboard.post(f"{STAFF}/{other.id}/enable")

    assert not was_signed_in
    assert answer.headers["location"] == f"{STAFF}?done=enabled"
