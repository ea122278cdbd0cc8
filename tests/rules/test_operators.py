"""Authenticator codes, sign-in tickets, CSRF tokens, and the page after a sign-in."""

from uuid import UUID

import pyotp
import pytest

from shop.base.crypto.keys import parse_keys
from shop.rules.access.operators import (
    authenticator_text,
    authenticator_uri,
    csrf_token,
    is_csrf_token,
    is_ticket,
    local_path,
    sign_in_ticket,
    ticket_owner,
    totp_step,
)

KEYS = parse_keys("k1:" + "5a" * 32)
SECRET = b"12345678901234567890"
ADA = UUID(int=7)


@pytest.mark.parametrize(("second", "code"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924")])
def test_codes_are_those_of_rfc_6238(second: int, code: str) -> None:
    assert totp_step(SECRET, code, now=second, last_step=0) == second // 30


@pytest.mark.parametrize(("offset", "is_valid"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_code_is_valid_for_one_step_earlier_and_later(offset: int, is_valid: bool) -> None:
    code = pyotp.TOTP(authenticator_text(SECRET)).generate_otp(1000 + offset)

    assert (totp_step(SECRET, code, now=30_000, last_step=0) == 1000 + offset) is is_valid


def test_a_code_is_accepted_once() -> None:
    code = pyotp.TOTP(authenticator_text(SECRET)).generate_otp(1000)

    assert totp_step(SECRET, code, now=30_000, last_step=999) == 1000
    assert totp_step(SECRET, code, now=30_000, last_step=1000) is None


@pytest.mark.parametrize("code_text", ["", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "-12345"])
def test_text_that_is_not_six_digits_is_no_code(code_text: str) -> None:
    assert totp_step(SECRET, code_text, now=30_000, last_step=0) is None


def test_the_authenticator_uri_contains_shop_and_operator() -> None:
    uri = authenticator_uri(SECRET, email="ada@example.com", shop="Shop: Käse")

    assert pyotp.parse_uri(uri).secret == authenticator_text(SECRET)
    assert "issuer=Shop%20%20K%C3%A4se" in uri


@pytest.mark.parametrize(("seconds", "is_valid"), [(-1, False), (0, True), (300, True), (301, False)])
def test_a_sign_in_ticket_is_valid_for_five_minutes(seconds: int, is_valid: bool) -> None:
    ticket = sign_in_ticket(KEYS, ADA, "hash", 1000)

    assert ticket_owner(ticket) == ADA
    assert is_ticket(KEYS, ticket, "hash", 1000 + seconds) is is_valid


def test_a_sign_in_ticket_is_bound_to_one_password_and_one_key() -> None:
    ticket = sign_in_ticket(KEYS, ADA, "hash", 1000)

    assert not is_ticket(KEYS, ticket, "another hash", 1000)
    assert not is_ticket(parse_keys("k1:" + "5b" * 32), ticket, "hash", 1000)
    assert not is_ticket(parse_keys("k2:" + "5a" * 32), ticket, "hash", 1000)
    assert not is_ticket(KEYS, ticket.replace(".1000.", ".1001."), "hash", 1001)
    assert ticket_owner("nonsense") is None


def test_a_csrf_token_is_bound_to_one_session_and_valid_after_a_key_rotation() -> None:
    token = csrf_token(KEYS, b"session")

    assert is_csrf_token(KEYS, b"session", token)
    assert is_csrf_token(parse_keys("k2:" + "5b" * 32 + ",k1:" + "5a" * 32), b"session", token)
    for value, session in ((token, b"other"), ("", b"session"), ("k1.", b"session"), ("k1.ü", b"session")):
        assert not is_csrf_token(KEYS, session, value)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/admin", "/admin"),
        ("/admin/orders?state=open&q=a%40b", "/admin/orders?state=open&q=a%40b"),
        (None, "/admin"),
        ("/admin@evil", "/admin"),
        ("/admin/..//evil", "/admin"),
        ("/admin/\\evil", "/admin"),
        ("https://evil", "/admin"),
        ("/admin\n", "/admin"),
    ],
)
def test_a_sign_in_redirects_only_into_the_dashboard(target: str | None, path: str) -> None:
    assert local_path(target) == path
