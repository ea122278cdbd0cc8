"""`shop admin create`."""

import re
from collections.abc import Callable

import pytest

from shop.base.crypto.secrets import secret_hash
from tests.cli.command import Command, external, sentence
from tests.db.processes import fetch_value

OwnDatabase = Callable[..., str]
LINK = re.compile(r"(http://127\.0\.0\.1:8000)/admin/join/(shpol_[0-9A-Za-z]{49})\n")


def test_a_link_is_printed_and_only_its_hash_is_stored(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database()

    result = shop("admin", "create", "Ada@Example.com", **external(url))

    match = LINK.fullmatch(result.stdout)
    assert match
    assert result.stderr == "For Ada@Example.com; open it within 15 minutes. It works once.\n"
    assert bytes(fetch_value(url, "select hash from operator_links")) == secret_hash(match[2])
    seconds_left = fetch_value(url, "select extract(epoch from expires_at - now())::int from operator_links")
    assert 880 <= seconds_left <= 900
    assert fetch_value(url, "select email_key from operators") == "ada@example.com"
    assert fetch_value(url, "select string_agg(actor_kind || ' ' || action, ', ' order by id) from audit_events") == (
        "command line operator_made, command line link_made"
    )


def test_the_link_starts_with_the_public_url_or_the_given_url(shop: Command, own_database: OwnDatabase) -> None:
    settings = external(own_database())

    public = shop("admin", "create", "a@example.com", **{**settings, "SHOP_PUBLIC_URL": "https://shop.example"})
    result = shop("admin", "create", "a@example.com", "--url", "http://10.0.0.1:8080/", **settings)

    assert public.stdout.startswith("https://shop.example/admin/join/shpol_")
    assert result.stdout.startswith("http://10.0.0.1:8080/admin/join/shpol_")


def test_a_new_link_for_an_existing_operator_ends_the_previous_one(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database()
    for _ in range(2):
        assert shop("admin", "create", "ada@example.com", **external(url)).returncode == 0

    assert fetch_value(url, "select count(*) from operators") == 1
    assert fetch_value(url, "select count(*) from operator_links where used_at is null") == 1


@pytest.mark.torture
def test_the_authenticator_is_removed_only_with_forget_totp(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database()
    shop("admin", "create", "ada@example.com", **external(url))
    fetch_value(url, "update operators set totp_sealed = 'x', totp_step = 5 returning 1")

    shop("admin", "create", "ada@example.com", **external(url))
    has_totp = fetch_value(url, "select totp_sealed is not null from operators")
    shop("admin", "create", "ada@example.com", "--forget-totp", **external(url))

    assert has_totp
    assert fetch_value(url, "select totp_sealed is null and totp_step = 0 from operators")


@pytest.mark.torture
def test_passkeys_are_removed_only_with_forget_passkeys(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database()
    shop("admin", "create", "ada@example.com", **external(url))
    fetch_value(
        url,
        """insert into operator_passkeys (id, operator_id, name, credential_id, public_key, rp_id, created_at)
        select gen_random_uuid(), id, 'Laptop', 'x', 'x', 'shop.example', now() from operators returning 1""",
    )

    shop("admin", "create", "ada@example.com", **external(url))
    count = fetch_value(url, "select count(*) from operator_passkeys")
    shop("admin", "create", "ada@example.com", "--forget-passkeys", **external(url))

    assert count == 1
    assert fetch_value(url, "select count(*) from operator_passkeys") == 0
    assert fetch_value(url, "select count(*) from audit_events where action = 'passkeys_removed'") == 1


def test_a_disabled_operator_is_enabled_only_with_enable(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database()
    shop("admin", "create", "ada@example.com", **external(url))
    fetch_value(url, "update operators set disabled_at = now() returning 1")

    refusal = sentence(shop("admin", "create", "ada@example.com", **external(url)))
    result = shop("admin", "create", "ada@example.com", "--enable", **external(url))

    assert refusal == "ada@example.com is disabled; add --enable to enable them again."
    assert LINK.fullmatch(result.stdout)
    assert fetch_value(url, "select disabled_at is null from operators")


def test_an_invalid_e_mail_address_is_refused_in_one_sentence(shop: Command, own_database: OwnDatabase) -> None:
    message = sentence(shop("admin", "create", "nonsense", **external(own_database())))

    assert message == "Give an e-mail address like ada@example.com."
