"""The archive of old orders: moves them to object storage, reads them there, and brings them back.
An order is always in the tables or in the archive.
No HTTP and no SQL text.
"""
