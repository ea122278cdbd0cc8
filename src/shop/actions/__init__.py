"""Actions: the operations of the shop. An action that makes several changes runs in one transaction.
No HTTP, no SQL text, and no decision that depends on values alone; those belong in `rules`.
Start with `context.py`, then open the action.
"""
