"""The search for secrets itself: what the suite is given is known, and found wherever it stands."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from shop.base.keys import parse_keys
from shop.base.secrets import KINDS, new_secret
from shop.base.tokens import order_token
from tests import secrets_seen
from tests.accounts import ask_for_code, mailed_code, new_email, sign_in
from tests.admin.dashboard import new_desk, new_link
from tests.platform.client import ask_for_token, new_app
from tests.service import KEYS
from tests.shopper import Shopper


@pytest.fixture
def leaks() -> Iterator[list[str]]:
    """What is found by this test, and forgotten afterwards: it was put there."""
    before = secrets_seen.leaks.copy()
    secrets_seen.leaks.clear()
    yield secrets_seen.leaks
    secrets_seen.leaks[:] = before


@pytest.fixture
def noted() -> list[str]:
    """One of each kind."""
    tokens = [
        *(new_secret(kind) for kind in KINDS),
        *(order_token(parse_keys(KEYS), uuid4(), version) for version in (0, 1)),
    ]
    return [secrets_seen.note(token) for token in tokens]


async def test_whatever_the_service_gives_is_known(guest: Shopper, http: httpx.AsyncClient, db: Any) -> None:
    await guest.post("/cart")
    member, email = await sign_in(http), new_email()
    await ask_for_code(http, email)
    app = await new_app(db)
    granted = (await ask_for_token(http, app, "admin write")).json
    desk, link = await new_desk(http, db), await new_link(db, None)

    given = [guest.order_token, member.access_token, member.refresh_token, await mailed_code(http, email), app.secret]
    given += [granted["access_token"], granted["refresh_token"], desk.secret, link]

    assert [secret for secret in given if not secrets_seen.is_noted(str(secret))] == []
    assert not secrets_seen.is_noted(new_secret(KINDS[0]))


def test_a_secret_is_known_whole_in_part_and_as_a_header_carries_it(noted: list[str]) -> None:
    basic = "Basic " + b64encode(b"shpci_0123456789012345678901:" + noted[4].encode()).decode()
    secrets_seen.note(basic)

    for secret in noted:
        assert secrets_seen.is_noted(f'{{"event":"request","path":"/auth/{secret}\\n"}}')
        assert secrets_seen.is_noted(f"x{secret[6:]}x")
    assert secrets_seen.is_noted(f'{{"authorization":"{basic}"}}')


async def test_a_secret_in_a_table_a_file_or_a_log_is_found(
    leaks: list[str], noted: list[str], own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    db = await asyncpg.connect(url)
    await db.execute("create table kept (id int, as_text text, as_bytes bytea, as_json jsonb)")
    await db.execute("insert into kept (as_text) values ($1)", noted[0])
    await db.execute("insert into kept (as_bytes) values ($1)", noted[1].encode())
    await db.execute("insert into kept (as_json) values (jsonb_build_object('token', $1::text))", noted[2])
    await db.execute("insert into kept (as_bytes) values ($1)", bytes.fromhex(noted[-1][-72:-8]))
    await db.close()
    (tmp_path / "kept").write_bytes(b"\x00\xff" + noted[3].encode())

    await secrets_seen.search_database(url)
    secrets_seen.search_files(tmp_path)
    secrets_seen.search_log("a shop", [f"{noted[4]}\n", "nothing\n"])

    assert {leak.split()[0] for leak in leaks} == {token[6:32] for token in noted[:5]} | {noted[-1][-72:-46]}
