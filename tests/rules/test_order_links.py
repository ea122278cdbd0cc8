"""Links to orders: one order, one purpose, one time limit."""

from uuid import UUID

import pytest

from shop.base.crypto.keys import Keys
from shop.base.crypto.order_tokens import order_token, read_order_token
from shop.rules.orders.links import LinkPurpose, read_link, sign_link

KEYS = Keys({"new": b"\x01" * 32, "old": b"\x02" * 32})
ORDER = UUID("01890000-0000-7000-8000-000000000001")
EXPIRES = 1_800_000_000


def test_a_link_names_its_order_and_its_expiry() -> None:
    link = sign_link(KEYS, "status", ORDER, EXPIRES)

    assert link.startswith(f"new.{ORDER.hex}.{EXPIRES}.status.")
    assert read_link(KEYS, "status", link) == (ORDER, EXPIRES)


@pytest.mark.parametrize(("purpose", "other"), [("status", "payment"), ("payment", "status")])
def test_a_link_for_one_purpose_serves_no_other(purpose: LinkPurpose, other: LinkPurpose) -> None:
    link = sign_link(KEYS, purpose, ORDER, EXPIRES)

    assert read_link(KEYS, other, link) is None
    assert read_link(KEYS, other, link.replace(f".{purpose}.", f".{other}.")) is None


@pytest.mark.parametrize(
    ("part", "replacement"),
    [
        (f"{ORDER.hex}", "0" * 32),
        (f"{EXPIRES}", f"{EXPIRES + 1}"),
        ("new.", "old."),
        ("new.", "none."),
        (".status.", ".status.0"),
        ("new.", "new. "),
        ("new.", "né."),
    ],
)
def test_a_changed_link_is_refused(part: str, replacement: str) -> None:
    link = sign_link(KEYS, "status", ORDER, EXPIRES)

    assert read_link(KEYS, "status", link.replace(part, replacement)) is None


@pytest.mark.parametrize("text", ["", ".", "new.1.2.status.3", "new." + "0" * 32 + ".1.status." + "0" * 64])
def test_any_other_text_is_refused(text: str) -> None:
    assert read_link(KEYS, "status", text) is None


def test_a_link_of_an_older_key_stays_valid_until_the_key_is_void() -> None:
    old_keys = KEYS.without("new")
    link = sign_link(old_keys, "status", ORDER, EXPIRES)

    assert read_link(KEYS, "status", link) == (ORDER, EXPIRES)
    assert read_link(KEYS.with_void_keys([KEYS.fingerprint("old")]), "status", link) is None
    assert read_link(KEYS.without("old"), "status", link) is None


def test_a_void_key_signs_no_links() -> None:
    keys = KEYS.with_void_keys([KEYS.fingerprint("new")])

    assert sign_link(keys, "status", ORDER, EXPIRES).startswith("old.")


def test_a_link_is_no_order_token_and_an_order_token_no_link() -> None:
    assert read_order_token(KEYS, sign_link(KEYS, "status", ORDER, EXPIRES)) is None
    assert read_link(KEYS, "status", order_token(KEYS, ORDER, 0)) is None
