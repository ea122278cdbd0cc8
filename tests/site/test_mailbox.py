"""The mailbox of a shop without a mail server."""

import re
import uuid
from typing import Any

import httpx2

AUTH = "/api/v2/storefront/auth"


async def request_code(http: httpx2.AsyncClient) -> str:
    email = f"{uuid.uuid4().hex[:12]}@example.com"
    await http.post(AUTH, json={"user": {"email": email}})
    return email


async def test_the_mailbox_lists_e_mails_newest_first_regardless_of_case(http: httpx2.AsyncClient) -> None:
    email = await request_code(http)
    await http.post(AUTH, json={"user": {"email": email}})

    mails: list[dict[str, Any]] = (await http.get("/mailbox.json", params={"to": email.upper()})).json()

    assert [set(mail) for mail in mails] == [{"to", "subject", "text", "html", "sent_at", "code"}] * 2
    assert {mail["to"] for mail in mails} == {email}
    assert mails[0]["sent_at"] > mails[1]["sent_at"]
    assert re.fullmatch(r"[0-9]{6}", mails[0]["code"])
    assert mails[0]["code"] in mails[0]["text"]
    response = await http.post(AUTH, json={"user": {"email": email, "code": mails[0]["code"]}})
    assert response.status_code == 200


async def test_the_page_shows_the_code_with_a_strict_content_security_policy(http: httpx2.AsyncClient) -> None:
    email = await request_code(http)
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
