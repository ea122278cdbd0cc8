"""What a promotion gives and for what: each kind has its form, drawn from the tables of the rules."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from shop.rules.promotions.settings import KINDS
from tests.admin.catalog_forms import GROUPS, done, field, id_of, mark, place, said
from tests.admin.dashboard import NOBODY, Desk, events
from tests.admin.order_builders import text_of
from tests.admin.promotion_forms import add, boxes, new_promotion, parts_of
from tests.builders import Make

WAYS = {"condition": "conditions", "benefit": "benefits"}
MANY = [f"00000000-0000-7000-8000-{number:012}" for number in range(501)]
TABLES = {"conditions": "promotion_rules", "benefits": "promotion_actions"}


async def kept(db: Any, promotion: str, what: str) -> list[tuple[str, dict[str, Any]]]:
    rows = await db.fetch(
        f"select type, preferences from {TABLES[what]} where promotion_id = $1 order by id", id_of(promotion)
    )
    return [(row["type"], json.loads(row["preferences"])) for row in rows]


async def part_of(db: Any, promotion: str, what: str) -> str:
    """The address of its only part."""
    part_id = await db.fetchval(f"select id from {TABLES[what]} where promotion_id = $1", id_of(promotion))
    return f"{promotion}/{what}/{part_id}"


async def test_every_kind_has_a_form_and_what_it_settles_is_shown_in_words(desk: Desk, db: Any, make: Make) -> None:
    promotion, word = await new_promotion(desk), mark()
    mug = await make.product(f"Mug {word}")
    _, root = await make.taxonomy()
    group = place(await desk.post(GROUPS, name=f"Friends {word}"))
    of_forms = {
        "products": {"[]": mug.id},
        "taxons": {"[]": root},
        "groups": {"[]": str(id_of(group))},
        "amounts": {"[USD]": "10", "[JPY]": "1500"},
        "percent": {"": "12.5"},
        "count": {"": "2"},
    }

    for what, kinds in KINDS.items():
        for kind, definition in kinds.items():
            form = await desk.get(f"{promotion}/{WAYS[what]}/new?kind={kind}")
            assert form.status_code == 200, kind
            fields = {
                f"{name}{end}": text
                for name, form in definition.settings.items()
                for end, text in of_forms[form].items()
            }
            await add(desk, promotion, WAYS[what], kind, **fields)

    page = (await desk.get(f"{promotion}/parts")).text
    name = await db.fetchval("select name from taxons where id = $1", UUID(root))
    amounts = "¥1,500 or $10.00"
    assert parts_of(page, "conditions") == [
        ("Certain products", f"Mug {word}"),
        ("Products of certain categories", name),
        ("Customers of certain groups", f"Friends {word}"),
        ("A customer's first order", ""),
        ("Goods for at least", amounts),
    ]
    assert parts_of(page, "benefits") == [
        ("Percent off each line", "12.5% off"),
        ("An amount off each piece", amounts),
        ("Buy some, get some", "buy 2, get 2, 12.5% off"),
        ("Free shipping", ""),
        ("Percent off the whole", "12.5% off"),
        ("An amount off the whole", amounts),
    ]
    assert (await kept(db, promotion, "benefits"))[2] == (
        "buy_some_get_some",
        {"buy": 2, "get": 2, "percent": "12.5"},
    )


@pytest.mark.parametrize(
    ("what", "kind", "fields", "told"),
    [
        ("conditions", "product", {}, ["Products must include at least one."]),
        ("conditions", "taxon", {"taxon_ids[]": ["nonsense"]}, ["Categories must include at least one."]),
        ("conditions", "product", {"product_ids[]": MANY}, ["Products must be at most 500."]),
        ("conditions", "item_total", {}, ["Amount is required in at least one currency."]),
        (
            "conditions",
            "item_total",
            {"amounts[USD]": "ten", "amounts[JPY]": "1.5", "amounts[EUR]": "0", "amounts[GBP]": "1"},
            [
                "Amount in USD must be a number like 19.99.",
                "Amount in JPY has more digits than JPY has (0).",
                "Amount in EUR must be greater than 0.",
            ],
        ),
        ("benefits", "percent_off_items", {"percent": ""}, ["Percent must be given."]),
        (
            "benefits",
            "percent_off_items",
            {"percent": "101"},
            ["Percent must be more than 0 and at most 100, with at most three decimals."],
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
        "too much",
        "counts",
    ],
)
async def test_what_is_wrong_is_told_at_its_field_and_what_was_typed_is_kept(
    desk: Desk, db: Any, what: str, kind: str, fields: dict[str, Any], told: list[str]
) -> None:
    promotion = await new_promotion(desk)

    answer = await desk.post(f"{promotion}/{what}/new", kind=kind, **fields)

    assert (answer.status_code, sorted(said(answer))) == (422, sorted(told))
    assert {name: field(answer.text, name) for name, text in fields.items() if isinstance(text, str)} == {
        name: text for name, text in fields.items() if isinstance(text, str)
    }
    assert await kept(db, promotion, what) == []


async def test_products_are_found_by_a_search_that_saves_nothing_and_keeps_what_is_ticked(
    desk: Desk, db: Any, make: Make
) -> None:
    promotion, word = await new_promotion(desk), mark()
    mug, jug = await make.product(f"Mug {word}"), await make.product(f"Jug {word}")
    form = f"{promotion}/conditions/new"

    response = await desk.post(form, kind="product", q=word, find="1")
    more = await desk.post(form, kind="product", q=f"jug {word}", find="1", **{"product_ids[]": [mug.id]})
    none = await desk.post(form, kind="product", q=f"z{word}", find="1", **{"product_ids[]": [mug.id]})
    before = await kept(db, promotion, "conditions")
    save_response = await desk.post(form, kind="product", q="", **{"product_ids[]": [mug.id, jug.id]})

    assert boxes(response, "product_ids") == {f"Jug {word}": False, f"Mug {word}": False}
    assert boxes(more, "product_ids") == {f"Mug {word}": True, f"Jug {word}": False}
    assert boxes(none, "product_ids") == {f"Mug {word}": True}
    assert "is found" in text_of(none.text)
    assert [answer.status_code for answer in (response, more, none)] == [200] * 3
    assert before == []
    assert done(save_response) == "added"
    assert await kept(db, promotion, "conditions") == [("product", {"product_ids": sorted([mug.id, jug.id])})]


async def test_a_part_is_changed_and_removed_and_saving_the_same_is_no_change(desk: Desk, db: Any) -> None:
    promotion = await new_promotion(desk)
    await add(desk, promotion, "conditions", "item_total", **{"amounts[USD]": "10", "amounts[EUR]": "9.50"})
    part = await part_of(db, promotion, "conditions")
    page = (await desk.get(part)).text
    amounts = {f"amounts[{currency}]": field(page, f"amounts[{currency}]") for currency in ("USD", "EUR", "JPY")}
    assert amounts == {"amounts[USD]": "10.00", "amounts[EUR]": "9.50", "amounts[JPY]": ""}

    same = await desk.post(part, **amounts)
    other = await desk.post(part, **{**amounts, "amounts[EUR]": ""})
    after = await kept(db, promotion, "conditions")
    response = await desk.post(f"{part}/remove")

    assert [done(answer) for answer in (same, other, response)] == ["changed", "changed", "removed"]
    assert after == [("item_total", {"amounts": {"USD": "10.0"}})]
    assert await kept(db, promotion, "conditions") == []
    assert [action for action, _ in await events(db, subject=id_of(part))] == [
        "promotion_rule_created",
        "promotion_rule_updated",
        "promotion_rule_deleted",
    ]


async def test_what_is_chosen_and_no_longer_there_is_seen_and_can_be_taken_away(desk: Desk, db: Any) -> None:
    promotion, word = await new_promotion(desk), mark()
    missing_id, group = uuid4(), place(await desk.post(GROUPS, name=f"Friends {word}"))
    ids = [str(missing_id), str(id_of(group))]
    await add(desk, promotion, "conditions", "customer_group", **{"group_ids[]": ids})
    part = await part_of(db, promotion, "conditions")

    page = await desk.get(part)
    conditions = parts_of((await desk.get(f"{promotion}/parts")).text, "conditions")

    checked_boxes = {label: is_on for label, is_on in boxes(page, "group_ids").items() if is_on}
    assert checked_boxes == {f"{missing_id}: deleted": True, f"Friends {word}": True}
    assert sorted(conditions[0][1].split(", ")) == sorted(["deleted", f"Friends {word}"])


async def test_many_names_are_told_short(desk: Desk, make: Make) -> None:
    promotion, word = await new_promotion(desk), mark()
    products = [await make.product(f"{word}{number}") for number in range(5)]
    await add(desk, promotion, "conditions", "product", **{"product_ids[]": [each.id for each in products]})

    ((_, text),) = parts_of((await desk.get(f"{promotion}/parts")).text, "conditions")

    assert text.endswith(" and 2 more")
    assert text.count(word) == 3


async def test_a_part_of_another_promotion_or_of_a_kind_nobody_knows_is_not_there(desk: Desk, db: Any) -> None:
    mine, other = await new_promotion(desk), await new_promotion(desk)
    await add(desk, other, "benefits", "free_shipping")
    other_part = (await part_of(db, other, "benefits")).rpartition("/")[2]

    for path in (f"{mine}/benefits/{other_part}", f"{mine}/benefits/{NOBODY}", f"{mine}/benefits/new?kind=magic"):
        assert (await desk.get(path)).status_code == 404, path
    for path in (f"{mine}/benefits/{other_part}", f"{mine}/benefits/{other_part}/remove", f"{mine}/benefits/new"):
        assert (await desk.post(path, kind="magic")).status_code == 404, path
    assert len(await kept(db, other, "benefits")) == 1


async def test_a_part_that_was_spoiled_by_hand_is_told_and_can_be_removed(desk: Desk, db: Any) -> None:
    promotion = await new_promotion(desk)
    await add(desk, promotion, "benefits", "percent_off_items", percent="10")
    part = await part_of(db, promotion, "benefits")
    spoil = "update promotion_actions set preferences = $2 where id = $1"
    await db.execute(spoil, id_of(part), json.dumps({"percent": "1000"}))
    page, form = (await desk.get(f"{promotion}/parts")).text, (await desk.get(part)).text
    await db.execute("update promotion_actions set type = 'magic' where id = $1", id_of(part))
    unknown = (await desk.get(f"{promotion}/parts")).text

    message = "Invalid settings: no discount is given."
    assert parts_of(page, "benefits") == [("Percent off each line", message)]
    assert (f'href="{part}"' in page, f'href="{part}"' in unknown, field(form, "percent")) == (True, False, "1000")
    assert parts_of(unknown, "benefits") == [("magic", message)]
    assert (await desk.get(part)).status_code == 404
    assert done(await desk.post(f"{part}/remove")) == "removed"
