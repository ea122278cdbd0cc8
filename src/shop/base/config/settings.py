"""The configuration: every `SHOP_` environment variable, parsed and validated once.

`variables.py` has the table of them; a test compares `docs/settings.md` with it.
"""

import difflib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from shop.base.client_networks import parse_address
from shop.base.config.buckets import Bucket
from shop.base.config.setting_parsers import (
    Limits,
    Network,
)
from shop.base.config.stripe_account import (
    StripeAccount,
)
from shop.base.config.variables import VARIABLES, Variable
from shop.base.crypto.keys import Keys
from shop.base.errors import CannotStart

EXTENSION_PREFIX = "SHOP_X_"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of one process."""

    data_dir: Path
    database_url: str | None
    database_pool: int
    database_prepared: str
    database_replica_urls: tuple[str, ...]
    replica_lag_seconds: float
    host: str
    port: int
    secret_keys: Keys | None
    smtp_url: str | None
    mail_from: str
    website: str
    theme_dir: Path | None
    extensions: tuple[str, ...] | None
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
    backup_url: Bucket | Path | None
    backup_hours: int
    backup_keep: int
    backup_passphrase: str | None
    archive_url: Bucket | Path | None
    archive_after: int
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
    event_days: int
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
    extension_variables: Mapping[str, str] = {}
    """The variables of extensions, whose names begin with `SHOP_X_`; the loader of extensions reads them."""

    def __repr__(self) -> str:
        return "Settings(…)"  # Its URLs contain passwords.

    @property
    def is_prepared(self) -> bool:
        """Whether the database prepares statements and caches their plans."""
        return self.database_prepared == "on"

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
        """Returns whether a shop listening on this address is in try-out mode: no external service is configured, and
        only this machine can connect. Only then the test card works and the mailbox and metrics are public.
        """
        outward = (self.smtp_url, self.database_url, self.public_url, self.trusted_proxies)
        return not any(outward) and is_loopback(host)


@lru_cache(maxsize=4096)
def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    address = parse_address(host)
    return address is not None and address.is_loopback


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Reads the settings from an environment; CannotStart names the first variable that is unknown or invalid."""
    names = {variable.name for variable in VARIABLES}
    for name in sorted(environ):
        if name.startswith("SHOP_") and name not in names and not name.startswith(EXTENSION_PREFIX):
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]
            raise CannotStart(f"{name} is not a known setting; did you mean {near}?")
    extension_variables = {name: value for name, value in environ.items() if name.startswith(EXTENSION_PREFIX)}
    values = {variable.field: _value(variable, environ) for variable in VARIABLES}
    return Settings(**values, extension_variables=extension_variables)


def split_settings(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the variables that are set and contain no secret, and the names of those that can contain one."""
    variables = [variable for variable in VARIABLES if environ.get(variable.name)]
    public = {variable.name: environ[variable.name] for variable in variables if not variable.is_secret}
    return public, [variable.name for variable in variables if variable.is_secret]


def _value(variable: Variable, environ: Mapping[str, str]) -> Any:
    text = environ.get(variable.name) or variable.default
    if text is None:
        return None
    try:
        return variable.read(text)
    except ValueError as error:
        raise CannotStart(f"{variable.name} cannot be read: {error}.") from None
