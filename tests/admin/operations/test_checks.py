"""The page of consistency checks: it runs them on request and names what is wrong."""

import re
from typing import Any

from shop.actions.operations.verify import NAMES
from tests.admin.dashboard import Dashboard
from tests.builders import Make
from tests.platform.client import Machine

CHECKS = "/admin/settings/checks"


def check_results(page: str) -> dict[str, str]:
    rows = re.findall(r'<td class="first">(.*?)</td>\s*<td[^>]*>(.*?)</td>', page, re.DOTALL)
    return {name.lower(): re.sub(r"<[^>]+>", " ", text).strip() for name, text in rows}


async def test_no_check_runs_before_it_is_requested(dashboard: Dashboard) -> None:
    page = (await dashboard.get(CHECKS)).text

    assert "Not checked yet" in page
    assert f"{len(NAMES)} checks cover" in page
    assert check_results(page) == {}


async def test_a_failed_check_is_reported(dashboard: Dashboard, writer: Machine, db: Any) -> None:
    product = await Make(writer).product(on_hand=5)
    before = check_results((await dashboard.post(CHECKS)).text)["stock counts"]
    statement = "update stock_items set count_on_hand = count_on_hand + $2 where variant_id::text = $1"

    await db.execute(statement, product.variant_id, 1)
    page = (await dashboard.post(CHECKS)).text
    results = check_results(page)
    await db.execute(statement, product.variant_id, -1)

    assert before == "passed"
    assert results["stock counts"].startswith("1 problem")
    is_failed = [not result.startswith("passed") for result in results.values()]
    assert is_failed == sorted(is_failed, reverse=True)
    assert len(results) == len(NAMES)
    assert "No problems found." not in page
