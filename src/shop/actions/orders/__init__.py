"""Operations on orders and shipments by operators and applications.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
