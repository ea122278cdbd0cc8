"""Creates, updates and deletes zones, in the caller's transaction."""

from uuid import UUID

from msgspec.structs import replace

from shop.actions.context import Context
from shop.actions.event_subjects import ZONE
from shop.actions.events import note_change
from shop.base.errors import NotFound
from shop.base.ids import new_id
from shop.models.setup.inputs import ZoneInput
from shop.models.setup.zones import KINDS, zone_members, zones
from shop.queries import writes
from shop.queries.setup import methods
from shop.rules.setup.choices import check_choice


async def create_zone(ctx: Context, values: ZoneInput) -> UUID:
    zone_id = new_id()
    await _write_zone(ctx, zone_id, values, is_new=True)
    return zone_id


async def update_zone(ctx: Context, zone_id: UUID, values: ZoneInput) -> None:
    await _write_zone(ctx, zone_id, values, is_new=False)


async def _write_zone(ctx: Context, zone_id: UUID, values: ZoneInput, *, is_new: bool) -> None:
    """Writes a zone and replaces its members, which are countries or states depending on its kind."""
    check_choice(values, "kind", KINDS)
    fields = {name: value for name, value in values.items() if name not in {"country_ids", "state_ids"}}
    if values.get("default_tax"):
        for zone in await methods.unset_default_tax(ctx.db, zone_id):
            note_change(ctx, ZONE, zone.id, replace(zone, default_tax=True))
    if is_new:
        await writes.insert_record(ctx.db, zones, zone_id, fields)
    else:
        # Also if only the links change: the time of the last change tells a form that it is outdated.
        await writes.update_record(ctx.db, zones, zone_id, fields)
    owner = "zone_id", zone_id
    if "country_ids" in values:
        await writes.replace_links(ctx.db, zone_members, owner, "country_id", values["country_ids"])
    if "state_ids" in values:
        await writes.replace_links(ctx.db, zone_members, owner, "state_id", values["state_ids"])


async def delete_zone(ctx: Context, zone_id: UUID) -> None:
    if not await writes.delete_record(ctx.db, zones, zone_id):
        raise NotFound()
