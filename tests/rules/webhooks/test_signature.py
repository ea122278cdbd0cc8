"""Signatures by Standard Webhooks 1.0.0. The test computes them again, step by step as the specification says."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.rules.webhooks.signature import format_secret, read_secret, signature_headers

KEY = bytes(range(32))
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OTHER = "whsec_" + base64.b64encode(b"\x07" * 32).decode()
EVENT = "evt_06bq4v8z0xk2"


def verify(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Verifies a webhook as a receiver does that follows the specification."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = headers["webhook-id"].encode() + b"." + headers["webhook-timestamp"].encode() + b"." + body
    expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return expected in headers["webhook-signature"].split(" ")


def test_a_secret_is_the_prefix_and_base64_of_its_key() -> None:
    assert format_secret(KEY) == SECRET
    assert read_secret(SECRET) == KEY


def test_a_fixed_webhook_has_the_signature_that_openssl_computes() -> None:
    """Computed once by `printf | openssl dgst -sha256 -mac HMAC -macopt hexkey:… -binary | base64`."""
    headers = signature_headers([SECRET], "msg_1", 1_700_000_000, b'{"type":"order.completed"}')

    assert headers == {
        "webhook-id": "msg_1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": "v1,q561EE+wmw56VNzXhu87imEKVXf6rQCFWfgh6oxzb8g=",
    }


@given(key=st.binary(min_size=32, max_size=32), timestamp=st.integers(0, 2**40), body=st.binary(max_size=200))
def test_a_receiver_verifies_every_body(key: bytes, timestamp: int, body: bytes) -> None:
    headers = signature_headers([format_secret(key)], EVENT, timestamp, body)

    assert verify(format_secret(key), headers, body)
    assert not verify(format_secret(key), headers, body + b" ")
    assert not verify(format_secret(key), {**headers, "webhook-timestamp": str(timestamp + 1)}, body)
    assert not verify(format_secret(key), {**headers, "webhook-id": EVENT + "x"}, body)


def test_during_a_rotation_both_secrets_verify() -> None:
    headers = signature_headers([SECRET, OTHER], EVENT, 1, b"{}")

    assert [verify(secret, headers, b"{}") for secret in (SECRET, OTHER)] == [True, True]
    assert headers["webhook-signature"].count("v1,") == 2
    assert not verify(OTHER, signature_headers([SECRET], EVENT, 1, b"{}"), b"{}")


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", SECRET.removeprefix("whsec_"), SECRET[:-4], SECRET[:-1], SECRET.replace("=", "!"), "whsec_é"],
)
def test_a_malformed_secret_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_secret(secret)


def test_a_key_of_another_length_and_a_webhook_without_secret_are_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        format_secret(b"short")
    with pytest.raises(ValueError, match="needs a secret"):
        signature_headers([], EVENT, 1, b"{}")
