"""The largest cart that a caller can build, and the memory that a worker needs to read it."""

import asyncio
import re
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from shop.models.cart.inputs import MAX_LINES
from shop.rules.metadata import MAX_CART_METADATA_BYTES
from tests.platform.bulk import new_variants
from tests.platform.client import new_machine
from tests.service import KEYS, InstalledService
from tests.shopper import PREFIX

READS = 10
MOST_GROWTH = 50_000_000
DEEP = "line_items.variant.product.variants,variants.product.default_variant,shipments.line_items,payments,promotions"
# A number takes two bytes in JSON; the database writes three and stores twelve.
LIST = [1] * (MAX_CART_METADATA_BYTES // MAX_LINES // 2 - 6)


def reset_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def memory(pid: int, name: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    assert match
    return int(match[1]) * 1024


class Server(InstalledService):
    """One worker on a database."""

    def __init__(self, url: str, data_dir: Path) -> None:
        super().__init__(
            SHOP_DATA_DIR=str(data_dir),
            SHOP_DATABASE_URL=url,
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_DRAIN_SECONDS="0",
        )


async def build_carts(http: httpx2.AsyncClient, db: Any) -> tuple[dict[str, str], dict[str, str]]:
    """Order tokens, as headers, of the largest cart and of one with a single line."""
    variants = await new_variants(await new_machine(http, db, "write"), MAX_LINES, name="Mug " + "x" * 200)
    large, small = [
        {"X-Shop-Order-Token": (await http.post(f"{PREFIX}/cart")).json()["data"]["attributes"]["token"]}
        for _ in range(2)
    ]

    async def add(cart: dict[str, str], ids: list[str], **metadata: Any) -> httpx2.Response:
        items = [{"variant_id": variant_id, **metadata} for variant_id in ids]
        return await http.post(f"{PREFIX}/cart/add_items", headers=cart, json={"items": items})

    responses = [await add(small, variants[:1])]
    # A body has at most 20,000 values.
    for start in range(0, MAX_LINES, 35):
        responses.append(await add(large, variants[start : start + 35], public_metadata={"a": LIST}))
    # Reading a cart loads more data once its checkout has begun.
    responses.append(
        await http.patch(f"{PREFIX}/checkout", headers=large, json={"order": {"email": "ada@example.org"}})
    )
    assert {answer.status_code for answer in responses} == {200}
    beyond = await add(large, variants[:1], private_metadata={"a": [1] * 8000})
    assert (beyond.status_code, list(beyond.json()["errors"])) == (422, ["base"])
    return large, small


@pytest.mark.torture
@pytest.mark.security("H-11")
@pytest.mark.parametrize("include", ["line_items", DEEP])
async def test_ten_concurrent_reads_of_the_largest_cart_take_little_memory(
    own_database: Any, tmp_path: Path, include: str
) -> None:
    url = own_database()
    builder, db = Server(url, tmp_path), await asyncpg.connect(url)
    try:
        async with builder.client(timeout=60) as http:
            large, small = await build_carts(http, db)
    finally:
        await db.close()
        builder.stop()
    # A new worker, because the one that built the cart has already grown.
    server = Server(url, tmp_path)
    try:
        async with server.client(timeout=60) as http:

            async def read(cart: dict[str, str]) -> int:
                answer = await http.get(f"{PREFIX}/cart", headers=cart, params={"include": include})
                assert answer.status_code == 200
                return len(answer.content)

            (worker,) = server.worker_pids()
            await asyncio.gather(*(read(small) for _ in range(READS)))
            reset_peak(worker)
            before = memory(worker, "VmRSS")
            sizes = await asyncio.gather(*(read(large) for _ in range(READS)))
            growth, peak = memory(worker, "VmRSS") - before, memory(worker, "VmHWM") - before
    finally:
        server.stop()

    print(f"{include}: {sizes[0]:,} bytes an answer, {growth / 2**20:.1f} MiB more after, {peak / 2**20:.1f} at most")
    assert sizes[0] > MAX_CART_METADATA_BYTES
    assert peak <= MOST_GROWTH
