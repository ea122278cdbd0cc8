"""Stock work: what operators enter for deliveries and transfers.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
