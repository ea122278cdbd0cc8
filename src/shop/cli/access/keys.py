"""`shop keys`: rotates and retires server keys, and voids every credential issued before a given time."""

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeVar

import click
import msgspec

from shop.actions.access import server_keys
from shop.actions.context import Context
from shop.app.configuration import read_keys
from shop.base.config.settings import Settings
from shop.base.crypto.key_file import KEY_FILE, lock_key_file, replace_key_file
from shop.base.crypto.keys import Keys
from shop.base.errors import CannotStart
from shop.cli.database_session import ready_database, run_action, run_action_on
from shop.cli.prepare import load_settings
from shop.cli.tables import listing
from shop.queries.access.server_keys import VoidCounts

T = TypeVar("T")
ADOPT_SECONDS = 2.0
"""Time for every running process to read a changed key file; they check five times a second."""


@click.group(epilog="Example: shop keys rotate")
def keys() -> None:
    """Manage server keys, which sign order tokens and login codes and encrypt authenticators."""


@keys.command("list", epilog="Example: shop keys list --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array, for scripts.")
def list_(as_json: bool) -> None:
    """List the key IDs, never the keys. The first key signs."""
    rows = run_action(load_settings(), server_keys.describe_keys)
    click.echo(listing([msgspec.structs.asdict(row) for row in rows], as_json=as_json, none=""))


@keys.command(epilog="Example: shop keys rotate")
def rotate() -> None:
    """Create a new signing key; the existing keys still verify.

    Running processes use it within 5 seconds, and stored secrets are re-encrypted with it. If SHOP_SECRET_KEYS is set,
    the new value is printed instead: set it on every machine and restart.
    """
    with _changing_keys() as change:
        if change.is_by_hand:
            change.print_value(change.make_key())
            return
        new_keys = change.introduce_key()
        count = change.promote_key(new_keys)
    click.echo(f"{new_keys.current} is now the signing key; {count} stored secrets were re-encrypted.")


@keys.command(epilog="Example: shop keys retire k1")
@click.argument("key_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def retire(key_id: str, yes: bool) -> None:
    """Remove an old key once no stored secret uses it.

    Stored secrets are re-encrypted with the current key first; while any is left, the old key is kept. If
    SHOP_SECRET_KEYS is set, the new value is printed instead.
    """
    with _changing_keys() as change:
        current = change.keys
        change.run(lambda ctx: server_keys.prepare_retirement(ctx, current, key_id))
        carts = change.run(lambda ctx: server_keys.count_guest_carts(ctx, current, [key_id]))
        _confirm(f"Order tokens made with {key_id} stop working: up to {carts} open guest carts are lost.", yes=yes)
        change.write(current.without(key_id))
        change.run(lambda ctx: server_keys.audit_retirement(ctx, key_id))
    if not change.is_by_hand:
        click.echo(f"{key_id} is retired.")


@keys.command("void-before", epilog="Example: shop keys void-before 2026-11-15T09:30Z")
@click.argument("when", metavar="TIME")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for scripts.")
def void_before(when: str, yes: bool, as_json: bool) -> None:
    """Invalidate everything issued before TIME: user, platform and refresh tokens, operator sessions, login codes and
    links, and the order tokens of every key that may have signed before it.

    TIME is like 2026-11-15T09:30Z (UTC if it has no zone), or `now`. A session that began before TIME ends with all its
    tokens, including those refreshed since. Carts of signed-in customers get new tokens; open guest carts are lost. A
    new key is created if the current one may have signed before TIME.
    """
    requested_time = _read_time(when)
    with _changing_keys() as change:
        current = change.keys
        moment = change.run(lambda ctx: server_keys.resolve_void_time(ctx, requested_time))
        known_keys = change.run(server_keys.list_known_keys)
        retired_ids = server_keys.keys_created_before(current, known_keys, moment)
        needs_key = current.current in retired_ids
        if needs_key and change.is_by_hand:
            raise CannotStart(
                f"The key {current.current} may have signed order tokens before TIME. Run `shop keys rotate`, set "
                "SHOP_SECRET_KEYS to what it prints and restart; then run this again at once."
            )
        counts = change.run(lambda ctx: server_keys.count_void(ctx, current, moment, retired_ids))
        _confirm(_summary(counts, moment), yes=yes)
        new_keys = change.introduce_key() if needs_key else current
        not_before = change.run(lambda ctx: server_keys.void_before(ctx, current, moment, retired_ids))
        if needs_key:
            change.promote_key(new_keys)
    if as_json:
        payload = {"not_before": not_before, "keys": retired_ids, **msgspec.structs.asdict(counts)}
        click.echo(msgspec.json.encode(payload).decode())
    else:
        click.echo(f"Everything issued before {_utc(not_before)} is void.")


class KeyChange:
    """A change of the server keys, in the data directory's key file or in SHOP_SECRET_KEYS."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._settings, self._url = settings, url
        self._file = settings.data_dir / KEY_FILE
        self.keys = read_keys(settings)
        self.is_by_hand = settings.secret_keys is not None
        """SHOP_SECRET_KEYS is set, so only the administrator can change the keys."""

    def run(self, work: Callable[[Context], Awaitable[T]]) -> T:
        return run_action_on(self._url, self._settings, work)

    def make_key(self) -> Keys:
        """Returns the keys with a new one in front; records only its creation time."""
        known_keys = self.run(server_keys.list_known_keys)
        key_id = _new_id([*self.keys, *(row.key_id for row in known_keys.values())])
        new_keys = self.keys.with_first(key_id, secrets.token_bytes(32))
        self.run(lambda ctx: server_keys.record_new_key(ctx, new_keys, key_id))
        return new_keys

    def introduce_key(self) -> Keys:
        """Adds a new key in last place: every process must know it before one signs with it."""
        new_keys = self.make_key()
        replace_key_file(self._file, new_keys.with_last(new_keys.current))
        click.echo("Waiting until every process has read the new key ...", err=True)
        time.sleep(ADOPT_SECONDS)
        return new_keys

    def promote_key(self, new_keys: Keys) -> int:
        """Makes the new key sign and, once no process seals with an old key, re-encrypts what the old keys sealed."""
        replace_key_file(self._file, new_keys)
        time.sleep(ADOPT_SECONDS / 2)
        return self.run(lambda ctx: server_keys.finish_rotation(ctx, new_keys))

    def write(self, new_keys: Keys) -> None:
        if self.is_by_hand:
            self.print_value(new_keys)
        else:
            replace_key_file(self._file, new_keys)

    def print_value(self, new_keys: Keys) -> None:
        click.echo(new_keys.to_text())
        click.echo(
            "Set SHOP_SECRET_KEYS to this on every machine and restart. Before a new key signs on one of several "
            "machines, all must know it: put it at the end of the list first, and restart all.",
            err=True,
        )


@contextmanager
def _changing_keys() -> Iterator[KeyChange]:
    settings = load_settings()
    with ready_database(settings) as url:
        if settings.secret_keys:
            yield KeyChange(settings, url)
            return
        with lock_key_file(settings.data_dir / KEY_FILE):
            yield KeyChange(settings, url)


def _new_id(existing_ids: Sequence[str]) -> str:
    numbers = [int(key_id[1:]) for key_id in existing_ids if re.fullmatch(r"k[0-9]{1,6}", key_id, re.ASCII)]
    return f"k{max(numbers, default=0) + 1}"


def _read_time(text: str) -> datetime | None:
    if text == "now":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CannotStart(f"{text!r} is not a time; give one like 2026-11-15T09:30Z, or `now`.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _summary(counts: VoidCounts, moment: datetime) -> str:
    return (
        f"Everything issued before {_utc(moment)} ends: {counts.user_sessions} sessions of customers, "
        f"{counts.application_sessions} of applications, {counts.operator_sessions} of operators, and all login codes "
        f"and links. {counts.guest_carts} open guest carts are lost."
    )


def _confirm(sentence: str, *, yes: bool) -> None:
    if yes:
        return
    click.echo(sentence, err=True)
    try:
        is_agreed = click.confirm("Continue?", err=True)
    except click.Abort:
        is_agreed = False
    if not is_agreed:
        raise CannotStart("Nothing was changed. In a script, add --yes.")
