"""The search for leaked secrets: it records every secret that the suite receives, and finds it anywhere."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token
from shop.base.crypto.secrets import KINDS, new_secret
from tests import secret_leaks
from tests.accounts import ask_for_code, mailed_code, new_email, sign_in
from tests.admin.dashboard import new_dashboard, new_link
from tests.platform.client import ask_for_token, new_app
from tests.service import KEYS
from tests.shopper import Shopper


@pytest.fixture
def leaks() -> Iterator[list[str]]:
    """The leaks that the test finds; forgotten afterwards, because the test made them."""
    before = secret_leaks.leaks.copy()
    secret_leaks.leaks.clear()
    yield secret_leaks.leaks
    secret_leaks.leaks[:] = before


@pytest.fixture
def secrets() -> list[str]:
    """One secret of each kind, all recorded."""
    tokens = [
        *(new_secret(kind) for kind in KINDS),
        *(order_token(parse_keys(KEYS), uuid4(), version) for version in (0, 1)),
    ]
    return [secret_leaks.record_secret(token) for token in tokens]


async def test_every_secret_of_a_response_is_recorded(guest: Shopper, http: httpx2.AsyncClient, db: Any) -> None:
    await guest.post("/cart")
    member, email = await sign_in(http), new_email()
    await ask_for_code(http, email)
    app = await new_app(db)
    token_pair = (await ask_for_token(http, app, "admin write")).json
    dashboard, link = await new_dashboard(http, db), await new_link(db, None)

    secrets = [guest.order_token, member.access_token, member.refresh_token, await mailed_code(http, email), app.secret]
    secrets += [token_pair["access_token"], token_pair["refresh_token"], dashboard.secret, link]

    assert [secret for secret in secrets if not secret_leaks.is_recorded(str(secret))] == []
    assert not secret_leaks.is_recorded(new_secret(KINDS[0]))


def test_a_recorded_secret_is_recognized_whole_in_part_and_in_a_header(secrets: list[str]) -> None:
    basic = "Basic " + b64encode(b"shpci_0123456789012345678901:" + secrets[4].encode()).decode()
    secret_leaks.record_secret(basic)

    for secret in secrets:
        assert secret_leaks.is_recorded(f'{{"event":"request","path":"/auth/{secret}\\n"}}')
        assert secret_leaks.is_recorded(f"x{secret[6:]}x")
    assert secret_leaks.is_recorded(f'{{"authorization":"{basic}"}}')


async def test_a_secret_in_a_table_a_file_or_a_log_is_found(
    leaks: list[str], secrets: list[str], own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    db = await asyncpg.connect(url)
    await db.execute("create table leaky (id int, as_text text, as_bytes bytea, as_json jsonb)")
    await db.execute("insert into leaky (as_text) values ($1)", secrets[0])
    await db.execute("insert into leaky (as_bytes) values ($1)", secrets[1].encode())
    await db.execute("insert into leaky (as_json) values (jsonb_build_object('token', $1::text))", secrets[2])
    await db.execute("insert into leaky (as_bytes) values ($1)", bytes.fromhex(secrets[-1][-72:-8]))
    await db.close()
    (tmp_path / "leaky").write_bytes(b"\x00\xff" + secrets[3].encode())

    await secret_leaks.search_database(url)
    secret_leaks.search_files(tmp_path)
    secret_leaks.search_log("a shop", [f"{secrets[4]}\n", "nothing\n"])

    assert {leak.split()[0] for leak in leaks} == {token[6:32] for token in secrets[:5]} | {secrets[-1][-72:-46]}
