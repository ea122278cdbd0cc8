"""Settings: the value of each variable when it is set, unset, empty or invalid."""

import re
from ipaddress import ip_network
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.base.config.settings import Settings, is_loopback, read_settings
from shop.base.config.variables import VARIABLES, Variable
from shop.base.errors import CannotStart

KEY = "0123456789abcdef" * 4

DEFAULTS: dict[str, Any] = {
    "data_dir": Path("var"),
    "database_url": None,
    "host": "127.0.0.1",
    "port": 8000,
    "backup_url": None,
    "backup_hours": 24,
    "backup_keep": 14,
    "backup_passphrase": None,
    "archive_url": None,
    "archive_after": 730,
    "database_pool": 8,
    "database_prepared": "on",
    "database_replica_urls": (),
    "replica_lag_seconds": 1.0,
    "secret_keys": None,
    "smtp_url": None,
    "mail_from": "shop@localhost",
    "website": "on",
    "theme_dir": None,
    "extensions": None,
    "extension_variables": {},
    "order_mail": "on",
    "hold_seconds": 0,
    "stripe_secret_key": None,
    "stripe_webhook_secret": None,
    "stripe_publishable_key": None,
    "stripe_api_base": "https://api.stripe.com",
    "mailbox": None,
    "public_url": None,
    "trusted_proxies": (),
    "cors_origins": (),
    "media_url": None,
    "metrics": None,
    "catalog_stale_seconds": 3600,
    "drain_seconds": 5.0,
    "log_level": "info",
    "log_format": None,
    "login_code_ttl": 600,
    "user_token_ttl": 86_400,
    "platform_token_ttl": 7200,
    "refresh_idle_ttl": 2_592_000,
    "refresh_max_ttl": 7_776_000,
    "refresh_grace": 30,
    "cart_idle_ttl": 2_592_000,
    "event_days": 30,
    "order_status_ttl": 2_592_000,
    "limit_mails_per_address": ((5, 900), (10, 3600)),
    "limit_mails_per_source": ((20, 3600), (100, 86_400)),
    "limit_mails": ((1000, 3600),),
    "limit_tries_per_code": 5,
    "limit_failures_per_address": ((20, 86_400), (100, 0)),
    "limit_failures": ((300, 300), (1000, 86_400)),
    "limit_failures_per_source": ((30, 300), (100, 3600)),
    "limit_client_failures": ((30, 300),),
    "limit_tokens_per_client": (),
    "limit_carts_per_source": ((600, 60),),
    "limit_coupons_per_source": ((30, 300),),
    "limit_requests_per_source": (),
    "limit_sign_ins": ((10, 300), (50, 86_400)),
    "limit_authenticator_codes": ((30, 86_400),),
    "limit_loopback": "0",
}

# Invalid values of each variable but SHOP_DATA_DIR: a directory may have any name.
WRONG = {
    "SHOP_DATABASE_URL": ["mysql://db/shop", "db.example", "sqlite:///shop.db"],
    "SHOP_HOST": ["127.0.0.1\n", "\x00"],
    "SHOP_PORT": ["-1", "65536", "http", "80.0"],
    "SHOP_BACKUP_URL": ["ftp://host/backups", "s3://host/bucket", "a\nb"],
    "SHOP_BACKUP_HOURS": ["0", "-1", "daily"],
    "SHOP_BACKUP_KEEP": ["0", "-1", "all"],
    "SHOP_BACKUP_PASSPHRASE": ["short"],
    "SHOP_ARCHIVE_URL": ["ftp://host/archive", "s3://host/bucket"],
    "SHOP_ARCHIVE_AFTER": ["0", "29", "never"],
    "SHOP_DATABASE_POOL": ["0", "-1", "many", "1.5", "1_0", " 8", "\u0668", "9" * 10],
    "SHOP_DATABASE_PREPARED": ["yes", "On", "1"],
    "SHOP_DATABASE_REPLICA_URLS": ["db.example", "postgresql://a/shop, mysql://b/shop"],
    "SHOP_REPLICA_LAG_SECONDS": ["0", "soon", "-1", "3601"],
    "SHOP_SECRET_KEYS": ["secret", f"K:{KEY}", f"k1:{KEY},k1:{KEY}", f"k1:{KEY},"],
    "SHOP_SMTP_URL": ["mail.example", "http://mail.example", "smtp://", "smtp://:587", "smtp://[::1"],
    "SHOP_MAIL_FROM": [" ", "nobody", "a@", "@b", "a b@c.example", "shop@example.com\nBcc: all@example.com", "\x00"],
    "SHOP_WEBSITE": ["yes", "On", "1"],
    "SHOP_EXTENSIONS": ["Loyalty", "a b", ";", "../x", "-"],
    "SHOP_THEME_DIR": ["/nowhere", "pyproject.toml", "docs", "a" * 5000],
    "SHOP_ORDER_MAIL": ["yes", "On", "1"],
    "SHOP_HOLD_SECONDS": ["-1", "soon", "1.5x"],
    "SHOP_STRIPE_SECRET_KEY": [
        "sk",
        "pk_test_0123456789",
        "whsec_0123456789",
        "sk_test_0123\n456789",
        "sk_test_é0123456",
    ],
    "SHOP_STRIPE_WEBHOOK_SECRET": ["whsec_", "sk_test_0123456789", "whsec_01234567 89"],
    "SHOP_STRIPE_PUBLISHABLE_KEY": ["sk_test_0123456789", "pk_", "rk_live_0123456789"],
    "SHOP_STRIPE_API_BASE": [
        "api.stripe.com",
        "http://api.stripe.com",
        "https://",
        "https://api.stripe.com/v1",
        "https://user:word@api.stripe.com",
        "http://127.0.0.1.example",
        "https://api.stripe.com:99999",
    ],
    "SHOP_MAILBOX": ["yes", "On", "1"],
    "SHOP_PUBLIC_URL": ["shop.example", "https://shop.example/store", "https://", "ftp://shop.example"],
    "SHOP_TRUSTED_PROXIES": ["proxy", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/8 10.1.0.0/16"],
    "SHOP_CORS_ORIGINS": ["*", "store.example", "https://a.example, *", "https://a.example/", "https://a.example?q=1"],
    "SHOP_MEDIA_URL": ["\n", "s3://bucket\x00"],
    "SHOP_METRICS": ["on", "Public"],
    "SHOP_CATALOG_STALE_SECONDS": ["-1", "1h", "0.5"],
    "SHOP_DRAIN_SECONDS": ["-1", "soon", "1e3", "inf", "nan", ".5", "25.1", "30"],
    "SHOP_LOG_LEVEL": ["INFO", "verbose"],
    "SHOP_LOG_FORMAT": ["text", "JSON"],
    "SHOP_LOGIN_CODE_TTL": ["0", "10m"],
    "SHOP_USER_TOKEN_TTL": ["0", "1d"],
    "SHOP_PLATFORM_TOKEN_TTL": ["0", "2h"],
    "SHOP_REFRESH_IDLE_TTL": ["0", "-5"],
    "SHOP_REFRESH_MAX_TTL": ["0", "+5"],
    "SHOP_REFRESH_GRACE": ["-1", "half", "61"],
    "SHOP_CART_IDLE_TTL": ["0", "never"],
    "SHOP_EVENT_DAYS": ["0", "always"],
    "SHOP_ORDER_STATUS_TTL": ["0", "30 days"],
    "SHOP_LIMIT_MAILS_PER_ADDRESS": ["five", "5/900,"],
    "SHOP_LIMIT_MAILS_PER_SOURCE": ["5/"],
    "SHOP_LIMIT_MAILS": ["/900", "5/900/2", "-5/900", "5 / 900", "5/900; 10/3600", "1e3/5", "\u0665/900", "off"],
    "SHOP_LIMIT_TRIES_PER_CODE": ["5/900"],
    "SHOP_LIMIT_FAILURES_PER_ADDRESS": ["20/day"],
    "SHOP_LIMIT_FAILURES": ["300 in 300"],
    "SHOP_LIMIT_FAILURES_PER_SOURCE": [",30/300"],
    "SHOP_LIMIT_CLIENT_FAILURES_PER_SOURCE": ["30/300,,40/600"],
    "SHOP_LIMIT_TOKENS_PER_CLIENT": ["none"],
    "SHOP_LIMIT_CARTS_PER_SOURCE": ["600/1m"],
    "SHOP_LIMIT_COUPONS_PER_SOURCE": ["30/5m"],
    "SHOP_LIMIT_REQUESTS_PER_SOURCE": ["1.5/60"],
    "SHOP_LIMIT_SIGN_INS": ["10/300/"],
    "SHOP_LIMIT_AUTHENTICATOR_CODES": ["10/300/"],
    "SHOP_LIMIT_LOOPBACK": ["yes", "2"],
}


def refusal(**environ: str) -> str:
    with pytest.raises(CannotStart) as excinfo:
        read_settings(environ)
    return str(excinfo.value)


def test_an_empty_environment_gives_every_default() -> None:
    assert msgspec.structs.asdict(read_settings({})) == DEFAULTS


def test_every_variable_has_its_own_field() -> None:
    # The variables of extensions have no entries of their own.
    assert [*(variable.field for variable in VARIABLES), "extension_variables"] == list(Settings.__struct_fields__)
    assert len({variable.name for variable in VARIABLES}) == len(VARIABLES)


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_an_explicit_default_equals_an_unset_variable(variable: Variable) -> None:
    settings = read_settings({variable.name: variable.default or ""})

    assert settings == read_settings({})


def test_an_empty_variable_counts_as_unset() -> None:
    assert read_settings({variable.name: "" for variable in VARIABLES}) == read_settings({})


def test_variables_of_other_programs_are_ignored() -> None:
    environ = {"PATH": "/bin", "SHOPPING": "1", "shop_data_dir": "x", "MY_SHOP_KEY": "x", "SHOPTEST_RUN_DIR": "x"}

    assert read_settings(environ) == read_settings({})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("SHOP_DATABASE_URI", "SHOP_DATABASE_URL"),
        ("SHOP_DATADIR", "SHOP_DATA_DIR"),
        ("SHOP_SECRET_KEY", "SHOP_SECRET_KEYS"),
        ("SHOP_SMPT_URL", "SHOP_SMTP_URL"),
        ("SHOP_LIMIT_MAIL", "SHOP_LIMIT_MAILS"),
        ("SHOP_CORS_ORIGIN", "SHOP_CORS_ORIGINS"),
        ("SHOP_LOGLEVEL", "SHOP_LOG_LEVEL"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest_known_one(name: str, nearest: str) -> None:
    assert refusal(**{name: "anything"}) == f"{name} is not a known setting; did you mean {nearest}?"


@pytest.mark.parametrize("name", ["SHOP_", "SHOP_ZZZZZZZZ", "SHOP_é"])
def test_an_unknown_variable_without_a_similar_one_is_refused_too(name: str) -> None:
    message = refusal(**{name: "hunter2"})

    assert re.fullmatch(rf"{name} is not a known setting; did you mean (SHOP_[A-Z_]+)\?", message)
    assert "hunter2" not in message


def test_an_unknown_variable_is_refused_even_when_empty() -> None:
    assert refusal(SHOP_DATABASE="").startswith("SHOP_DATABASE is not a known setting")


def test_every_variable_except_the_directory_has_invalid_examples() -> None:
    assert WRONG.keys() == {variable.name for variable in VARIABLES} - {"SHOP_DATA_DIR"}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_an_invalid_value_is_refused_in_one_sentence_that_names_the_variable(name: str, value: str) -> None:
    message = refusal(**{name: value})

    assert re.fullmatch(rf"{name} cannot be read: .*[^.]\.", message)
    assert ". " not in message
    assert KEY[:8] not in message


@pytest.mark.parametrize(
    "value",
    [
        "smtp://shop:hunter2@mail\u2100.example",
        "smtp://shop:hunter2@[mail.example",
        "http://shop:hunter2@mail.example",
    ],
)
def test_an_invalid_smtp_url_is_refused_without_showing_its_password(value: str) -> None:
    assert "hunter2" not in refusal(SHOP_SMTP_URL=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SHOP_SMTP_URL", "smtp://mail.example:submission"),
        ("SHOP_SMTP_URL", "smtp://mail.example:65536"),
        ("SHOP_PUBLIC_URL", "https://shop.example:port"),
        ("SHOP_CORS_ORIGINS", "https://store.example:99999"),
    ],
)
def test_an_invalid_port_is_refused_at_startup(name: str, value: str) -> None:
    assert refusal(**{name: value}).startswith(f"{name} cannot be read: ")


@pytest.mark.parametrize("extra", ["?", "#", "#top", "\n.evil.example"])
def test_an_origin_has_only_scheme_host_and_port(extra: str) -> None:
    assert refusal(SHOP_CORS_ORIGINS=f"https://a.example{extra},https://b.example").startswith("SHOP_CORS_ORIGINS")


@pytest.mark.parametrize("name", ["SHOP_CORS_ORIGINS", "SHOP_PUBLIC_URL"])
def test_an_origin_must_not_contain_credentials(name: str) -> None:
    assert refusal(**{name: "https://user:hunter2@store.example"}).startswith(f"{name} cannot be read: ")


STRIPE = {"SHOP_STRIPE_SECRET_KEY": "sk_test_hunter2hunter2", "SHOP_STRIPE_WEBHOOK_SECRET": "whsec_hunter2hunter2"}


def test_stripe_is_configured_by_both_secrets_and_shows_neither() -> None:
    settings = read_settings({**STRIPE, "SHOP_STRIPE_API_BASE": "http://127.0.0.1:8080/"})

    assert settings.stripe is not None
    assert (settings.stripe.api_base, settings.stripe.publishable_key) == ("http://127.0.0.1:8080", None)
    assert "hunter2" not in f"{settings!r} {settings} {settings.stripe!r} {settings.stripe}"
    assert [read_settings({name: value}).stripe for name, value in STRIPE.items()] == [None, None]


@pytest.mark.parametrize(
    "name", ["SHOP_STRIPE_SECRET_KEY", "SHOP_STRIPE_WEBHOOK_SECRET", "SHOP_STRIPE_PUBLISHABLE_KEY"]
)
def test_an_invalid_stripe_key_is_refused_without_showing_it(name: str) -> None:
    assert "hunter2" not in refusal(**{name: "hunter2 sk_test_hunter2"})


def test_set_variables_are_read() -> None:
    settings = read_settings(
        {
            "SHOP_DATA_DIR": "/srv/shop",
            "SHOP_DATABASE_URL": "postgres://shop@db/shop",
            "SHOP_SECRET_KEYS": f"k2:{KEY},k1:{KEY}",
            "SHOP_SMTP_URL": "smtps://mail.example",
            "SHOP_PUBLIC_URL": "https://shop.example:8443/",
            "SHOP_TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.1, 2001:db8::/32",
            "SHOP_CORS_ORIGINS": "https://a.example, http://localhost:3000,",
            "SHOP_DRAIN_SECONDS": "0.5",
            "SHOP_REFRESH_GRACE": "0",
        }
    )

    assert (settings.data_dir, settings.database_url) == (Path("/srv/shop"), "postgres://shop@db/shop")
    assert repr(settings.secret_keys) == "Keys(k2, k1)"
    assert (settings.smtp_url, settings.public_url) == ("smtps://mail.example", "https://shop.example:8443")
    assert settings.trusted_proxies == (
        ip_network("10.0.0.0/8"),
        ip_network("192.0.2.1/32"),
        ip_network("2001:db8::/32"),
    )
    assert settings.cors_origins == ("https://a.example", "http://localhost:3000")
    assert (settings.drain_seconds, settings.refresh_grace) == (0.5, 0)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("0", ()),
        (" 0 ", ()),
        ("5/900", ((5, 900),)),
        ("5/900, 10/3600", ((5, 900), (10, 3600))),
        (" 5/900,10/3600 ", ((5, 900), (10, 3600))),
        ("20/86400, 100", ((20, 86_400), (100, 0))),
        ("999999999/999999999", ((999_999_999, 999_999_999),)),
    ],
)
def test_limits_are_pairs_of_count_and_seconds(text: str, limits: tuple[tuple[int, int], ...]) -> None:
    assert read_settings({"SHOP_LIMIT_FAILURES": text}).limit_failures == limits


@pytest.mark.parametrize("text", ["100", "100/0", "5/1, 100"])
@pytest.mark.parametrize("name", ["SHOP_LIMIT_REQUESTS_PER_SOURCE", "SHOP_LIMIT_MAILS"])
def test_a_limit_of_requests_or_mails_requires_a_window(name: str, text: str) -> None:
    with pytest.raises(CannotStart, match=f"{name} cannot be read: give N/seconds"):
        read_settings({name: text})


@given(name=st.sampled_from([variable.name for variable in VARIABLES]), value=st.text(max_size=40))
def test_any_value_is_read_or_refused_with_a_message(name: str, value: str) -> None:
    message = None
    try:
        read_settings({name: value})
    except CannotStart as error:
        message = str(error)

    assert message is None or message.startswith(f"{name} cannot be read: ")


EXTERNAL_SETTINGS = {
    "SHOP_SMTP_URL": "smtp://mail.example",
    "SHOP_DATABASE_URL": "postgresql://db/shop",
    "SHOP_PUBLIC_URL": "https://shop.example",
    "SHOP_TRUSTED_PROXIES": "127.0.0.1",
}


@pytest.mark.parametrize("flags", list(product([False, True], repeat=4)))
@pytest.mark.parametrize(("host", "is_local"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_it_is_a_try_out_only_without_external_settings(flags: tuple[bool, ...], host: str, is_local: bool) -> None:
    environ = {name: value for (name, value), is_set in zip(EXTERNAL_SETTINGS.items(), flags, strict=True) if is_set}

    assert read_settings(environ).is_try_out(host) is (is_local and not any(flags))


def test_other_settings_do_not_end_a_try_out() -> None:
    environ = {"SHOP_MAILBOX": "off", "SHOP_SECRET_KEYS": f"k1:{KEY}", "SHOP_CORS_ORIGINS": "https://a.example"}

    assert read_settings(environ).is_try_out("localhost")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.200.3.4", "::1"])
def test_loopback_addresses_are_recognized(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "0.0.0.0", "::", "10.0.0.1", "shop.example", "localhost.evil.example", "1270.0.1"]
)
def test_any_other_address_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)
