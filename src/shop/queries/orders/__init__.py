"""Operations of operators and applications on orders and shipments.
SQL statements and the functions that run them.
Never here: a decision.
"""
