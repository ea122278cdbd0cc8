"""Promotions in the dashboard: find, create, change and delete; the list shows the state of each."""

import html
import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, field, id_of, saved_message, unique_word
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events
from tests.admin.order_builders import text_of
from tests.admin.promotion_forms import PLAIN, PROMOTIONS, new_discount, new_promotion
from tests.admin.setup_forms import changed_fields
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.platform.client import Machine


async def list_promotions(dashboard: Dashboard, search: str) -> list[list[str]]:
    """The cells of each promotion that the search finds."""
    page = (await dashboard.http.get(PROMOTIONS, params={"q": search}, headers=dashboard.cookie)).text
    rows = re.findall(r"<tr>(.*?)</tr>", page.partition("<tbody>")[2], re.DOTALL)
    return [[text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)] for row in rows]


async def test_a_promotion_is_created_and_its_form_shows_the_saved_values(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    form = {
        "name": f"Spring {word}",
        "description": "A tenth off",
        "way": "code",
        "code": word.upper(),
        "match_policy": "any",
        "usage_limit": "500",
        "customer_limit": "1",
        "starts_at": "2031-03-01T08:30",
        "expires_at": "2031-04-01T00:00",
    }

    response = await dashboard.post(f"{PROMOTIONS}/new", **form)

    promotion = response.headers["location"].removesuffix("/parts?done=made")
    row = await db.fetchrow("select * from promotions where id = $1", id_of(promotion))
    assert (row["name"], row["code"], row["is_automatic"]) == (f"Spring {word}", word, False)
    assert (row["match_policy"], row["usage_limit"], row["customer_limit"]) == ("any", 500, 1)
    assert row["starts_at"].isoformat() == "2031-03-01T08:30:00+00:00"
    page = (await dashboard.get(promotion)).text
    values = {name: field(page, name) for name in form if name not in {"way", "match_policy"}}
    assert values == {name: text for name, text in {**form, "code": word}.items() if name in values}
    assert re.search(r'value="code" required checked', page)
    assert '<option value="any" selected>' in page
    assert await events(db, actor=dashboard.id) == [("promotion_created", "done")]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Name is required."),
        ({"name": "x" * 251}, "Name must be one line of at most 250 characters."),
        ({"way": "code"}, "Code is required."),
        ({"way": "code", "code": "two words"}, "Code must be at most 100 letters without spaces and slashes."),
        ({"way": "magic"}, "Activation is not a valid choice."),
        ({"match_policy": "some"}, "Conditions is not a valid choice."),
        ({"usage_limit": "0"}, "Total uses must be 1 or more."),
        ({"customer_limit": "many"}, "Uses per customer must be a whole number."),
        ({"starts_at": "soon"}, "Begins must be a date and time, like 2026-11-15T09:30."),
        (
            {"starts_at": "2031-03-02T00:00", "expires_at": "2031-03-01T00:00"},
            "Ends must be later than it begins.",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "message",
)
async def test_an_invalid_promotion_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, fields: dict[str, str], message: str
) -> None:
    form = {"name": "Spring", **PLAIN, **fields}

    answer = await dashboard.post(f"{PROMOTIONS}/new", **form)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    texts = [name for name in form if name not in {"way", "match_policy"}]
    assert {name: field(answer.text, name) for name in texts} == {name: form[name] for name in texts}


async def test_a_code_of_another_promotion_is_refused(dashboard: Dashboard) -> None:
    code = unique_word()
    promotion = await new_promotion(dashboard, way="code", code=code)

    refusal = await dashboard.post(f"{PROMOTIONS}/new", name="Another", way="code", code=code, match_policy="all")
    own = await dashboard.post(promotion, name="Renamed", way="code", code=code, match_policy="all")

    assert (refusal.status_code, error_messages(refusal)) == (422, ["Code is taken."])
    assert saved_message(own) == "saved"


async def test_a_change_is_saved_and_audited_and_an_unchanged_form_is_not(dashboard: Dashboard, db: Any) -> None:
    promotion = await new_promotion(
        dashboard, name="Before", way="code", code=unique_word(), expires_at="2031-01-01T00:00"
    )
    promotion_id = str(id_of(promotion))
    await db.execute("update promotions set expires_at = '2031-01-01 00:00:30+00' where id = $1", UUID(promotion_id))
    page = (await dashboard.get(promotion)).text
    form = {name: field(page, name) for name in ("name", "code", "expires_at")}

    same = await dashboard.post(promotion, **form, way="code", match_policy="all")
    other = await dashboard.post(promotion, **{**form, "name": "After"}, way="automatic", match_policy="all")

    assert (saved_message(same), saved_message(other)) == ("saved", "saved")
    # An automatic promotion has no code, even if the form sends one.
    assert await changed_fields(db, promotion_id) == [{"name", "is_automatic", "code"}]
    row = await db.fetchrow(
        "select name, code, is_automatic, expires_at::text from promotions where id = $1", UUID(promotion_id)
    )
    assert tuple(row) == ("After", None, True, "2031-01-01 00:00:30+00")


async def test_the_list_shows_state_activation_period_and_uses(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    running = await new_discount(dashboard, name=f"{word} running", way="code", code=f"{word}a")
    await new_discount(dashboard, name=f"{word} later", way="code", code=f"{word}b", starts_at="2031-03-01T00:00")
    await new_discount(dashboard, name=f"{word} ended", way="code", code=f"{word}c", expires_at="2020-01-01T00:00")
    used_promotion = await new_discount(dashboard, name=f"{word} used", way="code", code=f"{word}d", usage_limit="2")
    await db.execute("update promotions set uses = 2 where id = $1", id_of(used_promotion))
    await new_promotion(dashboard, name=f"{word} bare", way="automatic")
    batch_promotion = await new_discount(dashboard, name=f"{word} batched")
    saved_message(await dashboard.post(f"{batch_promotion}/batches", name="Letters", codes_count="1"))
    await new_discount(dashboard, name=f"{word} codeless")
    await db.execute("update promotions set uses = 99 where id = $1", id_of(running))

    rows = {cells[0].removeprefix(f"{word} "): cells[1:] for cells in await list_promotions(dashboard, word.upper())}

    always = "always"
    assert rows == {
        "running": ["running", f"{word}a", always, "0"],
        "later": ["begins on 1 Mar 2031", f"{word}b", "from 1 Mar 2031, 00:00 UTC", "0"],
        "ended": ["ended", f"{word}c", "until 1 Jan 2020, 00:00 UTC", "0"],
        "used": ["used up", f"{word}d", always, "2 of 2"],
        "bare": ["no discount yet", "automatic", always, "0"],
        "batched": ["running", "1 batch of codes", always, "0"],
        "codeless": ["no codes yet", "no codes yet", always, "0"],
    }


async def test_a_promotion_is_found_by_name_code_and_batch_code(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    promotion = await new_discount(dashboard, name=f"Whole {word} name")
    await dashboard.post(f"{promotion}/batches", name="Letters", prefix=f"b{word}-", codes_count="2")
    code = await db.fetchval("select code from coupon_codes where promotion_id = $1 limit 1", id_of(promotion))
    await new_discount(dashboard, name="Another", way="code", code=f"q{word}")

    assert [cells[0] for cells in await list_promotions(dashboard, word)] == [f"Whole {word} name"]
    assert [cells[0] for cells in await list_promotions(dashboard, code.upper())] == [f"Whole {word} name"]
    assert [cells[0] for cells in await list_promotions(dashboard, f"q{word[:8]}")] == ["Another"]
    for text in (code[:-1], "%", "_", f"z{word}", "\\"):
        assert [cells for cells in await list_promotions(dashboard, text) if word in cells[0]] == [], text


async def test_promotions_are_paged_by_keyset(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    await db.execute(
        """insert into promotions (id, name, created_at, updated_at)
        select gen_random_uuid(), $1 || lpad(n::text, 3, '0'), now() - n * interval '1 second', now()
        from generate_series(1, 30) n""",
        word,
    )

    async def read(path: str) -> tuple[list[str], dict[str, str]]:
        page = html.unescape((await dashboard.get(path)).text)
        return re.findall(rf">{word}([0-9]+)<", page), {
            rel: url for url, rel in re.findall(r'href="([^"]+)" rel="(\w+)"', page)
        }

    first, first_links = await read(f"{PROMOTIONS}?q={word}")
    second, second_links = await read(first_links["next"])
    back, _ = await read(second_links["prev"])

    numbers = [f"{number:03}" for number in range(1, 31)]
    assert (first, second, back) == (numbers[:25], numbers[25:], numbers[:25])


async def test_deleting_a_promotion_used_by_an_order_is_refused(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient, writer: Machine
) -> None:
    code, checkout_setup = unique_word(), await new_checkout_setup(Make(writer))
    unused_promotion, used_promotion = (
        await new_discount(dashboard),
        await new_discount(dashboard, way="code", code=code),
    )
    buyer = Buyer(http, checkout_setup)
    await buyer.ready((await checkout_setup.product("10.00"), 1))
    assert (await buyer.patch("/cart/apply_coupon_code", coupon_code=code)).status == 200
    assert (await buyer.complete()).status == 200

    question = await dashboard.get(f"{unused_promotion}/delete")
    deletion, refusal = (
        await dashboard.post(f"{unused_promotion}/delete"),
        await dashboard.post(f"{used_promotion}/delete"),
    )

    assert f'action="{unused_promotion}/delete"' in question.text
    assert saved_message(deletion) == "deleted"
    assert (await dashboard.get(unused_promotion)).status_code == 404
    assert refusal.status_code == 422
    for page in (refusal.text, (await dashboard.get(f"{used_promotion}/delete")).text):
        assert "Orders used it, so it cannot be deleted." in page
        assert f'<a href="/admin/orders?promotion={id_of(used_promotion)}">Orders</a>: 1' in page
        assert 'class="button danger"' not in page
    assert f'href="{used_promotion}/delete"' not in (await dashboard.get(used_promotion)).text
    assert ("promotion_deleted", "done") in await events(db, subject=id_of(unused_promotion))


@pytest.mark.parametrize("path", ["", "/parts", "/batches", "/try", "/delete", "/conditions/new?kind=product"])
async def test_an_unknown_promotion_is_404(dashboard: Dashboard, path: str) -> None:
    assert (await dashboard.get(f"{PROMOTIONS}/{UNKNOWN_ID}{path}")).status_code == 404
    assert (await dashboard.get(f"{PROMOTIONS}/nonsense{path}")).status_code == 404
