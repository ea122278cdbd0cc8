"""Customer groups: create them, add members by e-mail address, and show their price lists."""

import re
from typing import Any
from uuid import uuid4

import pytest

from tests.admin.catalog_forms import (
    GROUPS,
    error_messages,
    field,
    id_of,
    new_customer,
    new_list,
    redirect_path,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events


async def new_group(dashboard: Dashboard) -> str:
    return redirect_path(await dashboard.post(GROUPS, name=f"Group {unique_word()}"))


async def members_of(db: Any, group: str) -> set[str]:
    rows = await db.fetch(
        "select email from users u join customer_group_members m on m.user_id = u.id where m.customer_group_id = $1",
        id_of(group),
    )
    return {row["email"] for row in rows}


async def test_a_group_is_created_renamed_and_deleted(dashboard: Dashboard, db: Any) -> None:
    name = f"Group {unique_word()}"
    group = redirect_path(await dashboard.post(GROUPS, name=name, description="Cafés"))
    page = (await dashboard.get(group)).text
    assert (field(page, "name"), field(page, "description")) == (name, "Cafés")

    assert saved_message(await dashboard.post(group, name=f"{name}!", description="")) == "saved"
    assert f"{name}!" in (await dashboard.get(f"{GROUPS}?sort=newest")).text
    assert "will lose the prices" in (await dashboard.get(f"{group}/delete")).text
    assert saved_message(await dashboard.post(f"{group}/delete")) == "deleted"

    assert (await dashboard.get(group)).status_code == 404
    actions = [action for action, _ in await events(db, actor=dashboard.id, subject=id_of(group))]
    assert actions == ["customer_group_created", "customer_group_updated", "customer_group_deleted"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Name is required."),
        ("n" * 101, "Name must be one line of at most 100 characters."),
        ("a\u202eb", "Name must be one line of at most 100 characters."),
    ],
)
async def test_an_invalid_name_is_refused_and_the_input_is_shown_again(
    dashboard: Dashboard, name: str, message: str
) -> None:
    group = await new_group(dashboard)

    for path in (GROUPS, group):
        answer = await dashboard.post(path, name=name, description="typed")
        assert (answer.status_code, error_messages(answer)) == (422, [message])
        assert (field(answer.text, "name"), field(answer.text, "description")) == (name, "typed")


async def test_the_name_of_a_group_is_unique(dashboard: Dashboard) -> None:
    group, other = await new_group(dashboard), await new_group(dashboard)
    name = field((await dashboard.get(group)).text, "name")

    assert error_messages(await dashboard.post(GROUPS, name=name)) == ["Name is taken."]
    assert error_messages(await dashboard.post(other, name=name)) == ["Name is taken."]


async def test_several_members_are_added_at_once_and_one_is_removed(dashboard: Dashboard, db: Any) -> None:
    group, emails = await new_group(dashboard), [await new_customer(db) for _ in range(3)]

    assert (
        saved_message(await dashboard.post(f"{group}/members", emails="\r\n".join([*emails, emails[0].upper()])))
        == "added"
    )
    assert saved_message(await dashboard.post(f"{group}/members", emails=emails[1])) == "added"
    assert await members_of(db, group) == set(emails)
    page = (await dashboard.get(group)).text
    assert "3 members" in page
    link = await db.fetchrow(
        """select m.id, m.user_id from customer_group_members m join users u on u.id = m.user_id
        where u.email = $1""",
        emails[0],
    )
    assert group in (await dashboard.get(f"/admin/customers/{link['user_id']}")).text
    assert (await dashboard.post(f"{await new_group(dashboard)}/members/{link['id']}/remove")).status_code == 404
    assert saved_message(await dashboard.post(f"{group}/members/{link['id']}/remove")) == "removed"

    assert await members_of(db, group) == set(emails[1:])
    audit_events = await events(db, actor=dashboard.id, subject=link["id"])
    assert audit_events == [("customer_group_member_created", "done"), ("customer_group_member_deleted", "done")]


async def test_unknown_e_mail_addresses_are_refused_and_no_member_is_added(dashboard: Dashboard, db: Any) -> None:
    group, email = await new_group(dashboard), await new_customer(db)
    unknown_email = f"{uuid4().hex}@unknown.example"

    answer = await dashboard.post(f"{group}/members", emails=f"{email}\n{unknown_email}\n<script>")

    message = f"Line 3 (<script>) is not an e-mail address. {unknown_email} is not the address of a customer."
    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert await members_of(db, group) == set()


async def test_members_are_searched(dashboard: Dashboard, db: Any) -> None:
    group, emails = await new_group(dashboard), [await new_customer(db) for _ in range(7)]
    saved_message(await dashboard.post(f"{group}/members", emails="\n".join(emails)))

    page = (await dashboard.http.get(group, params={"q": emails[3][:12].upper()}, headers=dashboard.cookie)).text

    assert [email for email in emails if email in page] == [emails[3]]


async def test_the_price_lists_of_a_group_are_shown(dashboard: Dashboard) -> None:
    group, price_list = await new_group(dashboard), await new_list(dashboard)
    saved_message(await dashboard.post(f"{price_list}/groups", **{"group_ids[]": [str(id_of(group))]}))

    assert price_list in (await dashboard.get(group)).text
    name = re.findall(r"<h1>(.*?)</h1>", (await dashboard.get(price_list)).text)[0]
    assert f"will lose the prices of {name} and promotions" in (await dashboard.get(f"{group}/delete")).text


async def test_an_unknown_group_is_404(dashboard: Dashboard) -> None:
    for path in ("", "/delete"):
        assert (await dashboard.get(f"{GROUPS}/{UNKNOWN_ID}{path}")).status_code == 404
    for path in ("", "/delete", "/members", f"/members/{UNKNOWN_ID}/remove"):
        assert (await dashboard.post(f"{GROUPS}/{UNKNOWN_ID}{path}", name="x", emails="x@y.example")).status_code == 404
