"""Calculates the tax table of an invoice, and what its credit notes return of it."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from shop.models.cart.orders import LineItem
from shop.models.checkout.payments import Refund
from shop.models.checkout.shipments import Shipment
from shop.models.documents.invoices import Invoice, InvoiceAdjustment, TaxRow

NO_TAX = "No tax"
UNKNOWN_TAX = "Tax"
"""For orders without a frozen calculation, whose rates are not known."""
ADJUSTMENTS = "Discounts and adjustments of the order"


class Credit(msgspec.Struct, frozen=True):
    """What a credit note can return: a refund, or the rest of the invoice of a canceled order."""

    amount: int
    reason: str
    refund: Refund | None = None


def name_rates(steps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the tax rates of each line item and shipment by id, like `VAT 19%` or `State 5% + City 2%`."""
    names: dict[str, list[str]] = {}
    for step in steps:
        if step["step"] in {"included_tax", "added_tax"}:
            names.setdefault(str(step["id"]), []).extend(_name_rate(tax) for tax in step["taxes"])
    return {record_id: " + ".join(dict.fromkeys(rates)) for record_id, rates in names.items()}


def _name_rate(tax: Mapping[str, Any]) -> str:
    percent = f"{(Decimal(str(tax['rate'])) * 100).normalize():f}%"
    return str(tax["name"]) if percent in tax["name"] else f"{tax['name']} {percent}"


def find_rate_name(rate_names: Mapping[str, str], part: LineItem | Shipment) -> str:
    has_tax = part.included_tax_total or part.additional_tax_total
    return rate_names.get(str(part.id)) or (UNKNOWN_TAX if has_tax else NO_TAX)


def build_tax_rows(parts: Iterable[LineItem | Shipment], rate_names: Mapping[str, str], total: int) -> Sequence[TaxRow]:
    """Returns the tax table: the parts by their rates, and what the order as a whole adds or takes off, without tax.
    Its gross amounts add up to the total of the order.
    """
    sums: dict[str, tuple[int, int]] = {}
    for part in parts:
        label = find_rate_name(rate_names, part)
        net, tax = sums.get(label, (0, 0))
        added_tax = part.included_tax_total + part.additional_tax_total
        sums[label] = net + part.pre_tax_amount, tax + added_tax
    rows = [TaxRow(label, net, tax) for label, (net, tax) in sorted(sums.items())]
    rest = total - sum(row.gross for row in rows)
    return [*rows, TaxRow(ADJUSTMENTS, rest, 0)] if rest else rows


def list_adjustments(steps: Sequence[Mapping[str, Any]], rest: int) -> Sequence[InvoiceAdjustment]:
    """Returns the discounts and adjustments of the whole order, which add up to `rest`."""
    adjustments = [
        InvoiceAdjustment(str(step.get("promotion") or "Adjustment"), step["amount"])
        for step in steps
        if step["step"] in {"promotion", "manual"} and step["on"] == "order" and step["amount"]
    ]
    if sum(each.amount for each in adjustments) == rest:
        return adjustments
    return [InvoiceAdjustment("Discounts and adjustments", rest)] if rest else []


def list_credits(
    invoice: Invoice, credit_notes: Sequence[Invoice], refunds: Sequence[Refund], *, is_canceled: bool
) -> list[Credit]:
    """Returns what can be credited: each refund that was made and has no credit note, as far as the invoice has that
    amount left, and the rest of the invoice of a canceled order, unless a refund may still be made.
    """
    noted_ids = {note.refund_id for note in credit_notes}
    left = invoice.total - sum(note.total for note in credit_notes)
    open_credits: list[Credit] = []
    for refund in refunds:
        if refund.state == "completed" and refund.id not in noted_ids and refund.amount <= left:
            open_credits.append(Credit(refund.amount, refund.reason, refund))
            left -= refund.amount
    is_pending = any(refund.state == "pending" for refund in refunds)
    if is_canceled and left > 0 and not is_pending and None not in noted_ids:
        open_credits.append(Credit(left, "Order canceled"))
    return open_credits


def find_credit(open_credits: Sequence[Credit], refund_id: UUID | None) -> Credit | None:
    return next((each for each in open_credits if (each.refund.id if each.refund else None) == refund_id), None)


def share_tax_rows(rows: Sequence[TaxRow], credited: int, amount: int) -> Sequence[TaxRow]:
    """Returns the part of an invoice's tax table that a credit note over `amount` has, after notes over `credited`.

    The amounts of all credit notes together are those of the invoice once it is credited in full.
    """
    before, after = _share_rows(rows, credited), _share_rows(rows, credited + amount)
    shares = [TaxRow(old.label, new.net - old.net, new.tax - old.tax) for old, new in zip(before, after, strict=True)]
    return [row for row in shares if row.net or row.tax]


def _share_rows(rows: Sequence[TaxRow], amount: int) -> Sequence[TaxRow]:
    """Divides an amount among the rows in proportion to their gross amounts, without a remainder."""
    total = sum(row.gross for row in rows)
    if not total:
        return [TaxRow(row.label, 0, 0) for row in rows]
    shares, gross_sum, share_sum = [], 0, 0
    for row in rows:
        gross_sum += row.gross
        gross = gross_sum * amount // total - share_sum
        share_sum += gross
        tax = (2 * row.tax * gross + row.gross) // (2 * row.gross) if row.gross else 0
        shares.append(TaxRow(row.label, gross - tax, tax))
    return shares
