"""Actions: the operations of the shop. An action that makes several changes runs in one transaction.
No HTTP, no SQL text, and no pure business rules, which belong in `rules`.
Start with `context.py`, then read the action that you need.
"""
