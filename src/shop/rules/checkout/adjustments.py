"""Adjustment rows for an order: one for each tax or promotion step of its total."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

_TYPES = {"line": "line_item", "shipment": "shipment", "order": "order"}


def adjustment_rows(order_id: UUID, steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for step in steps:
        taxes = step.get("taxes", ())
        if step["step"] == "promotion":
            source = {"source_type": "promotion", "source_id": step["promotion_id"], "label": step["promotion"]}
        elif taxes:
            name = " + ".join(tax["name"] for tax in taxes)
            source_id = taxes[0]["id"] if len(taxes) == 1 else None
            source = {"source_type": "tax_rate", "source_id": source_id, "label": name, "mandatory": True}
        else:
            continue
        rows.append(
            {
                "order_id": order_id,
                "adjustable_type": _TYPES[step["on"]],
                "adjustable_id": step.get("id", order_id),
                "amount": step["amount"],
                "included": step["step"] == "included_tax",
                **{"mandatory": False, **source},
            }
        )
    return rows
