"""The configuration: every `SHOP_` environment variable, parsed and validated once.

VARIABLES is the table of them; a test compares `docs/settings.md` with it.
"""

import difflib
import ipaddress
import re
from collections.abc import Callable, Mapping
from email.utils import formataddr, parseaddr
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from shop.base.buckets import Bucket, parse_bucket
from shop.base.errors import CannotStart
from shop.base.keys import Keys, parse_keys
from shop.base.stripe_account import (
    STRIPE,
    StripeAccount,
    read_api_base,
    read_publishable_key,
    read_secret_key,
    read_webhook_secret,
)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Limits = tuple[tuple[int, int], ...]
"""Pairs of count and seconds; empty if the limit is disabled. A count without a window has 0 seconds."""


class Variable(msgspec.Struct, frozen=True):
    """An environment variable: its name, settings field, parser and default."""

    name: str
    field: str
    read: Callable[[str], Any]
    default: str | None
    meaning: str


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise ValueError("give a whole number")
    return int(text)


def _at_least_one(text: str) -> int:
    if _whole(text) < 1:
        raise ValueError("give a whole number of 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text, re.ASCII):
        raise ValueError("give a number of seconds")
    return float(text)


def _drain(text: str) -> float:
    seconds = _seconds(text)
    if seconds > 25:
        raise ValueError("give at most 25 seconds; whoever stops a process mostly kills it after 30")
    return seconds


def _grace(text: str) -> int:
    seconds = _whole(text)
    if seconds > 60:
        raise ValueError("give at most 60 seconds; a copy of a token is told from a lost answer by it")
    return seconds


def _limits(text: str) -> Limits:
    if text.strip() == "0":
        return ()
    pairs = [re.fullmatch(r"([0-9]{1,9})(?:/([0-9]{1,9}))?", part.strip(), re.ASCII) for part in text.split(",")]
    if not all(pairs):
        raise ValueError("give N/seconds, several separated by commas, or 0 for none")
    return tuple((int(pair[1]), int(pair[2] or 0)) for pair in pairs if pair)


def _windows(text: str) -> Limits:
    limits = _limits(text)
    if not all(seconds for _, seconds in limits):
        raise ValueError("give N/seconds, several separated by commas, or 0 for none")
    return limits


def _word(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError("give " + " or ".join(words))
        return text

    return read


def _database(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("give a URL that begins with postgresql://")
    sentence = "give postgresql://user:password@host:port/database, odd characters of the password percent-encoded"
    try:
        parts = urlsplit(text)
        # With several hosts there are several ports, which `urlsplit` cannot parse.
        fits = not parts.fragment and ("," in parts.netloc or parts.port != 0)
    except ValueError:
        raise ValueError(sentence) from None
    if not fits:
        raise ValueError(sentence)
    return text


def _smtp(text: str) -> str:
    sentence = "give smtp://user:password@host:587 or smtps://host"
    try:
        parts = urlsplit(text)
        fits = parts.scheme in {"smtp", "smtps"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # The library's own message would repeat the password.
        raise ValueError(sentence) from None
    if not fits or not text.isprintable():
        raise ValueError(sentence)
    return text


_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.ASCII)


def _origin(text: str) -> str:
    """An origin in lowercase, as a browser sends it, because it is compared as text."""
    match = _ORIGIN.fullmatch(text)
    if match is None or int(match[1] or 1) > 65535:
        raise ValueError("give scheme://host or scheme://host:port in small letters, and nothing behind it")
    return text


def _origins(text: str) -> tuple[str, ...]:
    return tuple(_origin(part.strip()) for part in text.split(",") if part.strip())


def _public_url(text: str) -> str:
    return _origin(text.rstrip("/"))


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def _keys(text: str) -> Keys:
    return parse_keys(text)


def _text(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("give one line of text")
    return text.strip()


def _sender(text: str) -> str:
    """`shop@example.org` or `Shop <shop@example.org>`."""
    name, address = parseaddr(_text(text))
    if formataddr((name, address)).count("@") != 1 or not all(address.partition("@")[::2]) or " " in address:
        raise ValueError("give an address, like shop@example.org or Shop <shop@example.org>")
    return text.strip()


VARIABLES = (
    Variable("SHOP_DATA_DIR", "data_dir", Path, "./var", "everything the service keeps on disk"),
    Variable("SHOP_DATABASE_URL", "database_url", _database, None, "unset: embedded PostgreSQL in the data directory"),
    Variable("SHOP_DATABASE_POOL", "database_pool", _at_least_one, "8", "connections per worker"),
    Variable("SHOP_SECRET_KEYS", "secret_keys", _keys, None, "`id:hex,id:hex`; the first signs, all verify"),
    Variable("SHOP_SMTP_URL", "smtp_url", _smtp, None, "the mail server"),
    Variable("SHOP_MAIL_FROM", "mail_from", _sender, "shop@localhost", "the sender of mails"),
    Variable("SHOP_ORDER_MAIL", "order_mail", _word("on", "off"), "on", "a completed order is confirmed by mail"),
    Variable("SHOP_HOLD_SECONDS", "hold_seconds", _whole, "0", "goods are held from choosing how to pay; 0: not"),
    Variable("SHOP_STRIPE_SECRET_KEY", "stripe_secret_key", read_secret_key, None, "takes cards through Stripe"),
    Variable(
        "SHOP_STRIPE_WEBHOOK_SECRET", "stripe_webhook_secret", read_webhook_secret, None, "signs Stripe's notices"
    ),
    Variable(
        "SHOP_STRIPE_PUBLISHABLE_KEY", "stripe_publishable_key", read_publishable_key, None, "for Stripe's form; public"
    ),
    Variable("SHOP_STRIPE_API_BASE", "stripe_api_base", read_api_base, STRIPE, "where Stripe is called"),
    Variable("SHOP_MAILBOX", "mailbox", _word("on", "off"), None, "unset: open in a try-out only"),
    Variable("SHOP_PUBLIC_URL", "public_url", _public_url, None, "unset: links are made from the request"),
    Variable("SHOP_TRUSTED_PROXIES", "trusted_proxies", _networks, "", "whose `X-Forwarded-For` counts"),
    Variable("SHOP_CORS_ORIGINS", "cors_origins", _origins, "", "exact origins for the storefront API"),
    Variable(
        "SHOP_MEDIA_URL",
        "media_url",
        parse_bucket,
        None,
        "an S3-compatible store; unset: `media/` in the data directory",
    ),
    Variable("SHOP_METRICS", "metrics", _word("public"), None, "unset: open in a try-out only"),
    Variable(
        "SHOP_CATALOG_STALE_SECONDS",
        "catalog_stale_seconds",
        _whole,
        "3600",
        "the catalog is shown from memory so long while the database is away; 0: not",
    ),
    Variable("SHOP_DRAIN_SECONDS", "drain_seconds", _drain, "5", "unready but serving, before a stop"),
    Variable("SHOP_LOG_LEVEL", "log_level", _word("debug", "info", "warning", "error"), "info", "how much is logged"),
    Variable(
        "SHOP_LOG_FORMAT", "log_format", _word("console", "json"), None, "unset: console on a terminal, else json"
    ),
    Variable("SHOP_LOGIN_CODE_TTL", "login_code_ttl", _at_least_one, "600", "life of a login code"),
    Variable("SHOP_USER_TOKEN_TTL", "user_token_ttl", _at_least_one, "86400", "life of a user access token"),
    Variable("SHOP_PLATFORM_TOKEN_TTL", "platform_token_ttl", _at_least_one, "7200", "life of a platform access token"),
    Variable(
        "SHOP_REFRESH_IDLE_TTL", "refresh_idle_ttl", _at_least_one, "2592000", "a refresh token unused this long ends"
    ),
    Variable(
        "SHOP_REFRESH_MAX_TTL", "refresh_max_ttl", _at_least_one, "7776000", "a session ends after this, used or not"
    ),
    Variable(
        "SHOP_REFRESH_GRACE", "refresh_grace", _grace, "30", "a rotated refresh token gives the same pair this long"
    ),
    Variable(
        "SHOP_CART_IDLE_TTL", "cart_idle_ttl", _at_least_one, "2592000", "an untouched guest cart is purged after this"
    ),
    Variable(
        "SHOP_ORDER_STATUS_TTL",
        "order_status_ttl",
        _at_least_one,
        "2592000",
        "an order token opens its status this long",
    ),
    Variable("SHOP_LIMIT_MAILS_PER_ADDRESS", "limit_mails_per_address", _windows, "5/900, 10/3600", "the mail budget"),
    Variable("SHOP_LIMIT_MAILS_PER_SOURCE", "limit_mails_per_source", _windows, "20/3600, 100/86400", "mail budget"),
    Variable("SHOP_LIMIT_MAILS", "limit_mails", _windows, "1000/3600", "mail budget; half is for verified customers"),
    Variable("SHOP_LIMIT_TRIES_PER_CODE", "limit_tries_per_code", _whole, "5", "guesses at one code"),
    Variable(
        "SHOP_LIMIT_FAILURES_PER_ADDRESS", "limit_failures_per_address", _limits, "20/86400, 100", "then long codes"
    ),
    Variable(
        "SHOP_LIMIT_FAILURES", "limit_failures", _limits, "300/300, 1000/86400", "in all; then long codes for an hour"
    ),
    Variable(
        "SHOP_LIMIT_FAILURES_PER_SOURCE", "limit_failures_per_source", _limits, "30/300, 100/3600", "codes, refreshes"
    ),
    Variable("SHOP_LIMIT_CLIENT_FAILURES_PER_SOURCE", "limit_client_failures", _limits, "30/300", "token endpoint"),
    Variable("SHOP_LIMIT_TOKENS_PER_CLIENT", "limit_tokens_per_client", _limits, "0", "token endpoint"),
    Variable("SHOP_LIMIT_CARTS_PER_SOURCE", "limit_carts_per_source", _limits, "600/60", "new carts"),
    Variable("SHOP_LIMIT_COUPONS_PER_SOURCE", "limit_coupons_per_source", _limits, "30/300", "unknown coupon codes"),
    Variable(
        "SHOP_LIMIT_REQUESTS_PER_SOURCE",
        "limit_requests_per_source",
        _windows,
        "0",
        "all but health and metrics; counted in each worker's memory",
    ),
    Variable(
        "SHOP_LIMIT_SIGN_INS",
        "limit_sign_ins",
        _limits,
        "10/300, 50/86400",
        "failed dashboard sign-ins, per source and per operator and source together",
    ),
    Variable(
        "SHOP_LIMIT_AUTHENTICATOR_CODES",
        "limit_authenticator_codes",
        _limits,
        "30/86400",
        "wrong codes after an operator's right password; then only recovery codes",
    ),
    Variable("SHOP_LIMIT_LOOPBACK", "limit_loopback", _word("0", "1"), "0", "1: count loopback peers by source too"),
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of one process."""

    data_dir: Path
    database_url: str | None
    database_pool: int
    secret_keys: Keys | None
    smtp_url: str | None
    mail_from: str
    order_mail: str
    hold_seconds: int
    stripe_secret_key: str | None
    stripe_webhook_secret: str | None
    stripe_publishable_key: str | None
    stripe_api_base: str
    mailbox: str | None
    public_url: str | None
    trusted_proxies: tuple[Network, ...]
    cors_origins: tuple[str, ...]
    media_url: Bucket | None
    metrics: str | None
    catalog_stale_seconds: int
    drain_seconds: float
    log_level: str
    log_format: str | None
    login_code_ttl: int
    user_token_ttl: int
    platform_token_ttl: int
    refresh_idle_ttl: int
    refresh_max_ttl: int
    refresh_grace: int
    cart_idle_ttl: int
    order_status_ttl: int
    limit_mails_per_address: Limits
    limit_mails_per_source: Limits
    limit_mails: Limits
    limit_tries_per_code: int
    limit_failures_per_address: Limits
    limit_failures: Limits
    limit_failures_per_source: Limits
    limit_client_failures: Limits
    limit_tokens_per_client: Limits
    limit_carts_per_source: Limits
    limit_coupons_per_source: Limits
    limit_requests_per_source: Limits
    limit_sign_ins: Limits
    limit_authenticator_codes: Limits
    limit_loopback: str

    def __repr__(self) -> str:
        return "Settings(…)"  # Its URLs contain passwords.

    @property
    def stripe(self) -> StripeAccount | None:
        """None unless both secrets are set: payment results arrive by Stripe's webhooks."""
        if not self.stripe_secret_key or not self.stripe_webhook_secret:
            return None
        return StripeAccount(
            secret_key=self.stripe_secret_key,
            webhook_secret=self.stripe_webhook_secret,
            publishable_key=self.stripe_publishable_key,
            api_base=self.stripe_api_base,
        )

    def is_try_out(self, host: str) -> bool:
        """Whether a shop listening on this address is in try-out mode: no external service is configured, and only this
        machine can connect. Only then the test card works and the mailbox and metrics are public.
        """
        outward = (self.smtp_url, self.database_url, self.public_url, self.trusted_proxies)
        return not any(outward) and is_loopback(host)


@lru_cache(maxsize=4096)
def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Reads the settings from an environment; CannotStart names the first variable that is unknown or invalid."""
    names = {variable.name for variable in VARIABLES}
    for name in sorted(environ):
        if name.startswith("SHOP_") and name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]
            raise CannotStart(f"{name} is not a setting of the shop; did you mean {near}?")
    return Settings(**{variable.field: _value(variable, environ) for variable in VARIABLES})


def _value(variable: Variable, environ: Mapping[str, str]) -> Any:
    text = environ.get(variable.name) or variable.default
    if text is None:
        return None
    try:
        return variable.read(text)
    except ValueError as error:
        raise CannotStart(f"{variable.name} cannot be read: {error}.") from None
