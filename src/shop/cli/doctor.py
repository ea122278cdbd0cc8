"""`shop doctor`: checks the configuration and suggests fixes."""

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import click

from shop.actions.access.server_keys import count_sealed
from shop.app.configuration import read_keys
from shop.base.config.settings import Settings
from shop.base.crypto.key_file import KEY_FILE
from shop.base.crypto.keys import Keys
from shop.base.errors import CannotStart, Unavailable
from shop.cli.database_session import run_action_on
from shop.cli.extensions.status import check_extensions
from shop.cli.machine_checks import (
    check_archive,
    check_backups,
    check_certificates,
    check_clock,
    check_disk,
    check_servers,
)
from shop.cli.prepare import (
    database,
    describe_unusable,
    ensure_external_keys,
    ensure_mail,
    ensure_migrated,
    ensure_no_keys_needed,
    find_configured_pooler,
    load_settings,
    make_data_dir,
)
from shop.db.pool import open_database
from shop.db.replica_lags import measure_lags
from shop.gateways.mail import PermanentMailError, Smtp, TemporaryMailError
from shop.gateways.media import open_media
from shop.gateways.stripe import Stripe
from shop.migrations.upgrade import current_revision
from shop.models.checkout.shipments import DISPLAYS
from shop.queries.payments.payments import list_methods

_MAIL_SECONDS = 10
_UNCHECKED_METHODS = "payment methods were not checked, because the database does not answer"
Check = Callable[[Settings, str], str]
"""Takes the settings and the host that the shop listens on; raises CannotStart if the check fails."""


def check_data_dir(settings: Settings, _host: str) -> str:
    make_data_dir(settings)
    return f"{settings.data_dir} can be written"


def check_database(settings: Settings, _host: str) -> str:
    with database(settings) as (url, embedded):
        if embedded is None:
            ensure_migrated(url, may_upgrade=False)
        revision = asyncio.run(current_revision(url))
    kind = "the embedded PostgreSQL" if embedded else "the configured PostgreSQL"
    return f"{kind} responds" + (f" and is at revision {revision}" if revision else "; `shop serve` will set it up")


def check_pooler(settings: Settings, _host: str) -> str:
    """Names the pooler, and the statements that set what it does not."""
    pooler = find_configured_pooler(settings)
    if pooler is None:
        return "none found between the shop and PostgreSQL"
    if reason := describe_unusable(pooler, is_prepared=settings.is_prepared):
        raise CannotStart(reason)
    if pooler.wrong_settings:
        settings_text = " ".join(
            f"alter role current_user set {name} = '{value}';" for name, value in pooler.wrong_settings.items()
        )
        raise CannotStart(f"{pooler.name} does not apply session settings; run in PostgreSQL: {settings_text}")
    statement_kind = "prepared statements" if settings.is_prepared else "no prepared statements"
    return f"{pooler.name} in {pooler.mode} mode, with the time limits of the role and {statement_kind}"


def check_replicas(settings: Settings, _host: str) -> str:
    """Names every replica with its lag."""
    if not settings.database_replica_urls:
        return "none configured; the primary serves all reads"
    with database(settings) as (url, _):
        lags = asyncio.run(measure_lags(url, settings.database_replica_urls))
    silent_names = [name for name, lag in lags.items() if lag is None]
    if silent_names:
        raise CannotStart(
            f"{', '.join(silent_names)} does not answer as a standby of this database; the primary serves its reads. "
            "Check SHOP_DATABASE_REPLICA_URLS and replication."
        )
    return ", ".join(f"{name} lags {lag:.1f} s" for name, lag in lags.items())


def check_keys(settings: Settings, _host: str) -> str:
    ensure_external_keys(settings)
    has_keys = settings.secret_keys is not None or (settings.data_dir / KEY_FILE).exists()
    keys = read_keys(settings) if has_keys else None
    if (problem := _find_key_problem(settings, keys)) is not None:
        raise CannotStart(problem)
    return f"{keys!r}, the first signs" if keys else "none yet; `shop serve` will create them"


def _find_key_problem(settings: Settings, keys: Keys | None) -> str | None:
    """Returns why the keys do not fit the database; None if they do, or if the database does not answer."""
    try:
        with database(settings) as (url, _):
            if asyncio.run(current_revision(url)) is None:
                return None
            if keys is None:
                ensure_no_keys_needed(settings, url)
                return None
            key_ids = set(run_action_on(url, settings, count_sealed))
    except CannotStart as reason:
        return None if keys else str(reason)
    unknown_ids = sorted(key_ids - set(keys))
    if not unknown_ids:
        return None
    return (
        f"secrets in the database are encrypted with the keys {', '.join(unknown_ids)}, which are not configured; "
        "add them to SHOP_SECRET_KEYS or restore the key file (docs/backup.md)."
    )


def check_proxy(settings: Settings, _host: str) -> str:
    if settings.public_url and not settings.trusted_proxies:
        raise CannotStart(
            "SHOP_PUBLIC_URL is set but SHOP_TRUSTED_PROXIES is not: behind a proxy all callers would share one "
            "source; set it to the proxy's address."
        )
    if not settings.trusted_proxies:
        return "none configured; limits by source do not apply to callers from this machine"
    return "trusted: " + ", ".join(map(str, settings.trusted_proxies))


def check_mail(settings: Settings, host: str) -> str:
    ensure_mail(settings, host)
    if settings.smtp_url:
        try:
            asyncio.run(asyncio.wait_for(Smtp(settings.smtp_url, settings.mail_from).check(), _MAIL_SECONDS))
        except TimeoutError:
            raise CannotStart("the mail server does not answer; check SHOP_SMTP_URL.") from None
        except (TemporaryMailError, PermanentMailError) as reason:
            raise CannotStart(f"{reason}; check SHOP_SMTP_URL. E-mails stay queued until they are accepted.") from None
        return "connected to the mail server"
    return "stored locally; anyone can read the login codes of all users at /mailbox"


def check_media(settings: Settings, _host: str) -> str:
    bucket = settings.media_url
    if bucket is None:
        return f"in {settings.data_dir / 'media'}"
    try:
        # Look up an image that cannot exist: answering that it is missing requires valid credentials.
        asyncio.run(open_media(bucket, settings.data_dir).find(UUID(int=0), "1.webp"))
    except Unavailable:
        raise CannotStart(f"{bucket} does not respond or rejects this key; check SHOP_MEDIA_URL.") from None
    return f"in {bucket}, which responds"


def check_payments(settings: Settings, _host: str) -> str:
    """Checks the Stripe keys; never prints them."""
    if (settings.stripe_secret_key is None) != (settings.stripe_webhook_secret is None):
        raise CannotStart("Stripe needs both SHOP_STRIPE_SECRET_KEY and SHOP_STRIPE_WEBHOOK_SECRET; one is not set.")
    if settings.stripe:
        try:
            asyncio.run(Stripe(settings.stripe).check())
        except Unavailable:
            raise CannotStart(
                f"{settings.stripe} does not respond or rejects this key; check SHOP_STRIPE_SECRET_KEY."
            ) from None
        return f"{settings.stripe}, which responds"
    is_offered = _is_offered(settings, "stripe")
    if is_offered is None:
        return f"Stripe is not configured; {_UNCHECKED_METHODS}"
    if is_offered:
        raise CannotStart(
            "A payment method of type stripe is active but cannot be offered; set SHOP_STRIPE_SECRET_KEY and "
            "SHOP_STRIPE_WEBHOOK_SECRET, or deactivate it."
        )
    return "Stripe is not configured, and no payment method needs it"


def check_test_card(settings: Settings, host: str) -> str:
    if settings.is_try_out(host):
        return "enabled, because this is a try-out; it takes no money"
    is_offered = _is_offered(settings, "test_card")
    if is_offered is None:
        return f"disabled, because this is not a try-out; {_UNCHECKED_METHODS}"
    if is_offered:
        raise CannotStart(
            "A payment method of type test_card is active, but the test card works only in a try-out; deactivate the "
            "method in the dashboard under Settings, Payments."
        )
    return "disabled, because this is not a try-out"


def _is_offered(settings: Settings, provider_type: str) -> bool | None:
    """Returns whether an active payment method has this type; None if the database does not answer."""

    async def look(url: str) -> bool:
        if await current_revision(url) is None:
            return False
        shop = open_database(url, size=1, is_prepared=False)
        try:
            return any(method.type == provider_type for method in await list_methods(shop.session(), DISPLAYS))
        finally:
            await shop.close()

    try:
        with database(settings) as (url, _):
            return asyncio.run(look(url))
    except CannotStart:
        return None  # The database check reports this error.


CHECKS: dict[str, Check] = {
    "data directory": check_data_dir,
    "database": check_database,
    "pooler": check_pooler,
    "replicas": check_replicas,
    "secret keys": check_keys,
    "mail": check_mail,
    "images": check_media,
    "payments": check_payments,
    "test card": check_test_card,
    "proxy": check_proxy,
    "disk": check_disk,
    "servers": check_servers,
    "clock": check_clock,
    "certificates": check_certificates,
    "backups": check_backups,
    "archive": check_archive,
    "extensions": check_extensions,
}


@click.command(epilog="Example: SHOP_DATA_DIR=/srv/shop shop doctor --host 0.0.0.0")
@click.option("--host", default=None, help="Address that `shop serve` listens on.  [default: SHOP_HOST, or 127.0.0.1]")
def doctor(host: str | None) -> None:
    """Check configuration, database, keys, mail, images, payments, proxy, disk space, standbys, clocks, certificates,
    backups, the archive and extensions, and suggest fixes.

    Exits non-zero if a check fails.
    """
    settings = load_settings()
    host = host or settings.host
    click.echo("  ok    configuration: every SHOP_ variable is known and valid")
    # Checks of an external database run at the same time: one that does not answer then costs ten seconds once.
    with ThreadPoolExecutor(max_workers=len(CHECKS) if settings.database_url else 1) as threads:
        outcomes = {name: threads.submit(_run, name, check, settings, host) for name, check in CHECKS.items()}
        failure_count = sum([not _print(outcome.result()) for outcome in outcomes.values()])
    if failure_count:
        sys.exit(1)


def _run(name: str, check: Check, settings: Settings, host: str) -> tuple[bool, str]:
    """Returns whether a check succeeded, and its line."""
    try:
        return True, f"{name}: {check(settings, host)}"
    except CannotStart as reason:
        return False, f"{name}: {reason}"
    except Exception as error:
        # The other checks still help; the text of an unexpected error may contain a password.
        return False, f"{name}: this check itself failed ({type(error).__name__}); please report it."


def _print(outcome: tuple[bool, str]) -> bool:
    is_ok, line = outcome
    click.echo(f"  {'ok  ' if is_ok else 'FAIL'}  {line}")
    return is_ok
