"""Creates, updates and deletes promotions, their conditions and benefits, and coupon batches, in the caller's
transaction.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.checkout.coupons import LONGEST, read_code
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.models.cart.promotions import coupon_batches, promotion_actions, promotion_rules, promotions
from shop.queries import bulk, writes
from shop.queries.cart import promotions as queries
from shop.queries.checkout import promotion_usage as uses
from shop.rules.promotions.settings import KINDS, normalize_preferences, part_errors

Values = Mapping[str, Any]
NESTED_PARTS = {"promotion_rules_attributes": "condition", "promotion_actions_attributes": "benefit"}
TABLES = {"condition": promotion_rules, "benefit": promotion_actions}
MOST_PARTS = 50
MOST_CODES = 10_000
_CODE_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_CODE_LENGTH = 10
"""Random characters per code; enough that codes cannot be guessed."""


async def create_promotion(ctx: Context, values: Values) -> UUID:
    """Creates a promotion, automatic if it has no code; `is_automatic` overrides this for codes from a batch."""
    own = _own_fields(values)
    own.setdefault("is_automatic", own.get("code") is None)
    await _check(ctx, own, None)
    promotion_id = new_id()
    await writes.insert_record(ctx.db, promotions, promotion_id, own)
    await _replace_parts(ctx, promotion_id, values)
    return promotion_id


async def update_promotion(ctx: Context, promotion_id: UUID, values: Values) -> None:
    own = _own_fields(values)
    (present,) = await queries.list_promotions_with_parts(ctx.db, [promotion_id])
    names = ("code", "is_automatic", "match_policy", "starts_at", "expires_at")
    await _check(ctx, {**{name: getattr(present, name) for name in names}, **own}, promotion_id)
    if own:
        await writes.update_record(ctx.db, promotions, promotion_id, own)
    if own.keys() & {"usage_limit", "customer_limit"}:
        # Uses are not counted while there is no limit.
        await uses.recount(ctx.db, promotion_id)
    await _replace_parts(ctx, promotion_id, values)


async def delete_promotion(ctx: Context, promotion_id: UUID) -> None:
    if await uses.is_used(ctx.db, promotion_id):
        raise Invalid({"base": ["was used by orders and cannot be deleted; end it instead"]})
    await writes.delete_record(ctx.db, promotions, promotion_id)


def _own_fields(values: Values) -> dict[str, Any]:
    own = {name: value for name, value in values.items() if name not in NESTED_PARTS}
    if "code" in own:
        own["code"] = read_code(own["code"]) or None
    return own


async def _check(ctx: Context, values: Values, promotion_id: UUID | None) -> None:
    errors: dict[str, list[str]] = {}
    code = values.get("code")
    if code is not None:
        if len(code) > LONGEST or not _is_code_text(code):
            errors["code"] = [f"must be at most {LONGEST} letters without spaces and slashes"]
        elif values.get("is_automatic"):
            errors["code"] = ["must be empty for an automatic promotion"]
        else:
            existing = await queries.find_of_code(ctx.db, code)
            if existing and (existing[0] != promotion_id or existing[1]):
                errors["code"] = ["is taken"]
    if values.get("match_policy", "all") not in {"all", "any"}:
        errors["match_policy"] = ["must be all or any"]
    for name in ("usage_limit", "customer_limit"):
        if values.get(name) is not None and not 0 < values[name] < 10**12:
            errors[name] = ["must be 1 or more, or empty"]
    starts, ends = values.get("starts_at"), values.get("expires_at")
    if starts and ends and ends <= starts:
        errors["expires_at"] = ["must be later than starts_at"]
    if errors:
        raise Invalid(errors)


def _is_code_text(text: str) -> bool:
    """Whether the text can be a code, which is a path segment of URLs."""
    return text.isprintable() and not any(letter.isspace() or letter == "/" for letter in text)


async def _replace_parts(ctx: Context, promotion_id: UUID, values: Values) -> None:
    """Replaces all parts of each kind that the values contain."""
    for field, what in NESTED_PARTS.items():
        if field not in values:
            continue
        parts = _read_parts(what, field, values[field])
        await queries.drop_parts(ctx.db, TABLES[what], promotion_id)
        rows = [
            {"id": new_id(), "promotion_id": promotion_id, "type": kind, "preferences": preferences}
            for kind, preferences in parts
        ]
        await bulk.insert_rows(ctx.db, TABLES[what].name, rows)


def _read_parts(what: str, field: str, parts: Sequence[Values]) -> list[tuple[str, dict[str, Any]]]:
    if len(parts) > MOST_PARTS:
        raise Invalid({field: [f"must be at most {MOST_PARTS}"]})
    errors: dict[str, list[str]] = {}
    for index, part in enumerate(parts):
        unknown = {name: ["is not a known field"] for name in part.keys() - {"type", "preferences"}}
        errors |= {
            f"{field}.{index}.{name}": messages for name, messages in (unknown | _part_errors(what, part)).items()
        }
    if errors:
        raise Invalid(errors)
    return [(part["type"], normalize_preferences(what, part["type"], part.get("preferences") or {})) for part in parts]


def _part_errors(what: str, part: Values) -> dict[str, list[str]]:
    preferences = part.get("preferences") or {}
    if not isinstance(part.get("type"), str) or not isinstance(preferences, dict):
        return {"type": ["must be given, with an object of preferences"]}
    return part_errors(what, part["type"], preferences)


async def create_part(ctx: Context, what: str, values: Values) -> UUID:
    if await writes.find_value(ctx.db, promotions, values["promotion_id"], "id") is None:
        raise Invalid({"promotion_id": ["is not a promotion"]})
    errors = _part_errors(what, values)
    if errors:
        raise Invalid(errors)
    part_id = new_id()
    fields = {**values, "preferences": normalize_preferences(what, values["type"], values.get("preferences") or {})}
    await writes.insert_record(ctx.db, TABLES[what], part_id, fields)
    return part_id


async def update_part(ctx: Context, what: str, part_id: UUID, values: Values) -> None:
    table = TABLES[what]
    part = {
        name: values.get(name, await writes.find_value(ctx.db, table, part_id, name))
        for name in ("type", "preferences")
    }
    if "preferences" not in values and part["type"] in KINDS[what]:
        # Preferences of the former type are dropped.
        setting_names = KINDS[what][part["type"]].settings
        part["preferences"] = {name: value for name, value in part["preferences"].items() if name in setting_names}
    errors = _part_errors(what, part)
    if errors:
        raise Invalid(errors)
    fields = {**values, "preferences": normalize_preferences(what, part["type"], part["preferences"] or {})}
    await writes.update_record(ctx.db, table, part_id, fields)


async def create_batch(ctx: Context, values: Values) -> UUID:
    """Creates a batch with its codes, which are unique."""
    count, prefix = values["codes_count"], read_code(values.get("prefix", ""))
    errors: dict[str, list[str]] = {}
    if not 0 < count <= MOST_CODES:
        errors["codes_count"] = [f"must be 1 to {MOST_CODES}"]
    if len(prefix) > 20 or not _is_code_text(prefix):
        errors["prefix"] = ["must be at most 20 letters without spaces and slashes"]
    is_automatic = await writes.find_value(ctx.db, promotions, values["promotion_id"], "is_automatic")
    if is_automatic is None:
        errors["promotion_id"] = ["is not a promotion"]
    elif is_automatic:
        errors["promotion_id"] = ["is automatic and needs no codes"]
    if errors:
        raise Invalid(errors)
    batch_id = new_id()
    await writes.insert_record(ctx.db, coupon_batches, batch_id, {**values, "prefix": prefix})
    codes = {prefix + "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_LENGTH)) for _ in range(count)}
    while len(codes) < count:
        codes.add(prefix + "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_LENGTH)))
    rows = [
        {"id": new_id(), "batch_id": batch_id, "promotion_id": values["promotion_id"], "code": code} for code in codes
    ]
    await bulk.insert_rows(ctx.db, "coupon_codes", rows)
    return batch_id


async def delete_batch(ctx: Context, batch_id: UUID) -> None:
    if await uses.is_batch_used(ctx.db, batch_id):
        raise Invalid({"base": ["has used codes and cannot be deleted"]})
    if not await writes.delete_record(ctx.db, coupon_batches, batch_id):
        raise NotFound()
