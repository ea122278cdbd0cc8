"""Request input: body and query within their limits, uploaded files, and the reader of typed input.
No endpoint handlers.
Start with `request.py` and `inputs.py`.
"""
