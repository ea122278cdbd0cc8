"""Operations on orders and shipments by operators and applications; the order pages of customers.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
