"""Operations of operators and applications on orders and shipments.
SQL statements and the functions that run them.
No business rules.
"""
