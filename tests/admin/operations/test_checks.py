"""Whether everything adds up, on a page: looked at when it is asked for, and what is wrong is named."""

import re
from typing import Any

from shop.actions.operations.verify import NAMES
from tests.admin.dashboard import Desk
from tests.builders import Make
from tests.platform.client import Machine

HERE = "/admin/settings/checks"


def found(page: str) -> dict[str, str]:
    rows = re.findall(r'<td class="first">(.*?)</td>\s*<td[^>]*>(.*?)</td>', page, re.DOTALL)
    return {name.lower(): re.sub(r"<[^>]+>", " ", text).strip() for name, text in rows}


async def test_nothing_is_looked_at_before_it_is_asked_for(desk: Desk) -> None:
    page = (await desk.get(HERE)).text

    assert set(found(page)) == {name.lower().replace("_", " ") for name in NAMES}
    assert set(found(page).values()) == {"not checked yet"}


async def test_what_does_not_add_up_is_named_and_what_does_is_said_to(desk: Desk, writer: Machine, db: Any) -> None:
    product = await Make(writer).product(on_hand=5)
    before = found((await desk.post(HERE)).text)["stock counts"]
    wrong = "update stock_items set count_on_hand = count_on_hand + $2 where variant_id::text = $1"

    await db.execute(wrong, product.sold, 1)
    page = (await desk.post(HERE)).text
    await db.execute(wrong, product.sold, -1)

    assert before == "adds up"
    assert found(page)["stock counts"].startswith("1 wrong")
    assert "not add up" in page
