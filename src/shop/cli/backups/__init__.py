"""`shop backup`, `shop restore` and `shop psql`.
Each command checks the settings before it changes anything.
Progress goes to standard error, results to standard output.
"""
