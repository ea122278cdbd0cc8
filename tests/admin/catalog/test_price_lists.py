"""Price lists: made, filled, assigned, and looked at through a customer's eyes."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import (
    GROUPS,
    LISTS,
    done,
    field,
    id_of,
    mark,
    new_customer,
    new_list,
    new_product,
    new_variants,
    place,
    said,
)
from tests.admin.dashboard import NOBODY, Desk, events

ENTRIES = """select v.sku, e.min_quantity, e.amount from price_list_entries e join variants v on v.id = e.variant_id
    where e.price_list_id = $1 order by v.sku desc, e.min_quantity"""


PERCENT = "Percentage off everything must be above 0 and at most 100, with at most two decimals."


async def entries_of(db: Any, price_list: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await db.fetch(ENTRIES, id_of(price_list))]


async def test_a_list_is_made_changed_switched_off_and_deleted(desk: Desk, db: Any) -> None:
    name = f"Wholesale {mark()}"
    fields = {"name": name, "currency": "USD", "priority": "7", "percent_off": "12.5", "starts_at": "2026-01-01T00:00"}

    price_list = place(await desk.post(f"{LISTS}/new", **fields))

    row = await db.fetchrow("select * from price_lists where id = $1", id_of(price_list))
    assert (row["name"], row["currency"], row["priority"], str(row["percent_off"])) == (name, "USD", 7, "12.5")
    assert row["starts_at"].isoformat() == "2026-01-01T00:00:00+00:00"
    page = (await desk.get(price_list)).text
    assert [field(page, part) for part in ("priority", "percent_off", "starts_at")] == ["7", "12.5", "2026-01-01T00:00"]
    assert 'name="active" value="1" checked' in page
    assert done(await desk.post(price_list, name=name, priority="", percent_off="")) == "saved"
    row = await db.fetchrow("select * from price_lists where id = $1", id_of(price_list))
    assert (row["priority"], row["percent_off"], row["starts_at"], row["active"]) == (0, None, None, False)
    row_text = (await desk.get(LISTS)).text.partition(name)[2].partition("</tr>")[0]
    assert ">off<" in row_text
    assert "0 prices in USD" in row_text
    assert "Prices that will be deleted: 0" in (await desk.get(f"{price_list}/delete")).text
    assert done(await desk.post(f"{price_list}/delete")) == "deleted"
    actions = [action for action, _ in await events(db, actor=desk.id, subject=id_of(price_list))]
    assert actions == ["price_list_created", "price_list_updated", "price_list_deleted"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": ""}, "Name must be given."),
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
async def test_a_list_that_will_not_do_is_told_and_kept(desk: Desk, fields: dict[str, str], told: str) -> None:
    form = {"name": f"List {mark()}", "currency": "USD", "priority": "1", **fields}

    answer = await desk.post(f"{LISTS}/new", **form)

    assert (answer.status_code, said(answer)) == (422, [told])
    for name in set(fields) - {"currency"}:
        assert field(answer.text, name) == fields[name]
    if "currency" not in fields:
        price_list = await new_list(desk)
        assert said(await desk.post(price_list, **form)) == [told]


async def test_a_lists_name_is_its_own(desk: Desk) -> None:
    name = f"List {mark()}"
    await new_list(desk, name=name)

    assert said(await desk.post(f"{LISTS}/new", name=name, currency="USD")) == ["Name is taken."]


async def test_prices_are_added_by_sku_changed_and_removed(desk: Desk, db: Any) -> None:
    _, (red, blue) = await new_variants(desk, db)
    price_list = await new_list(desk)
    here = f"{price_list}/entries"

    assert done(await desk.post(f"{here}/add", sku=red, min_quantity="", amount="18")) == "added"
    assert done(await desk.post(f"{here}/add", sku=red, min_quantity="10", amount="15.5")) == "added"
    assert done(await desk.post(f"{here}/add", sku=blue, min_quantity="1", amount="17")) == "added"
    assert await entries_of(db, price_list) == [(red, 1, 1800), (red, 10, 1550), (blue, 1, 1700)]
    page = (await desk.get(here)).text
    third, second, first = re.findall(r'name="amount\[([^\]]+)\]"', page)
    assert field(page, f"amount[{second}]") == "15.50"
    assert "$20.00" in page
    changes = {f"amount[{first}]": "18", f"min_quantity[{first}]": "2", f"amount[{second}]": "x", "remove[]": [second]}
    assert done(await desk.post(here, **changes)) == "saved"

    assert await entries_of(db, price_list) == [(red, 2, 1800), (blue, 1, 1700)]
    assert ("price_list_entry_deleted", "done") in await events(db, actor=desk.id, subject=UUID(second))
    assert ("price_list_entry_updated", "done") in await events(db, actor=desk.id, subject=UUID(first))
    assert await events(db, actor=desk.id, subject=UUID(third)) == [("price_list_entry_created", "done")]
    search_page = (await desk.http.get(here, params={"q": blue.lower()}, headers=desk.cookie)).text
    assert re.findall(r'name="amount\[([^\]]+)\]"', search_page) == [third]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"sku": ""}, "SKU must be given."),
        ({"sku": "nobody-has-it"}, "SKU is no variant's."),
        ({"min_quantity": "0"}, "From quantity must be 1 or more."),
        ({"min_quantity": "1"}, "From quantity already has a price for this SKU; change it below."),
        ({"amount": ""}, "Price must be given."),
        ({"amount": "1.001"}, "Price has more digits than USD has (2)."),
    ],
)
async def test_a_price_that_will_not_do_is_told_and_kept(
    desk: Desk, db: Any, fields: dict[str, str], told: str
) -> None:
    sku = mark()
    await new_product(desk, sku=sku)
    price_list = await new_list(desk)
    done(await desk.post(f"{price_list}/entries/add", sku=sku, min_quantity="1", amount="1"))

    answer = await desk.post(f"{price_list}/entries/add", **{"sku": sku, "min_quantity": "5", "amount": "1", **fields})

    assert (answer.status_code, said(answer)) == (422, [told])
    (name,) = fields
    assert field(answer.text, name) == fields[name]


async def test_every_price_of_the_table_that_will_not_do_is_told_and_none_is_saved(desk: Desk, db: Any) -> None:
    _, (red, blue) = await new_variants(desk, db)
    price_list = await new_list(desk)
    for sku, quantity in ((red, "1"), (red, "5"), (blue, "1")):
        done(await desk.post(f"{price_list}/entries/add", sku=sku, min_quantity=quantity, amount="10"))
    before = await entries_of(db, price_list)
    of_blue, five, one = re.findall(r'name="amount\[([^\]]+)\]"', (await desk.get(f"{price_list}/entries")).text)

    wrong = await desk.post(
        f"{price_list}/entries", **{f"amount[{one}]": "7", f"amount[{of_blue}]": "", f"min_quantity[{five}]": "0"}
    )
    clash = await desk.post(f"{price_list}/entries", **{f"amount[{one}]": "7", f"min_quantity[{five}]": "1"})

    assert said(wrong) == [f"{blue}, price must be a number like 19.99.", f"{red}, quantity must be 1 or more."]
    assert field(wrong.text, f"amount[{one}]") == "7"
    assert said(clash) == [f"{red}, quantity is taken."]
    assert await entries_of(db, price_list) == before


async def test_pasted_lines_add_and_change_prices(desk: Desk, db: Any) -> None:
    _, (red, blue) = await new_variants(desk, db)
    price_list = await new_list(desk)
    done(await desk.post(f"{price_list}/entries/add", sku=red, min_quantity="1", amount="19"))

    lines = f"{red},1,18.00\r\n\r\n{red}; 10 ;15\n{blue}\t17.5"
    assert done(await desk.post(f"{price_list}/entries/paste", lines=lines)) == "pasted"

    assert await entries_of(db, price_list) == [(red, 1, 1800), (red, 10, 1500), (blue, 1, 1750)]


async def test_every_pasted_line_that_will_not_do_is_told_and_none_is_saved(desk: Desk, db: Any) -> None:
    _, (red, blue) = await new_variants(desk, db)
    price_list = await new_list(desk)
    lines = f"{red},1,18\nno-such,1,5\n{blue},0,5\n{blue},2,5.555\nonly\n{red},1,9"

    answer = await desk.post(f"{price_list}/entries/paste", lines=lines)

    assert answer.status_code == 422
    (message,) = said(answer)
    assert message == (
        f"Line 3 ({blue},0,5) must be 1 or more. Line 4 ({blue},2,5.555) has more digits than USD has (2). "
        f"Line 5 (only) must be sku,min quantity,amount. Line 6 ({red}) repeats the variant and quantity of line 1. "
        "Line 2 (no-such) has a SKU that is no variant's."
    )
    assert field(answer.text, "lines") == lines
    assert await entries_of(db, price_list) == []
    many = "\n".join(f"{red},{number},1" for number in range(1, 1002))
    assert said(await desk.post(f"{price_list}/entries/paste", lines=many)) == [
        "At most 1000 lines at once; these are 1001."
    ]
    assert said(await desk.post(f"{price_list}/entries/paste", lines=" ")) == ["Lines must be given."]


async def test_a_list_is_given_to_customers_and_groups_and_taken_away(desk: Desk, db: Any) -> None:
    ada, grace = await new_customer(db), await new_customer(db)
    price_list = await new_list(desk)
    group = place(await desk.post(GROUPS, name=f"Group {mark()}"))
    here = f"{price_list}/customers"

    assert done(await desk.post(here, emails=f"{ada.upper()}\n{grace}, {ada}")) == "assigned"
    assert done(await desk.post(here, emails=ada)) == "assigned"
    assert done(await desk.post(f"{price_list}/groups", **{"group_ids[]": [str(id_of(group))]})) == "groups"
    page = (await desk.get(here)).text
    assert ada in page
    assert grace in page
    assert f'value="{id_of(group)}" checked' in page
    link = await db.fetchrow(
        "select l.id, u.id as user_id from price_list_users l join users u on u.id = l.user_id where u.email = $1", ada
    )
    assert price_list in (await desk.get(f"/admin/customers/{link['user_id']}")).text
    assert (await desk.post(f"{await new_list(desk)}/customers/{link['id']}/remove")).status_code == 404
    assert done(await desk.post(f"{here}/{link['id']}/remove")) == "unassigned"
    assert done(await desk.post(f"{price_list}/groups")) == "groups"

    assert await db.fetchval("select count(*) from price_list_users where price_list_id = $1", id_of(price_list)) == 1
    assert await db.fetchval("select count(*) from price_list_groups where price_list_id = $1", id_of(price_list)) == 0
    assert ("price_list_user_deleted", "done") in await events(db, actor=desk.id, subject=link["id"])


async def test_addresses_of_nobody_are_told_and_none_is_assigned(desk: Desk, db: Any) -> None:
    ada = await new_customer(db)
    price_list = await new_list(desk)
    text = f"{ada}\nnot an address\nnobody@nowhere.example"

    answer = await desk.post(f"{price_list}/customers", emails=text)

    message = "Line 2 (not an address) is not an e-mail address. nobody@nowhere.example is no customer's address."
    assert said(answer) == [message]
    assert field(answer.text, "emails") == text
    assert await db.fetchval("select count(*) from price_list_users where price_list_id = $1", id_of(price_list)) == 0
    assert said(await desk.post(f"{price_list}/customers", emails="")) == ["E-mail addresses must be given."]


async def test_what_is_not_there_is_not_found(desk: Desk) -> None:
    for path in ("", "/delete", "/entries", "/customers"):
        assert (await desk.get(f"{LISTS}/{NOBODY}{path}")).status_code == 404
    for path in ("", "/delete", "/entries", "/entries/add", "/entries/paste", "/customers", "/groups"):
        assert (await desk.post(f"{LISTS}/{NOBODY}{path}", name="x")).status_code == 404
    price_list = await new_list(desk)
    assert (await desk.post(f"{price_list}/entries", **{"remove[]": [NOBODY]})).status_code == 404
    assert (await desk.post(f"{price_list}/customers/{NOBODY}/remove")).status_code == 404


async def test_another_lists_price_is_not_touched_through_this_one(desk: Desk, db: Any) -> None:
    sku = mark()
    await new_product(desk, sku=sku)
    price_list, other = await new_list(desk), await new_list(desk)
    done(await desk.post(f"{price_list}/entries/add", sku=sku, min_quantity="1", amount="1"))
    entry = await db.fetchval("select id from price_list_entries where price_list_id = $1", id_of(price_list))

    for fields in ({"remove[]": [str(entry)]}, {f"amount[{entry}]": "2"}):
        assert (await desk.post(f"{other}/entries", **fields)).status_code == 404
    assert await entries_of(db, price_list) == [(sku, 1, 100)]


async def looked(desk: Desk, **params: str) -> tuple[str, str, list[str]]:
    """Of the first thing found: what it costs, why, and what is said of every list."""
    answer = await desk.http.get(f"{LISTS}/preview", params=params, headers=desk.cookie)
    assert answer.status_code == 200, said(answer)
    card = answer.text.partition('class="card seen"')[2].partition("</section>")[0]
    price = re.search(r'class="figure">([^<]+)<', card)
    why = re.search(r"</div></div>\s*<p>(.*?)</p>", card, re.DOTALL)
    lists = re.findall(r"<li>(.*?)</li>", card)
    plain = [" ".join(re.sub(r"<[^>]+>", " ", text).split()) for text in [why[1] if why else "", *lists]]
    return price[1] if price else "", html.unescape(plain[0]), [html.unescape(text) for text in plain[1:]]


async def test_the_preview_says_what_a_customer_pays_and_why(desk: Desk, db: Any) -> None:
    email, sku = await new_customer(db), mark()
    await new_product(desk, sku=sku, price="24.00")
    word = mark()
    group = place(await desk.post(GROUPS, name=f"G{word}"))
    done(await desk.post(f"{group}/members", emails=email))
    later = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    lists = {
        "entry": await new_list(desk, name=f"Entry {word}", priority="5"),
        "percent": await new_list(desk, name=f"Percent {word}", priority="1", percent_off="10"),
        "same": await new_list(desk, name=f"Same {word}", priority="5", percent_off="1"),
        "later": await new_list(desk, name=f"Later {word}", priority="9", percent_off="50", starts_at=later),
        "off": await new_list(desk, name=f"Off {word}", priority="8", percent_off="50"),
        "past": await new_list(desk, name=f"Past {word}", priority="7", percent_off="50", ends_at="2020-01-01T00:00"),
        "none": await new_list(desk, name=f"None {word}", priority="6"),
    }
    done(await desk.post(lists["off"], name=f"Off {word}", priority="8", percent_off="50"))
    done(await desk.post(f"{lists['entry']}/entries/add", sku=sku, min_quantity="1", amount="20"))
    done(await desk.post(f"{lists['entry']}/entries/add", sku=sku, min_quantity="10", amount="15"))
    done(await desk.post(f"{lists['none']}/entries/add", sku=sku, min_quantity="99", amount="1"))
    for name, price_list in lists.items():
        if name == "percent":
            done(await desk.post(f"{price_list}/groups", **{"group_ids[]": [str(id_of(group))]}))
        else:
            done(await desk.post(f"{price_list}/customers", emails=email))

    price, why, verdicts = await looked(desk, email=email, currency="USD", q=sku)

    assert (price, why) == ("$20.00", f"Entry {word} applies: fixed price, priority 5.")
    assert verdicts == [
        f"Later {word} priority 9, says 50% off has not begun",
        f"Off {word} priority 8, says 50% off is switched off",
        f"Past {word} priority 7, says 50% off has ended",
        f"None {word} priority 6, says nothing begins at 99 pieces",
        f"Entry {word} priority 5, says $20.00 applies",
        f"Same {word} priority 5, says 1% off has the same priority and is not cheaper",
        f"Percent {word} priority 1, says 10% off has a smaller priority, 1 against 5",
    ]
    price, why, _ = await looked(desk, email=email, q=sku, quantity="12")
    assert (price, why) == ("$15.00", f"Entry {word} applies: fixed price from 10 units, priority 5.")
    price, why, _ = await looked(desk, email=email, q=sku, at=f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%dT%H:%M}")
    assert price == "$12.00"
    assert why == f"Later {word} applies: 50% off everything without a fixed price, priority 9."


async def test_the_preview_of_a_customer_without_lists_is_what_anybody_pays(desk: Desk, db: Any) -> None:
    email, sku = await new_customer(db), mark()
    product = await new_product(desk, sku=sku, price="24.00")

    price, why, verdicts = await looked(desk, email=email, q=sku)
    assert (price, why, verdicts) == ("$24.00", "No price list applies: this is the regular price.", [])
    await db.execute(
        "delete from prices using variants v where v.id = variant_id and v.product_id = $1", id_of(product)
    )
    price, why, _ = await looked(desk, email=email, q=sku)
    assert (price, why) == ("", "Neither the customer's price lists nor the product has a price in USD.")


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"email": "nobody@nowhere.example"}, "Customer must be the e-mail address of a customer."),
        ({"email": "nonsense"}, "Customer must be the e-mail address of a customer."),
        ({"currency": "XXX"}, "Currency is not a currency of this shop."),
        ({"quantity": "0"}, "Quantity must be 1 or more."),
        ({"at": "soon"}, "When must be a date and time, like 2026-11-15T09:30."),
    ],
)
async def test_a_preview_that_cannot_be_is_told(desk: Desk, db: Any, params: dict[str, str], told: str) -> None:
    query = {"email": await new_customer(db), "q": "mug", **params}

    answer = await desk.http.get(f"{LISTS}/preview", params=query, headers=desk.cookie)

    assert (answer.status_code, said(answer)) == (422, [told])
