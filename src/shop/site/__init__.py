"""What everybody sees: health, metrics, the API's description.
Never here: anything of one shopper or operator.
Look first at `routes.py`.
"""
