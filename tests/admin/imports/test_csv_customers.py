"""CSV files of customers: an export imported again changes nothing, Shopify's columns, roles, and erasure."""

import csv
import io
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.admin.catalog_forms import redirect_path
from tests.admin.customers.test_customer_forms import CUSTOMERS
from tests.admin.dashboard import Dashboard, events, new_dashboard, new_role
from tests.admin.imports.test_csv_imports import (
    IMPORTS,
    check,
    counts_of,
    mapping_of,
    run,
    upload,
    wait_for_end,
)
from tests.db.processes import until

EXPORT = "/admin/exports/customers.csv"
HEADER = "email,first_name,last_name,phone,tags,note,address1,city,state,zipcode,country"
ADDRESS_OF = """select addresses.* from addresses join users on addresses.id = users.ship_address_id
    where users.email_key = $1 and addresses.id = users.bill_address_id"""


def new_email() -> str:
    return f"csv-{uuid4().hex[:12]}@shoppers.example"


async def exported_file(dashboard: Dashboard, email: str) -> str:
    """The export, with the header and the row of one customer."""
    header, *rows = csv.reader(io.StringIO((await dashboard.get(EXPORT)).text))
    text = io.StringIO()
    csv.writer(text).writerows([header, *(row for row in rows if row[0] == email)])
    return text.getvalue()


async def test_customers_are_created_and_changed_by_their_email_address(dashboard: Dashboard, db: Any) -> None:
    email = new_email()
    row = f'{email},Grace,Hopper,+1 555,"VIP, navy",Likes ships,1 Main St,Alexandria,VA,22301,US\n'

    assert counts_of(await run(dashboard, db, f"{HEADER}\n{row}", "customers")) == {"created": 1}
    user = await db.fetchrow("select * from users where email_key = $1", email)
    assert (user["first_name"], user["phone"], user["tags"], user["note"]) == (
        *("Grace", "+1 555"),
        *(["navy", "vip"], "Likes ships"),
    )
    assert user["verified_at"] is not None
    address = await db.fetchrow(ADDRESS_OF, email)
    assert (address["firstname"], address["city"], address["zipcode"]) == ("Grace", "Alexandria", "22301")
    content = f"email,last_name,city\n{email.upper()},Murray,Arlington\n"
    assert counts_of(await run(dashboard, db, content, "customers")) == {"updated": 1}
    user = await db.fetchrow("select * from users where email_key = $1", email)
    assert (user["email"], user["first_name"], user["last_name"]) == (email, "Grace", "Murray")
    assert (await db.fetchrow(ADDRESS_OF, email))["city"] == "Arlington"
    types = await db.fetch("select type from events where subject_id = $1 order by id", user["id"])
    assert [each["type"] for each in types] == ["customer.created", "customer.updated"]
    detail = await db.fetchval(
        "select detail::text from audit_events where action = 'customers_imported' and actor_id = $1 limit 1",
        dashboard.id,
    )
    assert email not in detail
    assert "customers_imported" in [action for action, _ in await events(db, actor=dashboard.id)]


@pytest.mark.torture
async def test_an_export_that_is_imported_again_changes_nothing(dashboard: Dashboard, db: Any) -> None:
    email = new_email()
    row = f'{email},=Grace,Hopper,+1 555,"a b, c","two\nlines",1 Main St,Alexandria,Virginia,22301,USA\n'
    await run(dashboard, db, f"{HEADER}\n{row}", "customers")
    content = await exported_file(dashboard, email)
    assert "'=Grace" in content
    assert ("customers_exported", "done") in await events(db, actor=dashboard.id)

    path, result = await check(dashboard, db, content, "customers")

    assert (counts_of(result), result["errors"]) == ({"unchanged": 1}, [])
    assert "Import now" not in (await dashboard.get(path)).text
    counts = counts_of((await check(dashboard, db, content.replace("22301", "22302"), "customers"))[1])
    assert counts == {"updated": 1}


@pytest.mark.torture
async def test_a_shopify_file_of_customers_is_read(dashboard: Dashboard, db: Any) -> None:
    email, other = new_email(), new_email()
    content = f"""Customer ID,First Name,Last Name,Email,Accepts Email Marketing,Default Address Company,\
Default Address Address1,Default Address City,Default Address Province Code,Default Address Country Code,\
Default Address Zip,Default Address Phone,Phone,Total Spent,Note,Tax Exempt,Tags
1,Ada,Byron,{email},yes,Engines,12 Regent St,Seattle,WA,US,98101,,'+1555,10.00,,no,"math, vip"
2,Bo,,{other},no,,,,,,,,,0.00,,no,
"""
    path = redirect_path(await upload(dashboard, content, "customers"))
    page = (await dashboard.get(path)).text
    assert "Shopify" in page
    assert set(mapping_of(page).values()) >= {"email", "address1", "state", "country", "zipcode", "phone", "tags"}

    row = await run(dashboard, db, content, "customers")

    assert (counts_of(row), row["errors"]) == ({"created": 2}, [])
    address = await db.fetchrow(ADDRESS_OF, email)
    assert (address["company"], address["city"], address["lastname"]) == ("Engines", "Seattle", "Byron")
    assert await db.fetchval("select phone from users where email_key = $1", email) == "+1555"
    assert await db.fetchrow(ADDRESS_OF, other) is None
    old_columns = "First Name,Last Name,Email,Address1,City,Province Code,Country Code,Zip\n"
    counts = counts_of(await run(dashboard, db, f"{old_columns}Ada,Byron,{email},1 Pike St,,,,\n", "customers"))
    assert counts == {"updated": 1}
    assert (await db.fetchrow(ADDRESS_OF, email))["address1"] == "1 Pike St"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"email": "nobody"}, "email must be one e-mail address"),
        ({"phone": "1" * 51}, "phone must be one line of at most 50 characters"),
        ({"first_name": "a\x07b"}, "first_name must be one line"),
        ({"note": "x" * 2001}, "note must be text of at most 2000 characters"),
        ({"tags": ",".join(map(str, range(21)))}, "tags must be at most 20"),
        ({"tags": "x" * 41}, "tags must be at most 40 characters long each"),
        ({"country": "XX"}, "country must be the code of a country"),
        ({"city": "y" * 256}, "city must be one line of at most 255 characters"),
        ({"zipcode": "no"}, "zipcode is not one of this country"),
        ({"country": ""}, "country must be the code of a country"),
    ],
)
async def test_errors_are_reported_by_line(dashboard: Dashboard, db: Any, cells: dict[str, str], reason: str) -> None:
    columns = HEADER.split(",")
    values = ("", "Grace", "Hopper", "", "", "", "1 Main St", "Alexandria", "VA", "22301", "US")
    row = {**dict(zip(columns, values, strict=True)), "email": new_email(), **cells}
    text = io.StringIO()
    csv.writer(text).writerows([columns, [row[column] for column in columns]])

    _, result = await check(dashboard, db, text.getvalue(), "customers")

    assert counts_of(result) == {"failed": 1}
    assert reason in result["errors"][0]


async def test_an_address_that_was_never_confirmed_becomes_a_customer(dashboard: Dashboard, db: Any) -> None:
    email = new_email()
    await db.execute(
        """insert into users (id, email, email_key, first_name, created_at, updated_at)
        values (gen_random_uuid(), $1, $1, 'Mallory', now(), now())""",
        email,
    )
    assert email not in (await dashboard.get(EXPORT)).text

    assert counts_of(await run(dashboard, db, f"email,last_name\n{email},Hopper\n", "customers")) == {"created": 1}

    user = await db.fetchrow("select * from users where email_key = $1", email)
    assert (user["first_name"], user["last_name"], user["verified_at"] is not None) == (None, "Hopper", True)


async def test_files_of_customers_need_the_permissions_of_customers(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    content = f"email\n{new_email()}\n"
    path, _ = await check(dashboard, db, content, "customers")
    catalog = ("products:read", "products:write", "stock:write")
    merchandiser = await new_dashboard(http, db, role_id=await new_role(db, *catalog))
    reader = await new_dashboard(http, db, role_id=await new_role(db, *catalog, "customers:read"))

    assert (await upload(merchandiser, content, "customers")).status_code == 403
    assert (await upload(reader, content, "customers")).status_code == 403
    assert (await merchandiser.get(EXPORT)).status_code == 403
    assert (await reader.get(EXPORT)).status_code == 200
    assert (await merchandiser.get(f"{IMPORTS}/customers")).status_code == 403
    assert f"{IMPORTS}/customers" not in (await merchandiser.get(f"{IMPORTS}/products")).text
    for each in ("", "/errors"):
        assert (await merchandiser.get(f"{path}{each}")).status_code == 403
        assert (await reader.get(f"{path}{each}")).status_code == 200
    page = (await reader.get(path)).text
    assert f"{path}/delete" not in page
    assert f"{path}/start" not in page
    for act in ("check", "start", "delete"):
        assert (await merchandiser.post(f"{path}/{act}")).status_code == 403
        assert (await reader.post(f"{path}/{act}")).status_code == 403
    assert (await dashboard.post(f"{path}/start")).status_code == 303
    await wait_for_end(db, path)


async def test_an_import_of_customers_ends_when_one_is_erased(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    """The file of a run that has started is deleted; a stock file stays."""
    member = await sign_in(http)
    user_id = await member.id()
    path, _ = await check(dashboard, db, f"email,note\n{member.email},regular\n", "customers")
    stock_path = redirect_path(await upload(dashboard, "sku\nx\n", "stock"))
    # As if a process works on it.
    await db.execute(
        """update csv_imports set state = 'running', position = 0, leased_until = now() + interval '1 minute'
        where id::text = $1""",
        path.rpartition("/")[2],
    )

    answer = await dashboard.post(f"{CUSTOMERS}/{user_id}/erase", email=member.email)

    assert answer.headers["location"].endswith("?done=erased")
    assert (await dashboard.get(path)).status_code == 404
    assert (await dashboard.get(stock_path)).status_code == 200
    assert await db.fetchval("select count(*) from users where email_key = $1", member.email) == 0


@pytest.mark.torture
async def test_a_batch_whose_file_was_deleted_creates_no_customers(dashboard: Dashboard, db: Any) -> None:
    email = new_email()
    path, _ = await check(dashboard, db, f"email\n{email}\n", "customers")
    import_id = path.rpartition("/")[2]

    async with db.transaction():
        # The worker leases the file, and then waits for the default location before it runs the batch.
        await db.execute("lock table stock_locations in access exclusive mode")
        await dashboard.post(f"{path}/start")
        await until(
            lambda: db.fetchval("select leased_until is not null from csv_imports where id::text = $1", import_id), 30
        )
        await db.execute("delete from csv_imports where id::text = $1", import_id)
    await run(dashboard, db, f"email\n{new_email()}\n", "customers")

    assert await db.fetchval("select count(*) from users where email_key = $1", email) == 0
