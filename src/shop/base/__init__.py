"""The ground: words that every floor speaks (money, errors, tokens, settings, who is asking).
Never here: I/O (but a new id asks the clock), a rule of the shop, or an import of another room.
Look first at `errors.py` and `settings.py`.
"""
