"""Saved cards: their owner sees them, pays with them again and deletes them; others cannot."""

from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer, new_checkout_setup
from tests.service import Service
from tests.shopper import Answer

CARDS_PATH = "/account/credit_cards"
UNKNOWN = "source_not_found"


@pytest.fixture
async def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> SignedInBuyer:
    return SignedInBuyer(http, checkout_setup, await sign_in(http))


async def cards(buyer: Buyer, query: str = "") -> list[str]:
    answer = await buyer.get(f"{CARDS_PATH}?{query}")
    assert answer.status == 200, answer
    return [str(each["id"]) for each in answer.json["data"]]


async def new_card(buyer: SignedInBuyer) -> str:
    """Pays with a new card, which the shop then saves."""
    order = await buyer.buy(await buyer.checkout_setup.product(), "approve")
    assert order.status == 200, order
    return (await cards(buyer))[0]


async def choose(buyer: Buyer, card: str, **fields: Any) -> Answer:
    """Fills a cart and chooses a saved card to pay with."""
    buyer.order_token = None
    await buyer.add_items((await buyer.checkout_setup.product(), 1))
    await buyer.enter_address()
    method = {"payment_method_id": buyer.checkout_setup.card, **fields}
    return await buyer.post("/checkout/create_payment", source_id=card, **method)


async def test_a_card_is_saved_after_a_payment_and_can_be_used_again(buyer: SignedInBuyer, db: Any) -> None:
    before = await cards(buyer)
    card = await new_card(buyer)

    choice = await choose(buyer, card)
    order = await buyer.complete()

    assert (before, choice.status, order.status, order["payment_state"]) == ([], 201, 200, "paid")
    query = "select count(*) from payments where source_id = $1 and state = 'completed'"
    assert await db.fetchval(query, UUID(card)) == 2
    assert await cards(buyer) == [card]


async def test_a_saved_card_has_the_documented_attributes(
    buyer: SignedInBuyer, checkout_setup: CheckoutSetup, service: Service
) -> None:
    card = await new_card(buyer)

    response = await buyer.get(f"{CARDS_PATH}/{card}", include="payment_method")
    listing = await buyer.get(CARDS_PATH)

    assert response.json["data"]["type"] == "credit_card"
    assert response.json["data"]["attributes"] == {
        "cc_type": "visa",
        "last_digits": "1111",
        "month": None,
        "year": None,
        "name": None,
        "default": True,
        "gateway_payment_profile_id": "approve",
        "public_metadata": {},
    }
    (method,) = response.json["included"]
    assert (method["type"], method["id"]) == ("payment_method", checkout_setup.card)
    assert (listing.json["data"], listing.json["meta"]["total_count"]) == ([response.json["data"]], 1)
    counts = [service.request_line(answer.request_id)["statements"] for answer in (listing, response)]
    assert counts == [2, 3]


async def test_the_card_used_last_is_the_default(buyer: SignedInBuyer) -> None:
    first = await new_card(buyer)
    second = await new_card(buyer)

    flags = {str(each["id"]): each["attributes"]["default"] for each in (await buyer.get(CARDS_PATH)).json["data"]}
    default = await buyer.get(f"{CARDS_PATH}/default")
    await choose(buyer, first)
    await buyer.complete()
    then = await buyer.get(f"{CARDS_PATH}/default")
    await buyer.delete(f"{CARDS_PATH}/{first}")
    last_default = await buyer.get(f"{CARDS_PATH}/default")
    pages = [await cards(buyer, f"per_page=1&page={page}") for page in (1, 2)]

    assert flags == {second: True, first: False}
    assert (default.id, then.id, last_default.id) == (second, first, second)
    assert pages == [[second], []]


async def test_cards_are_filtered_by_payment_method(buyer: SignedInBuyer, checkout_setup: CheckoutSetup) -> None:
    card = await new_card(buyer)

    by_method = {
        method: await cards(buyer, f"filter[payment_method_id]={method}")
        for method in (checkout_setup.card, checkout_setup.check)
    }
    wrong = [
        await buyer.get(f"{CARDS_PATH}?{query}")
        for query in ("filter[payment_method_id]=1", "filter[name]=x", "sort=name")
    ]

    assert by_method == {checkout_setup.card: [card], checkout_setup.check: []}
    assert [(each.status, each.code) for each in wrong] == [
        (400, "unknown_filter"),
        (400, "unknown_filter"),
        (400, "unknown_sort"),
    ]


async def test_a_saved_card_can_be_chosen_without_its_payment_method(buyer: SignedInBuyer) -> None:
    card = await new_card(buyer)
    buyer.order_token = None
    await buyer.add_items((await buyer.checkout_setup.product(), 1))
    await buyer.enter_address()

    cart = await buyer.update_checkout(existing_card=card)
    order = await buyer.complete()
    order_status = await buyer.get(f"/order_status/{order['number']}", include="payments.source")

    assert (cart.status, order["payment_state"]) == (200, "paid")
    assert [each["id"] for each in order_status.json["included"] if each["type"] == "credit_card"] == [card]


@pytest.mark.security("C-01")
async def test_another_users_card_can_be_neither_read_nor_used(
    buyer: SignedInBuyer, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    card = await new_card(buyer)
    other = SignedInBuyer(http, checkout_setup, await sign_in(http))

    responses = [
        await other.get(f"{CARDS_PATH}/{card}"),
        await other.delete(f"{CARDS_PATH}/{card}"),
        await other.get(f"{CARDS_PATH}/default"),
        await other.get(f"{CARDS_PATH}/nonsense"),
        await other.delete(f"{CARDS_PATH}/nonsense"),
    ]
    choices = [
        await choose(other, card),
        await other.update_checkout(existing_card=card),
        await other.update_checkout(existing_card="x"),
    ]

    assert [each.status for each in responses] == [404] * 5
    assert [(each.status, each.code) for each in choices] == [(422, UNKNOWN)] * 3
    assert await cards(buyer) == [card]


@pytest.mark.security("C-09")
@pytest.mark.parametrize("is_known", [False, True], ids=["guest", "user"])
async def test_a_holder_of_the_order_token_can_pay_only_with_their_own_card(
    buyer: SignedInBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, is_known: bool
) -> None:
    card = await new_card(buyer)
    buyer.order_token = None
    await buyer.add_items((await checkout_setup.product(), 1))
    token_holder = SignedInBuyer(http, checkout_setup, await sign_in(http)) if is_known else Buyer(http, checkout_setup)
    token_holder.order_token = buyer.order_token
    await token_holder.enter_address()

    refusal = await token_holder.post("/checkout/create_payment", payment_method_id=checkout_setup.card, source_id=card)
    await token_holder.pay()
    order = await token_holder.complete()

    assert (refusal.status, refusal.code, order["payment_state"]) == (401, "owner_required", "paid")
    assert await cards(buyer) == [card]


async def test_a_deleted_card_cannot_be_used(buyer: SignedInBuyer, db: Any) -> None:
    card = await new_card(buyer)

    deletion, again = [await buyer.delete(f"{CARDS_PATH}/{card}") for _ in range(2)]

    assert (deletion.status, again.status, await cards(buyer)) == (204, 404, [])
    assert (await choose(buyer, card)).code == UNKNOWN
    assert await db.fetchval("select deleted_at is not null from payment_sources where id = $1", UUID(card))


@pytest.mark.torture
@pytest.mark.parametrize(("months", "is_valid"), [(-1, False), (0, True), (1, True)])
async def test_a_card_is_valid_until_the_end_of_its_expiry_month(
    buyer: SignedInBuyer, db: Any, months: int, is_valid: bool
) -> None:
    card = await new_card(buyer)
    ends = "now() + $2 * interval '1 month'"
    statement = f"update payment_sources set year = extract(year from {ends}), month = extract(month from {ends})"
    await db.execute(f"{statement} where id = $1", UUID(card), months)

    assert await cards(buyer) == ([card] if is_valid else [])
    assert (await choose(buyer, card)).status == (201 if is_valid else 422)


async def test_cards_of_a_payment_method_that_is_no_longer_offered_are_hidden(buyer: SignedInBuyer, make: Make) -> None:
    buyer.checkout_setup = await new_checkout_setup(make)
    card = await new_card(buyer)

    await make.change("payment_methods", buyer.checkout_setup.card, "payment_method", display_on="back_end")

    assert (await cards(buyer), (await buyer.get(f"{CARDS_PATH}/{card}")).status) == ([], 404)


async def test_declined_cards_and_cards_of_guests_are_not_saved(
    buyer: SignedInBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any
) -> None:
    mug = await checkout_setup.product()
    refusal = await buyer.buy(mug, "decline")
    guest = Buyer(http, checkout_setup)
    cart = await guest.ready((mug, 1))
    await guest.complete()

    query = "select count(*) from payment_sources s join payments p on p.source_id = s.id where p.order_id = $1"
    assert (refusal.status, await cards(buyer)) == (422, [])
    assert await db.fetchval(f"{query} and s.used_at is not null", UUID(cart.id)) == 0


async def test_an_unknown_card_cannot_be_chosen(buyer: SignedInBuyer) -> None:
    assert (await choose(buyer, str(uuid4()))).code == UNKNOWN
    assert (await choose(buyer, str(uuid4()), payment_method_id=buyer.checkout_setup.check)).code == UNKNOWN
