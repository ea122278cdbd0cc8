"""The mailbox of a shop without a mail server."""

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.mailserver import free_port
from tests.service import KEYS, Service

AUTH = "/api/v2/storefront/auth"


async def ask(http: httpx.AsyncClient) -> str:
    email = f"{uuid.uuid4().hex[:12]}@example.com"
    await http.post(AUTH, json={"user": {"email": email}})
    return email


async def test_a_mail_is_there_at_once_newest_first_by_any_spelling_of_its_address(http: httpx.AsyncClient) -> None:
    email = await ask(http)
    await http.post(AUTH, json={"user": {"email": email}})

    mails: list[dict[str, Any]] = (await http.get("/mailbox.json", params={"to": email.upper()})).json()

    assert [set(mail) for mail in mails] == [{"to", "subject", "text", "html", "sent_at", "code"}] * 2
    assert {mail["to"] for mail in mails} == {email}
    assert mails[0]["sent_at"] > mails[1]["sent_at"]
    assert re.fullmatch(r"[0-9]{6}", mails[0]["code"])
    assert mails[0]["code"] in mails[0]["text"]
    traded = await http.post(AUTH, json={"user": {"email": email, "code": mails[0]["code"]}})
    assert traded.status_code == 200


async def test_the_page_shows_the_code_under_a_strict_policy(http: httpx.AsyncClient) -> None:
    email = await ask(http)
    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()

    page = await http.get("/mailbox")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert email in page.text
    assert mail["code"] in page.text
    policy = page.headers["content-security-policy"]
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert nonce
    assert f'<script nonce="{nonce[1]}">' in page.text
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert (await http.get("/mailbox")).headers["content-security-policy"] != policy


def test_off_it_is_not_there(own_database: Callable[..., str], tmp_path: Path) -> None:
    service = Service(
        SHOP_DATA_DIR=str(tmp_path),
        SHOP_DATABASE_URL=own_database(),
        SHOP_SECRET_KEYS=KEYS,
        SHOP_SMTP_URL=f"smtp://127.0.0.1:{free_port()}",
        SHOP_DRAIN_SECONDS="0",
    )
    try:
        statuses = [service.get(path).status_code for path in ("/mailbox", "/mailbox.json?to=a@example.com")]
    finally:
        service.stop()

    assert statuses == [404, 404]
    assert "Mailbox" not in "".join(service.lines)
