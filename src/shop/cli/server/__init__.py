"""`shop serve` and `shop worker`: start, supervise and stop processes.
Must not contain business rules.
Start with `serve.py`.
"""
