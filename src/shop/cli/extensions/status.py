"""The state of extensions: what is installed, the revisions of its tables, its listeners, and data that is left."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from shop.actions.extensions.declarations import Extension
from shop.app.extensions import list_entry_points, load_declaration, select_entry_points
from shop.base.config.settings import Settings
from shop.base.errors import CannotStart
from shop.cli.prepare import database
from shop.db.pool import open_database
from shop.migrations.extension_tables import list_outdated, list_revisions
from shop.migrations.upgrade import current_revision
from shop.queries.extensions import listeners
from shop.queries.extensions.listeners import ListenerState


class ExtensionRecords(msgspec.Struct, frozen=True):
    """What the database has about extensions."""

    revisions: Mapping[str, str | None] = {}
    states: Mapping[tuple[str, str], ListenerState] = {}

    @property
    def names(self) -> set[str]:
        return {*self.revisions, *(name for name, _ in self.states)}


class ExtensionStatus(msgspec.Struct, frozen=True):
    """An extension as `shop extension list` shows it."""

    name: str
    package: str
    lines: Sequence[str]
    error: str | None = None


def read_extension_records(settings: Settings) -> ExtensionRecords:
    """Reads the revisions and listeners; empty before the first migration."""
    with database(settings) as (url, _):
        if asyncio.run(current_revision(url)) is None:
            return ExtensionRecords()
        return asyncio.run(_read_extension_records(url))


async def _read_extension_records(url: str) -> ExtensionRecords:
    db = open_database(url, size=1)
    try:
        return ExtensionRecords(await list_revisions(url), await listeners.list_listeners(db.session()))
    finally:
        await db.close()


def list_statuses(settings: Settings, stored_state: ExtensionRecords) -> list[ExtensionStatus]:
    """Returns the state of each installed extension, also of those that are not loaded or broken."""
    selected_names = {point.name for point in select_entry_points(settings)}
    statuses = []
    for name, point in list_entry_points().items():
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown package"
        if name not in selected_names:
            statuses.append(ExtensionStatus(name, package, ["not loaded: SHOP_EXTENSIONS does not name it"]))
            continue
        try:
            lines = _describe(load_declaration(point), stored_state)
            statuses.append(ExtensionStatus(name, package, lines))
        except CannotStart as reason:
            statuses.append(ExtensionStatus(name, package, [], str(reason)))
    return statuses


def find_behind(extension: Extension, stored_state: ExtensionRecords) -> bool:
    """Returns whether the tables of an extension need a migration."""
    if extension.migrations is None:
        return False
    return stored_state.revisions.get(extension.name) in list_outdated(extension.name, extension.migrations)


def _describe(extension: Extension, stored_state: ExtensionRecords) -> list[str]:
    lines = [f"version {extension.version}, for version {extension.api_version} of shop.extension"]
    if extension.migrations:
        revision = stored_state.revisions.get(extension.name)
        behind = "; run `shop migrate`" if find_behind(extension, stored_state) else ""
        lines.append(f"tables: {f'revision {revision}' if revision else 'none yet'}{behind}")
    for listener in extension.listeners:
        lines.append(
            f"listener {listener.name}: {_describe_state(stored_state.states.get((extension.name, listener.name)))}"
        )
    return lines


def _describe_state(state: ListenerState | None) -> str:
    if state is None:
        return "starts with the next event"
    listener = state.listener
    if listener.failure_count:
        attempt = f"{listener.failure_count} attempts" if listener.failure_count > 1 else "1 attempt"
        return f"fails at event {listener.failed_position} after {attempt}: {listener.last_error}"
    return f"{state.waiting_count} events to read" if state.waiting_count else "up to date"


def check_extensions(settings: Settings, _host: str) -> str:
    """Checks the extensions for `shop doctor`."""
    try:
        stored_state = read_extension_records(settings)
    except CannotStart:
        stored_state = ExtensionRecords()  # The database check reports this error.
    statuses = list_statuses(settings, stored_state)
    for status in statuses:
        if status.error:
            raise CannotStart(status.error)
        for line in status.lines:
            if line.startswith("listener") and ": fails" in line:
                raise CannotStart(f"{status.name}: {line}; see Extensions in the dashboard.")
    leftover_names = sorted(stored_state.names - {status.name for status in statuses})
    text = ", ".join(f"{status.name} ({status.package})" for status in statuses) or "none installed"
    if leftover_names:
        text += f"; data of {', '.join(leftover_names)} is left: `shop extension remove {leftover_names[0]}` deletes it"
    return text
