"""The phone: machines that are not our database.
Never here: a rule of the shop, a statement, a header of a request.
Look first at `mail.py`.
"""
