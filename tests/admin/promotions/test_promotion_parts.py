"""Conditions and benefits of a promotion: each kind has a form, generated from its declared settings."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from shop.rules.promotions.settings import KINDS
from tests.admin.catalog_forms import GROUPS, error_messages, field, id_of, redirect_path, saved_message, unique_word
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events
from tests.admin.order_builders import text_of
from tests.admin.promotion_forms import add_part, checkboxes, new_promotion, parts_of
from tests.builders import Make

SECTIONS = {"condition": "conditions", "benefit": "benefits"}
TOO_MANY_IDS = [f"00000000-0000-7000-8000-{number:012}" for number in range(501)]
TABLES = {"conditions": "promotion_rules", "benefits": "promotion_actions"}


async def load_parts(db: Any, promotion: str, section: str) -> list[tuple[str, dict[str, Any]]]:
    rows = await db.fetch(
        f"select type, preferences from {TABLES[section]} where promotion_id = $1 order by id", id_of(promotion)
    )
    return [(row["type"], json.loads(row["preferences"])) for row in rows]


async def part_of(db: Any, promotion: str, section: str) -> str:
    """The path of the promotion's only condition or benefit."""
    part_id = await db.fetchval(f"select id from {TABLES[section]} where promotion_id = $1", id_of(promotion))
    return f"{promotion}/{section}/{part_id}"


async def test_every_kind_has_a_form_and_a_readable_summary(dashboard: Dashboard, db: Any, make: Make) -> None:
    promotion, word = await new_promotion(dashboard), unique_word()
    mug = await make.product(f"Mug {word}")
    _, root = await make.taxonomy()
    group = redirect_path(await dashboard.post(GROUPS, name=f"Friends {word}"))
    values_by_form = {
        "products": {"[]": mug.id},
        "taxons": {"[]": root},
        "groups": {"[]": str(id_of(group))},
        "amounts": {"[USD]": "10", "[JPY]": "1500"},
        "percent": {"": "12.5"},
        "count": {"": "2"},
    }

    for part, kinds in KINDS.items():
        for kind, definition in kinds.items():
            form = await dashboard.get(f"{promotion}/{SECTIONS[part]}/new?kind={kind}")
            assert form.status_code == 200, kind
            fields = {
                f"{name}{end}": text
                for name, form in definition.settings.items()
                for end, text in values_by_form[form].items()
            }
            await add_part(dashboard, promotion, SECTIONS[part], kind, **fields)

    page = (await dashboard.get(f"{promotion}/parts")).text
    name = await db.fetchval("select name from taxons where id = $1", UUID(root))
    amounts = "¥1,500 or $10.00"
    assert parts_of(page, "conditions") == [
        ("Specific products", f"Mug {word}"),
        ("Products in specific categories", name),
        ("Customers in specific groups", f"Friends {word}"),
        ("First order of a customer", ""),
        ("Minimum item total", amounts),
    ]
    assert parts_of(page, "benefits") == [
        ("Percentage off each line", "12.5% off"),
        ("Amount off each unit", amounts),
        ("Buy X, get Y", "buy 2, get 2, 12.5% off"),
        ("Free shipping", ""),
        ("Percentage off the order", "12.5% off"),
        ("Amount off the order", amounts),
    ]
    assert (await load_parts(db, promotion, "benefits"))[2] == (
        "buy_some_get_some",
        {"buy": 2, "get": 2, "percent": "12.5"},
    )


@pytest.mark.parametrize(
    ("section", "kind", "fields", "messages"),
    [
        ("conditions", "product", {}, ["Products must include at least one."]),
        ("conditions", "taxon", {"taxon_ids[]": ["nonsense"]}, ["Categories must include at least one."]),
        ("conditions", "product", {"product_ids[]": TOO_MANY_IDS}, ["Products must be at most 500."]),
        ("conditions", "item_total", {}, ["Amount is required in at least one currency."]),
        (
            "conditions",
            "item_total",
            {"amounts[USD]": "ten", "amounts[JPY]": "1.5", "amounts[EUR]": "0", "amounts[GBP]": "1"},
            [
                "Amount in USD must be a number like 19.99.",
                "Amount in JPY has more decimals than JPY allows (0).",
                "Amount in EUR must be greater than 0.",
            ],
        ),
        ("benefits", "percent_off_items", {"percent": ""}, ["Discount (%) is required."]),
        (
            "benefits",
            "percent_off_items",
            {"percent": "101"},
            ["Discount (%) must be more than 0 and at most 100, with at most three decimals."],
        ),
        (
            "benefits",
            "buy_some_get_some",
            {"buy": "0", "get": "1.5", "percent": "50"},
            ["Buy must be a whole number from 1 to 1000.", "Get must be a whole number from 1 to 1000."],
        ),
    ],
    ids=[
        "no product",
        "no taxon",
        "too many products",
        "no amount",
        "wrong amounts",
        "no percent",
        "percent above 100",
        "invalid counts",
    ],
)
async def test_an_invalid_part_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, db: Any, section: str, kind: str, fields: dict[str, Any], messages: list[str]
) -> None:
    promotion = await new_promotion(dashboard)

    answer = await dashboard.post(f"{promotion}/{section}/new", kind=kind, **fields)

    assert (answer.status_code, sorted(error_messages(answer))) == (422, sorted(messages))
    assert {name: field(answer.text, name) for name, text in fields.items() if isinstance(text, str)} == {
        name: text for name, text in fields.items() if isinstance(text, str)
    }
    assert await load_parts(db, promotion, section) == []


async def test_the_product_search_saves_nothing_and_preserves_the_selection(
    dashboard: Dashboard, db: Any, make: Make
) -> None:
    promotion, word = await new_promotion(dashboard), unique_word()
    mug, jug = await make.product(f"Mug {word}"), await make.product(f"Jug {word}")
    form = f"{promotion}/conditions/new"

    response = await dashboard.post(form, kind="product", q=word, find="1")
    more = await dashboard.post(form, kind="product", q=f"jug {word}", find="1", **{"product_ids[]": [mug.id]})
    none = await dashboard.post(form, kind="product", q=f"z{word}", find="1", **{"product_ids[]": [mug.id]})
    before = await load_parts(db, promotion, "conditions")
    save_response = await dashboard.post(form, kind="product", q="", **{"product_ids[]": [mug.id, jug.id]})

    assert checkboxes(response, "product_ids") == {f"Jug {word}": False, f"Mug {word}": False}
    assert checkboxes(more, "product_ids") == {f"Mug {word}": True, f"Jug {word}": False}
    assert checkboxes(none, "product_ids") == {f"Mug {word}": True}
    assert "No other products found" in text_of(none.text)
    assert [answer.status_code for answer in (response, more, none)] == [200] * 3
    assert before == []
    assert saved_message(save_response) == "added"
    assert await load_parts(db, promotion, "conditions") == [("product", {"product_ids": sorted([mug.id, jug.id])})]


async def test_a_part_is_updated_and_deleted_and_an_unchanged_one_is_not_audited(dashboard: Dashboard, db: Any) -> None:
    promotion = await new_promotion(dashboard)
    await add_part(dashboard, promotion, "conditions", "item_total", **{"amounts[USD]": "10", "amounts[EUR]": "9.50"})
    part = await part_of(db, promotion, "conditions")
    page = (await dashboard.get(part)).text
    amounts = {f"amounts[{currency}]": field(page, f"amounts[{currency}]") for currency in ("USD", "EUR", "JPY")}
    assert amounts == {"amounts[USD]": "10.00", "amounts[EUR]": "9.50", "amounts[JPY]": ""}

    same = await dashboard.post(part, **amounts)
    other = await dashboard.post(part, **{**amounts, "amounts[EUR]": ""})
    after = await load_parts(db, promotion, "conditions")
    response = await dashboard.post(f"{part}/remove")

    assert [saved_message(answer) for answer in (same, other, response)] == ["changed", "changed", "removed"]
    assert after == [("item_total", {"amounts": {"USD": "10.0"}})]
    assert await load_parts(db, promotion, "conditions") == []
    assert [action for action, _ in await events(db, subject=id_of(part))] == [
        "promotion_rule_created",
        "promotion_rule_updated",
        "promotion_rule_deleted",
    ]


async def test_a_deleted_selection_is_shown_as_deleted(dashboard: Dashboard, db: Any) -> None:
    promotion, word = await new_promotion(dashboard), unique_word()
    missing_id, group = uuid4(), redirect_path(await dashboard.post(GROUPS, name=f"Friends {word}"))
    ids = [str(missing_id), str(id_of(group))]
    await add_part(dashboard, promotion, "conditions", "customer_group", **{"group_ids[]": ids})
    part = await part_of(db, promotion, "conditions")

    page = await dashboard.get(part)
    conditions = parts_of((await dashboard.get(f"{promotion}/parts")).text, "conditions")

    checked_boxes = {label: is_on for label, is_on in checkboxes(page, "group_ids").items() if is_on}
    assert checked_boxes == {f"{missing_id}: deleted": True, f"Friends {word}": True}
    assert sorted(conditions[0][1].split(", ")) == sorted(["deleted", f"Friends {word}"])


async def test_a_long_list_of_names_is_abbreviated(dashboard: Dashboard, make: Make) -> None:
    promotion, word = await new_promotion(dashboard), unique_word()
    products = [await make.product(f"{word}{number}") for number in range(5)]
    await add_part(dashboard, promotion, "conditions", "product", **{"product_ids[]": [each.id for each in products]})

    ((_, text),) = parts_of((await dashboard.get(f"{promotion}/parts")).text, "conditions")

    assert text.endswith(" and 2 more")
    assert text.count(word) == 3


async def test_a_part_of_another_promotion_or_of_an_unknown_kind_is_404(dashboard: Dashboard, db: Any) -> None:
    mine, other = await new_promotion(dashboard), await new_promotion(dashboard)
    await add_part(dashboard, other, "benefits", "free_shipping")
    other_part = (await part_of(db, other, "benefits")).rpartition("/")[2]

    for path in (f"{mine}/benefits/{other_part}", f"{mine}/benefits/{UNKNOWN_ID}", f"{mine}/benefits/new?kind=magic"):
        assert (await dashboard.get(path)).status_code == 404, path
    for path in (f"{mine}/benefits/{other_part}", f"{mine}/benefits/{other_part}/remove", f"{mine}/benefits/new"):
        assert (await dashboard.post(path, kind="magic")).status_code == 404, path
    assert len(await load_parts(db, other, "benefits")) == 1


async def test_a_part_with_invalid_settings_is_reported_and_can_be_deleted(dashboard: Dashboard, db: Any) -> None:
    promotion = await new_promotion(dashboard)
    await add_part(dashboard, promotion, "benefits", "percent_off_items", percent="10")
    part = await part_of(db, promotion, "benefits")
    statement = "update promotion_actions set preferences = $2 where id = $1"
    await db.execute(statement, id_of(part), json.dumps({"percent": "1000"}))
    page, form = (await dashboard.get(f"{promotion}/parts")).text, (await dashboard.get(part)).text
    await db.execute("update promotion_actions set type = 'magic' where id = $1", id_of(part))
    unknown = (await dashboard.get(f"{promotion}/parts")).text

    message = "Invalid settings: no discount is given."
    assert parts_of(page, "benefits") == [("Percentage off each line", message)]
    assert (f'href="{part}"' in page, f'href="{part}"' in unknown, field(form, "percent")) == (True, False, "1000")
    assert parts_of(unknown, "benefits") == [("magic", message)]
    assert (await dashboard.get(part)).status_code == 404
    assert saved_message(await dashboard.post(f"{part}/remove")) == "removed"
