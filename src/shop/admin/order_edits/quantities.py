"""Reads the quantities and the reason of forms about line items."""

from uuid import UUID

from shop.admin.fields import Fields
from shop.base.ids import as_uuid
from shop.base.input_types import MAX_UNITS
from shop.rules.form_values import read_whole
from shop.rules.order_edits.refunds import MAX_REASON_LENGTH, REASONS, compose_reason


def read_quantities(fields: Fields, name: str, *, is_required: bool = False) -> dict[UUID, int]:
    """Returns the quantities of the fields `name[id]` by id; empty ones do not count."""
    quantities = {}
    for key, value in fields.group(name).items():
        record_id = as_uuid(key)
        text = value.strip() if isinstance(value, str) else ""
        if record_id is None or (not text and not is_required):
            continue
        try:
            quantity = read_whole(text, 0)
        except ValueError as error:
            fields.refuse("quantity", str(error))
            continue
        if quantity > MAX_UNITS:
            fields.refuse("quantity", f"must be at most {MAX_UNITS}")
        quantities[record_id] = quantity
    return quantities


def list_submitted(fields: Fields, *groups: str) -> dict[str, str]:
    """Returns the submitted texts of the fields `group[id]` by name, to show them again."""
    return {
        f"{group}[{key}]": value
        for group in groups
        for key, value in fields.group(group).items()
        if as_uuid(key) and isinstance(value, str)
    }


def read_reason(fields: Fields) -> str:
    """Returns the reason with its explanation, which a reason outside the list needs."""
    key = fields.choice("reason", REASONS)
    text = fields.line("reason_text", most=MAX_REASON_LENGTH - 50, required=key == "other")
    return compose_reason(key, text) if key in REASONS else ""
