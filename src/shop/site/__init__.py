"""Public endpoints: health, metrics, the mailbox, the OpenAPI description and the API reference.
Must not contain anything specific to one shopper or operator.
Start with `routes.py`.
"""
