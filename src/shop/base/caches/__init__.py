"""Caches in the memory of a process, each with a maximum size.
No I/O; a caller knows the version that a value is valid for.
Start with `sized_cache.py`.
"""
