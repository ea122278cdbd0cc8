"""The workshop: the verbs, what the shop does; each changes something, in one transaction when it changes two things.
Never here: HTTP words, SQL text, a decision that could be made from values alone.
Look first at `context.py`, then at the verb.
"""
