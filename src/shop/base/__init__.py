"""Types shared by all layers: money, errors, tokens, settings, the caller's identity.
No I/O (except that a new id reads the clock), no business rules, no imports of other packages of the shop.
Start with `errors.py`, `values.py` and `config/settings.py`.
"""
