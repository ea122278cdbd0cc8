"""What everybody sees: health, metrics, the mailbox, the API's description and reference.
Never here: anything of one shopper or operator.
Look first at `routes.py`.
"""
