"""Configuration: the environment variables of a process.
No I/O; each value is parsed and validated once.
Start with `settings.py`.
"""
