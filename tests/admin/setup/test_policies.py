"""Policies in the dashboard: written in Markdown, shown on the website, and not overwritten by an older form."""

from typing import Any

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, field, saved_message, unique_word
from tests.admin.dashboard import Dashboard, events
from tests.admin.setup_forms import new_record

POLICIES = "/admin/settings/policies"


async def test_a_policy_is_written_shown_changed_and_deleted(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient
) -> None:
    name = f"Returns {unique_word()}"
    assert saved_message(await dashboard.post(f"{POLICIES}/new", name=name, body="# Send it\n\n**30 days**")) == "made"
    row = await db.fetchrow("select id, slug from policies where name = $1", name)
    path, address = f"{POLICIES}/{row['id']}", f"/policies/{row['slug']}"
    assert name in (await dashboard.get(POLICIES)).text
    assert "<strong>30 days</strong>" in (await http.get(address)).text

    page = (await dashboard.get(path)).text
    fields = {"name": name, "slug": row["slug"], "seen_at": field(page, "seen_at")}
    assert saved_message(await dashboard.post(path, **fields, body="Never")) == "saved"

    assert await db.fetchval("select body_html from policies where id = $1", row["id"]) == "<p>Never</p>\n"
    assert saved_message(await dashboard.post(f"{path}/delete")) == "deleted"
    assert (await http.get(address)).status_code == 404
    actions = [action for action, _ in await events(db, actor=dashboard.id, subject=row["id"])]
    assert actions == ["policy_created", "policy_updated", "policy_deleted"]


async def test_of_two_operators_who_change_a_policy_one_is_told_what_changed(dashboard: Dashboard, db: Any) -> None:
    path = f"{POLICIES}/{await new_record(dashboard, db, POLICIES, 'policies', body='First')}"
    page = (await dashboard.get(path)).text
    fields = {name: field(page, name) for name in ("name", "slug", "seen_at")}
    assert saved_message(await dashboard.post(path, **fields, body="Of the other")) == "saved"

    refusal = await dashboard.post(path, **fields, body="Of this one")

    assert (refusal.status_code, "Someone else changed it" in refusal.text) == (409, True)
    assert "<dt>Text</dt><dd>Of the other</dd>" in refusal.text
    assert "\nOf this one</textarea>" in refusal.text
    assert await db.fetchval("select body from policies where name = $1", fields["name"]) == "Of the other"
    fields["seen_at"] = field(refusal.text, "seen_at")
    assert saved_message(await dashboard.post(path, **fields, body="Of this one")) == "saved"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Name is required."),
        ({"name": "x" * 251}, "Name must be one line of at most 250 characters."),
        ({"name": "a\x1bb"}, "Name must be one line of at most 250 characters."),
        ({"slug": "Not a slug"}, "Page address must be at most 100 characters of a-z, 0-9 and -, like about-us."),
        ({"body": "é" * 33_000}, "Text must be text of at most 64 KiB."),
        ({"body": "a\x1bb"}, "Text must be text of at most 65,536 characters."),
    ],
)
async def test_an_invalid_policy_is_refused(dashboard: Dashboard, fields: dict[str, str], message: str) -> None:
    answer = await dashboard.post(f"{POLICIES}/new", **{"name": f"Terms {unique_word()}", "body": "Text", **fields})

    assert (answer.status_code, error_messages(answer)) == (422, [message])
