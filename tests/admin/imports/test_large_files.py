"""Large CSV files: uploads in chunks, limits, and uploads that break off."""

from typing import Any

import pytest

from shop.rules.imports.csv_files import MAX_BYTES
from tests.admin.catalog_forms import error_messages, unique_word
from tests.admin.dashboard import SAME_ORIGIN, Dashboard
from tests.admin.imports.test_csv_imports import IMPORTS, check, counts_of, run, upload

CHUNKS = "select count(*) from csv_import_chunks where import_id::text = $1"


@pytest.mark.torture
async def test_a_file_of_several_chunks_is_read_across_their_borders(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    # The second chunk begins within a quoted cell and within a character.
    text = "\u00e9\u4e2d " * 1500
    rows = "".join(f'{word}-{number},Lamp,"{text}\n{number}"\n' for number in range(150))

    path, row = await check(dashboard, db, f"slug,name,description\n{rows}")
    chunk_count = await db.fetchval(CHUNKS, path.rpartition("/")[2])
    row = await run(dashboard, db, f"slug,name,description\n{rows}")

    assert chunk_count > 1
    assert (counts_of(row), row["errors"], row["total"]) == ({"created": 150}, [], 150)
    descriptions = await db.fetch("select description from products where slug like $1", f"{word}-%")
    assert {each[0] for each in descriptions} == {f"{text}\n{number}" for number in range(150)}


async def test_a_row_that_is_too_long_fails_the_file(dashboard: Dashboard, db: Any) -> None:
    cells = '"a\n",' * 600_000

    _, row = await check(dashboard, db, f"slug,name\n{unique_word()},Lamp\n{cells}\n")

    assert (row["state"], row["failed"]) == ("failed", 1)
    assert "cannot be read at line 3: a row has more than 2,097,152 characters" in row["errors"][0]
    assert await db.fetchval(CHUNKS, str(row["id"])) == 0


async def test_an_upload_that_breaks_off_leaves_nothing(dashboard: Dashboard, db: Any) -> None:
    csrf = await dashboard.csrf()
    head = (
        f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf}\r\n'
        '--x\r\nContent-Disposition: form-data; name="file"; filename="f.csv"\r\n\r\nslug,name\n'
    ).encode()
    headers = {**dashboard.cookie, **SAME_ORIGIN, "Content-Type": "multipart/form-data; boundary=x"}
    newest = "select id from csv_imports order by id desc limit 1"
    newest_id = await db.fetchval(newest)

    for end, status in (
        (b"x,y\n", 400),
        (b'x,y\n\r\n--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n', 400),
    ):
        answer = await dashboard.http.post(f"{IMPORTS}/products", content=head + end, headers=headers)
        assert answer.status_code == status

    assert await db.fetchval(newest) == newest_id


@pytest.mark.torture
async def test_a_file_that_is_too_large_is_refused(dashboard: Dashboard) -> None:
    answer = await upload(dashboard, b"slug\n" + b"x\n" * (MAX_BYTES // 2))

    assert (answer.status_code, error_messages(answer)) == (422, ["The file is larger than 100 MB."])
