"""Archived orders in the lists and files of a customer, from a bucket."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.archive.conftest import ArchiveShop, serve_archive
from tests.checkout_builders import SignedInBuyer
from tests.cluster import Cluster
from tests.s3_server import BucketServer, bucket_server
from tests.shopper import Answer

SORTS = ("completed_at", "-completed_at", "number", "-number", "total", "created_at", "-updated_at", "item_total", "id")


class BucketShop:
    """A shop whose archive is a bucket, and a customer with three archived orders and two others."""

    def __init__(self, shop: ArchiveShop, bucket: BucketServer, buyer: SignedInBuyer) -> None:
        self.shop, self.bucket, self.buyer = shop, bucket, buyer
        self.archived: list[Answer] = []
        self.other: SignedInBuyer
        """Another customer, whose only order is archived."""
        self.pages: dict[str, Any] = {}
        """What the customer saw before."""

    async def read_pages(self) -> dict[str, Any]:
        """Every page of the customer's orders, in every order, by number and by cursor."""
        pages = {}
        for sort in SORTS:
            common = f"/account/orders?include=line_items,shipments,payments&sort={sort}&per_page=2"
            following = f"{common}&page[after]="
            for number in (1, 2, 3):
                pages[f"{sort} {number}"] = await self.read(f"{common}&page={number}")
                pages[f"{sort} cursor {number}"] = listed = await self.read(following)
                following = listed["links"].get("next", "").partition("/api/v2/storefront")[2]
            assert following == ""
        return pages

    async def read(self, path: str) -> Any:
        answer = await self.buyer.member.get(path)
        assert answer.status == 200, answer
        return answer.json


@pytest.fixture(scope="module")
async def bucket_shop(cluster: Cluster, worker_name: str) -> AsyncIterator[BucketShop]:
    with bucket_server() as bucket:
        async with serve_archive(cluster, f"bucket_{worker_name}", bucket.backup_url) as shop:
            bucket_shop = BucketShop(shop, bucket, await shop.new_buyer())
            orders = [await shop.buy_and_ship(bucket_shop.buyer) for _ in range(5)]
            bucket_shop.archived = [orders[0], orders[2], orders[4]]
            bucket_shop.other = await shop.new_buyer()
            await shop.age(*bucket_shop.archived, await shop.buy_and_ship(bucket_shop.other))
            bucket_shop.pages = await bucket_shop.read_pages()
            await shop.archive()
            for order in bucket_shop.archived:
                assert await shop.is_archived(order)
            yield bucket_shop


async def test_a_customer_lists_archived_orders_like_others(bucket_shop: BucketShop) -> None:
    assert await bucket_shop.read_pages() == bucket_shop.pages

    first = bucket_shop.pages["-completed_at 1"]
    assert (first["meta"]["total_count"], first["meta"]["total_pages"]) == (5, 3)
    assert len({each["id"] for page in bucket_shop.pages.values() for each in page["data"]}) == 5
    for order in bucket_shop.archived:
        assert await bucket_shop.shop.is_archived(order)


async def test_customers_see_only_their_own_archived_orders(bucket_shop: BucketShop) -> None:
    stranger = await bucket_shop.shop.new_buyer()

    counts = []
    for buyer in (bucket_shop.buyer, bucket_shop.other, stranger):
        for paging in ("page=1", "page[after]="):
            answer = await buyer.member.get(f"/account/orders?{paging}")
            assert answer.status == 200, answer
            counts.append(len(answer.json["data"]))

    assert counts == [5, 5, 1, 1, 0, 0]


async def test_a_page_without_archived_orders_needs_no_storage(bucket_shop: BucketShop) -> None:
    bucket_shop.bucket.is_away = True
    try:
        newest = await bucket_shop.buyer.member.get("/account/orders?sort=-completed_at&per_page=2")
        oldest = await bucket_shop.buyer.member.get("/account/orders?sort=completed_at&per_page=2")
    finally:
        bucket_shop.bucket.is_away = False

    assert (newest.status, oldest.status) == (200, 503)
    assert "The archive of orders is temporarily unavailable" in str(oldest.json)


async def test_personal_data_contains_archived_orders(bucket_shop: BucketShop) -> None:
    dashboard, user_id = await bucket_shop.shop.dashboard(), await bucket_shop.buyer.member.id()
    numbers = {order["number"] for order in bucket_shop.archived}

    exported = (await dashboard.get(f"/admin/customers/{user_id}/export")).json()["orders"]

    archived = [order for order in exported if order["number"] in numbers]
    assert (len(exported), len(archived)) == (5, 3)
    assert all(order["items"] and order["shipping_address"] for order in archived), archived


async def test_verify_reads_every_archived_order(bucket_shop: BucketShop) -> None:
    shop, objects = bucket_shop.shop, bucket_shop.bucket.objects
    whole = shop.run("archive", "verify")
    (key,) = [each for each in objects if "/orders-" in each]
    data, kind = objects[key]
    objects[key] = (data[:-1] + bytes([data[-1] ^ 1]), kind)
    damaged = shop.run("archive", "verify")
    del objects[key]
    missing = shop.run("archive", "verify")
    objects[key] = (data, kind)

    assert (whole.returncode, whole.stdout) == (0, "All 4 archived orders can be restored.\n")
    assert (damaged.returncode, damaged.stdout.count("differs from what was archived")) == (1, 1)
    assert (missing.returncode, missing.stdout.count("lacks the object")) == (1, 4)
