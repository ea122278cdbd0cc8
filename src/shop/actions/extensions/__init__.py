"""Extensions: what a package declares, the context of its code, and its listeners.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
