"""Signing in with a one-time code: requesting it, exchanging it once, and revealing nothing about addresses."""

import asyncio
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.base.crypto.secrets import USER_ACCESS, USER_REFRESH, is_secret, secret_hash
from tests.concurrency import wait_for_locks
from tests.service import Service

AUTH = "/api/v2/storefront/auth"
ACCOUNT = "/api/v2/storefront/account"
NOTICE = {"message": "If this address can receive e-mail, a code is sent to it."}
VARYING_HEADERS = {"date", "x-request-id"}
WRONG_TYPES: list[Any] = [123456, 0, -1, 1.5, True, False, None, [], ["a"], {}, {"a": "b"}]


def new_address(name: str = "mike") -> str:
    return f"{name}-{uuid4().hex}@example.com"


async def post_auth(http: httpx2.AsyncClient, headers: Any = None, /, **user: Any) -> httpx2.Response:
    return await http.post(AUTH, json={"user": user}, headers=headers)


async def mails_to(http: httpx2.AsyncClient, email: str) -> list[dict[str, Any]]:
    mails: list[dict[str, Any]] = (await http.get("/mailbox.json", params={"to": email})).json()
    return mails


async def new_code(http: httpx2.AsyncClient, email: str, headers: dict[str, str] | None = None, /, **names: str) -> str:
    """Asks for a code and reads it in the mailbox."""
    response = await post_auth(http, headers, email=email, **names)
    assert response.status_code == 200, response.text
    return str((await mails_to(http, email))[0]["code"])


def wrong_code(code: str, by: int = 1) -> str:
    return f"{(int(code) + by) % 10**6:06}"


def without_id(answer: httpx2.Response) -> dict[str, Any]:
    return {name: value for name, value in answer.json().items() if name != "request_id"}


def stable_headers(answer: httpx2.Response) -> list[tuple[str, str]]:
    return sorted((name, value) for name, value in answer.headers.items() if name not in VARYING_HEADERS)


async def sign_in(http: httpx2.AsyncClient, email: str) -> dict[str, Any]:
    answer = await post_auth(http, email=email, code=await new_code(http, email))
    assert answer.status_code == 200, answer.text
    pair: dict[str, Any] = answer.json()
    return pair


async def test_requesting_a_code_returns_only_a_notice(http: httpx2.AsyncClient) -> None:
    email = new_address()

    answer = await post_auth(http, email=email)

    assert (answer.status_code, answer.json()) == (200, NOTICE)
    assert answer.headers["content-type"].startswith("application/json")
    mails = await mails_to(http, email)
    assert [set(mail) for mail in mails] == [{"to", "subject", "text", "html", "sent_at", "code"}]
    assert mails[0]["to"] == email


@pytest.mark.security("L-01")
async def test_the_email_has_a_six_digit_code_and_its_lifetime_and_the_code_in_its_subject(
    http: httpx2.AsyncClient,
) -> None:
    email = new_address()

    code = await new_code(http, email)

    mail = (await mails_to(http, email))[0]
    assert len(code) == 6
    assert code.isdigit()
    assert code in mail["text"]
    assert code in mail["html"]
    assert mail["subject"] == f"{code} is your code for Tested"
    assert "10 minutes" in mail["text"]


async def test_requesting_a_code_creates_an_unverified_user_with_the_given_names(
    http: httpx2.AsyncClient, db: Any
) -> None:
    email = new_address("Mike")

    await post_auth(http, email=email, first_name="Mike", last_name="O\u2019Hara")

    user = await db.fetchrow("select * from users where email_key = $1", email.lower())
    assert (user["email"], user["first_name"], user["last_name"]) == (email, "Mike", "O\u2019Hara")
    assert (user["verified_at"], user["disabled_at"]) == (None, None)


async def test_names_are_optional_and_may_be_null(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()

    answer = await post_auth(http, email=email, first_name=None)

    names = await db.fetchrow("select first_name, last_name from users where email_key = $1", email)
    assert (answer.status_code, tuple(names)) == (200, (None, None))


@pytest.mark.security("M-04")
async def test_the_names_of_the_redeemed_request_are_saved(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    await post_auth(http, email=email, first_name="Evil", last_name="Stranger")
    code = await new_code(http, email, first_name="Mike", last_name="Smith")

    answer = await post_auth(http, email=email, code=code)

    user = await db.fetchrow("select * from users where email_key = $1", email)
    assert answer.status_code == 200
    assert (user["first_name"], user["last_name"]) == ("Mike", "Smith")
    assert user["verified_at"]


@pytest.mark.security("M-04")
async def test_after_the_first_sign_in_no_code_request_changes_a_name(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    await post_auth(http, email=email, code=await new_code(http, email, first_name="Mike", last_name="Smith"))

    code = await new_code(http, email, first_name="Evil", last_name="Stranger")
    names_before = await db.fetchrow("select first_name, last_name from users where email_key = $1", email)
    again = await post_auth(http, email=email, code=code)

    names_after = await db.fetchrow("select first_name, last_name from users where email_key = $1", email)
    assert again.status_code == 200
    assert (tuple(names_before), tuple(names_after)) == (("Mike", "Smith"), ("Mike", "Smith"))


@pytest.mark.security("M-04")
async def test_the_email_contains_no_text_from_the_caller(http: httpx2.AsyncClient) -> None:
    email = new_address()

    await new_code(http, email, first_name="visit evil.example", last_name="<b>WON</b> {{ 7 * 1357913 }}")

    mail = (await mails_to(http, email))[0]
    for part in ("subject", "text", "html"):
        for word in ("evil", "visit", "WON", "&lt;b", "1357913", "9505391"):
            assert word not in mail[part]


@pytest.mark.security("T-06")
async def test_a_code_is_exchanged_for_an_access_and_a_refresh_token(http: httpx2.AsyncClient) -> None:
    email = new_address()
    code = await new_code(http, email)
    before = int(time.time())

    answer = await post_auth(http, email=email, code=code)

    pair = answer.json()
    assert answer.status_code == 200
    assert set(pair) == {"access_token", "token_type", "expires_in", "refresh_token", "created_at"}
    assert (pair["token_type"], pair["expires_in"], type(pair["created_at"])) == ("Bearer", 86400, int)
    assert before - 5 <= pair["created_at"] <= time.time() + 5
    assert is_secret(USER_ACCESS, pair["access_token"])
    assert is_secret(USER_REFRESH, pair["refresh_token"])
    bearer = {"Authorization": f"Bearer {pair['access_token']}"}
    account = await http.get(ACCOUNT, headers=bearer)
    assert (account.status_code, account.json()["data"]["attributes"]["email"]) == (200, email)


@pytest.mark.security("T-07")
async def test_token_responses_are_not_cacheable_and_set_no_cookie(http: httpx2.AsyncClient) -> None:
    email = new_address()
    code = await new_code(http, email)
    code_response = await post_auth(http, email=email, code=code)
    refresh_response = await post_auth(http, email=email, refresh_token=code_response.json()["refresh_token"])

    for answer in (code_response, refresh_response):
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers


@pytest.mark.security("L-03")
async def test_a_code_works_once(http: httpx2.AsyncClient) -> None:
    email = new_address()
    code = await new_code(http, email)

    first, second = await post_auth(http, email=email, code=code), await post_auth(http, email=email, code=code)

    assert (first.status_code, second.status_code, second.json()["code"]) == (200, 401, "invalid_code")


@pytest.mark.security("L-03")
async def test_of_a_hundred_concurrent_exchanges_of_one_code_one_succeeds(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    code = await new_code(http, email)

    answers = await asyncio.gather(*(post_auth(http, email=email, code=code) for _ in range(100)))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [401] * 99
    sessions = "select count(*) from sessions s join users u on u.id = s.user_id where u.email_key = $1"
    assert await db.fetchval(sessions, email) == 1


@pytest.mark.security("L-03")
async def test_of_exchanges_that_all_counted_an_attempt_before_one_finished_one_succeeds(
    http: httpx2.AsyncClient, db: Any
) -> None:
    """All requests wait for the lock on the login request, so that all compare the code before one uses it up."""
    email = new_address()
    code = await new_code(http, email)

    async with db.transaction():
        await db.execute("select id from login_requests where email_key = $1 for update", email)
        exchanges = [asyncio.create_task(post_auth(http, email=email, code=code)) for _ in range(5)]
        await wait_for_locks(db, 5)
    answers = await asyncio.gather(*exchanges)

    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 4


@pytest.mark.security("L-04")
async def test_two_hundred_concurrent_wrong_codes_invalidate_the_code(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    code = await new_code(http, email)

    guesses = await asyncio.gather(*(post_auth(http, email=email, code=wrong_code(code, by)) for by in range(1, 201)))
    right = await post_auth(http, email=email, code=code)

    # On a slow machine the shop rejects some of so many requests with 503.
    assert {answer.status_code for answer in guesses} - {503} == {401}
    assert (right.status_code, right.json()["code"]) == (401, "invalid_code")
    assert await db.fetchval("select attempts from login_requests where email_key = $1", email) == 5


async def test_the_right_code_is_accepted_after_four_wrong_attempts(http: httpx2.AsyncClient) -> None:
    email = new_address()
    code = await new_code(http, email)
    for by in range(1, 5):
        await post_auth(http, email=email, code=wrong_code(code, by))

    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.security("L-04")
async def test_five_wrong_attempts_invalidate_a_code_and_a_new_one_works(http: httpx2.AsyncClient) -> None:
    email = new_address()
    code = await new_code(http, email)
    for by in range(1, 6):
        assert (await post_auth(http, email=email, code=wrong_code(code, by))).status_code == 401

    refusal = await post_auth(http, email=email, code=code)
    fresh = await post_auth(http, email=email, code=await new_code(http, email))

    assert (refusal.status_code, fresh.status_code) == (401, 200)


@pytest.mark.security("L-08")
async def test_only_the_newest_code_works(http: httpx2.AsyncClient) -> None:
    email = new_address()
    old = await new_code(http, email)
    new = await new_code(http, email)

    assert (await post_auth(http, email=email, code=old)).status_code == (401 if old != new else 200)
    assert (await post_auth(http, email=email, code=new)).status_code == (200 if old != new else 401)


@pytest.mark.security("L-08")
async def test_many_concurrent_requests_leave_one_valid_code(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()

    answers = await asyncio.gather(*(post_auth(http, email=email) for _ in range(5)))

    live = "select id from login_requests where email_key = $1 and superseded_at is null and consumed_at is null"
    assert {answer.status_code for answer in answers} == {200}
    assert len(await db.fetch(live, email)) == 1
    codes = [mail["code"] for mail in await mails_to(http, email)]
    statuses = [(await post_auth(http, email=email, code=code)).status_code for code in codes]
    assert (len(codes), statuses.count(200), statuses.count(401)) == (5, 1, 4)


@pytest.mark.security("L-08")
async def test_a_code_works_only_with_the_address_it_was_sent_to(http: httpx2.AsyncClient) -> None:
    mike, eve = new_address("mike"), new_address("eve")
    mikes = await new_code(http, mike)
    eves = await new_code(http, eve)
    while eves == mikes:
        eves = await new_code(http, eve)

    foreign = [await post_auth(http, email=eve, code=mikes), await post_auth(http, email=mike, code=eves)]
    own = [await post_auth(http, email=eve, code=eves), await post_auth(http, email=mike, code=mikes)]

    assert [answer.status_code for answer in foreign] == [401, 401]
    assert [answer.status_code for answer in own] == [200, 200]


@pytest.mark.security("M-05")
async def test_an_address_in_another_case_is_the_same_user_and_email_is_sent_to_the_stored_one(
    http: httpx2.AsyncClient, db: Any
) -> None:
    email = new_address("Mike")
    await sign_in(http, email)

    code = await new_code(http, email.upper())
    answer = await post_auth(http, email=email.lower(), code=code)

    assert answer.status_code == 200
    assert {mail["to"] for mail in await mails_to(http, email)} == {email}
    assert await db.fetchval("select count(*) from users where lower(email) = $1", email.lower()) == 1


@pytest.mark.security("M-05")
async def test_a_homoglyph_of_an_address_gets_neither_its_email_nor_its_tokens(http: httpx2.AsyncClient) -> None:
    email = new_address("mike")
    code = await new_code(http, email)
    for homoglyph in (email.replace("i", "\u0131", 1), email.replace("k", "\u212a", 1)):
        code_request = await post_auth(http, email=homoglyph)
        exchange = await post_auth(http, email=homoglyph, code=code)

        assert (code_request.status_code, exchange.status_code) == (422, 422)
    assert len(await mails_to(http, email)) == 1
    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.security("M-05")
async def test_an_internationalized_domain_is_accepted_in_either_form(http: httpx2.AsyncClient) -> None:
    name = uuid4().hex

    await post_auth(http, email=f"{name}@bücher.example")

    mails = await mails_to(http, f"{name}@xn--bcher-kva.example")
    answer = await post_auth(http, email=f"{name}@bücher.example", code=mails[0]["code"])
    assert answer.status_code == 200


@pytest.mark.security("L-02")
async def test_an_expired_code_is_refused(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    code = await new_code(http, email)
    await db.execute(
        "update login_requests set expires_at = now() - interval '1 second' where email_key = $1",
        email,
    )

    assert (await post_auth(http, email=email, code=code)).status_code == 401


@pytest.mark.security("L-02")
async def test_a_code_expires_after_600_seconds_on_the_database_clock(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    code = await new_code(http, email)

    life = await db.fetchval("select expires_at - created_at from login_requests where email_key = $1", email)
    await db.execute(
        "update login_requests set expires_at = now() + interval '5 seconds' where email_key = $1",
        email,
    )

    assert life.total_seconds() == 600
    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.security("L-09")
async def test_a_code_request_does_not_reveal_whether_the_address_is_known(http: httpx2.AsyncClient, db: Any) -> None:
    unknown, unverified, known_email, disabled_email = (new_address(name) for name in ("un", "unv", "kn", "dis"))
    await post_auth(http, email=unverified)
    for email in (known_email, disabled_email):
        await sign_in(http, email)
    await db.execute("update users set disabled_at = now() where email_key = $1", disabled_email)
    mail_count = len(await mails_to(http, disabled_email))

    answers = [await post_auth(http, email=email) for email in (unknown, unverified, known_email, disabled_email)]

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert all(stable_headers(answer) == stable_headers(answers[0]) for answer in answers)
    assert len(await mails_to(http, disabled_email)) == mail_count


@pytest.mark.security("L-09")
async def test_every_invalid_code_gets_the_same_response(http: httpx2.AsyncClient, db: Any) -> None:
    guessed_email, expired_email, used_email, tried_email = (
        new_address(name) for name in ("guessed", "expired", "used", "tried")
    )
    codes = {email: await new_code(http, email) for email in (guessed_email, expired_email, used_email, tried_email)}
    await db.execute("update login_requests set expires_at = now() where email_key = $1", expired_email)
    await post_auth(http, email=used_email, code=codes[used_email])
    for by in range(1, 6):
        await post_auth(http, email=tried_email, code=wrong_code(codes[tried_email], by))

    codes[guessed_email] = wrong_code(codes[guessed_email])
    answers = [await post_auth(http, email=email, code=code) for email, code in codes.items()]
    answers.append(await post_auth(http, email=new_address("unknown"), code="123456"))
    answers.append(await post_auth(http, email=guessed_email, code="0" * 26))

    assert [answer.status_code for answer in answers] == [401] * 6
    assert without_id(answers[0])["code"] == "invalid_code"
    assert all(without_id(answer) == without_id(answers[0]) for answer in answers)
    assert all(stable_headers(answer) == stable_headers(answers[0]) for answer in answers)
    assert answers[0].headers["www-authenticate"] == 'Bearer realm="shop"'


async def test_a_disabled_user_cannot_exchange_an_earlier_code(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    code = await new_code(http, email)
    await db.execute("update users set disabled_at = now() where email_key = $1", email)

    answer = await post_auth(http, email=email, code=code)

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_code")


@pytest.mark.parametrize("user", [None, "x", 1, True, [], [{"email": "mike@example.com"}]])
async def test_a_body_without_a_user_object_is_malformed(http: httpx2.AsyncClient, user: Any) -> None:
    bodies: list[dict[str, Any]] = [{"user": user}, {"users": {}}, {"email": "mike@example.com"}, {}]
    for body in bodies:
        answer = await http.post(AUTH, json=body)

        assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


async def test_a_missing_body_is_malformed(http: httpx2.AsyncClient) -> None:
    answer = await http.post(AUTH)

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


async def test_an_empty_user_is_422_for_its_missing_email(http: httpx2.AsyncClient) -> None:
    answer = await post_auth(http)

    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["email"])


@pytest.mark.security("L-11")
async def test_a_code_and_a_refresh_token_together_are_refused_and_both_still_work(http: httpx2.AsyncClient) -> None:
    email = new_address()
    token = (await sign_in(http, email))["refresh_token"]
    code = await new_code(http, email)

    for _ in range(6):
        both = await post_auth(http, email=email, code=code, refresh_token=token)
        assert (both.status_code, both.json()["code"]) == (400, "malformed")
    for empty in (None, "", 0):
        assert (await post_auth(http, email=email, code=code, refresh_token=empty)).status_code == 400
        assert (await post_auth(http, email=email, code=empty, refresh_token=token)).status_code == 400

    assert (await post_auth(http, email=email, refresh_token=token)).status_code == 200
    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.security("M-03")
@pytest.mark.parametrize(
    "email",
    [
        *WRONG_TYPES,
        "",
        " ",
        "mike",
        "mike@localhost",
        "mike@example.com.",
        "mike@example.com,eve@example.net",
        "mike@example.com\r\nBcc: eve@example.net",
        "Mike <mike@example.com>",
        '"mike"@example.com',
        "m" * 300 + "@example.com",
        "m" * 60_000,
    ],
    ids=lambda email: repr(email)[:40],
)
async def test_an_invalid_address_is_422_in_every_operation_and_sends_no_email(
    http: httpx2.AsyncClient, db: Any, email: Any
) -> None:
    before = await db.fetchval("select count(*) from outbox_mails")
    for operation in ({}, {"code": "123456"}, {"refresh_token": "x"}, {"first_name": "Mike"}):
        answer = await post_auth(http, email=email, **operation)

        assert answer.status_code == 422, operation
        assert (answer.json()["code"], list(answer.json()["errors"])) == ("validation_failed", ["email"])
    assert await db.fetchval("select count(*) from outbox_mails") == before


@pytest.mark.security("M-03")
async def test_a_nul_in_any_field_is_malformed(http: httpx2.AsyncClient) -> None:
    email = new_address()
    for field in ("email", "code", "refresh_token", "first_name", "last_name"):
        answer = await post_auth(http, **{"email": email, field: f"{email}\x00"})

        assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert await mails_to(http, email) == []


@pytest.mark.security("L-11")
@pytest.mark.parametrize("field", ["code", "refresh_token", "first_name", "last_name"])
async def test_a_field_of_the_wrong_type_is_422_and_sends_and_consumes_nothing(
    http: httpx2.AsyncClient, db: Any, field: str
) -> None:
    email = new_address()
    code = await new_code(http, email)
    for value in WRONG_TYPES:
        if value is None and field in {"first_name", "last_name"}:
            continue
        answer = await post_auth(http, **{"email": email, field: value})

        assert (answer.status_code, list(answer.json()["errors"])) == (422, [field]), value
    assert len(await mails_to(http, email)) == 1
    assert await db.fetchval("select attempts from login_requests where email_key = $1", email) == 0
    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.security("L-11")
@pytest.mark.parametrize(
    "code_text",
    ["", " ", "-", "\u0661\u0662\u0663\u0664\u0665\u0666", "123_456", "123456\n", "123456\n9", "abcdef", "x" * 60_000],
    ids=lambda code_text: ascii(code_text)[:30],
)
async def test_text_that_cannot_be_a_code_is_422_and_counts_as_no_attempt(
    http: httpx2.AsyncClient, db: Any, code_text: str
) -> None:
    email = new_address()
    await new_code(http, email)

    answer = await post_auth(http, email=email, code=code_text)

    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["code"])
    assert await db.fetchval("select attempts from login_requests where email_key = $1", email) == 0


async def test_a_code_may_contain_spaces_and_dashes(http: httpx2.AsyncClient) -> None:
    for form in ("{0}{1}", "{0} {1}", "{0}-{1}", " {0}{1} "):
        email = new_address()
        code = await new_code(http, email)

        assert (await post_auth(http, email=email, code=form.format(code[:3], code[3:]))).status_code == 200


async def test_a_code_of_the_wrong_length_is_401(http: httpx2.AsyncClient) -> None:
    email = new_address()
    code = await new_code(http, email)

    for candidate in (code + "0", "0" + code, code[:5], code * 9000):
        assert (await post_auth(http, email=email, code=candidate)).status_code == 401
    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.security("M-03")
@pytest.mark.parametrize("name", ["a" * 256, "Mike\r\nBcc: eve@example.net", "a\nb", "a\tb", "\x1b[31m", "a\u202eb"])
async def test_a_long_or_multiline_name_is_422_and_sends_no_email(http: httpx2.AsyncClient, name: str) -> None:
    email = new_address()

    answer = await post_auth(http, email=email, first_name=name, last_name=name)

    assert (answer.status_code, set(answer.json()["errors"])) == (422, {"first_name", "last_name"})
    assert await mails_to(http, email) == []


async def test_a_name_may_have_255_characters_of_any_script(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()

    answer = await post_auth(http, email=email, first_name="名" * 255, last_name="\U0001f600" * 255)

    names = await db.fetchrow("select first_name, last_name from users where email_key = $1", email)
    assert (answer.status_code, tuple(names)) == (200, ("名" * 255, "\U0001f600" * 255))


async def test_all_invalid_fields_are_reported_together(http: httpx2.AsyncClient) -> None:
    code_request = await post_auth(http, email="mike", first_name=5, last_name="a\nb")
    exchange = await post_auth(http, email="mike", code=5)

    assert set(code_request.json()["errors"]) == {"email", "first_name", "last_name"}
    assert set(exchange.json()["errors"]) == {"email", "code"}


@pytest.mark.security("H-01")
@pytest.mark.parametrize("field", ["email", "code", "refresh_token", "first_name", "other"])
async def test_a_body_beyond_64_kib_is_too_large_and_consumes_nothing(http: httpx2.AsyncClient, field: str) -> None:
    email = new_address()
    code = await new_code(http, email)

    answer = await post_auth(http, **{"email": email, "code": code, field: "x" * 70_000})

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.security("T-07")
async def test_secrets_are_read_from_the_body_and_never_from_the_query(http: httpx2.AsyncClient) -> None:
    email = new_address()
    code = await new_code(http, email)
    query = {"user[email]": email, "user[code]": code}

    alone = await http.post(AUTH, params=query)
    with_body = await http.post(AUTH, params=query, json={"user": {"email": new_address(), "code": "000000"}})

    assert (alone.status_code, with_body.status_code) == (400, 401)
    assert (await post_auth(http, email=email, code=code)).status_code == 200


@pytest.mark.parametrize("make", [lambda _: "Bearer junk", lambda _: "Bearer", lambda token: f"Bearer {token}"])
async def test_an_invalid_bearer_token_does_not_prevent_signing_in(
    http: httpx2.AsyncClient, db: Any, make: Callable[[str], str]
) -> None:
    email = new_address()
    pair = await sign_in(http, email)
    await db.execute("update access_tokens set expires_at = now() where hash = $1", secret_hash(pair["access_token"]))
    headers = {"Authorization": make(pair["access_token"])}

    refresh_response = await post_auth(http, headers, email=email, refresh_token=pair["refresh_token"])
    code_response = await post_auth(http, headers, email=email, code=await new_code(http, email, headers))
    sign_out_response = await http.delete(f"{AUTH}/{pair['refresh_token']}", headers=headers)

    assert (refresh_response.status_code, code_response.status_code, sign_out_response.status_code) == (200, 200, 200)


async def test_an_idempotency_key_never_repeats_a_sign_in(http: httpx2.AsyncClient) -> None:
    email, key = new_address(), {"Idempotency-Key": str(uuid4())}
    code = await new_code(http, email, key)

    first, second = [await post_auth(http, key, email=email, code=code) for _ in range(2)]

    assert (first.status_code, second.status_code) == (200, 401)


@pytest.mark.security("T-09")
async def test_signing_out_ends_the_session_and_any_token_gets_the_same_response(http: httpx2.AsyncClient) -> None:
    email = new_address()
    pair = await sign_in(http, email)
    other = await sign_in(http, email)

    tokens = (pair["access_token"], pair["access_token"], "junk", pair["refresh_token"], "x" * 500)
    answers = [await http.delete(f"{AUTH}/{token}") for token in tokens]

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, "{}")}
    ended_session = await http.get(ACCOUNT, headers={"Authorization": f"Bearer {pair['access_token']}"})
    alive = await http.get(ACCOUNT, headers={"Authorization": f"Bearer {other['access_token']}"})
    assert (ended_session.status_code, alive.status_code) == (401, 200)
    assert (await post_auth(http, email=email, refresh_token=pair["refresh_token"])).status_code == 401


@pytest.mark.security("A-01")
async def test_the_log_contains_no_code_and_no_token(http: httpx2.AsyncClient, service: Service) -> None:
    email = new_address()
    code = await new_code(http, email)
    answer = await post_auth(http, email=email, code=code)
    pair = answer.json()
    response = await http.delete(f"{AUTH}/{pair['access_token']}")
    line = service.request_line(response.headers["x-request-id"])

    assert (line["route"], line["status"]) == (AUTH + "/{token*}", 200)
    log = "".join(service.lines)
    for secret in (pair["access_token"], pair["refresh_token"], pair["access_token"][6:-6]):
        assert secret not in log
    assert not any(code in str(value) for value in service.request_line(answer.headers["x-request-id"]).values())


@pytest.mark.security("A-02")
async def test_each_sign_in_and_each_refusal_is_one_audit_event(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    code = await new_code(http, email)
    refusal = await post_auth(http, email=email, code=wrong_code(code))
    success = await post_auth(http, email=email, code=code)

    event = "select action, outcome, actor_kind, detail::text from audit_events where request_id = $1"
    first = await db.fetch(event, refusal.headers["x-request-id"])
    second = await db.fetch(event, success.headers["x-request-id"])
    assert [tuple(row)[:3] for row in first] == [("sign_in", "refused", "guest")]
    assert [tuple(row)[:3] for row in second] == [("sign_in", "done", "user")]
    assert code not in first[0]["detail"] + second[0]["detail"]


async def test_requests_from_loopback_are_not_limited_by_source(http: httpx2.AsyncClient, service: Service) -> None:
    answers = [await post_auth(http, email=new_address()) for _ in range(25)]

    assert {answer.status_code for answer in answers} == {200}
    assert service.request_line(answers[-1].headers["x-request-id"])["source"] == "127.0.0.1"


@pytest.mark.security("T-03")
async def test_no_code_and_no_token_is_stored_in_the_database(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_address()
    code = await new_code(http, email)
    pair = (await post_auth(http, email=email, code=code)).json()
    statement = f"select t::text from {{}} t where t.email_key = '{email}'"
    tables = ("sessions", "access_tokens", "refresh_tokens", "audit_events", "outbox_mails", "rate_counts")

    rows = [row[0] for table in tables for row in await db.fetch(f"select t::text from {table} t")]

    request = (await db.fetchval(statement.format("login_requests"))).split(",")
    assert code not in request
    for token in (pair["access_token"], pair["refresh_token"]):
        assert not any(token[6:49] in row for row in rows)
        assert not any(token.encode().hex() in row for row in rows)
