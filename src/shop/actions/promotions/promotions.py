"""Creates, updates and deletes promotions, their conditions and benefits, and coupon batches, in the caller's
transaction.
"""

import secrets
from collections.abc import Mapping, Sequence
from uuid import UUID

from shop.actions.checkout.coupons import MAX_CODE_LENGTH, read_code
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.models.cart.promotions import coupon_batches, promotion_actions, promotion_rules, promotions
from shop.models.cart.record_inputs import (
    CouponBatchInput,
    PromotionInput,
    PromotionPartInput,
    PromotionRuleInput,
)
from shop.queries import bulk, writes
from shop.queries.cart import promotions as queries
from shop.queries.checkout import promotion_usage
from shop.rules.promotions.settings import KINDS, normalize_preferences, part_errors

NESTED_PARTS = {"condition": "promotion_rules_attributes", "benefit": "promotion_actions_attributes"}
TABLES = {"condition": promotion_rules, "benefit": promotion_actions}
MAX_PARTS = 50
MAX_CODES = 10_000
_CODE_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_CODE_LENGTH = 10
"""Random characters per code; enough that codes cannot be guessed."""


async def create_promotion(ctx: Context, values: PromotionInput) -> UUID:
    """Creates a promotion, automatic if it has no code; `is_automatic` overrides this for codes from a batch."""
    own = _own_fields(values)
    own.setdefault("is_automatic", own.get("code") is None)
    await _check(ctx, own, None)
    promotion_id = new_id()
    await writes.insert_record(ctx.db, promotions, promotion_id, own)
    await _replace_parts(ctx, promotion_id, values)
    return promotion_id


async def update_promotion(ctx: Context, promotion_id: UUID, values: PromotionInput) -> None:
    own = _own_fields(values)
    (present,) = await queries.list_promotions_with_parts(ctx.db, [promotion_id])
    result: PromotionInput = {
        "code": present.code,
        "is_automatic": present.is_automatic,
        "match_policy": present.match_policy,
        "starts_at": present.starts_at,
        "expires_at": present.expires_at,
        **own,
    }
    await _check(ctx, result, promotion_id)
    if own:
        await writes.update_record(ctx.db, promotions, promotion_id, own)
    if own.keys() & {"usage_limit", "customer_limit"}:
        # Uses are not counted while there is no limit.
        await promotion_usage.recount(ctx.db, promotion_id)
    await _replace_parts(ctx, promotion_id, values)


async def delete_promotion(ctx: Context, promotion_id: UUID) -> None:
    if await promotion_usage.is_used(ctx.db, promotion_id):
        raise Invalid({"base": ["was used by orders and cannot be deleted; end it instead"]})
    await writes.delete_record(ctx.db, promotions, promotion_id)


def _own_fields(values: PromotionInput) -> PromotionInput:
    """Returns the columns of the promotion, with its code as stored."""
    own = values.copy()
    own.pop("promotion_rules_attributes", None)
    own.pop("promotion_actions_attributes", None)
    if "code" in own:
        own["code"] = read_code(own["code"] or "") or None
    return own


async def _check(ctx: Context, values: PromotionInput, promotion_id: UUID | None) -> None:
    errors: dict[str, list[str]] = {}
    code = values.get("code")
    if code is not None:
        if len(code) > MAX_CODE_LENGTH or not _is_code_text(code):
            errors["code"] = [f"must be at most {MAX_CODE_LENGTH} letters without spaces and slashes"]
        elif values.get("is_automatic"):
            errors["code"] = ["must be empty for an automatic promotion"]
        else:
            existing = await queries.find_of_code(ctx.db, code)
            if existing and (existing[0] != promotion_id or existing[1]):
                errors["code"] = ["is taken"]
    if values.get("match_policy", "all") not in {"all", "any"}:
        errors["match_policy"] = ["must be all or any"]
    limits = {"usage_limit": values.get("usage_limit"), "customer_limit": values.get("customer_limit")}
    for name, limit in limits.items():
        if limit is not None and not 0 < limit < 10**12:
            errors[name] = ["must be 1 or more, or empty"]
    starts, ends = values.get("starts_at"), values.get("expires_at")
    if starts and ends and ends <= starts:
        errors["expires_at"] = ["must be later than starts_at"]
    if errors:
        raise Invalid(errors)


def _is_code_text(text: str) -> bool:
    """Returns whether the text can be a code, which is a path segment of URLs."""
    return text.isprintable() and not any(letter.isspace() or letter == "/" for letter in text)


async def _replace_parts(ctx: Context, promotion_id: UUID, values: PromotionInput) -> None:
    """Replaces all parts of each kind that the values contain."""
    parts_by_kind: dict[str, Sequence[PromotionPartInput] | None] = {
        "condition": values.get("promotion_rules_attributes"),
        "benefit": values.get("promotion_actions_attributes"),
    }
    for what, parts in parts_by_kind.items():
        if parts is None:
            continue
        _check_parts(what, parts)
        await queries.drop_parts(ctx.db, TABLES[what], promotion_id)
        rows = [
            {
                "id": new_id(),
                "promotion_id": promotion_id,
                "type": part.type,
                "preferences": normalize_preferences(what, part.type, part.preferences or {}),
            }
            for part in parts
        ]
        await bulk.insert_rows(ctx.db, TABLES[what].name, rows)


def _check_parts(what: str, parts: Sequence[PromotionPartInput]) -> None:
    path = NESTED_PARTS[what]
    if len(parts) > MAX_PARTS:
        raise Invalid({path: [f"must be at most {MAX_PARTS}"]})
    errors = {
        f"{path}.{index}.{name}": messages
        for index, part in enumerate(parts)
        for name, messages in part_errors(what, part.type, part.preferences or {}).items()
    }
    if errors:
        raise Invalid(errors)


async def create_part(ctx: Context, what: str, values: PromotionRuleInput) -> UUID:
    """Creates a rule, or an action, which has the same fields and a position."""
    if await writes.find_value(ctx.db, promotions, values["promotion_id"], "id") is None:
        raise Invalid({"promotion_id": ["is not a promotion"]})
    part_id = new_id()
    preferences = _valid_preferences(what, values["type"], values.get("preferences", {}))
    await writes.insert_record(ctx.db, TABLES[what], part_id, {**values, "preferences": preferences})
    return part_id


async def update_part(ctx: Context, what: str, part_id: UUID, values: PromotionRuleInput) -> None:
    table = TABLES[what]
    kind = values["type"] if "type" in values else await writes.find_value(ctx.db, table, part_id, "type")
    if "preferences" in values:
        preferences = values["preferences"]
    else:
        # Preferences of the former type are dropped.
        definition = KINDS[what].get(kind)
        setting_names = definition.settings if definition else {}
        present = await writes.find_value(ctx.db, table, part_id, "preferences")
        preferences = {name: value for name, value in present.items() if name in setting_names}
    fields = {**values, "preferences": _valid_preferences(what, kind, preferences)}
    await writes.update_record(ctx.db, table, part_id, fields)


def _valid_preferences(what: str, kind: str, preferences: Mapping[str, object]) -> dict[str, object]:
    """Returns the preferences as stored; raises Invalid with the errors of the type and the preferences."""
    errors = part_errors(what, kind, preferences)
    if errors:
        raise Invalid(errors)
    return normalize_preferences(what, kind, preferences)


async def create_batch(ctx: Context, values: CouponBatchInput) -> UUID:
    """Creates a batch with its codes, which are unique."""
    count, prefix = values["codes_count"], read_code(values.get("prefix", ""))
    errors: dict[str, list[str]] = {}
    if not 0 < count <= MAX_CODES:
        errors["codes_count"] = [f"must be 1 to {MAX_CODES}"]
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
    if await promotion_usage.is_batch_used(ctx.db, batch_id):
        raise Invalid({"base": ["has used codes and cannot be deleted"]})
    if not await writes.delete_record(ctx.db, coupon_batches, batch_id):
        raise NotFound()
