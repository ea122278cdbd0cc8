"""The desk's files: every look-up and every change, each a statement compiled once; the only SQL of the shop.
Never here: a decision, a header, a mail.
Look first at `orders.py`.
"""
