"""Extensions: the progress of their listeners.
Rows and their tables.
No queries, no rules that involve several rows.
"""
