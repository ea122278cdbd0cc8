"""Why a webhook endpoint is disabled: by choice, or because it does not work."""

BY_OPERATOR = "Disabled by an operator."
BY_APPLICATION = "Disabled through the API."
CHOICES = (BY_OPERATOR, BY_APPLICATION)
"""The reasons that are not failures."""


def choice_reason(actor_kind: str) -> str:
    return BY_OPERATOR if actor_kind == "operator" else BY_APPLICATION
