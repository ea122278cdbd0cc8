"""Keys, secrets and the tokens derived from them.
No secret is logged or shown by `repr`.
Start with `keys.py`.
"""
