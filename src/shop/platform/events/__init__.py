"""The event log for applications: the feed, the stream and the types of events.
Must not contain anything that decides which events a change causes.
Start with `feed.py`.
"""
