"""Payment states agree with the ledger after any sequence of operations on the payments of an order."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.rules.checkout.payments import (
    PaymentAmounts,
    balance_of,
    find_refusal,
    is_valid,
    missing_payment,
    sum_covered_amount,
)

TOTAL = 2500


def card(state: str, captured_amount: int = 0, refunded_amount: int = 0, amount: int = TOTAL) -> PaymentAmounts:
    return PaymentAmounts(state, amount, captured_amount, refunded_amount)


@pytest.mark.security("C-14")
@pytest.mark.parametrize(
    ("payments", "is_canceled", "state", "due"),
    [
        ([], False, "balance_due", TOTAL),
        ([card("pending")], False, "balance_due", TOTAL),
        ([card("completed", TOTAL)], False, "paid", 0),
        ([card("completed", TOTAL, 500)], False, "paid", 0),
        ([card("completed", TOTAL, TOTAL)], False, "void", 0),
        ([card("void", TOTAL, TOTAL)], False, "void", 0),
        ([card("void")], False, "failed", TOTAL),
        ([card("failed"), card("void")], False, "failed", TOTAL),
        ([card("invalid")], False, "balance_due", TOTAL),
        ([card("completed", 1000, amount=1000), card("pending", amount=1500)], False, "balance_due", 1500),
        ([card("completed", 1000, 1000, 1000), card("pending", amount=1500)], False, "balance_due", 1500),
        ([card("completed", 1000, 1000, 1000), card("completed", 1500, amount=1500)], False, "paid", 0),
        ([card("completed", 3000, amount=3000)], False, "credit_owed", -500),
        ([card("completed", 3000, 200, 3000)], False, "credit_owed", -300),
        ([card("completed", 3000, 700, 3000)], False, "paid", 0),
        ([card("completed", TOTAL)], True, "credit_owed", -TOTAL),
        ([card("completed", TOTAL, 500)], True, "credit_owed", -2000),
        ([card("completed", TOTAL, TOTAL)], True, "void", 0),
        ([card("void")], True, "void", 0),
        ([], True, "void", 0),
    ],
)
def test_payment_state_and_amount_due_match_the_table(
    payments: list[PaymentAmounts], is_canceled: bool, state: str, due: int
) -> None:
    balance = balance_of(payments, TOTAL, is_canceled=is_canceled)

    assert (balance.state, balance.amount_due) == (state, due)


def test_an_order_with_a_total_of_zero_is_paid() -> None:
    assert [balance_of(payments, 0, is_canceled=False).state for payments in ([], [card("failed")])] == ["paid"] * 2


class Ledger:
    """An order's payments as operators change them, allowed or refused by the rules alone."""

    def __init__(self, total: int) -> None:
        self.total, self.is_canceled = total, False
        self.payments: list[PaymentAmounts] = []

    @property
    def due(self) -> int:
        return balance_of(self.payments, self.total, is_canceled=self.is_canceled).amount_due

    def do(self, event: str, which: int, amount: int) -> bool:
        """Returns whether the event was possible."""
        if event == "authorize":
            missing = self.total - sum_covered_amount(self.payments)
            self.payments += [PaymentAmounts("pending", missing, 0, 0)] if missing > 0 and not self.is_canceled else []
            return True
        if event == "cancel":
            return self._cancel(succeeds=amount % 4 > 0)
        if event == "resume":
            return self._resume()
        return bool(self.payments) and self._act(event, which % len(self.payments), amount)

    def _act(self, act: str, which: int, amount: int) -> bool:
        payment = self.payments[which]
        if find_refusal(act, payment, amount):
            return False
        changes: dict[str, dict[str, Any]] = {
            "capture": {"state": "completed", "captured": payment.amount},
            "void": {"state": "void", "refunded": payment.captured},
            "refund": {"refunded": payment.refunded + amount},
        }
        self.payments[which] = msgspec.structs.replace(payment, **changes[act])
        return True

    def _cancel(self, *, succeeds: bool) -> bool:
        """Refunds all payments, unless the provider refuses."""
        if self.is_canceled:
            return False
        self.is_canceled = True
        for which, payment in enumerate(self.payments if succeeds else []):
            self._act("void" if payment.state == "pending" else "refund", which, payment.captured - payment.refunded)
        return True

    def _resume(self) -> bool:
        missing = missing_payment(self.payments, self.total) if self.is_canceled else None
        if missing is None:
            return False
        self.is_canceled = False
        self.payments += [PaymentAmounts("pending", missing, 0, 0)] if missing else []
        return True


EVENTS = ("authorize", *["capture"] * 2, *["refund"] * 3, "void", "cancel", "resume")


@pytest.mark.security("C-14")
@given(
    st.integers(0, 9),
    st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 3), st.integers(-1, 10)), min_size=5, max_size=20),
)
def test_states_agree_with_the_ledger_after_any_sequence(total: int, events: list[tuple[str, int, int]]) -> None:
    ledger = Ledger(total)
    ledger.do("authorize", 0, 0)
    for event, which, amount in events:
        due_before = ledger.due
        is_done = ledger.do(event, which, amount)
        check(ledger)
        if event == "refund" or not is_done:
            assert ledger.due <= 0 if due_before <= 0 else ledger.due == due_before
        if event == "resume" and is_done:
            payable = sum(payment.amount for payment in ledger.payments if payment.state == "pending")
            assert ledger.due <= payable
            assert balance_of(ledger.payments, total, is_canceled=False).state != "void"


def check(ledger: Ledger) -> None:
    payments, total, is_canceled = ledger.payments, ledger.total, ledger.is_canceled
    balance = balance_of(payments, total, is_canceled=is_canceled)
    captured_total = sum(payment.captured for payment in payments)
    assert all(0 <= payment.refunded <= payment.captured <= payment.amount for payment in payments)
    assert balance.payment_total == captured_total - balance.refunded >= 0
    assert (balance.amount_due > 0) == (balance.state in {"balance_due", "failed"})
    assert (balance.amount_due < 0) == (balance.state == "credit_owed")
    assert balance.state != "failed" or not any(map(is_valid, payments))
    assert balance.state != "paid" or (captured_total >= total and not is_canceled)
    assert balance.state != "void" or balance.payment_total == 0
    assert -balance.amount_due <= balance.payment_total, "more is owed than was paid"
    assert balance.amount_due <= total
    assert not is_canceled or balance.state in {"void", "credit_owed"}
