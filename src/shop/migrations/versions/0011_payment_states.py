"""Corrects the payment state of orders that were refunded in part, or canceled after their payment was voided.

Only those are touched; a refund never makes the customer owe anything (see `rules/checkout/payments.py`).
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

CORRECTION = """
with ledger as (
    select order_id, sum(captured_amount) as captured, sum(refunded_amount) as refunded,
           bool_or(state not in ('failed', 'invalid', 'void')) as counts
    from payments
    where order_id in (select order_id from payments where refunded_amount > 0 or state = 'void')
    group by order_id
), due as (
    select o.id, counts, captured, refunded, o.total, o.canceled_at is not null as is_canceled,
           case when o.canceled_at is not null then refunded - captured
                when captured < o.total then o.total - captured
                else least(0, o.total - captured + refunded) end as amount
    from ledger join orders o on o.id = ledger.order_id
    where o.completed_at is not null
), correct as (
    select id, case when amount > 0 and counts then 'balance_due'
                    when amount > 0 then 'failed'
                    when amount < 0 then 'credit_owed'
                    when is_canceled or (total between 1 and captured and captured = refunded) then 'void'
                    else 'paid' end as payment_state
    from due
)
update orders set payment_state = correct.payment_state, updated_at = now()
from correct where correct.id = orders.id and orders.payment_state is distinct from correct.payment_state
"""


def upgrade() -> None:
    op.execute(CORRECTION)
