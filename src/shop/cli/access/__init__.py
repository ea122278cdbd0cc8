"""Commands for operators, applications, keys and sessions.
Each calls an action.
Start with `admin.py`.
"""
