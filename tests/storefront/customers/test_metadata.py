"""Metadata that shoppers store is bounded: each object, and all of a cart together."""

from typing import Any

import httpx2
import pytest

from shop.rules.metadata import MAX_CART_METADATA_BYTES, MAX_METADATA_BYTES
from tests.accounts import sign_in
from tests.builders import Make
from tests.platform.bulk import new_variants
from tests.platform.client import Machine
from tests.shopper import Answer, Shopper

FIELDS = ("public_metadata", "private_metadata")


def metadata_of_size(size: int) -> dict[str, str]:
    """An object of `size` bytes as JSON, most of them in three-byte characters."""
    rest = size - len('{"k":""}')
    return {"k": "€" * (rest // 3) + "x" * (rest % 3)}


LARGEST, TOO_LARGE = metadata_of_size(MAX_METADATA_BYTES), metadata_of_size(MAX_METADATA_BYTES + 1)
# Short in the request, but long as the database writes it.
LONG_NUMBERS = {"k": [1e308] * 60}


async def add(shopper: Any, *items: dict[str, Any]) -> Answer:
    answer: Answer = await shopper.post("/cart/add_items", items=list(items))
    return answer


def errors(answer: Answer) -> list[str]:
    assert answer.status == 422, answer
    return list(answer.json["errors"])


@pytest.mark.security("H-10")
@pytest.mark.parametrize("field", FIELDS)
async def test_the_metadata_of_a_line_item_is_limited_to_16_kib(guest: Shopper, make: Make, field: str) -> None:
    mug, cup = (await make.product(on_hand=9)).variant_id, (await make.product(on_hand=9)).variant_id
    await guest.post("/cart")

    wrong: list[Any] = [TOO_LARGE, LONG_NUMBERS, [], "text"]
    for metadata in wrong:
        alone = await guest.ask("POST", "/cart/add_item", json={"variant_id": mug, field: metadata})
        among = await add(guest, {"variant_id": mug}, {"variant_id": cup, field: metadata})

        assert (errors(alone), errors(among)) == ([field], [f"items.1.{field}"])

    fits = await guest.ask("POST", "/cart/add_item", json={"variant_id": mug, field: LARGEST})
    cart = await guest.get("/cart", include="line_items")
    assert (fits.status, fits["item_count"]) == (200, 1)
    public_metadata = cart.json["included"][0]["attributes"]["public_metadata"]
    assert public_metadata == (LARGEST if field == "public_metadata" else {})


@pytest.mark.security("H-10")
async def test_the_metadata_of_an_account_is_limited_to_16_kib(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)

    for metadata in (TOO_LARGE, LONG_NUMBERS, None):
        assert errors(await member.patch("/account", user={"public_metadata": metadata})) == ["public_metadata"]

    assert (await member.patch("/account", user={"public_metadata": LARGEST})).status == 200


@pytest.mark.security("H-11")
async def test_the_total_metadata_of_a_cart_is_limited_for_shoppers_and_applications(
    guest: Shopper, writer: Machine
) -> None:
    ids = await new_variants(writer, MAX_CART_METADATA_BYTES // MAX_METADATA_BYTES // 2 + 1)
    cart = await guest.post("/cart")
    full = dict.fromkeys(FIELDS, LARGEST)
    assert (await add(guest, *({"variant_id": variant_id, **full} for variant_id in ids[:-1]))).status == 200

    beyond = await guest.post("/cart/add_item", variant_id=ids[-1], public_metadata={"k": "v"})
    without = await guest.post("/cart/add_item", variant_id=ids[-1])
    line = {"order_id": cart.id, "variant_id": ids[-1], "public_metadata": {"k": "v"}}
    by_machine = await writer.post("/line_items", {"line_item": line})
    cart_with_lines = await guest.get("/cart", include="line_items")
    last = cart_with_lines.json["included"][-1]["id"]
    update = await writer.patch(f"/line_items/{last}", {"line_item": {"private_metadata": {"k": "v"}}})
    replacement = await guest.post("/cart/add_item", variant_id=ids[0], public_metadata={}, private_metadata={})
    then = await writer.patch(f"/line_items/{last}", {"line_item": {"private_metadata": {"k": "v"}}})

    assert [errors(answer) for answer in (beyond, by_machine, update)] == [["base"]] * 3
    assert [answer.status for answer in (without, replacement, then)] == [200] * 3


@pytest.mark.security("H-11")
async def test_a_merge_moves_line_items_within_the_metadata_limit_and_reports_the_others(
    guest: Shopper, writer: Machine, http: httpx2.AsyncClient
) -> None:
    half = MAX_CART_METADATA_BYTES // MAX_METADATA_BYTES // 4
    ids = await new_variants(writer, 2 * half + 2)
    full, member = dict.fromkeys(FIELDS, LARGEST), await sign_in(http)
    for shopper, own in ((guest, ids[: half + 1]), (member, ids[half + 1 :])):
        await shopper.post("/cart")
        assert (await add(shopper, *({"variant_id": each, **full} for each in own))).status == 200

    cart = await member.patch("/cart/associate", guest_order_token=guest.order_token)

    assert cart.status == 200
    merge = cart.json["meta"]["merge"]
    moved_ids, capped_ids = ([line["variant_id"] for line in merge[name]] for name in ("moved", "capped"))
    assert (len(moved_ids), len(capped_ids), set(moved_ids) | set(capped_ids)) == (half - 1, 2, set(ids[half + 1 :]))
    assert merge["capped"][0] == {"variant_id": capped_ids[0], "quantity": 1}
    assert cart["item_count"] == 2 * half
