"""Coupon batches in the dashboard: generate, download as CSV, and delete while no code is used."""

import csv
import io
import re
from typing import Any

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, field, id_of, saved_message, unique_word
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events
from tests.admin.order_builders import text_of
from tests.admin.promotion_forms import new_discount, new_promotion
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.platform.client import Machine


async def new_batch(dashboard: Dashboard, db: Any, promotion: str, **fields: str) -> str:
    """Generates a batch of codes; returns its path."""
    form = {"name": f"Letters {unique_word()}", "prefix": "", "codes_count": "3", **fields}
    assert saved_message(await dashboard.post(f"{promotion}/batches", **form)) == "made"
    batch_id = await db.fetchval("select id from coupon_batches where name = $1", form["name"])
    return f"{promotion}/batches/{batch_id}"


def table_of(answer: httpx2.Response) -> list[list[str]]:
    return list(csv.reader(io.StringIO(answer.text, newline="")))


async def codes_of(db: Any, batch: str) -> list[str]:
    rows = await db.fetch("select code from coupon_codes where batch_id = $1 order by code", id_of(batch))
    return [row["code"] for row in rows]


async def test_a_batch_is_created_and_downloaded_with_the_use_of_its_codes(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient, writer: Machine
) -> None:
    promotion, name, checkout_setup = (
        await new_discount(dashboard),
        f"Grüße, {unique_word()}",
        await new_checkout_setup(Make(writer)),
    )
    batch = await new_batch(dashboard, db, promotion, name=name, prefix="LEAF-")
    codes = await codes_of(db, batch)
    buyer = Buyer(http, checkout_setup)
    await buyer.ready((await checkout_setup.product("10.00"), 1))
    assert (await buyer.patch("/cart/apply_coupon_code", coupon_code=codes[1].upper())).status == 200
    order = await buyer.complete()

    answer = await dashboard.get(f"{batch}/codes")

    header, *rows = table_of(answer)
    assert header == ["code", "used_at", "order_number"]
    assert [row[0] for row in rows] == codes
    assert all(re.fullmatch(r"leaf-[a-z2-9]{10}", code) for code in codes)
    assert [row[2] for row in rows] == ["", order["number"], ""]
    used_at = await db.fetchval("select used_at from coupon_codes where code = $1", codes[1])
    assert [row[1] for row in rows] == ["", used_at.isoformat(), ""]
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    slug = name.lower().replace("grüße, ", "grusse-")
    assert answer.headers["content-disposition"] == f'attachment; filename="codes-{slug}.csv"'
    assert answer.headers["cache-control"] == "no-store"
    page = text_of((await dashboard.get(f"{promotion}/batches")).text)
    assert f"{name} leaf-" in page
    assert "1 of 3 Download" in page
    assert ("coupon_batch_created", "done") in await events(db, actor=dashboard.id, subject=id_of(batch))


@pytest.mark.parametrize("prefix", ["=1+1", "+1", "-1", "@sum(", "'x", '"quoted"', "a,b", "é"])
async def test_no_csv_cell_is_a_formula_and_every_code_can_be_recovered(
    dashboard: Dashboard, db: Any, prefix: str
) -> None:
    batch = await new_batch(dashboard, db, await new_discount(dashboard), prefix=prefix)

    cells = [row[0] for row in table_of(await dashboard.get(f"{batch}/codes"))[1:]]

    is_risky = prefix[0] in "=+-@"
    assert [cell[0] == "'" for cell in cells] == [is_risky or prefix[0] == "'"] * 3
    assert [cell[1:] if is_risky else cell for cell in cells] == await codes_of(db, batch)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Name is required."),
        ({"codes_count": ""}, "Number of codes is required."),
        ({"codes_count": "0"}, "Number of codes must be 1 to 10000."),
        ({"codes_count": "10001"}, "Number of codes must be 1 to 10000."),
        ({"codes_count": "some"}, "Number of codes must be a whole number."),
        ({"prefix": "two words"}, "Prefix must be at most 20 letters without spaces and slashes."),
        ({"prefix": "x" * 21}, "Prefix must be one line of at most 20 characters."),
    ],
    ids=["no name", "no count", "zero", "too many", "not a number", "a space", "too long"],
)
async def test_an_invalid_batch_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, db: Any, fields: dict[str, str], message: str
) -> None:
    promotion, form = await new_discount(dashboard), {"name": "Letters", "prefix": "x", "codes_count": "3", **fields}

    answer = await dashboard.post(f"{promotion}/batches", **form)

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert {name: field(answer.text, name) for name in form} == form
    assert await db.fetchval("select count(*) from coupon_batches where promotion_id = $1", id_of(promotion)) == 0


async def test_an_automatic_promotion_needs_no_codes(dashboard: Dashboard) -> None:
    promotion = await new_promotion(dashboard, way="automatic")

    page = (await dashboard.get(f"{promotion}/batches")).text
    answer = await dashboard.post(f"{promotion}/batches", name="Letters", codes_count="1")

    assert "needs no code" in text_of(page)
    assert "Generate codes" not in page
    assert (answer.status_code, error_messages(answer)) == (422, ["The promotion is automatic and needs no codes."])


async def test_deleting_a_batch_with_used_codes_is_refused(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient, writer: Machine
) -> None:
    promotion, checkout_setup = await new_discount(dashboard), await new_checkout_setup(Make(writer))
    unused_batch, used_batch = await new_batch(dashboard, db, promotion), await new_batch(dashboard, db, promotion)
    buyer = Buyer(http, checkout_setup)
    await buyer.ready((await checkout_setup.product("10.00"), 1))
    await buyer.patch("/cart/apply_coupon_code", coupon_code=(await codes_of(db, used_batch))[0])
    assert (await buyer.complete()).status == 200

    question = (await dashboard.get(f"{unused_batch}/delete")).text
    deletion, refusal = await dashboard.post(f"{unused_batch}/delete"), await dashboard.post(f"{used_batch}/delete")

    assert "Its 3 codes will stop working. This cannot be undone." in text_of(question)
    assert saved_message(deletion) == "deleted"
    assert await codes_of(db, unused_batch) == []
    assert (refusal.status_code, "It has used codes and cannot be deleted." in refusal.text) == (422, True)
    assert 'class="button danger"' not in (await dashboard.get(f"{used_batch}/delete")).text
    page = (await dashboard.get(f"{promotion}/batches")).text
    assert (f"{used_batch}/codes" in page, f"{used_batch}/delete" in page, unused_batch in page) == (True, False, False)


async def test_a_batch_of_another_promotion_is_404(dashboard: Dashboard, db: Any) -> None:
    batch, other = await new_batch(dashboard, db, await new_discount(dashboard)), await new_discount(dashboard)
    batch_id = batch.rpartition("/")[2]

    for path in (
        f"{other}/batches/{batch_id}/codes",
        f"{other}/batches/{batch_id}/delete",
        f"{other}/batches/{UNKNOWN_ID}/codes",
    ):
        assert (await dashboard.get(path)).status_code == 404, path
    assert (await dashboard.post(f"{other}/batches/{batch_id}/delete")).status_code == 404
    assert len(await codes_of(db, batch)) == 3


async def test_batches_are_paged_by_keyset(dashboard: Dashboard, db: Any) -> None:
    promotion = await new_discount(dashboard)
    await db.execute(
        """insert into coupon_batches (id, promotion_id, name, codes_count, created_at, updated_at)
        select gen_random_uuid(), $1, 'Batch ' || lpad(n::text, 3, '0'), 1, now() - n * interval '1 second', now()
        from generate_series(1, 30) n""",
        id_of(promotion),
    )

    first = (await dashboard.get(f"{promotion}/batches")).text.replace("&amp;", "&")
    (next_link,) = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await dashboard.get(next_link)).text

    numbers = [re.findall(r"<b>Batch ([0-9]+)</b>", page) for page in (first, second)]
    assert numbers == [[f"{number:03}" for number in part] for part in (range(1, 26), range(26, 31))]
