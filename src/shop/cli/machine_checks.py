"""Checks of `shop doctor` about the machine and the servers: disk, standbys, clocks, certificates, backups, archive."""

import asyncio
import shutil
import ssl
from datetime import UTC, datetime

from shop.base.config.settings import Settings
from shop.base.errors import BackupError, CannotStart, Unavailable
from shop.cli.prepare import database
from shop.db.pool import open_database
from shop.db.server_probe import ServerState, probe_servers
from shop.gateways.backup_places import describe_place, open_place
from shop.gateways.certificates import find_certificate_end
from shop.migrations.upgrade import current_revision
from shop.queries.backups import backups as backup_queries
from shop.queries.backups.backups import PlaceState
from shop.rules.backups.schedule import is_overdue

MIN_FREE_BYTES, MIN_FREE_SHARE = 1 << 30, 0.05
MAX_CLOCK_SECONDS = 5.0
MAX_LAG_SECONDS = 60.0
MIN_CERTIFICATE_DAYS = 14


def check_disk(settings: Settings, _host: str) -> str:
    directory = settings.data_dir
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    try:
        usage = shutil.disk_usage(directory)
    except OSError as error:
        raise CannotStart(f"{directory} cannot be examined ({error.strerror}).") from None
    free = f"{usage.free / 1e9:,.1f} GB of {usage.total / 1e9:,.1f} GB are free in {directory}"
    if usage.total and usage.free < MIN_FREE_BYTES and usage.free < MIN_FREE_SHARE * usage.total:
        raise CannotStart(f"only {free}; without space, the embedded database and uploads stop.")
    return free


def check_servers(settings: Settings, _host: str) -> str:
    """Checks the roles of the servers of an external database, and how far standbys are behind."""
    if not settings.database_url:
        return "one, the embedded PostgreSQL"
    servers = _probe(settings)
    failures = [f"{server.name} does not answer ({server.error})" for server in servers if server.error]
    answers = [server for server in servers if not server.error]
    if not any(not server.is_standby for server in answers):
        reason = "all are standbys, which accept no writes" if answers and not failures else "; ".join(failures)
        raise CannotStart(f"no primary answers: {reason}; check SHOP_DATABASE_URL.")
    late = [server for server in answers if server.lag_seconds > MAX_LAG_SECONDS]
    if late:
        raise CannotStart(f"{late[0].name} is a standby {late[0].lag_seconds:,.0f} s behind; check its replication.")
    roles = [f"{each.name} is a standby, {each.lag_seconds:,.1f} s behind" for each in answers if each.is_standby]
    return "; ".join(["the primary answers", *roles, *failures])


def check_clock(settings: Settings, _host: str) -> str:
    if not settings.database_url:
        return "the database uses the clock of this machine"
    differences = [server.clock_difference for server in _probe(settings) if not server.error]
    if not differences:
        raise CannotStart("the clock of the database cannot be read; see the check of the database.")
    difference = max(differences, key=abs)
    if abs(difference) > MAX_CLOCK_SECONDS:
        raise CannotStart(
            f"the clock of the database differs by {abs(difference):,.1f} s from that of this machine; "
            "synchronize both, for example with chrony."
        )
    return f"differs by {abs(difference):.1f} s from that of the database"


def check_certificates(settings: Settings, _host: str) -> str:
    """Checks the certificates of SHOP_PUBLIC_URL and of the database."""
    lines = []
    if settings.public_url and settings.public_url.startswith("https://"):
        lines.append(_check_public_certificate(settings.public_url))
    if settings.database_url:
        for server in _probe(settings):
            if server.certificate_end:
                lines.append(_describe_end(f"{server.name} of the database", server.certificate_end))
    return "; ".join(lines) or "none are used"


def _check_public_certificate(url: str) -> str:
    try:
        return _describe_end(url, find_certificate_end(url))
    except ssl.SSLCertVerificationError as error:
        # The reasons of OpenSSL have no period, and those of Python have one.
        raise CannotStart(f"{url} has no valid certificate: {error.verify_message.rstrip('.')}.") from None
    except (OSError, ValueError):
        return f"{url} cannot be reached from this machine, so its certificate was not checked"


def _describe_end(name: str, end: datetime) -> str:
    days = (end - datetime.now(UTC)).days
    if days < MIN_CERTIFICATE_DAYS:
        verb = f"ends in {days} days" if days >= 0 else "has ended"
        raise CannotStart(f"the certificate of {name} {verb}; renew it.")
    return f"the certificate of {name} is valid for {days} days"


def check_backups(settings: Settings, _host: str) -> str:
    place = settings.backup_url
    if place is None:
        return "none are scheduled; set SHOP_BACKUP_URL, or back up in another way (docs/backup.md)"
    try:
        open_place(place).list_folders()
    except BackupError as error:
        raise CannotStart(f"{error} Check SHOP_BACKUP_URL.") from None
    name = describe_place(place)
    state = _find_backups(settings, name)
    if state is None or (state.seconds_since_complete is None and not state.failure_count):
        return f"none yet in {name}; the shop makes one when it starts"
    if state.failure_count:
        raise CannotStart(f"{state.failure_count} attempts failed since the newest one: {state.last_error}")
    hours = (state.seconds_since_complete or 0) / 3600
    if is_overdue(settings.backup_hours, state.seconds_since_complete):
        raise CannotStart(
            f"the newest in {name} is {hours:,.0f} hours old; check that the shop or a worker is running."
        )
    return f"the newest in {name} is {hours:,.1f} hours old"


def check_archive(settings: Settings, _host: str) -> str:
    place = settings.archive_url
    if place is None:
        return "no orders are archived; SHOP_ARCHIVE_URL is for many old ones (docs/scaling.md)"
    try:
        open_place(place).list_folders()
    except BackupError as error:
        raise CannotStart(f"{error} Archived orders cannot be shown; check SHOP_ARCHIVE_URL.") from None
    return f"{describe_place(place)} answers; orders are archived after {settings.archive_after} days"


def _find_backups(settings: Settings, place: str) -> PlaceState | None:
    async def find(url: str) -> PlaceState | None:
        if await current_revision(url) is None:
            return None
        shop = open_database(url, size=1)
        try:
            if not await backup_queries.has_table(shop.session()):
                return None
            return await backup_queries.find_place_state(shop.session(), place)
        except Unavailable:
            raise CannotStart("the list of backups cannot be read; see the check of the database.") from None
        finally:
            await shop.close()

    with database(settings) as (url, _):
        return asyncio.run(find(url))


def _probe(settings: Settings) -> list[ServerState]:
    try:
        return asyncio.run(probe_servers(settings.database_url or ""))
    except ValueError:
        raise CannotStart("SHOP_DATABASE_URL cannot be read; percent-encode special characters.") from None
