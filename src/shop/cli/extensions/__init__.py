"""The `shop extension` commands, and what other commands do for extensions.
Commands and their output.
Must not contain business rules or SQL.
"""
