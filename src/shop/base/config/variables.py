"""The environment variables of a shop: name, settings field, parser, default and meaning."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from shop.base.config.buckets import parse_bucket, parse_place
from shop.base.config.setting_parsers import (
    parse_at_least_one,
    parse_choice,
    parse_database,
    parse_databases,
    parse_drain,
    parse_extensions,
    parse_grace,
    parse_lag,
    parse_limits,
    parse_month,
    parse_networks,
    parse_origins,
    parse_passphrase,
    parse_port,
    parse_public_url,
    parse_sender,
    parse_smtp,
    parse_text,
    parse_theme,
    parse_whole,
    parse_windows,
)
from shop.base.config.stripe_account import (
    STRIPE,
    read_api_base,
    read_publishable_key,
    read_secret_key,
    read_webhook_secret,
)
from shop.base.crypto.keys import parse_keys


class Variable(msgspec.Struct, frozen=True):
    """An environment variable: its name, settings field, parser and default."""

    name: str
    field: str
    read: Callable[[str], Any]
    default: str | None
    meaning: str
    is_secret: bool = False
    """Whether its value can contain a secret, and so is never written to a backup."""


VARIABLES = (
    Variable("SHOP_DATA_DIR", "data_dir", Path, "./var", "directory for everything stored on disk"),
    Variable(
        "SHOP_DATABASE_URL",
        "database_url",
        parse_database,
        None,
        "unset: embedded PostgreSQL in the data directory",
        is_secret=True,
    ),
    Variable("SHOP_DATABASE_POOL", "database_pool", parse_at_least_one, "8", "connections per worker"),
    Variable(
        "SHOP_DATABASE_PREPARED",
        "database_prepared",
        parse_choice("on", "off"),
        "on",
        "off: prepare no statements, for a pooler that loses them",
    ),
    Variable(
        "SHOP_DATABASE_REPLICA_URLS",
        "database_replica_urls",
        parse_databases,
        "",
        "standbys that serve public reads, separated by commas",
        is_secret=True,
    ),
    Variable(
        "SHOP_REPLICA_LAG_SECONDS",
        "replica_lag_seconds",
        parse_lag,
        "1",
        "a replica that lags more is not read",
    ),
    Variable("SHOP_HOST", "host", parse_text, "127.0.0.1", "address that `shop serve` listens on; `--host` wins"),
    Variable("SHOP_PORT", "port", parse_port, "8000", "port that `shop serve` listens on; `--port` wins"),
    Variable(
        "SHOP_SECRET_KEYS",
        "secret_keys",
        parse_keys,
        None,
        "`id:hex,id:hex`; the first signs, all verify",
        is_secret=True,
    ),
    Variable("SHOP_SMTP_URL", "smtp_url", parse_smtp, None, "SMTP server for outgoing e-mail", is_secret=True),
    Variable("SHOP_MAIL_FROM", "mail_from", parse_sender, "shop@localhost", "sender of e-mails"),
    Variable("SHOP_WEBSITE", "website", parse_choice("on", "off"), "on", "serve the website; off: a landing page"),
    Variable(
        "SHOP_THEME_DIR",
        "theme_dir",
        parse_theme,
        None,
        "directory with `templates` and `static` that replace files of the website",
    ),
    Variable(
        "SHOP_EXTENSIONS",
        "extensions",
        parse_extensions,
        None,
        "extensions to load, by name; `off`: none; unset: all that are installed",
    ),
    Variable("SHOP_ORDER_MAIL", "order_mail", parse_choice("on", "off"), "on", "confirm completed orders by e-mail"),
    Variable(
        "SHOP_HOLD_SECONDS",
        "hold_seconds",
        parse_whole,
        "0",
        "how long stock is held once a payment method is chosen; 0: never",
    ),
    Variable(
        "SHOP_STRIPE_SECRET_KEY",
        "stripe_secret_key",
        read_secret_key,
        None,
        "enables card payments through Stripe",
        is_secret=True,
    ),
    Variable(
        "SHOP_STRIPE_WEBHOOK_SECRET",
        "stripe_webhook_secret",
        read_webhook_secret,
        None,
        "verifies Stripe's webhooks",
        is_secret=True,
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
        is_secret=True,
    ),
    Variable(
        "SHOP_BACKUP_URL",
        "backup_url",
        parse_place,
        None,
        "directory or S3-compatible storage for scheduled backups; unset: none",
        is_secret=True,
    ),
    Variable("SHOP_BACKUP_HOURS", "backup_hours", parse_at_least_one, "24", "hours between scheduled backups"),
    Variable(
        "SHOP_BACKUP_KEEP",
        "backup_keep",
        parse_at_least_one,
        "14",
        "days that scheduled backups are kept; the newest is always kept",
    ),
    Variable(
        "SHOP_BACKUP_PASSPHRASE",
        "backup_passphrase",
        parse_passphrase,
        None,
        "encrypts the secret keys in backups; set: scheduled backups contain them",
        is_secret=True,
    ),
    Variable("SHOP_ARCHIVE_URL", "archive_url", parse_place, None, "place of old orders; unset: none", is_secret=True),
    Variable("SHOP_ARCHIVE_AFTER", "archive_after", parse_month, "730", "days until finished orders are archived"),
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
    Variable(
        "SHOP_DRAIN_SECONDS", "drain_seconds", parse_drain, "5", "how long to keep serving as not ready before a stop"
    ),
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
        "SHOP_CART_IDLE_TTL",
        "cart_idle_ttl",
        parse_at_least_one,
        "2592000",
        "a guest cart is deleted if idle for this long",
    ),
    Variable(
        "SHOP_ORDER_STATUS_TTL",
        "order_status_ttl",
        parse_at_least_one,
        "2592000",
        "how long an order token or a link can read its completed order",
    ),
    Variable("SHOP_EVENT_DAYS", "event_days", parse_at_least_one, "30", "how many days events are kept"),
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
        "wrong login codes per address; beyond it, codes are long",
    ),
    Variable(
        "SHOP_LIMIT_FAILURES",
        "limit_failures",
        parse_limits,
        "300/300, 1000/86400",
        "wrong login codes in total; beyond it, codes are long for an hour",
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
    Variable(
        "SHOP_LIMIT_CARTS_PER_SOURCE",
        "limit_carts_per_source",
        parse_limits,
        "600/60",
        "new carts per source; each process may admit a twentieth more",
    ),
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
        "wrong codes after an operator's correct password; beyond it, only recovery codes work",
    ),
    Variable(
        "SHOP_LIMIT_LOOPBACK",
        "limit_loopback",
        parse_choice("0", "1"),
        "0",
        "1: limits by source also apply to loopback peers",
    ),
)
