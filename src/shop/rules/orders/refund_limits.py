"""What an operator may refund at once: the limit of the role, and the amount above which a second operator approves."""

from decimal import Decimal

import msgspec

from shop.base.money import currency_digits

NEEDS_APPROVAL = "A refund of this amount needs a second operator. Ask for it with “Refund …” on the page of the order."


class RefundLimits(msgspec.Struct, frozen=True):
    """Amounts in major units; None is no limit."""

    role_limit: Decimal | None = None
    approval_amount: Decimal | None = None

    def cap_amount(self, amount: int, currency: str, *, is_approved: bool = False) -> int:
        """Returns the amount in minor units, or what the operator may refund of it at once; with `is_approved`, what a
        second operator can approve counts too.
        """
        limits = [self.role_limit, None if is_approved else self.approval_amount]
        digits = currency_digits(currency)
        return min([amount, *(int(limit.scaleb(digits)) for limit in limits if limit is not None)])

    def needs_approval(self, amount: Decimal) -> bool:
        return self.approval_amount is not None and amount > self.approval_amount

    def find_refusal(self, amount: Decimal, *, is_approved: bool = False) -> tuple[str, str] | None:
        """Returns the code and message if the operator must not refund this amount, or None."""
        if self.role_limit is not None and amount > self.role_limit:
            most = f"Your role allows refunds of at most {self.role_limit:f} at once."
            return "refund_limit", f"{most} Ask an operator with a higher limit."
        return None if is_approved or not self.needs_approval(amount) else ("needs_approval", NEEDS_APPROVAL)
