"""Operators write notes about an order, and messages to its customer."""

import html
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, redirect_path, saved_message, unique_word
from tests.admin.dashboard import Dashboard, events
from tests.admin.order_builders import ORDERS, buy, text_of
from tests.checkout_builders import Buyer
from tests.concurrency import run_concurrently
from tests.shopper import Answer


async def rows_of(db: Any, order: Answer) -> list[tuple[Any, ...]]:
    rows = await db.fetch(
        "select kind, text, author_id from order_notes where order_id = $1 order by created_at, id", UUID(order.id)
    )
    return [tuple(row) for row in rows]


async def test_notes_of_several_operators_are_shown_with_their_authors(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    path = f"{ORDERS}/{order['number']}"
    await db.execute("update orders set internal_note = 'Set by an application' where id = $1", UUID(order.id))

    assert saved_message(await dashboard.post(f"{path}/notes", note="Call <b>first</b>.\nThen ship.")) == "noted"
    saved_message(await other_dashboard.post(f"{path}/notes", note="She called."))

    text = text_of((await dashboard.get(path)).text)
    first, second, third = (text.index(each) for each in ("Set by an application", "Call <b>first", "She called."))
    assert first < text.index(dashboard.email, first) < second < text.index(other_dashboard.email, second) < third
    assert f"{dashboard.email} added a note" in text
    assert f"{other_dashboard.email} added a note" in text
    assert ("order_note_added", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    logs = "select string_agg(detail::text || changes::text, '') from audit_events where subject_id = $1"
    assert "Then ship" not in await db.fetchval(logs, UUID(order.id))


async def test_only_the_author_changes_and_deletes_a_note(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    other_order, _ = await buy(Buyer(buyer.http, buyer.checkout_setup))
    note_id = uuid4()
    path = f"{ORDERS}/{order['number']}"
    note = f"{path}/notes/{note_id}"
    saved_message(await dashboard.post(f"{path}/notes", id=str(note_id), note="One"))

    assert (await other_dashboard.post(note, note="Two")).status_code == 403
    assert (await other_dashboard.post(f"{note}/delete")).status_code == 403
    assert "Edit or delete" not in (await other_dashboard.get(path)).text
    wrong = f"{ORDERS}/{other_order['number']}/notes/{note_id}"
    assert (await dashboard.post(wrong, note="Two")).status_code == 404
    assert await rows_of(db, order) == [("note", "One", dashboard.id)]

    assert saved_message(await dashboard.post(note, note="Two")) == "note-saved"
    assert await rows_of(db, order) == [("note", "Two", dashboard.id)]
    assert saved_message(await dashboard.post(f"{note}/delete")) == "note-deleted"
    again = await dashboard.post(note, note="Three")
    assert (again.status_code, error_messages(again)) == (409, ["The note was deleted meanwhile."])
    assert await rows_of(db, order) == []
    assert f"{dashboard.email} deleted a note" in text_of((await dashboard.get(path)).text)


async def test_a_message_is_sent_once_and_cannot_change(
    dashboard: Dashboard, buyer: Buyer, http: httpx2.AsyncClient, db: Any
) -> None:
    order, _ = await buy(buyer)
    path, email, message_id = f"{ORDERS}/{order['number']}", f"{unique_word()}@example.com", uuid4()
    saved_message(await dashboard.post(f"{path}/details", email=email, tags=""))
    message = "Dear Ada,\r\nBcc: eve@example.com\r\n\r\n<i>It</i> arrives {{ shop }} on Monday."
    fields = {"id": str(message_id), "message": message}

    posts = (dashboard.post(f"{path}/messages", **fields) for _ in range(3))
    answers = await run_concurrently(db, "orders", UUID(order.id), *posts)

    assert {redirect_path(answer) for answer in answers} == {path}
    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()
    assert mail["subject"] == f"About your order {order['number']}"
    assert "Dear Ada,\nBcc: eve@example.com\n\n<i>It</i> arrives {{ shop }} on Monday." in mail["text"]
    page = (await dashboard.get(path)).text
    assert html.escape("<i>It</i> arrives") in page
    assert text_of(page).count(f"{dashboard.email} wrote to the customer") == 1
    assert (await dashboard.post(f"{path}/notes/{message_id}", note="x")).status_code == 404
    assert (await dashboard.post(f"{path}/notes/{message_id}/delete")).status_code == 404
    audits = [action for action, _ in await events(db, actor=dashboard.id, subject=UUID(order.id))]
    assert audits.count("order_message_sent") == 1
    logs = "select string_agg(detail::text || changes::text, '') from audit_events where subject_id = $1"
    assert "Monday" not in await db.fetchval(logs, UUID(order.id))


@pytest.mark.parametrize("text", ["", " \n ", "x" * 5001, "a\x07b", "a\u202eb"])
@pytest.mark.parametrize("name", ["note", "message"])
async def test_hostile_texts_are_refused_and_shown_again(
    dashboard: Dashboard, unchanged_order: tuple[Answer, str], db: Any, name: str, text: str
) -> None:
    order, _ = unchanged_order

    answer = await dashboard.post(f"{ORDERS}/{order['number']}/{name}s", **{name: text})

    assert answer.status_code == 422
    assert "5,000 characters" in "".join(error_messages(answer))
    assert html.escape(text.strip()) in answer.text
    assert await rows_of(db, order) == []


async def test_there_is_no_message_without_an_address_and_no_end_of_notes(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    path = f"{ORDERS}/{order['number']}"
    await db.execute("update orders set email = null where id = $1", UUID(order.id))
    await db.execute(
        """insert into order_notes (id, order_id, author_id, kind, text, created_at, updated_at)
        select gen_random_uuid(), $1, $2, 'note', 'n', now(), now() from generate_series(1, 100)""",
        UUID(order.id),
        dashboard.id,
    )

    message = await dashboard.post(f"{path}/messages", message="Hello")
    note = await dashboard.post(f"{path}/notes", note="One more")

    assert (message.status_code, error_messages(message)) == (422, ["The order has no e-mail address."])
    assert (note.status_code, error_messages(note)) == (422, ["An order has at most 100 notes and messages."])
    assert "Write to the customer" not in (await dashboard.get(path)).text
    assert len(await rows_of(db, order)) == 100
