"""Customer groups: made, filled by e-mail, and what they get."""

from typing import Any
from uuid import uuid4

import pytest

from tests.admin.catalog_forms import GROUPS, done, field, id_of, mark, new_customer, new_list, place, said
from tests.admin.dashboard import NOBODY, Desk, events


async def new_group(desk: Desk) -> str:
    return place(await desk.post(GROUPS, name=f"Group {mark()}"))


async def members_of(db: Any, group: str) -> set[str]:
    rows = await db.fetch(
        "select email from users u join customer_group_members m on m.user_id = u.id where m.customer_group_id = $1",
        id_of(group),
    )
    return {row["email"] for row in rows}


async def test_a_group_is_made_renamed_and_deleted(desk: Desk, db: Any) -> None:
    name = f"Group {mark()}"
    group = place(await desk.post(GROUPS, name=name, description="Cafés"))
    page = (await desk.get(group)).text
    assert (field(page, "name"), field(page, "description")) == (name, "Cafés")

    assert done(await desk.post(group, name=f"{name}!", description="")) == "saved"
    assert f"{name}!" in (await desk.get(GROUPS)).text
    assert "lose the prices" in (await desk.get(f"{group}/delete")).text
    assert done(await desk.post(f"{group}/delete")) == "deleted"

    assert (await desk.get(group)).status_code == 404
    actions = [action for action, _ in await events(db, actor=desk.id, subject=id_of(group))]
    assert actions == ["customer_group_created", "customer_group_updated", "customer_group_deleted"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "Name must be given."),
        ("n" * 101, "Name must be one line of at most 100 characters."),
        ("a\u202eb", "Name must be one line of at most 100 characters."),
    ],
)
async def test_a_name_that_will_not_do_is_told_and_kept(desk: Desk, name: str, told: str) -> None:
    group = await new_group(desk)

    for path in (GROUPS, group):
        answer = await desk.post(path, name=name, description="typed")
        assert (answer.status_code, said(answer)) == (422, [told])
        assert (field(answer.text, "name"), field(answer.text, "description")) == (name, "typed")


async def test_a_groups_name_is_its_own(desk: Desk) -> None:
    group, other = await new_group(desk), await new_group(desk)
    name = field((await desk.get(group)).text, "name")

    assert said(await desk.post(GROUPS, name=name)) == ["Name is taken."]
    assert said(await desk.post(other, name=name)) == ["Name is taken."]


async def test_many_are_put_in_at_once_and_one_is_taken_out(desk: Desk, db: Any) -> None:
    group, emails = await new_group(desk), [await new_customer(db) for _ in range(3)]

    assert done(await desk.post(f"{group}/members", emails="\r\n".join([*emails, emails[0].upper()]))) == "added"
    assert done(await desk.post(f"{group}/members", emails=emails[1])) == "added"
    assert await members_of(db, group) == set(emails)
    page = (await desk.get(group)).text
    assert "Members: 3" in page
    link = await db.fetchrow(
        """select m.id, m.user_id from customer_group_members m join users u on u.id = m.user_id
        where u.email = $1""",
        emails[0],
    )
    assert group in (await desk.get(f"/admin/customers/{link['user_id']}")).text
    assert (await desk.post(f"{await new_group(desk)}/members/{link['id']}/remove")).status_code == 404
    assert done(await desk.post(f"{group}/members/{link['id']}/remove")) == "removed"

    assert await members_of(db, group) == set(emails[1:])
    audit_events = await events(db, actor=desk.id, subject=link["id"])
    assert audit_events == [("customer_group_member_created", "done"), ("customer_group_member_deleted", "done")]


async def test_who_is_no_customer_is_told_and_nobody_is_put_in(desk: Desk, db: Any) -> None:
    group, email = await new_group(desk), await new_customer(db)
    stranger = f"{uuid4().hex}@strangers.example"

    answer = await desk.post(f"{group}/members", emails=f"{email}\n{stranger}\n<script>")

    message = f"Line 3 (<script>) is not an e-mail address. {stranger} is no customer's address."
    assert (answer.status_code, said(answer)) == (422, [message])
    assert await members_of(db, group) == set()


async def test_members_are_searched(desk: Desk, db: Any) -> None:
    group, emails = await new_group(desk), [await new_customer(db) for _ in range(7)]
    done(await desk.post(f"{group}/members", emails="\n".join(emails)))

    page = (await desk.http.get(group, params={"q": emails[3][:12].upper()}, headers=desk.cookie)).text

    assert [email for email in emails if email in page] == [emails[3]]


async def test_the_lists_of_a_group_are_shown(desk: Desk) -> None:
    group, price_list = await new_group(desk), await new_list(desk)
    done(await desk.post(f"{price_list}/groups", **{"group_ids[]": [str(id_of(group))]}))

    assert price_list in (await desk.get(group)).text


async def test_a_group_that_is_not_there_is_not_found(desk: Desk) -> None:
    for path in ("", "/delete"):
        assert (await desk.get(f"{GROUPS}/{NOBODY}{path}")).status_code == 404
    for path in ("", "/delete", "/members", f"/members/{NOBODY}/remove"):
        assert (await desk.post(f"{GROUPS}/{NOBODY}{path}", name="x", emails="x@y.example")).status_code == 404
