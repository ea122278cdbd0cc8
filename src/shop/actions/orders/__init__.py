"""What operators and applications do with orders and shipments.
Each action makes one change, in one transaction.
Never here: HTTP words, SQL text.
"""
