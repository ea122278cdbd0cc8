"""Price lists: create, fill, assign, and preview the prices of a customer."""

import asyncio
import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import (
    GROUPS,
    LISTS,
    error_messages,
    field,
    id_of,
    new_customer,
    new_list,
    new_product,
    new_variants,
    redirect_path,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events

ENTRIES = """select v.sku, e.min_quantity, e.amount from price_list_entries e join variants v on v.id = e.variant_id
    where e.price_list_id = $1 order by v.sku desc, e.min_quantity"""


PERCENT = "Percentage off everything must be above 0 and at most 100, with at most two decimals."


async def entries_of(db: Any, price_list: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await db.fetch(ENTRIES, id_of(price_list))]


async def test_a_price_list_is_created_updated_deactivated_and_deleted(dashboard: Dashboard, db: Any) -> None:
    name = f"Wholesale {unique_word()}"
    fields = {"name": name, "currency": "USD", "priority": "7", "percent_off": "12.5", "starts_at": "2026-01-01T00:00"}

    price_list = redirect_path(await dashboard.post(f"{LISTS}/new", **fields))

    row = await db.fetchrow("select * from price_lists where id = $1", id_of(price_list))
    assert (row["name"], row["currency"], row["priority"], str(row["percent_off"])) == (name, "USD", 7, "12.5")
    assert row["starts_at"].isoformat() == "2026-01-01T00:00:00+00:00"
    page = (await dashboard.get(price_list)).text
    assert [field(page, part) for part in ("priority", "percent_off", "starts_at")] == ["7", "12.5", "2026-01-01T00:00"]
    assert 'name="active" value="1" checked' in page
    assert saved_message(await dashboard.post(price_list, name=name, priority="", percent_off="")) == "saved"
    row = await db.fetchrow("select * from price_lists where id = $1", id_of(price_list))
    assert (row["priority"], row["percent_off"], row["starts_at"], row["active"]) == (0, None, None, False)
    row_text = (await dashboard.get(f"{LISTS}?sort=newest")).text.partition(name)[2].partition("</tr>")[0]
    assert ">inactive<" in row_text
    assert "0 prices in USD" in row_text
    assert "In use" not in (await dashboard.get(f"{price_list}/delete")).text
    assert saved_message(await dashboard.post(f"{price_list}/delete")) == "deleted"
    actions = [action for action, _ in await events(db, actor=dashboard.id, subject=id_of(price_list))]
    assert actions == ["price_list_created", "price_list_updated", "price_list_deleted"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Name is required."),
        ({"currency": "XXX"}, "Currency is not a valid choice."),
        ({"priority": "high"}, "Priority must be a whole number."),
        ({"percent_off": "0"}, PERCENT),
        (
            {"percent_off": "101"},
            PERCENT,
        ),
        (
            {"percent_off": "1.234"},
            PERCENT,
        ),
        ({"percent_off": "ten"}, "Percentage off everything must be a number like 19.99."),
        ({"starts_at": "soon"}, "Begins must be a date and time, like 2026-11-15T09:30."),
        ({"starts_at": "2026-02-01T00:00", "ends_at": "2026-02-01T00:00"}, "Ends must be later than it begins."),
    ],
)
async def test_an_invalid_price_list_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, fields: dict[str, str], message: str
) -> None:
    form = {"name": f"List {unique_word()}", "currency": "USD", "priority": "1", **fields}

    answer = await dashboard.post(f"{LISTS}/new", **form)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    for name in set(fields) - {"currency"}:
        assert field(answer.text, name) == fields[name]
    if "currency" not in fields:
        price_list = await new_list(dashboard)
        assert error_messages(await dashboard.post(price_list, **form)) == [message]


async def test_the_name_of_a_price_list_is_unique(dashboard: Dashboard) -> None:
    name = f"List {unique_word()}"
    await new_list(dashboard, name=name)

    assert error_messages(await dashboard.post(f"{LISTS}/new", name=name, currency="USD")) == ["Name is taken."]


async def test_prices_are_added_by_sku_updated_and_deleted(dashboard: Dashboard, db: Any) -> None:
    _, (red, blue) = await new_variants(dashboard, db)
    price_list = await new_list(dashboard)
    path = f"{price_list}/entries"

    assert saved_message(await dashboard.post(f"{path}/add", sku=red, min_quantity="", amount="18")) == "added"
    assert saved_message(await dashboard.post(f"{path}/add", sku=red, min_quantity="10", amount="15.5")) == "added"
    assert saved_message(await dashboard.post(f"{path}/add", sku=blue, min_quantity="1", amount="17")) == "added"
    assert await entries_of(db, price_list) == [(red, 1, 1800), (red, 10, 1550), (blue, 1, 1700)]
    page = (await dashboard.get(path)).text
    third, second, first = re.findall(r'name="amount\[([^\]]+)\]"', page)
    assert field(page, f"amount[{second}]") == "15.50"
    assert "$20.00" in page
    changes = {f"amount[{first}]": "18", f"min_quantity[{first}]": "2", f"amount[{second}]": "x", "remove[]": [second]}
    assert saved_message(await dashboard.post(path, **changes)) == "saved"

    assert await entries_of(db, price_list) == [(red, 2, 1800), (blue, 1, 1700)]
    assert ("price_list_entry_deleted", "done") in await events(db, actor=dashboard.id, subject=UUID(second))
    assert ("price_list_entry_updated", "done") in await events(db, actor=dashboard.id, subject=UUID(first))
    assert await events(db, actor=dashboard.id, subject=UUID(third)) == [("price_list_entry_created", "done")]
    search_page = (await dashboard.http.get(path, params={"q": blue.lower()}, headers=dashboard.cookie)).text
    assert re.findall(r'name="amount\[([^\]]+)\]"', search_page) == [third]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sku": ""}, "SKU is required."),
        ({"sku": "nobody-has-it"}, "SKU does not exist."),
        ({"min_quantity": "0"}, "From quantity must be 1 or more."),
        ({"min_quantity": "1"}, "From quantity already has a price for this SKU; change it below."),
        ({"amount": ""}, "Price is required."),
        ({"amount": "1.001"}, "Price has more decimals than USD allows (2)."),
    ],
)
async def test_an_invalid_price_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, db: Any, fields: dict[str, str], message: str
) -> None:
    sku = unique_word()
    await new_product(dashboard, sku=sku)
    price_list = await new_list(dashboard)
    saved_message(await dashboard.post(f"{price_list}/entries/add", sku=sku, min_quantity="1", amount="1"))

    answer = await dashboard.post(
        f"{price_list}/entries/add", **{"sku": sku, "min_quantity": "5", "amount": "1", **fields}
    )

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    (name,) = fields
    assert field(answer.text, name) == fields[name]


async def test_every_invalid_price_of_the_table_gets_an_error_and_none_is_saved(dashboard: Dashboard, db: Any) -> None:
    _, (red, blue) = await new_variants(dashboard, db)
    price_list = await new_list(dashboard)
    for sku, quantity in ((red, "1"), (red, "5"), (blue, "1")):
        saved_message(await dashboard.post(f"{price_list}/entries/add", sku=sku, min_quantity=quantity, amount="10"))
    before = await entries_of(db, price_list)
    blue_entry, second_entry, first_entry = re.findall(
        r'name="amount\[([^\]]+)\]"', (await dashboard.get(f"{price_list}/entries")).text
    )

    wrong = await dashboard.post(
        f"{price_list}/entries",
        **{f"amount[{first_entry}]": "7", f"amount[{blue_entry}]": "", f"min_quantity[{second_entry}]": "0"},
    )
    clash = await dashboard.post(
        f"{price_list}/entries", **{f"amount[{first_entry}]": "7", f"min_quantity[{second_entry}]": "1"}
    )

    assert error_messages(wrong) == [
        f"{blue}, price must be a number like 19.99.",
        f"{red}, quantity must be 1 or more.",
    ]
    assert field(wrong.text, f"amount[{first_entry}]") == "7"
    assert error_messages(clash) == [f"{red}, quantity is taken."]
    assert await entries_of(db, price_list) == before


async def test_pasted_rows_add_and_update_prices(dashboard: Dashboard, db: Any) -> None:
    _, (red, blue) = await new_variants(dashboard, db)
    price_list = await new_list(dashboard)
    saved_message(await dashboard.post(f"{price_list}/entries/add", sku=red, min_quantity="1", amount="19"))

    lines = f"{red},1,18.00\r\n\r\n{red}; 10 ;15\n{blue}\t17.5"
    assert saved_message(await dashboard.post(f"{price_list}/entries/paste", lines=lines)) == "pasted"

    assert await entries_of(db, price_list) == [(red, 1, 1800), (red, 10, 1500), (blue, 1, 1750)]


async def test_every_invalid_pasted_row_gets_an_error_and_none_is_saved(dashboard: Dashboard, db: Any) -> None:
    _, (red, blue) = await new_variants(dashboard, db)
    price_list = await new_list(dashboard)
    lines = f"{red},1,18\nno-such,1,5\n{blue},0,5\n{blue},2,5.555\nonly\n{red},1,9"

    answer = await dashboard.post(f"{price_list}/entries/paste", lines=lines)

    assert answer.status_code == 422
    (message,) = error_messages(answer)
    assert message == (
        f"Line 3 ({blue},0,5) must be 1 or more. Line 4 ({blue},2,5.555) has more decimals than USD allows (2). "
        f"Line 5 (only) needs a SKU, from quantity and price, for example MUG-RED,10,17.50. "
        f"Line 6 ({red}) repeats the variant and quantity of line 1. "
        "Line 2 (no-such) has a SKU that does not exist."
    )
    assert field(answer.text, "lines") == lines
    assert await entries_of(db, price_list) == []
    many = "\n".join(f"{red},{number},1" for number in range(1, 1002))
    assert error_messages(await dashboard.post(f"{price_list}/entries/paste", lines=many)) == [
        "Enter at most 1000 lines at once, not 1001."
    ]
    assert error_messages(await dashboard.post(f"{price_list}/entries/paste", lines=" ")) == ["Lines is required."]


async def test_a_price_list_is_assigned_to_customers_and_groups_and_unassigned(dashboard: Dashboard, db: Any) -> None:
    ada, grace = await new_customer(db), await new_customer(db)
    price_list = await new_list(dashboard)
    group = redirect_path(await dashboard.post(GROUPS, name=f"Group {unique_word()}"))
    path = f"{price_list}/customers"

    assert saved_message(await dashboard.post(path, emails=f"{ada.upper()}\n{grace}, {ada}")) == "assigned"
    assert saved_message(await dashboard.post(path, emails=ada)) == "assigned"
    assert (
        saved_message(await dashboard.post(f"{price_list}/groups", **{"group_ids[]": [str(id_of(group))]})) == "groups"
    )
    page = (await dashboard.get(path)).text
    assert ada in page
    assert grace in page
    assert f'value="{id_of(group)}" checked' in page
    link = await db.fetchrow(
        "select l.id, u.id as user_id from price_list_users l join users u on u.id = l.user_id where u.email = $1", ada
    )
    assert price_list in (await dashboard.get(f"/admin/customers/{link['user_id']}")).text
    assert (await dashboard.post(f"{await new_list(dashboard)}/customers/{link['id']}/remove")).status_code == 404
    assert saved_message(await dashboard.post(f"{path}/{link['id']}/remove")) == "unassigned"
    former = {"former_ids[]": [str(id_of(group))]}
    assert saved_message(await dashboard.post(f"{price_list}/groups", **former)) == "groups"

    assert await db.fetchval("select count(*) from price_list_users where price_list_id = $1", id_of(price_list)) == 1
    assert await db.fetchval("select count(*) from price_list_groups where price_list_id = $1", id_of(price_list)) == 0
    assert ("price_list_user_deleted", "done") in await events(db, actor=dashboard.id, subject=link["id"])


async def test_unknown_e_mail_addresses_are_refused_and_none_is_assigned(dashboard: Dashboard, db: Any) -> None:
    ada = await new_customer(db)
    price_list = await new_list(dashboard)
    text = f"{ada}\nnot an address\nnobody@nowhere.example"

    answer = await dashboard.post(f"{price_list}/customers", emails=text)

    message = (
        "Line 2 (not an address) is not an e-mail address. nobody@nowhere.example is not the address of a customer."
    )
    assert error_messages(answer) == [message]
    assert field(answer.text, "emails") == text
    assert await db.fetchval("select count(*) from price_list_users where price_list_id = $1", id_of(price_list)) == 0
    assert error_messages(await dashboard.post(f"{price_list}/customers", emails="")) == [
        "E-mail addresses is required."
    ]


async def test_an_unknown_price_list_or_entry_is_404(dashboard: Dashboard) -> None:
    for path in ("", "/delete", "/entries", "/customers"):
        assert (await dashboard.get(f"{LISTS}/{UNKNOWN_ID}{path}")).status_code == 404
    for path in ("", "/delete", "/entries", "/entries/add", "/entries/paste", "/customers", "/groups"):
        assert (await dashboard.post(f"{LISTS}/{UNKNOWN_ID}{path}", name="x")).status_code == 404
    price_list = await new_list(dashboard)
    assert (await dashboard.post(f"{price_list}/entries", **{"remove[]": [UNKNOWN_ID]})).status_code == 404
    assert (await dashboard.post(f"{price_list}/customers/{UNKNOWN_ID}/remove")).status_code == 404


async def test_a_price_of_another_list_is_404(dashboard: Dashboard, db: Any) -> None:
    sku = unique_word()
    await new_product(dashboard, sku=sku)
    price_list, other = await new_list(dashboard), await new_list(dashboard)
    saved_message(await dashboard.post(f"{price_list}/entries/add", sku=sku, min_quantity="1", amount="1"))
    entry = await db.fetchval("select id from price_list_entries where price_list_id = $1", id_of(price_list))

    for fields in ({"remove[]": [str(entry)]}, {f"amount[{entry}]": "2"}):
        assert (await dashboard.post(f"{other}/entries", **fields)).status_code == 404
    assert await entries_of(db, price_list) == [(sku, 1, 100)]


async def preview_price(dashboard: Dashboard, **params: str) -> tuple[str, str, list[str]]:
    """The preview of the first variant: its price, the reason, and the verdict on every price list."""
    answer = await dashboard.http.get(f"{LISTS}/preview", params=params, headers=dashboard.cookie)
    assert answer.status_code == 200, error_messages(answer)
    card = answer.text.partition('class="card seen"')[2].partition("</section>")[0]
    price = re.search(r'class="figure">([^<]+)<', card)
    reason = re.search(r"</div></div>\s*<p>(.*?)</p>", card, re.DOTALL)
    lists = re.findall(r"<li>(.*?)</li>", card)
    texts = [" ".join(re.sub(r"<[^>]+>", " ", text).split()) for text in [reason[1] if reason else "", *lists]]
    return price[1] if price else "", html.unescape(texts[0]), [html.unescape(text) for text in texts[1:]]


async def test_two_operators_change_the_groups_of_a_list_at_once(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    price_list = await new_list(dashboard)
    old, first, second = [
        str(id_of(redirect_path(await dashboard.post(GROUPS, name=f"Group {unique_word()}")))) for _ in range(3)
    ]
    saved_message(await dashboard.post(f"{price_list}/groups", **{"group_ids[]": [old]}))
    page = (await dashboard.get(f"{price_list}/customers")).text
    seen = {"former_ids[]": re.findall(r'name="former_ids\[\]" value="([^"]+)"', page)}

    answers = await asyncio.gather(
        dashboard.post(f"{price_list}/groups", **seen, **{"group_ids[]": [old, first]}),
        other_dashboard.post(f"{price_list}/groups", **seen, **{"group_ids[]": [second]}),
    )

    assert [saved_message(answer) for answer in answers] == ["groups", "groups"]
    rows = await db.fetch("select customer_group_id from price_list_groups where price_list_id = $1", id_of(price_list))
    assert {str(row[0]) for row in rows} == {first, second}


async def test_the_preview_explains_the_price_of_a_customer(dashboard: Dashboard, db: Any) -> None:
    email, sku = await new_customer(db), unique_word()
    await new_product(dashboard, sku=sku, price="24.00")
    word = unique_word()
    group = redirect_path(await dashboard.post(GROUPS, name=f"G{word}"))
    saved_message(await dashboard.post(f"{group}/members", emails=email))
    starts_at = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    lists = {
        "entry": await new_list(dashboard, name=f"Entry {word}", priority="5"),
        "percent": await new_list(dashboard, name=f"Percent {word}", priority="1", percent_off="10"),
        "same": await new_list(dashboard, name=f"Same {word}", priority="5", percent_off="1"),
        "later": await new_list(dashboard, name=f"Later {word}", priority="9", percent_off="50", starts_at=starts_at),
        "off": await new_list(dashboard, name=f"Off {word}", priority="8", percent_off="50"),
        "past": await new_list(
            dashboard, name=f"Past {word}", priority="7", percent_off="50", ends_at="2020-01-01T00:00"
        ),
        "none": await new_list(dashboard, name=f"None {word}", priority="6"),
    }
    saved_message(await dashboard.post(lists["off"], name=f"Off {word}", priority="8", percent_off="50"))
    saved_message(await dashboard.post(f"{lists['entry']}/entries/add", sku=sku, min_quantity="1", amount="20"))
    saved_message(await dashboard.post(f"{lists['entry']}/entries/add", sku=sku, min_quantity="10", amount="15"))
    saved_message(await dashboard.post(f"{lists['none']}/entries/add", sku=sku, min_quantity="99", amount="1"))
    for name, price_list in lists.items():
        if name == "percent":
            saved_message(await dashboard.post(f"{price_list}/groups", **{"group_ids[]": [str(id_of(group))]}))
        else:
            saved_message(await dashboard.post(f"{price_list}/customers", emails=email))

    price, reason, verdicts = await preview_price(dashboard, email=email, currency="USD", q=sku)

    assert (price, reason) == ("$20.00", f"Entry {word} applies: fixed price, priority 5.")
    assert verdicts == [
        f"Later {word} priority 9, 50% off has not begun",
        f"Off {word} priority 8, 50% off is inactive",
        f"Past {word} priority 7, 50% off has ended",
        f"None {word} priority 6, no price starts at 99 units",
        f"Same {word} priority 5, 1% off has the same priority and is not cheaper",
        f"Percent {word} priority 1, 10% off has a lower priority: 1, not 5",
    ]
    price, reason, _ = await preview_price(dashboard, email=email, q=sku, quantity="12")
    assert (price, reason) == ("$15.00", f"Entry {word} applies: fixed price from 10 units, priority 5.")
    price, reason, _ = await preview_price(
        dashboard, email=email, q=sku, at=f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%dT%H:%M}"
    )
    assert price == "$12.00"
    assert reason == f"Later {word} applies: 50% off everything without a fixed price, priority 9."


async def test_the_preview_of_a_customer_without_lists_shows_the_regular_price(dashboard: Dashboard, db: Any) -> None:
    email, sku = await new_customer(db), unique_word()
    product = await new_product(dashboard, sku=sku, price="24.00")

    price, reason, verdicts = await preview_price(dashboard, email=email, q=sku)
    assert (price, reason, verdicts) == ("$24.00", "No price list applies. This is the regular price.", [])
    await db.execute(
        "delete from prices using variants v where v.id = variant_id and v.product_id = $1", id_of(product)
    )
    price, reason, _ = await preview_price(dashboard, email=email, q=sku)
    assert (price, reason) == ("", "Neither the customer's price lists nor the product has a price in USD.")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"email": "nobody@nowhere.example"}, "Customer must be the e-mail address of a customer."),
        ({"email": "nonsense"}, "Customer must be the e-mail address of a customer."),
        ({"currency": "XXX"}, "Currency is not a currency of this shop."),
        ({"quantity": "0"}, "Quantity must be 1 or more."),
        ({"at": "soon"}, "Time must be a date and time, like 2026-11-15T09:30."),
    ],
)
async def test_an_invalid_preview_request_is_refused_with_a_field_error(
    dashboard: Dashboard, db: Any, params: dict[str, str], message: str
) -> None:
    query = {"email": await new_customer(db), "q": "mug", **params}

    answer = await dashboard.http.get(f"{LISTS}/preview", params=query, headers=dashboard.cookie)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
