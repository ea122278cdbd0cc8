"""The configuration: every `SHOP_` environment variable, parsed and validated once.

VARIABLES is the table of them; a test compares `docs/settings.md` with it.
"""

import difflib
import ipaddress
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from shop.base.buckets import Bucket, parse_bucket
from shop.base.errors import CannotStart
from shop.base.keys import Keys, parse_keys
from shop.base.setting_parsers import (
    Limits,
    Network,
    parse_at_least_one,
    parse_choice,
    parse_database,
    parse_drain,
    parse_grace,
    parse_limits,
    parse_networks,
    parse_origins,
    parse_public_url,
    parse_sender,
    parse_smtp,
    parse_whole,
    parse_windows,
)
from shop.base.stripe_account import (
    STRIPE,
    StripeAccount,
    read_api_base,
    read_publishable_key,
    read_secret_key,
    read_webhook_secret,
)


class Variable(msgspec.Struct, frozen=True):
    """An environment variable: its name, settings field, parser and default."""

    name: str
    field: str
    read: Callable[[str], Any]
    default: str | None
    meaning: str


VARIABLES = (
    Variable("SHOP_DATA_DIR", "data_dir", Path, "./var", "directory for everything stored on disk"),
    Variable(
        "SHOP_DATABASE_URL", "database_url", parse_database, None, "unset: embedded PostgreSQL in the data directory"
    ),
    Variable("SHOP_DATABASE_POOL", "database_pool", parse_at_least_one, "8", "connections per worker"),
    Variable("SHOP_SECRET_KEYS", "secret_keys", parse_keys, None, "`id:hex,id:hex`; the first signs, all verify"),
    Variable("SHOP_SMTP_URL", "smtp_url", parse_smtp, None, "SMTP server for outgoing e-mail"),
    Variable("SHOP_MAIL_FROM", "mail_from", parse_sender, "shop@localhost", "sender of e-mails"),
    Variable("SHOP_ORDER_MAIL", "order_mail", parse_choice("on", "off"), "on", "confirm completed orders by e-mail"),
    Variable(
        "SHOP_HOLD_SECONDS",
        "hold_seconds",
        parse_whole,
        "0",
        "how long stock is held once a payment method is chosen; 0: never",
    ),
    Variable(
        "SHOP_STRIPE_SECRET_KEY", "stripe_secret_key", read_secret_key, None, "enables card payments through Stripe"
    ),
    Variable(
        "SHOP_STRIPE_WEBHOOK_SECRET", "stripe_webhook_secret", read_webhook_secret, None, "verifies Stripe's webhooks"
    ),
    Variable(
        "SHOP_STRIPE_PUBLISHABLE_KEY",
        "stripe_publishable_key",
        read_publishable_key,
        None,
        "public key for Stripe's payment form",
    ),
    Variable("SHOP_STRIPE_API_BASE", "stripe_api_base", read_api_base, STRIPE, "base URL of the Stripe API"),
    Variable(
        "SHOP_MAILBOX",
        "mailbox",
        parse_choice("on", "off"),
        None,
        "show e-mails at `/mailbox`; unset: only in a try-out",
    ),
    Variable("SHOP_PUBLIC_URL", "public_url", parse_public_url, None, "origin of links; unset: taken from the request"),
    Variable(
        "SHOP_TRUSTED_PROXIES", "trusted_proxies", parse_networks, "", "networks whose `X-Forwarded-For` is trusted"
    ),
    Variable("SHOP_CORS_ORIGINS", "cors_origins", parse_origins, "", "exact origins that may call the Storefront API"),
    Variable(
        "SHOP_MEDIA_URL",
        "media_url",
        parse_bucket,
        None,
        "S3-compatible storage for images; unset: `media/` in the data directory",
    ),
    Variable(
        "SHOP_METRICS", "metrics", parse_choice("public"), None, "`public`: open to everyone; unset: only in a try-out"
    ),
    Variable(
        "SHOP_CATALOG_STALE_SECONDS",
        "catalog_stale_seconds",
        parse_whole,
        "3600",
        "how long the catalog is served from memory while the database is not available; 0: never",
    ),
    Variable("SHOP_DRAIN_SECONDS", "drain_seconds", parse_drain, "5", "how long to serve as not ready before stopping"),
    Variable(
        "SHOP_LOG_LEVEL",
        "log_level",
        parse_choice("debug", "info", "warning", "error"),
        "info",
        "lowest level that is logged",
    ),
    Variable(
        "SHOP_LOG_FORMAT",
        "log_format",
        parse_choice("console", "json"),
        None,
        "unset: console on a terminal, else json",
    ),
    Variable("SHOP_LOGIN_CODE_TTL", "login_code_ttl", parse_at_least_one, "600", "lifetime of a login code"),
    Variable("SHOP_USER_TOKEN_TTL", "user_token_ttl", parse_at_least_one, "86400", "lifetime of a user access token"),
    Variable(
        "SHOP_PLATFORM_TOKEN_TTL",
        "platform_token_ttl",
        parse_at_least_one,
        "7200",
        "lifetime of a platform access token",
    ),
    Variable(
        "SHOP_REFRESH_IDLE_TTL",
        "refresh_idle_ttl",
        parse_at_least_one,
        "2592000",
        "a refresh token expires if unused for this long",
    ),
    Variable("SHOP_REFRESH_MAX_TTL", "refresh_max_ttl", parse_at_least_one, "7776000", "longest lifetime of a session"),
    Variable(
        "SHOP_REFRESH_GRACE",
        "refresh_grace",
        parse_grace,
        "30",
        "how long a rotated refresh token returns the same pair",
    ),
    Variable(
        "SHOP_CART_IDLE_TTL", "cart_idle_ttl", parse_at_least_one, "2592000", "an idle guest cart is deleted after this"
    ),
    Variable(
        "SHOP_ORDER_STATUS_TTL",
        "order_status_ttl",
        parse_at_least_one,
        "2592000",
        "how long an order token can read its completed order",
    ),
    Variable(
        "SHOP_LIMIT_MAILS_PER_ADDRESS",
        "limit_mails_per_address",
        parse_windows,
        "5/900, 10/3600",
        "mail budget per recipient",
    ),
    Variable(
        "SHOP_LIMIT_MAILS_PER_SOURCE",
        "limit_mails_per_source",
        parse_windows,
        "20/3600, 100/86400",
        "mail budget per source",
    ),
    Variable(
        "SHOP_LIMIT_MAILS",
        "limit_mails",
        parse_windows,
        "1000/3600",
        "mail budget in total; half is reserved for verified customers",
    ),
    Variable("SHOP_LIMIT_TRIES_PER_CODE", "limit_tries_per_code", parse_whole, "5", "attempts per login code"),
    Variable(
        "SHOP_LIMIT_FAILURES_PER_ADDRESS",
        "limit_failures_per_address",
        parse_limits,
        "20/86400, 100",
        "wrong login codes per address; then codes are long",
    ),
    Variable(
        "SHOP_LIMIT_FAILURES",
        "limit_failures",
        parse_limits,
        "300/300, 1000/86400",
        "wrong login codes in total; then codes are long for an hour",
    ),
    Variable(
        "SHOP_LIMIT_FAILURES_PER_SOURCE",
        "limit_failures_per_source",
        parse_limits,
        "30/300, 100/3600",
        "wrong login codes and refresh tokens per source",
    ),
    Variable(
        "SHOP_LIMIT_CLIENT_FAILURES_PER_SOURCE",
        "limit_client_failures",
        parse_limits,
        "30/300",
        "failed client authentications per source",
    ),
    Variable(
        "SHOP_LIMIT_TOKENS_PER_CLIENT", "limit_tokens_per_client", parse_limits, "0", "access tokens per application"
    ),
    Variable("SHOP_LIMIT_CARTS_PER_SOURCE", "limit_carts_per_source", parse_limits, "600/60", "new carts per source"),
    Variable(
        "SHOP_LIMIT_COUPONS_PER_SOURCE",
        "limit_coupons_per_source",
        parse_limits,
        "30/300",
        "unknown coupon codes per source",
    ),
    Variable(
        "SHOP_LIMIT_REQUESTS_PER_SOURCE",
        "limit_requests_per_source",
        parse_windows,
        "0",
        "all requests except health and metrics; counted in each worker's memory",
    ),
    Variable(
        "SHOP_LIMIT_SIGN_INS",
        "limit_sign_ins",
        parse_limits,
        "10/300, 50/86400",
        "failed dashboard sign-ins per source, and per operator and source",
    ),
    Variable(
        "SHOP_LIMIT_AUTHENTICATOR_CODES",
        "limit_authenticator_codes",
        parse_limits,
        "30/86400",
        "wrong codes after an operator's correct password; then only recovery codes work",
    ),
    Variable(
        "SHOP_LIMIT_LOOPBACK",
        "limit_loopback",
        parse_choice("0", "1"),
        "0",
        "1: limits by source also apply to loopback peers",
    ),
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
            raise CannotStart(f"{name} is not a known setting; did you mean {near}?")
    return Settings(**{variable.field: _value(variable, environ) for variable in VARIABLES})


def _value(variable: Variable, environ: Mapping[str, str]) -> Any:
    text = environ.get(variable.name) or variable.default
    if text is None:
        return None
    try:
        return variable.read(text)
    except ValueError as error:
        raise CannotStart(f"{variable.name} cannot be read: {error}.") from None
