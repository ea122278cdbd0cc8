"""The shelves: the nouns of the shop, each a typed row with its table, keys, indexes and checks, by chapter.
Never here: a query, a decision over several rows, a name on the wire.
Look first at `orders.py`.
"""
