"""Pages for zones: groups of countries or states for taxes and shipping."""

import re
from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.context import Context
from shop.actions.setup import shop as shop_actions
from shop.actions.setup.resources import ZONE
from shop.admin.fields import Fields
from shop.admin.listing import RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page
from shop.admin.setup.form import NOTICES, SetupForm, Values, linked_ids, linked_rows, list_all
from shop.base.errors import NotFound
from shop.base.record import Record
from shop.rules.form_values import split_words
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/zones"
KINDS = {"country": "Countries", "state": "States"}
MAX_STATES = 150
_SORTS = {
    "name": RowSort("Name", lambda zone: fold_text(zone[0].name)),
    "members": RowSort("Most members", lambda zone: len(zone[1]), is_descending=True),
}
_LABEL = re.compile(r".*\(([A-Za-z]{2}-[A-Za-z0-9-]{1,10})\)\s*", re.ASCII)


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    zones = await list_all(ctx, ZONE, {"countries": {}, "states": {}})
    rows, head = sort_rows(request, PATH, [(zone.row, sorted(_names(zone))) for zone in zones], _SORTS)
    return page("setup/zones.html", page_context, zones=rows, head=head, notice=notice_of(request, NOTICES))


def _names(zone: Record) -> list[str]:
    return [row.name for row in (*linked_rows(zone, "countries"), *linked_rows(zone, "states"))]


async def _read(fields: Fields, ctx: Context, zone_id: UUID | None) -> Values:
    values: Values = {
        "name": fields.line("name", most=100, required=True),
        "description": fields.line("description", most=500) or None,
        "default_tax": fields.flag("default_tax"),
    }
    if zone_id:
        # The kind is set once, because tax rates and shipping methods may rely on it.
        kind = (await records.get(ctx, ZONE, "id", zone_id, {})).row.kind
    else:
        kind = values["kind"] = fields.choice("kind", KINDS)
    if kind == "state":
        return values | {"state_ids": sorted(await _states(fields, ctx))}
    return values | {"country_ids": sorted(fields.ids("country_ids"))}


async def _states(fields: Fields, ctx: Context) -> set[UUID]:
    """Parses lines like `Illinois (US-IL)`, and codes and names like `US-IL, US-California`, into state ids."""
    codes = _split_states(fields.prose("states"))
    if len(codes) > MAX_STATES:
        fields.refuse("states", f"must be at most {MAX_STATES}")
        return set()
    states_by_country: dict[str, dict[str, UUID]] = {}
    state_ids = set()
    for code in codes:
        iso, _, abbr = code.upper().partition("-")
        if iso not in states_by_country:
            states_by_country[iso] = await _states_of(ctx, iso)
        if abbr in states_by_country[iso]:
            state_ids.add(states_by_country[iso][abbr])
        else:
            fields.refuse("states", f"has an unknown state code: {code[:20]}")
    return state_ids


def _split_states(text: str) -> list[str]:
    lines = [(line, _LABEL.fullmatch(line)) for line in text.splitlines()]
    return list(dict.fromkeys(code for line, match in lines for code in ([match[1]] if match else split_words(line))))


async def _states_of(ctx: Context, iso: str) -> dict[str, UUID]:
    try:
        _, states = await shop_actions.get_country(ctx, iso)
    except NotFound:
        return {}
    return {text.upper(): state.id for state in states for text in (state.name, state.abbr)}


def _form_values(zone: Record) -> Values:
    states = zone.links["states"]
    labels = [f"{state.row.name} ({_code(state)})" for state in states] if isinstance(states, list) else []
    return {
        "country_ids": {str(each) for each in linked_ids(zone, "countries")},
        "states": "\n".join(sorted(labels)),
    }


def _code(state: Record) -> str:
    country = state.links["country"]
    return f"{country.row.iso}-{state.row.abbr}" if isinstance(country, Record) else state.row.abbr


async def _choices(ctx: Context, _page_context: PageContext, _zone: Record | None) -> Values:
    return {"countries": await shop_actions.list_countries(ctx), "kinds": KINDS}


_DEFAULTS: dict[str, Any] = {
    "name": "",
    "description": "",
    "kind": "country",
    "default_tax": False,
    "country_ids": frozenset(),
    "states": "",
}
FORM = SetupForm(
    actions=ZONE,
    noun="zone",
    base=PATH,
    home=(PATH, "Zones"),
    template="setup/zone.html",
    labels={
        "name": "Name",
        "description": "Description",
        "kind": "Kind",
        "country_ids": "Countries",
        "states": "States",
        "default_tax": "Default tax zone",
    },
    defaults=_DEFAULTS,
    read=_read,
    form_values=_form_values,
    link_values=lambda zone: {"country_ids": linked_ids(zone, "countries"), "state_ids": linked_ids(zone, "states")},
    choices=_choices,
    include={"countries": {}, "states": {"country": {}}},
    use_note="Can be deleted once no tax rate or shipping method uses it.",
)
